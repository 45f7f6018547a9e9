import {machineOf, movesOf} from "../machines/machines.js";
import {bytes, duration, moment, parseId} from "../shared/format.js";
import {claimState, claimSteps, userOf} from "./claims.js";
import {isTerminating, terminatingWords} from "./terminating.js";

/** The four writes of a bind, in the order in which the PV controller makes them. */
const WRITES = [
  {key: "ref", name: "PV write", todo: ({claimKey}) => `spec.claimRef = ${claimKey}`},
  {key: "volumePhase", name: "PV status", todo: () => "phase Bound"},
  {key: "name", name: "PVC write", todo: ({volumeName}) => `spec.volumeName = ${volumeName}`},
  {key: "claimPhase", name: "PVC status", todo: () => "phase Bound"},
];
/** How many events of a step are listed; of more the newest. */
const LISTED = 8;

/**
 * A claim and its volume at one event. `events` are those of the claim, the
 * volume and the pod, oldest first, up to that event; each object is undefined while it is not there.
 */
export function bindingOf({claimId, claim, volumeId, volume, holder, mode, storageClass, users, events, at}) {
  const claimKey = claimId && parseId(claimId).key;
  const volumeName = volumeId && parseId(volumeId).name;
  const state = claim ? claimState(claim, holder, mode) : null;
  const binding = {
    claimId,
    claim,
    claimKey,
    volumeId,
    volume,
    volumeName,
    holder,
    mode,
    storageClass,
    users,
    events,
    at,
    state,
  };
  return {...binding, since: sinceOf(binding)};
}

/** Events of several objects as one list, oldest first, up to an event. */
export function mergedUpTo(seq, ...lists) {
  return lists
    .flat()
    .filter((event) => event.seq <= seq)
    .sort((a, b) => a.seq - b.seq);
}

/** When the claim, else the volume, came into the state it is in, as far as is known. */
function sinceOf({claim, claimId, claimKey, volume, volumeId, events, state}) {
  if (state === "half") {
    // The volume may be the one that began it.
    const names = ({changes}) =>
      changes?.[claimId]?.volume ||
      (claimKey && changes?.[volumeId]?.claim === claimKey) ||
      changes?.[volumeId] === null;
    return events.findLast(names)?.at ?? null;
  }
  const [kind, id] = claim ? ["claim", claimId] : volume ? ["volume", volumeId] : [null, null];
  if (!kind) return null;
  const own = events.filter(({object}) => object === id);
  return movesOf(machineOf(kind), id, own, Infinity).at(-1)?.at ?? null;
}

/**
 * The steps Provision → Bind → Use → Reclaim, each {name, status, mark, family, what, at, seq, parts};
 * `parts` are the writes and tries of a step, of the same shape. What has not happened has no `at`.
 */
export function stepsOf(binding) {
  const {claim, holder, mode, users} = binding;
  if (!claim) return [madeStep(binding), idleStep(binding), reclaimStep(binding)];
  const [provision, bind, use] = claimSteps(claim, holder, mode, users);
  return [
    {...provision, ...provisionTold(binding, provision), parts: triesOf(binding)},
    {...bind, ...bindTold(binding, bind), parts: writesOf(binding)},
    {...use, ...useTold(binding), parts: []},
    reclaimStep(binding),
  ];
}

/** The writes of a bind: those that were made or refused as they came, then those yet to be made. */
export function writesOf(binding) {
  const rows = [];
  const made = new Map();
  for (const event of binding.events) {
    for (const part of partsOf(event, binding)) {
      add(rows, {...part, at: event.at, seq: event.seq, kind: event.kind});
      made.set(part.key, true);
    }
  }
  const done = doneWrites(binding);
  if (!binding.claim || binding.state === "lost" || isForsaken(binding) || !binding.volumeId) return newest(rows);
  const todo = WRITES.filter(({key}) => !done[key]).map((write) => ({
    name: write.name,
    status: "todo",
    mark: "available",
    family: "held",
    what: write.todo(binding),
    parts: [],
  }));
  const untold = WRITES.filter(({key}) => done[key] && !made.has(key)).map((write) => ({
    name: write.name,
    status: "done",
    mark: "vbound",
    family: "settled",
    what: write.todo(binding),
    parts: [],
  }));
  return [...untold, ...newest(rows), ...todo];
}

/** Whether the volume of a bound claim was deleted and the claim is not marked Lost yet. */
function isForsaken({claim, volume, volumeName}) {
  return Boolean(claim?.completed) && claim.volume === volumeName && !volume;
}

/** Which of the four writes hold, by their key. */
function doneWrites({claim, claimKey, volume, volumeName}) {
  return {
    ref: volume?.claim === claimKey,
    volumePhase: volume?.phase === "Bound",
    name: claim?.volume === volumeName,
    claimPhase: claim?.phase === "Bound",
  };
}

function partsOf(event, {claimId, claimKey, volumeId, volumeName}) {
  const {kind, message, object, changes} = event;
  const result = (key, what) => ({
    key,
    name: WRITES.find((write) => write.key === key).name,
    status: "done",
    mark: "vbound",
    family: "settled",
    what,
    parts: [],
  });
  const failed = (name, what) => ({
    key: "",
    name,
    status: "now fail",
    mark: "failed",
    family: "stuck",
    what,
    parts: [],
  });
  if (kind === "WriteRefused") {
    if (object === volumeId) return [failed("PV write", message)];
    return object === claimId ? [failed("PVC write", message)] : [];
  }
  const found = [];
  const volume = volumeId ? changes?.[volumeId] : undefined;
  const claim = claimId ? changes?.[claimId] : undefined;
  if (volume === null) found.push(failed("PV gone", `${volumeName} is gone`));
  else if (volume?.claim === null) found.push(failed("PV write", message || "spec.claimRef taken away"));
  else if (volume?.claim !== undefined && volume.claim === claimKey)
    found.push(result("ref", `spec.claimRef = ${claimKey}`));
  else if (kind === "VolumePreBound" && object === volumeId)
    found.push(result("ref", "spec.claimRef with the claim's uid"));
  if (volume?.phase === "Bound") found.push(result("volumePhase", "phase Bound"));
  if (claim === null) found.push(failed("PVC gone", `${claimKey} is gone`));
  if (claim?.volume) found.push(result("name", `spec.volumeName = ${claim.volume}`));
  if (claim?.phase === "Bound") found.push(result("claimPhase", "phase Bound"));
  if (claim?.phase === "Lost") found.push(failed("PVC status", message || "phase Lost"));
  return found;
}

const TRIES = {
  ClaimNodeSelected: ["Node", "done", "vbound", "settled"],
  ClaimProvisionerSet: ["Provisioner", "done", "vbound", "settled"],
  Provisioning: ["Started", "done", "vbound", "settled"],
  ProvisioningFailed: ["Failed", "now fail", "failed", "stuck"],
  ProvisioningCleanupFailed: ["Failed", "now fail", "failed", "stuck"],
  VolumeMismatch: ["Mismatch", "now fail", "failed", "stuck"],
  FailedBinding: ["No volume", "now fail", "failed", "stuck"],
};

/** What was tried to get a volume. */
function triesOf({events, claimId}) {
  const rows = [];
  for (const {kind, object, message, at, seq} of events) {
    const look = object === claimId && TRIES[kind];
    if (!look) continue;
    const [name, status, mark, family] = look;
    add(rows, {name, status, mark, family, kind, at, seq, parts: [], what: message});
  }
  return newest(rows);
}

/** Append a row; a repetition of the last row replaces it and counts how often it happened. */
function add(rows, row) {
  const last = rows.at(-1);
  const again = last?.kind === row.kind && last.name === row.name && last.what === row.what;
  if (again) rows.pop();
  rows.push({...row, times: again ? last.times + 1 : 1});
}

function newest(rows) {
  if (rows.length <= LISTED) return rows;
  const left = rows.length - LISTED;
  const note = {
    name: "",
    status: "done",
    mark: "vbound",
    family: "held",
    what: `${left} earlier, in the timeline`,
    parts: [],
  };
  return [note, ...rows.slice(-LISTED)];
}

function provisionTold({events, volumeId, claimId}, {status}) {
  const made = events.find(({kind, object}) => kind === "VolumeProvisioned" && object === volumeId);
  if (made) return {what: `provisioned ${made.message}`.trim(), at: made.at, seq: made.seq};
  if (status !== "done") return {};
  const chosen =
    events.find(({kind, object}) => object === volumeId && kind === "VolumePreBound") ??
    events.find(({changes}) => changes?.[volumeId]?.claim || changes?.[claimId]?.volume);
  return {what: `not needed: ${parseId(volumeId).name} existed already`, at: chosen?.at, seq: chosen?.seq};
}

function bindTold(binding, {status}) {
  const {state, events, claimId, volume, volumeName} = binding;
  if (status === "done") {
    const last = events.findLast(({changes}) => changes?.[claimId]?.phase === "Bound");
    return {at: last?.at, seq: last?.seq};
  }
  if (state === "lost") {
    const lost = events.findLast(({changes}) => changes?.[claimId]?.phase === "Lost");
    const what = volume
      ? `${volumeName} is ${volume.claim ? `bound to ${volume.claim}` : "not bound"}`
      : "the volume no longer exists";
    return {what, mark: "lost", family: "stuck", status: "now", at: lost?.at, seq: lost?.seq};
  }
  if (state !== "half") return {};
  if (isForsaken(binding)) return {what: `${volumeName} is gone`, mark: "lost", family: "stuck"};
  const count = Object.values(doneWrites(binding)).filter(Boolean).length;
  return {what: `${count} of 4 writes done, two on each object`};
}

function useTold({users, events, state}) {
  const user = userOf(users);
  if (!user) return {};
  const [id, pod] = user;
  if (state === "lost" && !pod.node) return {what: `${parseId(id).name} waits for a deleted volume`};
  const patched = (test) => events.findLast(({changes}) => changes?.[id] && test(changes[id]));
  const last =
    pod.phase === "Running" ? patched(({phase}) => phase === "Running") : pod.node ? patched(({node}) => node) : null;
  return {at: last?.at, seq: last?.seq};
}

/** Of a volume that no claim is bound to: how it came to be. */
function madeStep({events, volumeId}) {
  const made = events.find(({changes}) => changes?.[volumeId]);
  return {
    name: "Provision",
    status: "done",
    mark: "vbound",
    family: "settled",
    parts: [],
    at: made?.at,
    seq: made?.seq,
    what: made ? `${made.kind} by ${made.component}` : "existed before the run",
  };
}

function idleStep(binding) {
  const {volume, claimKey} = binding;
  const step = (what) => ({
    name: "Bind",
    status: "todo",
    mark: "available",
    family: "held",
    what,
    parts: writesOf(binding),
  });
  if (!volume?.claim) return step("not claimed yet");
  return step(
    volume.phase === "Available" || volume.phase === "Pending"
      ? `reserved for ${claimKey}, which does not exist`
      : `${claimKey} is gone`,
  );
}

const KEPT = {
  Retain: "Retain: the volume will be kept, in phase Released",
  Delete: "Delete: the volume will be deleted after its claim",
  Recycle: "Recycle: the volume will be erased and become Available",
};

/** What becomes, or has become, of the volume when its claim is gone. */
function reclaimStep({volume, volumeName, storageClass, events, volumeId}) {
  const step = (status, mark, family, what, event) => ({
    name: "Reclaim",
    status,
    mark,
    family,
    what,
    parts: [],
    at: event?.at,
    seq: event?.seq,
  });
  const last = (test) => events.findLast(({changes}) => volumeId && test(changes?.[volumeId]));
  if (!volume) {
    const gone = last((patch) => patch === null);
    if (gone) return step("done", "lost", "held", `${volumeName} is deleted`, gone);
    const policy = storageClass?.reclaim;
    return step("todo", "available", "held", policy ? `its class has the policy ${policy}` : "no volume yet");
  }
  const {phase, reclaim, deleting} = volume;
  const now = last((patch) => patch?.phase === phase);
  if (phase === "Failed")
    return step("now", "failed", "stuck", `${reclaim} failed${now?.message ? `: ${now.message}` : ""}`, now);
  if (deleting !== undefined)
    return step(
      "now",
      "in-flight",
      "working",
      "deletion in progress",
      last((patch) => patch?.deleting !== undefined),
    );
  if (phase !== "Released") return step("todo", "available", "held", KEPT[reclaim] ?? reclaim ?? "");
  if (reclaim === "Retain")
    return step("done", "released", "held", "Retain: stays Released until its claimRef is removed", now);
  return step("now", "in-flight", "working", `${reclaim}: in progress`, now);
}

/**
 * The answer about a claim: {family, sentence, figure: {value, words} | null, fixes}. `nearest` is the
 * verdict on the volume that comes closest to fitting, if that is known; `who` is what the claim is called.
 */
export function claimAnswer(binding, nearest, who = "this claim") {
  const result = (family, sentence, figure = null, fixes = []) => ({family, sentence, figure, fixes});
  const {state, claim, volume, volumeName, users, mode} = binding;
  const waited = waitedFor(binding);
  if (!claim) return result("held", `Claim ${binding.claimKey} is not in the cluster at this moment.`);
  if (isTerminating(claim)) {
    const bound = state === "bound" ? ` It is still bound to ${volumeName}.` : "";
    return result("stuck", `${terminatingWords(claim, binding)}${bound}`);
  }
  if (state === "bound")
    return result("settled", `Bound to ${volumeName}: claim and volume refer to each other.`, roomOf(claim, volume));
  if (state === "lost") return lostAnswer(binding, result, waited);
  if (state === "half") return halfAnswer(binding, result, waited, who);
  if (state === "provisioning") {
    const by = binding.storageClass?.provisioner ?? "its provisioner";
    return result(
      "clock",
      `Waiting for ${by} to provision ${bytes(claim.request ?? 0)} for ${claim.selected_node}${failure(binding)}.`,
      waited,
    );
  }
  if (state === "waiting") {
    const user = userOf(users);
    if (!user)
      return result(
        "clock",
        `Waiting for its first consumer: class ${claim.class} binds a claim when a pod that uses it is scheduled, and no pod uses this claim.`,
        waited,
      );
    const why = user[1].blocker?.short;
    return result(
      "clock",
      `Waiting for pod ${parseId(user[0]).name} to be scheduled${why ? ` (currently: ${why})` : ""}.`,
      waited,
    );
  }
  if (!claim.class) return result("clock", "The claim has no class, and no volume without a class fits.", waited);
  if (!binding.storageClass && !mode)
    return result(
      "stuck",
      `No volume fits, and none is provisioned because class ${claim.class} does not exist.`,
      waited,
    );
  const closest = nearest ? `; the closest is ${nearest.volume}: ${nearest.text}` : "";
  return result("clock", `No volume fits${closest || failure(binding)}.`, waited);
}

function halfAnswer(binding, result, waited, who) {
  const {claim, claimKey, volume, volumeName, holder, volumeId} = binding;
  if (isForsaken(binding))
    return result("stuck", `Its volume ${volumeName} was deleted; the claim is not marked Lost yet.`);
  if (!volume)
    return result("promised", `The claim's volumeName is ${volumeName}, but that volume does not exist.`, waited);
  if (claim.volume && holder !== claim.volume) {
    const other = volume.claim;
    return result(
      "promised",
      `The claim's volumeName is ${volumeName}, but ${other ? `that volume is reserved for ${other}` : "the volume's claimRef is not set yet"}${refusal(binding)}.`,
      waited,
    );
  }
  const short = (claim.request ?? 0) - (volume.capacity ?? 0);
  if (!claim.volume && short > 0) {
    const figure = {
      value: bytes(short),
      words: `too small: ${bytes(volume.capacity ?? 0)} for a request of ${bytes(claim.request)}`,
    };
    const text = `Increase ${volumeName} to ${bytes(claim.request)}`;
    const grown = {spec: {capacity: {storage: String(claim.request)}}};
    return result("promised", `${volumeName} is reserved for ${who}, but is too small for it.`, figure, [
      {text, object: volumeId, patch: grown},
    ]);
  }
  if (!claim.volume)
    return result(
      "promised",
      `${volumeName} is reserved for ${who}, but the claim's volumeName is not set yet${refusal(binding)}.`,
      waited,
    );
  const missing =
    volume.phase === "Bound"
      ? `the claim's phase is still ${claim.phase}`
      : `the phase of ${volumeName} is still ${volume.phase}`;
  return result(
    "promised",
    `${claimKey} and ${volumeName} refer to each other, but ${missing}${refusal(binding)}.`,
    waited,
  );
}

function lostAnswer(binding, result, waited) {
  const {volume, volumeName, claimKey} = binding;
  const gone = binding.events.findLast(({changes}) => changes?.[binding.volumeId] === null);
  const again = {text: `Delete and recreate ${claimKey}: a Lost claim never gets another volume`};
  if (volume) {
    const by = volume.claim ? `bound to ${volume.claim}` : "not bound";
    return result("stuck", `Lost: it was bound to ${volumeName}, which is now ${by}.`, waited, [again]);
  }
  const when = gone ? `was deleted at ${moment(gone.at)} s` : "is not in the cluster";
  const subject = volumeName ? `its volume ${volumeName}` : "its volume";
  const back = {text: `Create ${volumeName} again without a claimRef: the claim is then bound to it again`};
  return result("stuck", `Lost: ${subject} ${when}.`, waited, volumeName ? [back, again] : [again]);
}

/** ": a write was refused 3.40 s ago", where nothing was written since. */
function refusal({events, claimId, volumeId, at}) {
  const last = events.findLast(
    ({kind, object, changes}) => (object === claimId || object === volumeId) && (changes || kind === "WriteRefused"),
  );
  return last?.kind === "WriteRefused" ? `: a write was rejected ${duration(at - last.at)} ago` : "";
}

function failure({events, claimId}) {
  const failed = events.findLast(({kind, object}) => kind === "ProvisioningFailed" && object === claimId);
  return failed ? `: ${failed.message}` : "";
}

function waitedFor({since, at, state}) {
  if (since === null) return null;
  const words = {half: "half-bound", lost: "since it became Lost"}[state] ?? "waited";
  return {value: duration(at - since), words};
}

/** How much room the claim has got for what it asked: "20 Gi for 10 Gi asked, 10 Gi more". */
function roomOf({request}, volume) {
  if (!request || !volume?.capacity) return null;
  const more = volume.capacity - request;
  const rest = more > 0 ? `, ${bytes(more)} more` : more < 0 ? `, ${bytes(-more)} less` : "";
  return {value: bytes(volume.capacity), words: `for a request of ${bytes(request)}${rest}`};
}

/** The answer about a volume, of the same shape. */
export function volumeAnswer(binding) {
  const result = (family, sentence, figure = null, fixes = []) => ({family, sentence, figure, fixes});
  const {volume, volumeName, claim, claimKey, at, since, events, volumeId} = binding;
  const lasted =
    since === null || !volume
      ? null
      : {
          value: duration(at - since),
          words: volume.phase === "Available" ? "reserved" : `since it became ${volume.phase}`,
        };
  if (!volume) {
    const gone = events.findLast(({changes}) => changes?.[volumeId] === null);
    return result(
      "held",
      `${volumeName} ${gone ? `was deleted at ${moment(gone.at)} s` : "is not in the cluster at this moment"}.`,
    );
  }
  if (isTerminating(volume))
    return result(
      "stuck",
      terminatingWords(volume, {at, claimKey: claim && claim.volume === volumeName ? claimKey : ""}),
    );
  if (volume.phase === "Failed")
    return result("stuck", `Failed: its claim ${claimKey} was deleted, and reclaiming the volume failed.`, lasted);
  if (volume.phase === "Released") {
    const free = {
      text: `Remove the claimRef of ${volumeName} to make it Available again`,
      object: volumeId,
      patch: {spec: {claimRef: null}},
    };
    return volume.reclaim === "Retain"
      ? result(
          "held",
          `Released: its claim ${claimKey} was deleted; the volume keeps its data and no other claim can bind to it.`,
          lasted,
          [free],
        )
      : result("held", `Released: its claim ${claimKey} was deleted; ${volume.reclaim} comes next.`, lasted);
  }
  if (!volume.claim)
    return result(
      "ready",
      `${volume.phase}: any claim of class ${volume.class ?? "none"} that requests at most ${bytes(volume.capacity ?? 0)} can bind to it.`,
      {value: bytes(volume.capacity ?? 0), words: "free"},
    );
  if (!claim) return result("promised", `Reserved for ${claimKey}, but that claim does not exist.`, lasted);
  if (claim.volume && claim.volume !== volumeName)
    return result("stuck", `Reserved for ${claimKey}, but that claim's volumeName is ${claim.volume}.`, lasted);
  const answer = claimAnswer(binding, null, claimKey);
  if (isTerminating(claim))
    return result(
      "stuck",
      `${volumeName} is ${volume.phase}; its claim ${claimKey} is being deleted. ${answer.sentence}`,
    );
  return binding.state === "bound"
    ? {...answer, sentence: `Bound to ${claimKey}: claim and volume refer to each other.`}
    : answer;
}
