/**
 * What each step is called in the list, and the sentence above it. Whole sentences with named places, by the part and
 * the outcome of a step, so that they can be translated one by one.
 */

/** By the line of a tree at which a sync ended: [outcome, sentence]. @type {Record<string, [string, string]>} */
export const SYNCS = {
  waits_for_consumer: [
    "waits for its pod",
    "No volume is chosen: the class waits for the first consumer, and the scheduler has not named a node.",
  ],
  default_class: ["gets the default class", "The claim names no class, so it gets the default one and comes back."],
  provision: ["asks for a volume", "No volume fits, and the class can have one made."],
  provisioning_off: ["no provisioning", "No volume fits, and dynamic provisioning is off: the claim stays Pending."],
  plugin_error: ["provisioning fails", "No volume fits, and nothing can make one. The next sync tries again."],
  in_tree: ["provisions", "No volume fits: the plugin of the class makes one, beside the controller."],
  external: [
    "asks the provisioner",
    "No volume fits: the external provisioner of the class is asked by an annotation of the claim.",
  ],
  no_class: ["nothing fits", "No volume fits, and the claim has no class that could have one made: it stays Pending."],
  found: ["found: binds", "{volume} matches. What is missing of the four writes is written now."],
  named_missing: ["its volume is missing", "The claim names a volume that is not there: it stays Pending."],
  named_mismatch: ["its volume does not fit", "The claim names {volume}, which does not satisfy it: it stays Pending."],
  named_free: ["binds", "The claim names {volume}, which is free and satisfies it. What is missing is written now."],
  named_reserved: [
    "binds",
    "The claim names {volume}, which is reserved for it. What is missing of the four writes is written now.",
  ],
  named_taken: ["its volume is taken", "The claim names {volume}, which another claim has: it stays Pending."],
  named_invalid: ["invalid binding", "The controller bound the claim to a volume that another claim has: an error."],
  lost_reference: ["is Lost", "The claim was bound, and names no volume any more: it is Lost."],
  lost_volume: ["is Lost", "The claim was bound, and its volume does not exist any more: it is Lost."],
  misbound: ["is Lost", "The volume names another claim: this one is Lost for good."],
  bind_again: ["binds again", "The claim is bound but its volume names no claim yet: it is bound again."],
  all_well: ["is bound", "Claim and volume name each other: what is missing of the four writes is written now."],
  unused: ["is available", "The volume has no claim: it is Available."],
  reserved: ["is reserved", "The volume is reserved for a claim that is not bound to it yet: it is Available."],
  claim_gone: ["its claim is gone", "The claim of the volume does not exist any more: the volume is Released."],
  mode_mismatch: ["another volumeMode", "Claim and volume have different volume modes: they will never match."],
  waits_for_claim: [
    "asks for the claim’s sync",
    "The volume names the claim, the claim names nothing yet: the claim is queued now, not at the next resync.",
  ],
  bound_properly: ["is bound", "The volume is bound to its claim: its phase becomes Bound."],
  not_needed: ["is not needed", "It was provisioned for a claim that has another volume: it is Released and deleted."],
  unbind: ["is unbound", "Its claim has another volume: the binding is undone, and the volume is Available."],
  migrated: ["is left to CSI", "The volume is Released: the external provisioner reclaims it."],
  retain: ["is retained", "The claim is gone: the volume is Released, and its policy keeps it."],
  recycle: ["is recycled", "The claim is gone: the volume is Released, and recycled beside the controller."],
  delete: ["is deleted", "The claim is gone: the volume is Released, and deleted beside the controller."],
  unknown_policy: ["unknown policy", "The claim is gone, and the reclaim policy is none that is known: Failed."],
};

/** By the function of a step without a tree. @type {Record<string, [string, string]>} */
export const DELETIONS = {
  deleteClaim: ["is deleted", "The claim is gone from the cache: its volume is queued now, not at the next resync."],
  deleteVolume: ["is deleted", "The volume is gone from the cache: its claim is queued now, not at the next resync."],
  provisionClaimOperation: ["writes", "The operation that provisions for the claim writes beside the controller."],
  deleteVolumeOperation: ["writes", "The operation that deletes the volume writes beside the controller."],
  recycleVolumeOperation: ["writes", "The operation that recycles the volume writes beside the controller."],
};

/** By the outcome of a step of the scheduler or the provisioner. @type {Record<string, [string, string]>} */
export const BINDING = {
  assumed: [
    "assumes {volume}",
    "The scheduler chose {volume} for {pod} on {node}. It is only assumed, so that the next pod sees it: nothing is written yet.",
  ],
  "assumed node": [
    "assumes {node}",
    "The volume is to be made for {node}, which was chosen for {pod}. It is only assumed: nothing is written yet.",
  ],
  VolumePreBound: [
    "{volume}, write 1",
    "The claimRef of {volume} is written, the first of the four writes of a binding.",
  ],
  ClaimNodeSelected: ["selected-node", "The claim gets the annotation selected-node: the provisioner may begin."],
  refused: ["is refused", "The API server refused the write. What was assumed is dropped, and the pod is tried again."],
  bound: ["is bound", "Every claim of {pod} is bound: the pod can be bound to its node."],
  waits: ["waits", "Not every claim of {pod} is bound yet: it looks again in one second."],
  "check fails": ["fails", "The binding cannot go on, and the pod has to be scheduled again."],
  provisioned: ["made {volume}", "{driver} made {volume}. Its claimRef names the claim already."],
  "provisioning fails": ["fails", "{driver} could not make a volume. It tries again after a wait."],
};

/** By the decision of the attach/detach controller, or the end of an operation. @type {Record<string, [string, string]>} */
export const ATTACHING = {
  attach: ["attaches {volume}", "A pod on {node} needs {volume}, which is attached nowhere: an attach starts."],
  "attached to another node": [
    "waits for {others}",
    "A pod on {node} needs {volume}, which may be attached to one node only and still is to {others}.",
  ],
  detach: [
    "detaches {volume}",
    "No pod on {node} needs {volume} any more, and the node does not use it: a detach starts.",
  ],
  "detach by force": [
    "detaches by force",
    "The node still uses {volume}, but the wait is over: it is taken away by force.",
  ],
  "mounted by the node": [
    "waits",
    "No pod on {node} needs {volume} any more, but the node’s volumesInUse still lists it.",
  ],
  "node status not written": ["waits", "The node’s status could not be written, so that the detach has to wait."],
  "volume_attach succeeds": ["is attached", "{volume} is attached to {node}. The node’s volumesAttached will list it."],
  "volume_attach fails": ["fails", "{volume} could not be attached to {node}. It is tried again after {delay}."],
  "volume_detach succeeds": ["is detached", "{volume} is detached from {node}, and free for another node."],
  "volume_detach fails": ["fails", "{volume} could not be detached from {node}. It is tried again after {delay}."],
};

/** By what a tick of a kubelet did first. @type {Record<string, [string, string]>} */
export const TICKS = {
  "findAndAddNewPods new": ["adds {pod}", "{pod} is new on this node: its volumes go into the desired state."],
  "findAndAddNewPods again": [
    "adds {pod} again",
    "{pod} or one of its claims was written: its volumes go into the desired state once more.",
  ],
  findAndRemoveDeletedPods: [
    "removes {pod}",
    "{pod} has ended and no container of it runs: its volumes are no longer desired.",
  ],
  VerifyControllerAttachedVolume: [
    "looks for {volume}",
    "{volume} is desired and not known to be attached: the kubelet reads the node’s status.",
  ],
  AttachVolume: ["attaches {volume}", "{volume} is desired and not attached, and this kubelet attaches itself."],
  MountVolume: ["mounts {volume}", "{volume} is attached, and desired without being mounted: a mount starts."],
  ExpandInUseVolume: ["expands {volume}", "{volume} has grown: its file system is expanded in use."],
  UnmountVolume: [
    "unmounts {volume}",
    "{volume} is mounted for a pod that does not need it any more: an unmount starts.",
  ],
  UnmountDevice: ["unmounts device", "{volume} is mounted for no pod any more: its device is unmounted."],
  MarkVolumeAsDetached: ["forgets {volume}", "{volume} is not mounted any more: the kubelet stops to report it."],
  DetachVolume: ["detaches {volume}", "{volume} is not mounted any more, and this kubelet detaches itself."],
};

/** How an operation of a kubelet ended. @type {Record<string, [string, string]>} */
export const ENDS = {
  "fails once": ["fails", "It failed once. Nothing is tried for {delay}; the next tick after that is at {retry} s."],
  fails: [
    "fails, {failures} times",
    "It failed {failures} times in a row, and each wait is twice the last: nothing is tried before {retry} s.",
  ],
  "verify fails": [
    "is not attached",
    "The node’s status does not list {volume}: the kubelet looks again at {retry} s, and not earlier.",
  ],
  succeeds: ["works", "It works: {volume} is as it should be, and what was desired is actual."],
  "succeeds, more to do": ["works", "It works. The next tick goes on with {volume}."],
};
