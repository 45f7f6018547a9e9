import {gettext, ngettext} from "../lib/words.js";
import {Refusal} from "./refusal.js";

const NO_OBJECT = gettext(
  "This file does not hold the inside of this object. To see it takes an engine: open the run in kscope.",
);
const NO_CYCLE = gettext("There is no such scheduling cycle in this run.");
const NOT_ANOTHER = gettext(
  "This file holds what was done up to its end. To see less of it takes an engine: open the run in kscope.",
);

/**
 * Answers what went on inside, of what was followed when the file was written.
 *
 * `cycles` are {held: [seq, number, id of the pod] of each, of: how many the run had}, `objects` the ids of the others; `cycleOf(seq)` and
 * `objectOf(place)` read the answers.
 */
export class Insides {
  constructor({history, cycles, objects, cycleOf, objectOf}) {
    this.history = history;
    this.cycles = cycles;
    this.objects = objects;
    this.cycleOf = cycleOf;
    this.objectOf = objectOf;
  }

  /** The cycle of a number, or the newest of a pod up to an event. @param {{cycle?: any, pod?: string, seq?: any}} asked */
  cycle({cycle, pod, seq}) {
    const isGiven = cycle !== null && cycle !== undefined;
    const found = isGiven ? this.#ofNumber(Number(cycle), pod) : this.#newestOf(pod, seq);
    if (found === null) throw new Refusal(this.#noCycle(), 404);
    return this.cycleOf(found);
  }

  /** What was done about an object until the end. @param {{claim?: string, pod?: string, node?: string, seq?: any}} asked */
  volumes({claim, pod, node, seq}) {
    const id = claim ? `claim/${claim}` : pod ? `pod/${pod}` : `node/${node}`;
    const place = this.objects.indexOf(id);
    if (place < 0) throw new Refusal(NO_OBJECT);
    if (seq !== undefined && seq !== null && Number(seq) !== this.history.head) throw new Refusal(NOT_ANOTHER);
    return this.objectOf(place);
  }

  /** Several schedulers may have a cycle of this number: the newest is meant. */
  #ofNumber(number, pod) {
    const isMeant = ([, each, id]) => each === number && (!pod || id === `pod/${pod}`);
    const seqs = this.cycles.held.filter(isMeant).map(([seq]) => seq);
    return seqs.length > 0 ? Math.max(...seqs) : null;
  }

  #newestOf(pod, seq) {
    const before = Number(seq ?? this.history.head) + 1;
    const asked = {object: `pod/${pod}`, kind: "AttemptStarted", before, order: "desc", limit: 1};
    const began = this.history.find(asked).items[0]?.seq;
    return this.cycles.held.some(([each]) => each === began) ? began : null;
  }

  #noCycle() {
    const {held, of} = this.cycles;
    if (held.length === of) return NO_CYCLE;
    return ngettext(
      "This file holds the inside of {count} scheduling cycle of {all}, and not of this one. To see it takes an engine: open the run in kscope.",
      "This file holds the inside of {count} scheduling cycles of {all}, and not of this one. To see it takes an engine: open the run in kscope.",
      held.length,
      {all: of},
    );
  }
}
