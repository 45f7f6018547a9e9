import {computed, signal} from "@preact/signals";

import {gettext} from "../../lib/words.js";
import {groupOf, isWhole, joined} from "../../model/triage/answer.js";

// A large cluster has thousands of trials.
const LONGEST_MS = 600_000;
const INCOMPLETE = gettext("The connection ended before the answer was complete.");

/**
 * Asks the server what is stuck in the run as it was brought.
 *
 * `held` is {status: "loading" | "trying" | "ready" | "failed", triage, message}; while the server is "trying"
 * changes, `triage` has the causes and what was found so far. `at` is the place of the chosen group, -1 for none.
 */
export class Triage {
  constructor(session) {
    this.session = session;
    /** @type {import("@preact/signals").Signal<{status: string, triage: any, message?: string}>} */
    this.held = signal({status: "loading", triage: null});
    this.at = signal(-1);
    /** The places of the groups whose line was opened, where each has a line. @type {import("@preact/signals").Signal<number[]>} */
    this.opened = signal([]);
    this.hidesEvidence = signal(false);
    this.found = signal("");
    this.number = computed(() => this.held.value.triage?.groups.length ?? null);
  }

  async ask() {
    const before = this.held.peek().triage;
    this.held.value = {status: "loading", triage: before};
    let triage = null;
    let isLast = false;
    const take = (part) => {
      triage = joined(triage, part);
      isLast = isWhole(part);
      this.held.value = {status: isLast ? "ready" : "trying", triage};
    };
    try {
      await this.session.api.parts("triage/", {parts: 1}, undefined, take, {longestMs: LONGEST_MS});
      if (!isLast) throw new Error(INCOMPLETE);
    } catch (error) {
      this.held.value = {status: "failed", triage: triage ?? before, message: error.message};
    }
  }

  /** Choose the next (1) or previous (-1) of the groups. */
  step(by) {
    const last = (this.number.value ?? 0) - 1;
    this.choose(Math.max(0, Math.min(last, this.at.value + by)));
  }

  choose(place) {
    this.at.value = place;
    const {opened} = this;
    if (!opened.value.includes(place)) opened.value = [...opened.value, place];
  }

  toggle(place) {
    const {opened} = this;
    opened.value = opened.value.includes(place)
      ? opened.value.filter((each) => each !== place)
      : [...opened.value, place];
  }

  /** Choose the cause of the object that this text names. */
  find(text) {
    const {triage} = this.held.value;
    if (!triage) return;
    const place = groupOf(triage, text);
    this.found.value = place < 0 ? gettext("No cause holds “{text}”.", {text: text.trim()}) : "";
    if (place >= 0) this.choose(place);
  }
}
