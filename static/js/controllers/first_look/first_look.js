import {signal} from "@preact/signals";

import {gettext} from "../../lib/words.js";
import {isWhole, joined} from "../../model/first_look/first_look.js";

// As long as a triage may take: the server itself gives up what takes longer.
const LONGEST_MS = 600_000;
const INCOMPLETE = gettext("The connection ended before the answer was complete.");

/**
 * Reads the first look at the files of a run. `look` is null at first, and then has what the files say before the
 * rest is there; `problem` says why it is not.
 */
export class FirstLook {
  constructor(session) {
    this.session = session;
    this.look = signal(null);
    this.problem = signal("");
  }

  async load() {
    this.problem.value = "";
    let look = null;
    const take = (part) => {
      look = joined(look, part);
      this.look.value = look;
    };
    try {
      await this.session.api.parts("first-look/", {parts: 1}, undefined, take, {longestMs: LONGEST_MS});
      if (!isWhole(look)) throw new Error(INCOMPLETE);
    } catch (error) {
      this.problem.value = error.message;
    }
  }

  /** Let the run play, and show it on the board. */
  async play() {
    const {commands, address} = this.session;
    if (this.session.run.value.status !== "playing") await commands.transport({action: "play"});
    if (!this.session.notices.message.value) address.open(this.session.href("board"));
  }
}
