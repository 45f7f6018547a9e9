import {signal} from "@preact/signals";

import {RunApi} from "../../lib/api.js";
import {gettext, labelled} from "../../lib/words.js";
import {consentFor} from "../../model/run/consent.js";
import {objectPage, pageHref} from "../../model/run/place.js";

const SETTLE_MS = 600;
/** How often a finished run that was played again is read, until it is finished again. */
const SETTLINGS = 10;
const NOTHING_DUE = gettext(
  "The run is finished: nothing more is due. Change something here, or fork the run at an earlier event.",
);
const LONGEST_NAME = 200;
const FORK_MS = 120_000;
/** Commands that have the same effect when they arrive twice. */
const REPEATABLE = ["cordon", "uncordon", "patch", "resize", "apply", "start_kubelet", "stop_kubelet"];

/**
 * Sends the user's requests to the server: commands for the engine, play and pause, forks.
 *
 * `run` is the signal with the facts about the run, `onSent` is called when a command was accepted or rejected.
 */
export class Commands {
  constructor({api, run, address, notices, onSent}) {
    this.api = api;
    this.run = run;
    this.address = address;
    this.notices = notices;
    this.onSent = onSent;
    /**
     * The question to confirm before a command is sent, with `answer(yes)`; or null.
     *
     * @type {import("@preact/signals").Signal<(ReturnType<typeof consentFor> & {answer: (yes: boolean) => void}) | null>}
     */
    this.asking = signal(null);
  }

  /** As `sendAll`, for one command. */
  send(command) {
    return this.sendAll([command]);
  }

  /**
   * Send commands one after the other, up to the first that is rejected. Commands that delete something
   * or resume a finished run are confirmed first. The outcome arrives as an event, a rejection as a
   * notice. Returns whether all were accepted.
   */
  async sendAll(commands) {
    if (!(await this.#isConfirmed(commands))) return false;
    for (const command of commands) {
      if (!(await this.#post(command))) return false;
    }
    return true;
  }

  /** Patch an object. */
  patch(object, patch) {
    return this.send({verb: "patch", object, patch});
  }

  /** Play, pause, step or change the speed. A notice says so if a finished run has nothing more to play. */
  async transport(body) {
    const isRepeatable = body.action !== "step";
    const goesOn = ["play", "step"].includes(body.action);
    const finishedAt = goesOn && this.run.value.status === "finished" ? this.run.value.head : null;
    await this.notices.guard(
      async () => {
        const run = await this.api.post("transport/", body, {isRepeatable});
        this.#merge(run);
        this.notices.clear();
      },
      () => this.transport(body),
    );
    // A run with nothing left to do may finish again before the stream has sent anything.
    clearTimeout(this.settleTimer);
    this.settleTimer = setTimeout(() => this.#settle(finishedAt), SETTLE_MS);
  }

  async speed(speed) {
    this.#merge({speed});
    await this.transport({action: "speed", speed});
  }

  /**
   * Fork the run after event *seq*, send these commands to the fork, play it until the object of this id should
   * have changed as `trial` promises, and open its page there. `trial` is {order, node, at, outcome}: the
   * change, and where a pod should be bound and when, or what another object should have become by then.
   */
  async tryInFork(id, commands, seq, trial) {
    await this.notices.guard(async () => {
      const {fork, api} = await this.#forked(trial.order, commands, seq);
      await api.post("transport/", {action: "play", until_pod: id, trial});
      const {page, ...place} = objectPage(id);
      this.address.open(pageHref(fork.id, page, place));
    });
  }

  /** Fork the run as it is now, send these commands to the fork, play it and open its board. */
  async openFork(order, commands) {
    await this.notices.guard(async () => {
      const {fork, api} = await this.#forked(order, commands, null);
      await api.post("transport/", {action: "play"});
      this.address.open(pageHref(fork.id, "board"));
    });
  }

  /**
   * As `sendAll`, but raises the ApiError of the first command that is rejected. What `isAsked` was confirmed before.
   * Returns whether they were confirmed.
   */
  async carryOut(commands, {isAsked = false} = {}) {
    if (!isAsked && !(await this.#isConfirmed(commands))) return false;
    for (const command of commands) {
      const outcome = await this.api.post("commands/", command, {isRepeatable: REPEATABLE.includes(command.verb)});
      this.notices.message.value = outcome.reason ?? "";
    }
    this.onSent();
    return true;
  }

  /**
   * Fork the run after event *seq* (null: the newest), send these commands to the fork, play it, and open the page of the
   * object of this id there, or its board. Raises ApiError for a command that is rejected; then no fork is left.
   */
  async actInFork(order, commands, {seq, id = ""}) {
    const {fork, api} = await this.#forked(order, commands, seq);
    await api.post("transport/", {action: "play"});
    const {page, ...place} = id ? objectPage(id) : {page: "board"};
    this.address.open(pageHref(fork.id, page, place));
  }

  /** A fork after event *seq* that is called after a change and has it, and its API. */
  async #forked(order, commands, seq) {
    const name = labelled(this.run.value.name, order).slice(0, LONGEST_NAME);
    const fork = await this.api.post("fork/", {seq, name}, {longestMs: FORK_MS});
    const api = new RunApi(fork.id);
    for (const command of commands) {
      try {
        await api.post("commands/", command);
      } catch (error) {
        // Nothing of what was asked for is in it.
        await api.delete("").catch(() => {});
        throw error;
      }
    }
    return {fork, api};
  }

  /** Run the same scenario and commands again with the version of kscope that serves this page. */
  async repeat() {
    await this.notices.guard(async () => {
      const again = await this.api.post("fork/", {afresh: true});
      this.address.open(pageHref(again.id, "board"));
    });
  }

  async #isConfirmed(commands) {
    const question = consentFor(this.run.value, commands);
    if (!question) return true;
    this.asking.value?.answer(false);
    const confirmed = await new Promise((answer) => {
      this.asking.value = {...question, answer};
    });
    this.asking.value = null;
    return confirmed;
  }

  async #post(command) {
    let accepted = false;
    await this.notices.guard(
      async () => {
        const isRepeatable = REPEATABLE.includes(command.verb);
        const outcome = await this.api.post("commands/", command, {isRepeatable});
        accepted = outcome.status !== "rejected";
        // An accepted one has a reason where fields of an object were left out.
        this.notices.message.value = outcome.reason ?? "";
        this.onSent();
      },
      () => this.#post(command),
    );
    return accepted;
  }

  /** Read the state of the run; of one that was finished at event *finishedAt* until it is known how it ends. */
  async #settle(finishedAt, settlings = SETTLINGS) {
    await this.notices.guard(async () => this.#merge(await this.api.get("")));
    const {status, head} = this.run.value;
    if (finishedAt === null || head !== finishedAt) return;
    if (status === "finished") this.notices.say(NOTHING_DUE);
    else if (status === "playing" && settlings > 1)
      this.settleTimer = setTimeout(() => this.#settle(finishedAt, settlings - 1), SETTLE_MS);
  }

  #merge(run) {
    this.run.value = {...this.run.value, ...run};
  }
}
