/** The steps of a cycle that failed: Unreserve, the way back to the queue, evictions, and what comes of them. */
import {toldOf} from "./told.js";

const EVICTIONS = ["PodDisrupted", "PodEvicted", "Preempted"];

/** What follows the decision when the pod was not bound. */
export function failureSteps(answer, events) {
  const {queue} = answer;
  const own = events.filter(({seq}) => seq > answer.seq);
  const [requeued] = toldOf(answer, "Requeued");
  return [
    ...undoneSteps(answer),
    ...evictSteps(answer, own),
    ...(queue.requeued ? parkedSteps(answer, own, requeued) : []),
  ];
}

/** After Assume: Unreserve in reverse order, and the cache forgets the pod. */
function undoneSteps(answer) {
  const told = toldOf(answer, "PointRan");
  const unreserved = answer.points.flatMap(({point}, place) => (point === "Unreserve" ? [told[place]] : []));
  const forgotten = answer.assume?.forgotten ? toldOf(answer, "Forgotten") : [];
  return [
    ...unreserved.map((each) => ({phase: "unreserve", ...each})),
    ...forgotten.map((each) => ({phase: "forget", ...each})),
  ];
}

function evictSteps({post_filter: found}, events) {
  const victims = victimsOf(found);
  const evicted = events.filter(({kind, object}) => EVICTIONS.includes(kind) && victims.includes(object));
  return evicted.map((event) => ({phase: "evict", event, at: event.at, seq: event.seq}));
}

/** The ids of the pods that have to go. */
export function victimsOf(found) {
  const chosen = found?.outcome.candidates.find(({node}) => node === found.outcome.node);
  return (chosen?.victims ?? []).map((pod) => `pod/${pod}`);
}

function parkedSteps(answer, events, {at, seq}) {
  const pod = `pod/${answer.pod}`;
  const nominated = events.find(({kind, object}) => kind === "PodNominated" && object === pod);
  const next = events.find(({kind, object}) => kind === "AttemptStarted" && object === pod);
  const isOwn = nominated && (!next || nominated.seq < next.seq);
  const moves = toldOf(answer, "Moved").slice(-answer.queue.after.length);
  return [
    {phase: "fail", at, seq},
    ...(isOwn ? [{phase: "nominate", at: nominated.at, seq: nominated.seq}] : []),
    ...[...waits(answer, moves), ...departures(answer, events, next)].toSorted((one, other) => one.seq - other.seq),
    ...(next ? [{phase: "again", event: next, at: next.at, seq: next.seq}] : []),
    ...lateDepartures(answer, events, next),
  ];
}

/** The pod goes from one place of the queue to another. */
function waits({queue}, moves) {
  return queue.after.flatMap(({place}, move) => (move > 0 && place ? [{phase: "wait", move, ...moves[move]}] : []));
}

/** Victims that are gone before the next attempt. */
function departures(answer, events, next) {
  const gone = goneOf(answer, events).filter(({seq}) => !next || seq < next.seq);
  return gone.map((event) => ({phase: "wait", event, at: event.at, seq: event.seq}));
}

/** Victims whose grace lasts longer than the pod waits for its next attempt, each with when it was evicted. */
function lateDepartures(answer, events, next) {
  const gone = goneOf(answer, events).filter(({seq}) => next && seq > next.seq);
  return gone.map((event) => {
    const evicted = events.find(({kind, object}) => kind === "PodEvicted" && object === event.object);
    return {phase: "leave", event, since: evicted?.at ?? null, at: event.at, seq: event.seq};
  });
}

/** The end of each victim; of a name that was taken again only the first. */
function goneOf({post_filter: found}, events) {
  return victimsOf(found).flatMap((victim) => {
    const gone = events.find(({kind, object}) => kind === "PodDeleted" && object === victim);
    return gone ? [gone] : [];
  });
}
