/** The steps from Assume to the confirmed binding. */
import {toldOf} from "./told.js";

/** Who else writes while volumes are bound, and with which events. */
const WRITES = ["VolumePreBound", "VolumeProvisioned", "VolumeBound", "ClaimBindCompleted", "ClaimBound"];

/** The steps of v1.11's rounds, and of Assume up to PostBind. */
export function bindingSteps(answer, events) {
  return [...roundSteps(answer), ...assumeSteps(answer, events), ...boundSteps(answer, events)];
}

/** v1.11: the pod enters the BindQueue, and its round ends. */
function roundSteps(answer) {
  const told = toldOf(answer, "RoundMade");
  return answer.rounds.map((_, round) => ({phase: "bindqueue", round, ...told[round]}));
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
    ...(answer.rounds.length === 0 ? [{phase: "permit", ...now}] : []),
  ];
}

/** What is done beside the next cycles, in the order of time. */
function boundSteps(answer, events) {
  const waits = toldOf(answer, "PointRan").flatMap((told, place) =>
    answer.points[place]?.point === "Permit" && answer.points[place].code === "Wait" ? [told] : [],
  );
  const permitted = waits.map((told) => ({phase: "waitonpermit", ...told}));
  return [...permitted, ...prebindSteps(answer, events), ...lastSteps(answer, events)];
}

function prebindSteps(answer, events) {
  const own = ownObjects(answer);
  const writes = events.filter(({kind, object}) => WRITES.includes(kind) && own.has(object));
  const looks = toldOf(answer, "VolumesLooked").map((told, look) => ({phase: "prebind", look, ...told}));
  const written = writes.map((event) => ({phase: "prebind", event, at: event.at, seq: event.seq}));
  return [...written, ...looks].toSorted((one, other) => one.seq - other.seq || one.at - other.at);
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
