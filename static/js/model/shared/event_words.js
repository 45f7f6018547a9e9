/** What an event says to people. Most have a message; the others get a text by their kind. */
import {gettext} from "../../lib/words.js";
import {parseId} from "./format.js";

const UID = /\bpod [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/;
const EVICTIONS = new Set(["PodEvicted", "PodDisrupted", "Preempted"]);

const TEXTS = {
  AssumptionExpired: gettext("the scheduler no longer counts on the node it had assumed"),
  AttemptStarted: gettext("the scheduler takes it from the queue"),
  CacheMoveRefused: gettext("the scheduler's cache refuses the move"),
  ClaimBindCompleted: gettext("the claim names its volume"),
  ClaimBound: gettext("the claim is bound"),
  ClaimExpanded: gettext("the claim was expanded"),
  ClaimFileSystemResizePending: gettext("the file system grows when a node mounts it"),
  ClaimLost: gettext("the claim has lost its volume"),
  ClaimNodeSelected: gettext("the scheduler notes the node for which a volume is to be made"),
  ClaimPhaseLost: gettext("the phase of the claim is Lost"),
  ClaimUseChanged: gettext("whether any pod names the claim has changed"),
  ClaimProtectionChanged: gettext("the finalizer that protects the claim was set or removed"),
  ClaimProvisionerSet: gettext("the claim names who is to make its volume"),
  ClaimRescheduled: gettext("the claim waits for another node"),
  ClaimResized: gettext("the claim has its new size"),
  ClaimResizerSet: gettext("the claim names who is to resize its volume"),
  ClaimResizing: gettext("the volume of the claim is being resized"),
  CommandRejected: gettext("the command was rejected"),
  ComponentFailed: gettext("a component of the simulation failed and began anew"),
  ControllerRestarted: gettext("the controller restarts"),
  DeviceMounted: gettext("the device of the volume is mounted"),
  DeviceUnmounted: gettext("the device of the volume is unmounted"),
  ExtenderCalled: gettext("the scheduler called an extender"),
  FaultInjected: gettext("a fault was injected"),
  FieldsLeftOut: gettext("fields were left out"),
  KubeletStarted: gettext("the kubelet starts"),
  KubeletStopped: gettext("the kubelet stops"),
  LeaseAcquired: gettext("it leads now"),
  LeaseRenewed: gettext("it goes on leading"),
  MountsLost: gettext("the node has lost its mounts"),
  NodeCordoned: gettext("no new pods are placed here"),
  NodeDied: gettext("the node has lost its power"),
  NodeLeaseExpired: gettext("the node's lease has run out"),
  NodeStatusReported: gettext("the kubelet reports the status of the node"),
  NodeStatusUnknown: gettext("the node has not reported its status for too long"),
  NodeTainted: gettext("the node got a taint"),
  NodeUncordoned: gettext("pods may be placed here again"),
  NodeUntainted: gettext("a taint of the node was removed"),
  NodeVolumesAttachedReported: gettext("the node's status says which volumes are attached"),
  NodeVolumesInUseReported: gettext("the kubelet reports which volumes are in use"),
  NominationCleared: gettext("it is nominated to no node any more"),
  NotModelled: gettext("kscope does not model this"),
  PermitDenied: gettext("a plugin denied to bind it"),
  PermitGranted: gettext("every plugin permits to bind it"),
  PluginsRan: gettext("the plugins of the attempt ran"),
  PodAssumed: gettext("the scheduler counts it on its node"),
  PodBackedOff: gettext("it waits in backoff"),
  PodBound: gettext("it is bound to its node"),
  PodConditionUpdated: gettext("its conditions say how the attempt ended"),
  PodConfirmed: gettext("the scheduler sees it on its node"),
  PodContainersChanged: gettext("its containers have changed"),
  PodDequeued: gettext("it left the queue"),
  PodDisrupted: gettext("its condition says that it is going to be disrupted"),
  PodDisruptionBudgetUsed: gettext("the budget allows one disruption less"),
  PodEvicted: gettext("it has to leave its node"),
  PodFailed: gettext("it failed"),
  PodForgotten: gettext("the scheduler no longer counts it on its node"),
  PodGated: gettext("it waits until its scheduling gates are removed"),
  PodGroupConditionUpdated: gettext("the conditions of its group say how the attempt ended"),
  PodLost: gettext("its node was lost"),
  PodNominated: gettext("it is nominated to a node, where room is made for it"),
  PodNotReady: gettext("it is not ready"),
  PodNotStarted: gettext("its containers cannot start"),
  PodObserved: gettext("the scheduler sees it"),
  PodParked: gettext("it waits until something changes"),
  PodQueued: gettext("it is in the queue"),
  PodRejected: gettext("the kubelet refuses it"),
  PodReleased: gettext("its room on the node is free"),
  PodResizeCompleted: gettext("its containers have their new resources"),
  PodResizeDeferred: gettext("its new resources have to wait"),
  PodResizeInfeasible: gettext("its node can never give it the new resources"),
  PodResizeStarted: gettext("its containers are being resized"),
  PodResizeWithdrawn: gettext("it is no longer to be resized"),
  PodResized: gettext("its resources were changed"),
  PodRunning: gettext("it runs"),
  PodSucceeded: gettext("its containers have ended well"),
  PodsActivated: gettext("pods were put into the active queue"),
  ReplicaSetScaled: gettext("the number of replicas was changed"),
  ResourceClaimAllocated: gettext("devices were allocated to the claim"),
  ResourceClaimDeallocated: gettext("the devices of the claim are free again"),
  ResourceClaimDevicesFailed: gettext("the devices of the claim failed"),
  ResourceClaimDevicesReady: gettext("the devices of the claim are ready"),
  ResourceQuotaUsed: gettext("the quota was charged"),
  RunCreated: gettext("the run begins"),
  SchedulerStarted: gettext("the scheduler starts"),
  SchedulerStopped: gettext("the scheduler stops"),
  ShadowDecision: gettext("kscope's own scheduler decided beside the external one"),
  ShadowWrite: gettext("kscope's own controller was asked what it would have written"),
  VolumeAttached: gettext("the volume is attached"),
  VolumeAttachmentAttached: gettext("the driver has attached the volume"),
  VolumeAttachmentVerified: gettext("the kubelet sees that the volume is attached"),
  VolumeAvailable: gettext("the volume is free"),
  VolumeBindingQueued: gettext("the binding of its volumes waits for its turn"),
  VolumeBound: gettext("the volume is bound"),
  VolumeDetached: gettext("the volume is detached"),
  VolumeDetachForced: gettext("the volume is detached by force"),
  VolumeExpanded: gettext("the volume was expanded"),
  VolumeFailed: gettext("the volume failed"),
  VolumeFileSystemResized: gettext("the file system of the volume has its new size"),
  VolumeMigrated: gettext("the volume is handled by its CSI driver"),
  VolumeMounted: gettext("the volume is mounted"),
  VolumeOperationFailed: gettext("an operation on the volume failed"),
  VolumeOperationsAbandoned: gettext("operations on the volume were abandoned"),
  VolumePreBound: gettext("the volume names the claim"),
  VolumeProtectionChanged: gettext("the finalizer that protects the volume was set or removed"),
  VolumeProvisioned: gettext("the volume was made"),
  VolumeReleased: gettext("the claim of the volume is gone"),
  VolumeUnbound: gettext("the volume names no claim any more"),
  VolumesMounted: gettext("all volumes of the pod are mounted"),
  VolumesReconciled: gettext("the node's volumes are compared with what is desired"),
  VolumeUnmounted: gettext("the volume is unmounted"),
  WriteRefused: gettext("the API server refused a write"),
};

/** The kinds of writes to any object, by the end of their names; the first that fits counts. */
const WRITES = [
  ["StatusUpdated", gettext("its status was changed")],
  ["Created", gettext("it was created")],
  ["Updated", gettext("it was changed")],
  ["Deleted", gettext("it is gone")],
  ["Terminating", gettext("it is being deleted")],
  ["Stripped", gettext("its finalizers were removed")],
  ["Adopted", gettext("it has an owner now")],
  ["Released", gettext("it has no owner any more")],
];

/**
 * What an event says. `by`, where it is known, is the id of the pod for whose sake another one was evicted:
 * Kubernetes' own message has only its uid.
 */
export function eventText({kind, message = "", by = null}) {
  if (by && EVICTIONS.has(kind)) {
    const {key} = parseId(by);
    if (message) return message.replace(UID, () => gettext("pod {key}", {key}));
    return kind === "PodEvicted"
      ? gettext("it has to leave its node for {key}", {key})
      : gettext("it is going to be disrupted for {key}", {key});
  }
  return message || TEXTS[kind] || WRITES.find(([end]) => kind.endsWith(end))?.[1] || "";
}

/** *events* in any order, each eviction with the pod that made the attempt, as far as these events tell. */
export function withEvictors(events) {
  if (!events.some(({kind, by}) => EVICTIONS.has(kind) && !by)) return events;
  const bySeq = new Map(events.map((event) => [event.seq, event]));
  return events.map((event) =>
    EVICTIONS.has(event.kind) && !event.by ? {...event, by: evictor(event, bySeq)} : event,
  );
}

function evictor(event, bySeq) {
  let at = event;
  while (at && at.kind !== "AttemptStarted") at = bySeq.get(at.cause);
  return at?.object ?? null;
}
