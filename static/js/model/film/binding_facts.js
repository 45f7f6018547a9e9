/** The facts beside the steps from Assume on. */
import {backoffWords} from "../inside/cycle_words.js";
import {author, count, duration, moment, parseId} from "../shared/format.js";
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
        ["pods before it in the BindQueue", count(rounds[round].ahead.length)],
        ["node", rounds[round].node],
      ]),
    note("v1.11 binds volumes in rounds: a worker writes them, and the pod goes through the queue once more."),
  ],
  assume: assumeFacts,
  reserve: reserveFacts,
  permit: (answer, step) => [
    figure(duration(step.at - answer.steps[0].at), "of virtual time for the scheduling cycle"),
    note("Here the serial part ends. What follows runs beside the next cycles."),
  ],
  prebind: prebindFacts,
  bind: ({pop, bind, pod}, {at}) => [
    figure(duration(at - pop.timestamp), "from queued to bound", bind.code === "Success" ? "settled" : "stuck"),
    terms([
      ["POST", `pods/${parseId(`pod/${pod}`).name}/binding`],
      ["spec.nodeName", bind.code === "Success" ? bind.node : "–", "changed"],
    ]),
  ],
  postbind: ({assume}, {at}, {steps}) => [
    terms([
      ["pod in the cache", "Assumed → Added", "changed"],
      ["confirmed after", duration(at - (steps.find(({phase}) => phase === "bind")?.at ?? at))],
      assume?.finished &&
        assume.finished.deadline !== null && ["it would have expired at", `${moment(assume.finished.deadline)} s`],
    ]),
  ],
  unreserve: ({points}) => [
    terms(
      points
        .filter(({point}) => point === "Unreserve")
        .flatMap(({answers}) => answers.map(({plugin}) => [plugin, "undone"])),
    ),
  ],
  forget: () => [note("The next cycle counts the room as free again.")],
  evict: (_, {event}) => [
    terms([["event", event.kind, "changed"], ["object", event.object], event.message && ["message", event.message]]),
  ],
  fail: failFacts,
  nominate: ({post_filter: {outcome}}) => [
    figure(outcome.node, "is nominated, not reserved", "promised"),
    note(
      "Filter adds nominated pods of equal or higher priority to a node before it asks. A less important pod cannot slip into the room.",
    ),
  ],
  wait: ({queue}, {event, move}) => [
    event
      ? terms([["gone", event.object, "changed"]])
      : terms([
          ["event", queue.after[move].event, "changed"],
          ["from", queue.after[move].place_from],
          ["to", queue.after[move].place],
        ]),
  ],
};

function assumeFacts({assume: {assumed}}) {
  return [
    figure(
      `${count(assumed.before.pods)} → ${count(assumed.after.pods)}`,
      `pods counted on ${assumed.node}`,
      "promised",
    ),
    terms([
      [
        "generation in the cache",
        `${count(assumed.before.generation)} → ${count(assumed.after.generation)}`,
        "changed",
      ],
      ["spec.nodeName in the API", "–"],
    ]),
    note("The next cycle must not give the same room away, so it is taken in memory first."),
  ];
}

function reserveFacts({volumes, points}) {
  const caches = volumes?.assumed.at(-1)?.caches ?? [];
  const reserved = points.find(({point}) => point === "Reserve");
  return [
    caches.length > 0 && figure("0", "writes made", "promised"),
    terms([
      ...(reserved?.answers ?? []).map(({plugin, code}) => [plugin, code]),
      ...caches.map(({name, assumed, latest_version: latest, informer_version: informer}) => [
        `${parseId(`x/${name}`).name} in the assume cache`,
        assumed ? `rv ${latest} + what is assumed` : `rv ${informer ?? "–"}`,
        assumed ? "changed" : "",
      ]),
    ]),
  ];
}

/** What is written where, by kind of event. */
const FIELDS = {
  VolumePreBound: "spec.claimRef",
  VolumeProvisioned: "created",
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
    at: place < writes ? `${moment(when)} s` : "",
    look: place < writes - 1 ? "done" : place === writes - 1 ? "done now" : "",
  }));
  const family = writes < all.length ? "promised" : "settled";
  return [figure(`${count(writes)} of ${count(all.length)}`, "writes made", family), {kind: "writes", rows}];
}

function prebindFacts(answer, {event, look, at}, film, picture) {
  const [written] = toldOf(answer, "VolumesWritten");
  if (event) return writeFacts(film, picture);
  const {caches, is_bound: isBound} = answer.volumes.looks[look];
  const deadline = answer.volumes.written.at(-1)?.deadline ?? null;
  return [
    written && figure(duration(at - written.at), "after PreBind wrote", isBound ? "settled" : "clock"),
    terms([
      ...caches.map(({name, latest_version: latest}) => [
        `${parseId(`x/${name}`).name}, as the scheduler sees it`,
        `rv ${latest ?? "–"}`,
      ]),
      deadline !== null && ["it gives up at", `${moment(deadline)} s`],
    ]),
    note("PreBind looks once a second, the first time after one second."),
  ];
}

function failFacts({queue: {requeued}}) {
  const {backoff, rejected_by: by, missed} = requeued;
  return [
    terms([
      ["back to", requeued.place, "changed"],
      by.length > 0 && ["rejected by", by.join(", ")],
      ["events missed in flight", count(missed.length)],
      backoff && ["backs off", duration(backoff.duration)],
    ]),
    note(backoff ? backoffWords(backoff) : ""),
  ];
}
