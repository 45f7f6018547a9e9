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
  const {claim, holder, mode, users} = binding;
  if (!claim) return [originOf(binding), unboundStep(binding), reclaimStep(binding)];
  const [provision, bind, use] = claimSteps(claim, holder, mode, users);
  return [
    {...provision, ...provisioned(binding, provision), parts: provisioningAttempts(binding)},
    {...bind, ...bound(binding, bind), parts: writesOf(binding)},
    {...use, ...used(binding), parts: []},
    reclaimStep(binding),
  ];
}

/** The events of a claim that belong to getting a volume: look and name of the row. */
const ATTEMPTS = {
  ClaimNodeSelected: ["done", "Node"],
  ClaimProvisionerSet: ["done", "Provisioner"],
  Provisioning: ["done", "Started"],
  ProvisioningFailed: ["failed", "Failed"],
  ProvisioningCleanupFailed: ["failed", "Failed"],
  VolumeMismatch: ["failed", "Mismatch"],
  FailedBinding: ["failed", "No volume"],
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
  if (made) return {what: `provisioned ${made.message}`.trim(), at: made.at, seq: made.seq};
  if (status !== "done") return {};
  const chosen =
    events.find(({kind, object}) => object === volumeId && kind === "VolumePreBound") ??
    events.find(({changes}) => changes?.[volumeId]?.claim || changes?.[claimId]?.volume);
  return {what: `not needed: ${parseId(volumeId).name} existed already`, at: chosen?.at, seq: chosen?.seq};
}

/** What the events add to the step Bind. */
function bound(binding, {status}) {
  const {state, events, claimId, volumeName} = binding;
  if (status === "done") {
    const last = events.findLast(({changes}) => changes?.[claimId]?.phase === "Bound");
    return {at: last?.at, seq: last?.seq};
  }
  if (state === "lost") return lost(binding);
  if (state !== "half") return {};
  if (hasLostVolume(binding)) return {what: `${volumeName} was deleted`, mark: "lost", family: "stuck"};
  const count = Object.values(doneWrites(binding)).filter(Boolean).length;
  return {what: `${count} of 4 writes done, two on each object`};
}

function lost({events, claimId, volume, volumeName}) {
  const event = events.findLast(({changes}) => changes?.[claimId]?.phase === "Lost");
  const what = volume
    ? `${volumeName} is ${volume.claim ? `bound to ${volume.claim}` : "not bound"}`
    : "the volume no longer exists";
  return {what, mark: "lost", family: "stuck", status: "now", at: event?.at, seq: event?.seq};
}

/** What the events add to the step Use. */
function used({users, events, state}) {
  const user = userOf(users);
  if (!user) return {};
  const [id, pod] = user;
  if (state === "lost" && !pod.node) return {what: `${parseId(id).name} waits for a deleted volume`};
  const lastChange = (test) => events.findLast(({changes}) => changes?.[id] && test(changes[id]));
  const last =
    pod.phase === "Running"
      ? lastChange(({phase}) => phase === "Running")
      : pod.node
        ? lastChange(({node}) => node)
        : null;
  return {at: last?.at, seq: last?.seq};
}

/** The step Provision of a volume without a claim: where the volume comes from. */
function originOf({events, volumeId}) {
  const made = events.find(({changes}) => changes?.[volumeId]);
  const what = made ? `${made.kind} by ${made.component}` : "existed before the run";
  return {...stepRow("done", "Provision", what), at: made?.at, seq: made?.seq};
}

/** The step Bind of a volume without a claim. */
function unboundStep(binding) {
  const {volume, claimKey} = binding;
  const isReserved = volume?.phase === "Available" || volume?.phase === "Pending";
  const what = !volume?.claim
    ? "not claimed yet"
    : isReserved
      ? `reserved for ${claimKey}, which does not exist`
      : `${claimKey} was deleted`;
  return stepRow("todo", "Bind", what, writesOf(binding));
}
