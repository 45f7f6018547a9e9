/** The facts beside the steps from Assume on. */
import {gettext, listText} from "../../lib/words.js";
import {backoffWords} from "../inside/cycle_words.js";
import {author, count, duration, parseId, timeText} from "../shared/format.js";
import {figure, note, terms} from "./blocks.js";
import {toldOf} from "./told.js";

/** The blocks of a step after the decision. */
export function bindingFacts(film, step, picture) {
  return BINDING[step.phase]?.(film.answer, step, film, picture) ?? [];
}

const BINDING = {
  bindqueue: ({rounds}, {event, round}, film, picture) => [
    ...(event ? writeFacts(film, picture) : []),
    !event &&
      terms([
        [gettext("pods before it in the BindQueue"), count(rounds[round].ahead.length)],
        [gettext("node"), rounds[round].node],
      ]),
    note(gettext("v1.11 binds volumes in rounds: a worker writes them, and the pod goes through the queue once more.")),
  ],
  assume: assumeFacts,
  reserve: reserveFacts,
  permit: (answer, step) => [
    figure(duration(step.at - answer.steps[0].at), gettext("of virtual time for the scheduling cycle")),
    note(gettext("Here the serial part ends. What follows runs beside the next cycles.")),
  ],
  prebind: prebindFacts,
  bind: ({pop, bind, pod}, {at}) => [
    figure(
      duration(at - pop.timestamp),
      gettext("from queued to bound"),
      bind.code === "Success" ? "settled" : "stuck",
    ),
    terms([
      ["POST", `pods/${parseId(`pod/${pod}`).name}/binding`],
      ["spec.nodeName", bind.code === "Success" ? bind.node : "–", "changed"],
    ]),
  ],
  postbind: ({assume}, {at}, {steps}) => [
    terms([
      [gettext("pod in the cache"), "Assumed → Added", "changed"],
      [gettext("confirmed after"), duration(at - (steps.find(({phase}) => phase === "bind")?.at ?? at))],
      assume?.finished &&
        assume.finished.deadline !== null && [gettext("it would have expired at"), timeText(assume.finished.deadline)],
    ]),
  ],
  unreserve: ({points}) => [
    terms(
      points
        .filter(({point}) => point === "Unreserve")
        .flatMap(({answers}) => answers.map(({plugin}) => [plugin, gettext("undone")])),
    ),
  ],
  forget: () => [note(gettext("The next cycle counts the room as free again."))],
  evict: (_, {event}) => [
    terms([
      [gettext("event"), event.kind, "changed"],
      [gettext("object"), event.object],
      event.message && [gettext("message"), event.message],
    ]),
  ],
  fail: failFacts,
  nominate: ({post_filter: {outcome}}) => [
    figure(outcome.node, gettext("is nominated, not reserved"), "promised"),
    note(
      gettext(
        "Filter adds nominated pods of equal or higher priority to a node before it asks. A less important pod cannot slip into the room.",
      ),
    ),
  ],
  wait: ({queue}, {event, move}) => [
    event
      ? terms([[gettext("gone"), event.object, "changed"]])
      : terms([
          [gettext("event"), queue.after[move].event, "changed"],
          [gettext("from"), queue.after[move].place_from],
          [gettext("to"), queue.after[move].place],
        ]),
  ],
  leave: (_, {event, since}) => [
    terms([[gettext("gone"), event.object, "changed"], since !== null && [gettext("evicted at"), timeText(since)]]),
    note(
      gettext(
        "A victim keeps its place until it has ended. The room that it leaves comes too late for the attempt before.",
      ),
    ),
  ],
};

function assumeFacts({assume: {assumed}}) {
  return [
    figure(
      `${count(assumed.before.pods)} → ${count(assumed.after.pods)}`,
      gettext("pods counted on {node}", {node: assumed.node}),
      "promised",
    ),
    terms([
      [
        gettext("generation in the cache"),
        `${count(assumed.before.generation)} → ${count(assumed.after.generation)}`,
        "changed",
      ],
      [gettext("spec.nodeName in the API"), "–"],
    ]),
    note(gettext("The next cycle must not give the same room away, so it is taken in memory first.")),
  ];
}

function reserveFacts({volumes, points}) {
  const caches = volumes?.assumed.at(-1)?.caches ?? [];
  const reserved = points.find(({point}) => point === "Reserve");
  return [
    caches.length > 0 && figure("0", gettext("writes made"), "promised"),
    terms([
      ...(reserved?.answers ?? []).map(({plugin, code}) => [plugin, code]),
      ...caches.map(({name, assumed, latest_version: latest, informer_version: informer}) => [
        gettext("{name} in the assume cache", {name: parseId(`x/${name}`).name}),
        assumed
          ? gettext("rv {latest} + what is assumed", {latest})
          : gettext("rv {informer}", {informer: informer ?? "–"}),
        assumed ? "changed" : "",
      ]),
    ]),
  ];
}

/** What is written where, by kind of event. */
const FIELDS = {
  VolumePreBound: "spec.claimRef",
  VolumeProvisioned: gettext("created"),
  VolumeBound: "status.phase Bound",
  ClaimBindCompleted: "spec.volumeName",
  ClaimBound: "status.phase Bound",
};

/** All writes of the binding, with those that are made at this step. */
function writeFacts({steps}, {writes}) {
  const all = steps.filter(({event}) => event && FIELDS[event.kind]);
  const rows = all.map(({event: {kind, object, component, at: when}}, place) => ({
    name: parseId(object).name,
    field: FIELDS[kind],
    by: author(component),
    at: place < writes ? timeText(when) : "",
    look: place < writes - 1 ? "done" : place === writes - 1 ? "done now" : "",
  }));
  const family = writes < all.length ? "promised" : "settled";
  return [
    figure(
      gettext("{writes} of {all}", {writes: count(writes), all: count(all.length)}),
      gettext("writes made"),
      family,
    ),
    {kind: "writes", rows},
  ];
}

function prebindFacts(answer, {event, look, at}, film, picture) {
  const [written] = toldOf(answer, "VolumesWritten");
  if (event) return writeFacts(film, picture);
  const {caches, is_bound: isBound} = answer.volumes.looks[look];
  const deadline = answer.volumes.written.at(-1)?.deadline ?? null;
  return [
    written && figure(duration(at - written.at), gettext("after PreBind wrote"), isBound ? "settled" : "clock"),
    terms([
      ...caches.map(({name, latest_version: latest}) => [
        gettext("{name}, as the scheduler sees it", {name: parseId(`x/${name}`).name}),
        gettext("rv {latest}", {latest: latest ?? "–"}),
      ]),
      deadline !== null && [gettext("it gives up at"), timeText(deadline)],
    ]),
    note(gettext("PreBind looks once a second, the first time after one second.")),
  ];
}

function failFacts({queue: {requeued}}) {
  const {backoff, rejected_by: by, missed} = requeued;
  return [
    terms([
      [gettext("back to"), requeued.place, "changed"],
      by.length > 0 && [gettext("rejected by"), listText(by)],
      [gettext("events missed in flight"), count(missed.length)],
      backoff && [gettext("backs off"), duration(backoff.duration)],
    ]),
    note(backoff ? backoffWords(backoff) : ""),
  ];
}
