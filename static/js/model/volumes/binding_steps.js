import {gettext} from "../../lib/words.js";
import {parseId} from "../shared/format.js";
import {isTerminating} from "../shared/terminating.js";
import {doneWrites, writesOf} from "./bind_writes.js";
import {hasLostVolume} from "./binding.js";
import {claimSteps, unsettled, userOf} from "./claims.js";
import {reclaimStep} from "./reclaim_step.js";
import {appendRow, newestRows, stepRow} from "./step_rows.js";

/**
 * The steps Provision → Bind → Use → Reclaim as rows (see step_rows.js); the `parts` of a step are its
 * attempts or writes, as rows too. A step that has not happened has no `at` and no `seq`.
 */
export function stepsOf(binding) {
  const steps = allSteps(binding);
  if (!isTerminating(binding.claim) && !isTerminating(binding.volume)) return steps;
  return steps.map((step) => ({...unsettled(step), parts: step.parts.map(unsettled)}));
}

function allSteps(binding) {
  const {claim} = binding;
  if (!claim) return stepsWithoutClaim(binding);
  const [provision, bind, use] = claimSteps(claim, binding);
  return [
    {...provision, ...provisioned(binding, provision), parts: provisioningAttempts(binding)},
    {...bind, ...bound(binding, bind), parts: writesOf(binding)},
    {...use, ...used(binding), parts: []},
    reclaimStep(binding),
  ];
}

/** The steps of a volume without a claim, or of a claim that is not in the cluster; without a history none. */
function stepsWithoutClaim(binding) {
  const {claimId, claimKey, volumeId, volume} = binding;
  if (volume || wasDeleted(binding, volumeId)) return [originOf(binding), unboundStep(binding), reclaimStep(binding)];
  if (wasDeleted(binding, claimId))
    return [stepRow("todo", "Bind", gettext("{claimKey} was deleted", {claimKey}), writesOf(binding))];
  return [];
}

function wasDeleted({events}, id) {
  return id !== null && events.some(({changes}) => changes?.[id] === null);
}

/** The events of a claim that belong to getting a volume: look and name of the row. */
const ATTEMPTS = {
  ClaimNodeSelected: ["done", "Node"],
  ClaimProvisionerSet: ["done", gettext("Provisioner")],
  Provisioning: ["done", gettext("Started")],
  ProvisioningFailed: ["failed", "Failed"],
  ProvisioningCleanupFailed: ["failed", "Failed"],
  VolumeMismatch: ["failed", gettext("Mismatch")],
  FailedBinding: ["failed", gettext("No volume")],
};

function provisioningAttempts({events, claimId}) {
  const rows = [];
  for (const {kind, object, message, at, seq} of events) {
    if (object !== claimId || !(kind in ATTEMPTS)) continue;
    const [look, name] = ATTEMPTS[kind];
    appendRow(rows, {...stepRow(look, name, message), kind, at, seq});
  }
  return newestRows(rows);
}

/** What the events add to the step Provision. */
function provisioned({events, volumeId, claimId}, {status}) {
  const made = events.find(({kind, object}) => kind === "VolumeProvisioned" && object === volumeId);
  if (made) return {what: gettext("provisioned {message}", {message: made.message}).trim(), at: made.at, seq: made.seq};
  if (status !== "done") return {};
  const chosen =
    events.find(({kind, object}) => object === volumeId && kind === "VolumePreBound") ??
    events.find(({changes}) => changes?.[volumeId]?.claim || changes?.[claimId]?.volume);
  return {
    what: gettext("not needed: {name} existed already", {name: parseId(volumeId).name}),
    at: chosen?.at,
    seq: chosen?.seq,
  };
}

/** What the events add to the step Bind. */
function bound(binding, {status}) {
  const {state, events, claimId} = binding;
  if (status === "done") {
    return timed(events.findLast(({changes}) => changes?.[claimId]?.phase === "Bound"));
  }
  if (state === "lost") return timed(events.findLast(({changes}) => changes?.[claimId]?.phase === "Lost"));
  if (state !== "half" || hasLostVolume(binding)) return {};
  const done = Object.values(doneWrites(binding)).filter(Boolean).length;
  return {what: gettext("{done} of 4 writes done, two on each object", {done})};
}

/** What the events add to the step Use. */
function used({users, events}) {
  const user = userOf(users);
  if (!user) return {};
  const [id, pod] = user;
  const lastChange = (test) => events.findLast(({changes}) => changes?.[id] && test(changes[id]));
  const last =
    pod.phase === "Running"
      ? lastChange(({phase}) => phase === "Running")
      : pod.node
        ? lastChange(({node}) => node)
        : null;
  return timed(last);
}

/** The time of an event, if there is one. */
function timed(event) {
  return {at: event?.at, seq: event?.seq};
}

/** The step Provision of a volume without a claim: where the volume comes from. */
function originOf({events, volumeId}) {
  const made = events.find(({changes}) => changes?.[volumeId]);
  const what = made
    ? gettext("{kind} by {component}", {kind: made.kind, component: made.component})
    : gettext("existed before the run");
  return {...stepRow("done", gettext("Provision"), what), at: made?.at, seq: made?.seq};
}

/** The step Bind of a volume without a claim. */
function unboundStep(binding) {
  const {volume, claimKey} = binding;
  const isReserved = volume?.phase === "Available" || volume?.phase === "Pending";
  const what = !volume?.claim
    ? gettext("not claimed yet")
    : isReserved
      ? gettext("reserved for {claimKey}, which does not exist", {claimKey})
      : gettext("{claimKey} was deleted", {claimKey});
  return stepRow("todo", "Bind", what, writesOf(binding));
}
