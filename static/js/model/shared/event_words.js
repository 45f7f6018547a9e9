/** What an event says to people. Most have a message; the others get a text by their kind. */
import {parseId} from "./format.js";

const UID = /\bpod [0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\b/;
const EVICTIONS = new Set(["PodEvicted", "PodDisrupted", "Preempted"]);

const TEXTS = {
  AssumptionExpired: "the scheduler no longer counts on the node it had assumed",
  AttemptStarted: "the scheduler takes it from the queue",
  CacheMoveRefused: "the scheduler's cache refuses the move",
  ClaimBindCompleted: "the claim names its volume",
  ClaimBound: "the claim is bound",
  ClaimExpanded: "the claim was expanded",
  ClaimFileSystemResizePending: "the file system grows when a node mounts it",
  ClaimLost: "the claim has lost its volume",
  ClaimNodeSelected: "the scheduler notes the node for which a volume is to be made",
  ClaimPhaseLost: "the phase of the claim is Lost",
  ClaimProtectionChanged: "the finalizer that protects the claim was set or removed",
  ClaimProvisionerSet: "the claim names who is to make its volume",
  ClaimRescheduled: "the claim waits for another node",
  ClaimResized: "the claim has its new size",
  ClaimResizerSet: "the claim names who is to resize its volume",
  ClaimResizing: "the volume of the claim is being resized",
  CommandRejected: "the command was rejected",
  ComponentFailed: "a component of the simulation failed and began anew",
  ControllerRestarted: "the controller restarts",
  DeviceMounted: "the device of the volume is mounted",
  DeviceUnmounted: "the device of the volume is unmounted",
  ExtenderCalled: "the scheduler called an extender",
  FaultInjected: "a fault was injected",
  FieldsLeftOut: "fields were left out",
  KubeletStarted: "the kubelet starts",
  KubeletStopped: "the kubelet stops",
  LeaseAcquired: "it leads now",
  LeaseRenewed: "it goes on leading",
  MountsLost: "the node has lost its mounts",
  NodeCordoned: "no new pods are placed here",
  NodeDied: "the node has lost its power",
  NodeLeaseExpired: "the node's lease has run out",
  NodeStatusReported: "the kubelet reports the status of the node",
  NodeStatusUnknown: "the node has not reported its status for too long",
  NodeTainted: "the node got a taint",
  NodeUncordoned: "pods may be placed here again",
  NodeUntainted: "a taint of the node was removed",
  NodeVolumesAttachedReported: "the node's status says which volumes are attached",
  NodeVolumesInUseReported: "the kubelet reports which volumes are in use",
  NominationCleared: "it is nominated to no node any more",
  NotModelled: "kscope does not model this",
  PermitDenied: "a plugin denied to bind it",
  PermitGranted: "every plugin permits to bind it",
  PluginsRan: "the plugins of the attempt ran",
  PodAssumed: "the scheduler counts it on its node",
  PodBackedOff: "it waits in backoff",
  PodBound: "it is bound to its node",
  PodConditionUpdated: "its conditions say how the attempt ended",
  PodConfirmed: "the scheduler sees it on its node",
  PodDequeued: "it left the queue",
  PodDisrupted: "its condition says that it is going to be disrupted",
  PodDisruptionBudgetUsed: "the budget allows one disruption less",
  PodEvicted: "it has to leave its node",
  PodFailed: "it failed",
  PodForgotten: "the scheduler no longer counts it on its node",
  PodGated: "it waits until its scheduling gates are removed",
  PodGroupConditionUpdated: "the conditions of its group say how the attempt ended",
  PodLost: "its node was lost",
  PodNominated: "it is nominated to a node, where room is made for it",
  PodNotReady: "it is not ready",
  PodNotStarted: "its containers cannot start",
  PodObserved: "the scheduler sees it",
  PodParked: "it waits until something changes",
  PodQueued: "it is in the queue",
  PodRejected: "the kubelet refuses it",
  PodReleased: "its room on the node is free",
  PodResizeCompleted: "its containers have their new resources",
  PodResizeDeferred: "its new resources have to wait",
  PodResizeInfeasible: "its node can never give it the new resources",
  PodResizeStarted: "its containers are being resized",
  PodResizeWithdrawn: "it is no longer to be resized",
  PodResized: "its resources were changed",
  PodRunning: "it runs",
  PodSucceeded: "its containers have ended well",
  PodsActivated: "pods were put into the active queue",
  ReplicaSetScaled: "the number of replicas was changed",
  ResourceClaimAllocated: "devices were allocated to the claim",
  ResourceClaimDeallocated: "the devices of the claim are free again",
  ResourceClaimDevicesFailed: "the devices of the claim failed",
  ResourceClaimDevicesReady: "the devices of the claim are ready",
  ResourceQuotaUsed: "the quota was charged",
  RunCreated: "the run begins",
  SchedulerStarted: "the scheduler starts",
  SchedulerStopped: "the scheduler stops",
  ShadowDecision: "kscope's own scheduler decided beside the external one",
  VolumeAttached: "the volume is attached",
  VolumeAttachmentAttached: "the driver has attached the volume",
  VolumeAttachmentVerified: "the kubelet sees that the volume is attached",
  VolumeAvailable: "the volume is free",
  VolumeBindingQueued: "binding its volumes waits for its turn",
  VolumeBound: "the volume is bound",
  VolumeDetached: "the volume is detached",
  VolumeDetachForced: "the volume is detached by force",
  VolumeExpanded: "the volume was expanded",
  VolumeFailed: "the volume failed",
  VolumeFileSystemResized: "the file system of the volume has its new size",
  VolumeMigrated: "the volume is handled by its CSI driver",
  VolumeMounted: "the volume is mounted",
  VolumeOperationFailed: "an operation on the volume failed",
  VolumeOperationsAbandoned: "operations on the volume were abandoned",
  VolumePreBound: "the volume names the claim",
  VolumeProtectionChanged: "the finalizer that protects the volume was set or removed",
  VolumeProvisioned: "the volume was made",
  VolumeReleased: "the claim of the volume is gone",
  VolumeUnbound: "the volume names no claim any more",
  VolumesMounted: "all volumes of the pod are mounted",
  VolumesReconciled: "the node's volumes are compared with what is desired",
  VolumeUnmounted: "the volume is unmounted",
  WriteRefused: "the API server refused a write",
};

/** The kinds of writes to any object, by the end of their names; the first that fits counts. */
const WRITES = [
  ["StatusUpdated", "its status was changed"],
  ["Created", "it was created"],
  ["Updated", "it was changed"],
  ["Deleted", "it is gone"],
  ["Terminating", "it is being deleted"],
  ["Stripped", "its finalizers were removed"],
  ["Adopted", "it has an owner now"],
  ["Released", "it has no owner any more"],
];

/**
 * What an event says. `by`, where it is known, is the id of the pod for whose sake another one was evicted:
 * Kubernetes' own message has only its uid.
 */
export function eventText({kind, message = "", by = null}) {
  if (by && EVICTIONS.has(kind)) {
    const {key} = parseId(by);
    if (message) return message.replace(UID, () => `pod ${key}`);
    return kind === "PodEvicted" ? `it has to leave its node for ${key}` : `it is going to be disrupted for ${key}`;
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
