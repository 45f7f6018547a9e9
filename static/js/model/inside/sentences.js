import {gettextNoop} from "../../lib/words.js";

/**
 * What each step is called in the list, and the sentence above it. Whole sentences with named places, by the part and
 * the outcome of a step, so that they can be translated one by one.
 */

/** By the line of a tree at which a sync ended: [outcome, sentence]. @type {Record<string, [string, string]>} */
export const SYNCS = {
  waits_for_consumer: [
    gettextNoop("waits for its pod"),
    gettextNoop("No volume is chosen: the class waits for the first consumer, and the scheduler has not named a node."),
  ],
  default_class: [
    gettextNoop("gets the default class"),
    gettextNoop("The claim names no class, so it gets the default one and comes back."),
  ],
  provision: [gettextNoop("asks for a volume"), gettextNoop("No volume fits, and the class can have one made.")],
  provisioning_off: [
    gettextNoop("no provisioning"),
    gettextNoop("No volume fits, and dynamic provisioning is off: the claim stays Pending."),
  ],
  plugin_error: [
    gettextNoop("provisioning fails"),
    gettextNoop("No volume fits, and nothing can make one. The next sync tries again."),
  ],
  in_tree: [
    gettextNoop("provisions"),
    gettextNoop("No volume fits: the plugin of the class makes one, beside the controller."),
  ],
  external: [
    gettextNoop("asks the provisioner"),
    gettextNoop("No volume fits: the external provisioner of the class is asked by an annotation of the claim."),
  ],
  no_class: [
    gettextNoop("nothing fits"),
    gettextNoop("No volume fits, and the claim has no class that could have one made: it stays Pending."),
  ],
  found: [
    gettextNoop("found: binds"),
    gettextNoop("{volume} matches. What is missing of the four writes is written now."),
  ],
  named_missing: [
    gettextNoop("its volume is missing"),
    gettextNoop("The claim names a volume that is not there: it stays Pending."),
  ],
  named_mismatch: [
    gettextNoop("its volume does not fit"),
    gettextNoop("The claim names {volume}, which does not satisfy it: it stays Pending."),
  ],
  named_free: [
    gettextNoop("binds"),
    gettextNoop("The claim names {volume}, which is free and satisfies it. What is missing is written now."),
  ],
  named_reserved: [
    gettextNoop("binds"),
    gettextNoop(
      "The claim names {volume}, which is reserved for it. What is missing of the four writes is written now.",
    ),
  ],
  named_taken: [
    gettextNoop("its volume is taken"),
    gettextNoop("The claim names {volume}, which another claim has: it stays Pending."),
  ],
  named_invalid: [
    gettextNoop("invalid binding"),
    gettextNoop("The controller bound the claim to a volume that another claim has: an error."),
  ],
  lost_reference: [
    gettextNoop("is Lost"),
    gettextNoop("The claim was bound, and names no volume any more: it is Lost."),
  ],
  lost_volume: [
    gettextNoop("is Lost"),
    gettextNoop("The claim was bound, and its volume does not exist any more: it is Lost."),
  ],
  misbound: [gettextNoop("is Lost"), gettextNoop("The volume names another claim: this one is Lost for good.")],
  bind_again: [
    gettextNoop("binds again"),
    gettextNoop("The claim is bound but its volume names no claim yet: it is bound again."),
  ],
  all_well: [
    gettextNoop("is bound"),
    gettextNoop("Claim and volume name each other: what is missing of the four writes is written now."),
  ],
  unused: [gettextNoop("is available"), gettextNoop("The volume has no claim: it is Available.")],
  reserved: [
    gettextNoop("is reserved"),
    gettextNoop("The volume is reserved for a claim that is not bound to it yet: it is Available."),
  ],
  claim_gone: [
    gettextNoop("its claim is gone"),
    gettextNoop("The claim of the volume does not exist any more: the volume is Released."),
  ],
  mode_mismatch: [
    gettextNoop("another volumeMode"),
    gettextNoop("Claim and volume have different volume modes: they will never match."),
  ],
  waits_for_claim: [
    gettextNoop("asks for the claim’s sync"),
    gettextNoop(
      "The volume names the claim, the claim names nothing yet: the claim is queued now, not at the next resync.",
    ),
  ],
  bound_properly: [gettextNoop("is bound"), gettextNoop("The volume is bound to its claim: its phase becomes Bound.")],
  not_needed: [
    gettextNoop("is not needed"),
    gettextNoop("It was provisioned for a claim that has another volume: it is Released and deleted."),
  ],
  unbind: [
    gettextNoop("is unbound"),
    gettextNoop("Its claim has another volume: the binding is undone, and the volume is Available."),
  ],
  migrated: [
    gettextNoop("is left to CSI"),
    gettextNoop("The volume is Released: the external provisioner reclaims it."),
  ],
  retain: [
    gettextNoop("is retained"),
    gettextNoop("The claim is gone: the volume is Released, and its policy keeps it."),
  ],
  recycle: [
    gettextNoop("is recycled"),
    gettextNoop("The claim is gone: the volume is Released, and recycled beside the controller."),
  ],
  delete: [
    gettextNoop("is deleted"),
    gettextNoop("The claim is gone: the volume is Released, and deleted beside the controller."),
  ],
  unknown_policy: [
    gettextNoop("unknown policy"),
    gettextNoop("The claim is gone, and its volume has an unknown reclaim policy: Failed."),
  ],
};

/** By the function of a step without a tree. @type {Record<string, [string, string]>} */
export const DELETIONS = {
  deleteClaim: [
    gettextNoop("is deleted"),
    gettextNoop("The claim is gone from the cache: its volume is queued now, not at the next resync."),
  ],
  deleteVolume: [
    gettextNoop("is deleted"),
    gettextNoop("The volume is gone from the cache: its claim is queued now, not at the next resync."),
  ],
  provisionClaimOperation: [
    gettextNoop("writes"),
    gettextNoop("The operation that provisions for the claim writes beside the controller."),
  ],
  deleteVolumeOperation: [
    gettextNoop("writes"),
    gettextNoop("The operation that deletes the volume writes beside the controller."),
  ],
  recycleVolumeOperation: [
    gettextNoop("writes"),
    gettextNoop("The operation that recycles the volume writes beside the controller."),
  ],
};

/** By the outcome of a step of the scheduler or the provisioner. @type {Record<string, [string, string]>} */
export const BINDING = {
  assumed: [
    gettextNoop("assumes {volume}"),
    gettextNoop(
      "The scheduler chose {volume} for {pod} on {node}. It is only assumed, so that the next pod sees it: nothing is written yet.",
    ),
  ],
  "assumed node": [
    gettextNoop("assumes {node}"),
    gettextNoop(
      "The volume is to be made for {node}, which was chosen for {pod}. It is only assumed: nothing is written yet.",
    ),
  ],
  VolumePreBound: [
    gettextNoop("{volume}, write 1"),
    gettextNoop("The claimRef of {volume} is written, the first of the four writes of a binding."),
  ],
  ClaimNodeSelected: [
    gettextNoop("selected-node"),
    gettextNoop("The claim gets the annotation selected-node: the provisioner may begin."),
  ],
  refused: [
    gettextNoop("is refused"),
    gettextNoop("The API server refused the write. What was assumed is dropped, and the pod is tried again."),
  ],
  bound: [gettextNoop("is bound"), gettextNoop("Every claim of {pod} is bound: the pod can be bound to its node.")],
  waits: [gettextNoop("waits"), gettextNoop("Not every claim of {pod} is bound yet: it looks again in one second.")],
  "check fails": [
    gettextNoop("fails"),
    gettextNoop("The binding cannot go on, and the pod has to be scheduled again."),
  ],
  provisioned: [
    gettextNoop("made {volume}"),
    gettextNoop("{driver} made {volume}. Its claimRef names the claim already."),
  ],
  "provisioning fails": [
    gettextNoop("fails"),
    gettextNoop("{driver} could not make a volume. It tries again after a wait."),
  ],
};

/** By the decision of the attach/detach controller, or the end of an operation. @type {Record<string, [string, string]>} */
export const ATTACHING = {
  attach: [
    gettextNoop("attaches {volume}"),
    gettextNoop("A pod on {node} needs {volume}, which is attached nowhere: an attach starts."),
  ],
  "attached to another node": [
    gettextNoop("waits for {others}"),
    gettextNoop(
      "A pod on {node} needs {volume}, which may be attached to only one node, and still is attached to {others}.",
    ),
  ],
  detach: [
    gettextNoop("detaches {volume}"),
    gettextNoop("No pod on {node} needs {volume} any more, and the node does not use it: a detach starts."),
  ],
  "detach by force": [
    gettextNoop("detaches by force"),
    gettextNoop("The node still uses {volume}, but the wait is over: it is taken away by force."),
  ],
  "mounted by the node": [
    gettextNoop("waits"),
    gettextNoop("No pod on {node} needs {volume} any more, but the node’s volumesInUse still lists it."),
  ],
  "node status not written": [
    gettextNoop("waits"),
    gettextNoop("The node’s status could not be written, so that the detach has to wait."),
  ],
  "volume_attach succeeds": [
    gettextNoop("is attached"),
    gettextNoop("{volume} is attached to {node}. The node’s volumesAttached will list it."),
  ],
  "volume_attach fails": [
    gettextNoop("fails"),
    gettextNoop("{volume} could not be attached to {node}. It is tried again after {delay}."),
  ],
  "volume_detach succeeds": [
    gettextNoop("is detached"),
    gettextNoop("{volume} is detached from {node}, and free for another node."),
  ],
  "volume_detach fails": [
    gettextNoop("fails"),
    gettextNoop("{volume} could not be detached from {node}. It is tried again after {delay}."),
  ],
};

/** By what a tick of a kubelet did first. @type {Record<string, [string, string]>} */
export const TICKS = {
  "findAndAddNewPods new": [
    gettextNoop("adds {pod}"),
    gettextNoop("{pod} is new on this node: its volumes go into the desired state."),
  ],
  "findAndAddNewPods again": [
    gettextNoop("adds {pod} again"),
    gettextNoop("{pod} or one of its claims was written: its volumes go into the desired state once more."),
  ],
  findAndRemoveDeletedPods: [
    gettextNoop("removes {pod}"),
    gettextNoop("{pod} has ended and no container of it runs: its volumes are no longer desired."),
  ],
  VerifyControllerAttachedVolume: [
    gettextNoop("looks for {volume}"),
    gettextNoop("{volume} is desired and not known to be attached: the kubelet reads the node’s status."),
  ],
  AttachVolume: [
    gettextNoop("attaches {volume}"),
    gettextNoop("{volume} is desired and not attached, and this kubelet attaches itself."),
  ],
  MountVolume: [
    gettextNoop("mounts {volume}"),
    gettextNoop("{volume} is attached, and desired without being mounted: a mount starts."),
  ],
  ExpandInUseVolume: [
    gettextNoop("expands {volume}"),
    gettextNoop("{volume} has grown: its file system is expanded in use."),
  ],
  UnmountVolume: [
    gettextNoop("unmounts {volume}"),
    gettextNoop("{volume} is mounted for a pod that does not need it any more: an unmount starts."),
  ],
  UnmountDevice: [
    gettextNoop("unmounts device"),
    gettextNoop("{volume} is mounted for no pod any more: its device is unmounted."),
  ],
  MarkVolumeAsDetached: [
    gettextNoop("forgets {volume}"),
    gettextNoop("{volume} is not mounted any more: the kubelet stops reporting it."),
  ],
  DetachVolume: [
    gettextNoop("detaches {volume}"),
    gettextNoop("{volume} is not mounted any more, and this kubelet detaches itself."),
  ],
};

/** How an operation of a kubelet ended. @type {Record<string, [string, string]>} */
export const ENDS = {
  "fails once": [
    gettextNoop("fails"),
    gettextNoop("It failed once. Nothing is tried for {delay}; the next tick after that is at {retry} s."),
  ],
  fails: [
    gettextNoop("fails, {failures} times"),
    gettextNoop(
      "It failed {failures} times in a row, and each wait is twice the last: nothing is tried before {retry} s.",
    ),
  ],
  "verify fails": [
    gettextNoop("is not attached"),
    gettextNoop("The node’s status does not list {volume}: the kubelet looks again at {retry} s, and not earlier."),
  ],
  succeeds: [
    gettextNoop("works"),
    gettextNoop("It works: {volume} is as it should be, and what was desired is actual."),
  ],
  "succeeds, more to do": [gettextNoop("works"), gettextNoop("It works. The next tick goes on with {volume}.")],
};
