import {signal} from "@preact/signals";

import {gettext} from "../../lib/words.js";
import {isWhole, joined} from "../../model/why/answer.js";

// The server itself gives up what computes for too long, which may be late on a busy machine.
const LONGEST_MS = 600_000;
const INCOMPLETE = gettext("The connection ended before the answer was complete.");

/**
 * Asks the server, on demand, why an object is as it is and what would fix it.
 *
 * `held` is {id, seq, status: "loading" | "trying" | "ready" | "failed", diagnosis, message}, or null; `seq` is the
 * event that was asked about, null for the newest. While the server is "trying" changes, `diagnosis` has the causes
 * and the fixes found so far. During a repeated question, and when it fails, `diagnosis` is still the previous
 * answer.
 */
export class Why {
  constructor(api) {
    this.api = api;
    /** @type {import("@preact/signals").Signal<{id: string, seq: number | null, status: string, diagnosis?: any, message?: string} | null>} */
    this.held = signal(null);
  }

  /** Ask about the object of this id, at event *seq* (null: the newest). */
  async ask(id, seq) {
    this.asking?.abort();
    const asking = new AbortController();
    this.asking = asking;
    const before = this.held.peek();
    // In the past only an answer for that very event may be shown.
    const older = before && before.id === id && before.diagnosis && seq === null ? {diagnosis: before.diagnosis} : {};
    this.held.value = {...older, id, seq, status: "loading"};
    let found = null;
    const take = (part) => {
      if (this.asking !== asking) return;
      const isLast = found !== null && isWhole(part);
      found = joined(found, part);
      if (isLast) this.held.value = {id, seq, status: "ready", diagnosis: found};
      else if (!older.diagnosis) this.held.value = {id, seq, status: "trying", diagnosis: found};
    };
    try {
      await this.api.parts(`why/${pathOf(id)}/`, {seq, parts: 1}, asking.signal, take, {longestMs: LONGEST_MS});
      if (this.asking === asking && this.held.peek()?.status !== "ready") throw new Error(INCOMPLETE);
    } catch (error) {
      if (this.asking !== asking) return;
      const known = found ? {diagnosis: found} : {};
      this.held.value = {...known, ...older, id, seq, status: "failed", message: error.message};
    }
  }

  /** Drop the answer after the cluster or the question has changed. */
  forget() {
    this.asking?.abort();
    this.asking = null;
    this.held.value = null;
  }
}

function pathOf(id) {
  return id.split("/").map(encodeURIComponent).join("/");
}
