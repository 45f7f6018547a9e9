/** The steps from Assume to the confirmed binding. */
import {hasBindQueue} from "../inside/cycle.js";
import {toldOf} from "./told.js";

/** Who else writes while volumes are bound, and with which events. */
const WRITES = ["VolumePreBound", "VolumeProvisioned", "VolumeBound", "ClaimBindCompleted", "ClaimBound"];

/** The steps of v1.11's rounds, and of Assume up to PostBind. */
export function bindingSteps(answer, events) {
  const rounds = roundSteps(answer, events);
  return [...rounds, ...assumeSteps(answer, events), ...boundSteps(answer, rounds.length > 0 ? [] : events, events)];
}

/** v1.11: the pod enters the BindQueue, its volumes are written, and its round ends. */
function roundSteps(answer, events) {
  const told = toldOf(answer, "RoundMade");
  if (told.length === 0) return [];
  const made = answer.rounds.map((_, round) => ({phase: "bindqueue", round, ...told[round]}));
  return inOrder([...made, ...writeSteps(answer, events, "bindqueue")]);
}

/** The writes of the binding, by whom ever. */
function writeSteps(answer, events, phase) {
  const own = ownObjects(answer);
  return events
    .filter(({kind, object}) => WRITES.includes(kind) && own.has(object))
    .map((event) => ({phase, event, at: event.at, seq: event.seq}));
}

function inOrder(steps) {
  return steps.toSorted((one, other) => one.seq - other.seq || one.at - other.at);
}

function assumeSteps(answer, events) {
  const [assumed] = toldOf(answer, "Assumed");
  if (!assumed) return [];
  const {seq} = events.find(({kind, object}) => kind === "PodAssumed" && object === `pod/${answer.pod}`) ?? assumed;
  const now = {at: assumed.at, seq};
  const reserves = answer.volumes?.assumed.length > 0 || answer.points.some(({point}) => point === "Reserve");
  const [written] = toldOf(answer, "VolumesWritten");
  // Without rounds the pod is assumed before its volumes.
  const isEarly = written !== undefined && written.seq < seq;
  return [
    {phase: "assume", ...now},
    ...(reserves && !isEarly ? [{phase: "reserve", ...now}] : []),
    ...(hasBindQueue(answer) ? [] : [{phase: "permit", ...now}]),
  ];
}

/** What is done beside the next cycles, in the order of time. */
function boundSteps(answer, writes, events) {
  const waits = toldOf(answer, "PointRan").flatMap((told, place) =>
    answer.points[place]?.point === "Permit" && answer.points[place].code === "Wait" ? [told] : [],
  );
  const permitted = waits.map((told) => ({phase: "waitonpermit", ...told}));
  return [...permitted, ...prebindSteps(answer, writes), ...lastSteps(answer, events)];
}

function prebindSteps(answer, events) {
  const looks = toldOf(answer, "VolumesLooked").map((told, look) => ({phase: "prebind", look, ...told}));
  return inOrder([...writeSteps(answer, events, "prebind"), ...looks]);
}

/** The claims and volumes that the binding is about. */
function ownObjects({volumes}) {
  const caches = (volumes?.assumed ?? []).flatMap((each) => each.caches);
  const provisioned = (volumes?.assumed ?? []).flatMap(({provision}) => provision.map((claim) => `claim/${claim}`));
  return new Set([...caches.map(({kind, name}) => `${kind}/${name}`), ...provisioned]);
}

function lastSteps(answer, events) {
  const [bound] = toldOf(answer, "Bound");
  if (!bound) return [];
  const confirmed = events.find(
    ({kind, object, seq}) => kind === "PodConfirmed" && object === `pod/${answer.pod}` && seq > bound.seq,
  );
  const last = confirmed ? [{phase: "postbind", at: confirmed.at, seq: confirmed.seq}] : [];
  return [{phase: "bind", ...bound}, ...last];
}
