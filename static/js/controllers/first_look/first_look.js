import {signal} from "@preact/signals";

/** Reads the first look at the files of a run. `look` is null until it is there; `problem` says why it is not. */
export class FirstLook {
  constructor(session) {
    this.session = session;
    this.look = signal(null);
    this.problem = signal("");
  }

  async load() {
    this.problem.value = "";
    try {
      this.look.value = await this.session.api.get("first-look/");
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
