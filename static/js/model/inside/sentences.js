import {gettext} from "../../lib/words.js";

/**
 * What each step is called in the list, and the sentence above it. Whole sentences with named places, by the part and
 * the outcome of a step, so that they can be translated one by one.
 */

/** By the line of a tree at which a sync ended: [outcome, sentence]. @type {Record<string, [string, string]>} */
export const SYNCS = {
  waits_for_consumer: [
    gettext("waits for its pod"),
    gettext("No volume is chosen: the class waits for the first consumer, and the scheduler has not named a node."),
  ],
  default_class: [
    gettext("gets the default class"),
    gettext("The claim names no class, so it gets the default one and comes back."),
  ],
  provision: [gettext("asks for a volume"), gettext("No volume fits, and the class can have one made.")],
  provisioning_off: [
    gettext("no provisioning"),
    gettext("No volume fits, and dynamic provisioning is off: the claim stays Pending."),
  ],
  plugin_error: [
    gettext("provisioning fails"),
    gettext("No volume fits, and nothing can make one. The next sync tries again."),
  ],
  in_tree: ["provisions", gettext("No volume fits: the plugin of the class makes one, beside the controller.")],
  external: [
    gettext("asks the provisioner"),
    gettext("No volume fits: the external provisioner of the class is asked by an annotation of the claim."),
  ],
  no_class: [
    gettext("nothing fits"),
    gettext("No volume fits, and the claim has no class that could have one made: it stays Pending."),
  ],
  found: [gettext("found: binds"), gettext("{volume} matches. What is missing of the four writes is written now.")],
  named_missing: [
    gettext("its volume is missing"),
    gettext("The claim names a volume that is not there: it stays Pending."),
  ],
  named_mismatch: [
    gettext("its volume does not fit"),
    gettext("The claim names {volume}, which does not satisfy it: it stays Pending."),
  ],
  named_free: [
    "binds",
    gettext("The claim names {volume}, which is free and satisfies it. What is missing is written now."),
  ],
  named_reserved: [
    "binds",
    gettext("The claim names {volume}, which is reserved for it. What is missing of the four writes is written now."),
  ],
  named_taken: [
    gettext("its volume is taken"),
    gettext("The claim names {volume}, which another claim has: it stays Pending."),
  ],
  named_invalid: [
    gettext("invalid binding"),
    gettext("The controller bound the claim to a volume that another claim has: an error."),
  ],
  lost_reference: [gettext("is Lost"), gettext("The claim was bound, and names no volume any more: it is Lost.")],
  lost_volume: [
    gettext("is Lost"),
    gettext("The claim was bound, and its volume does not exist any more: it is Lost."),
  ],
  misbound: [gettext("is Lost"), gettext("The volume names another claim: this one is Lost for good.")],
  bind_again: [
    gettext("binds again"),
    gettext("The claim is bound but its volume names no claim yet: it is bound again."),
  ],
  all_well: [
    gettext("is bound"),
    gettext("Claim and volume name each other: what is missing of the four writes is written now."),
  ],
  unused: [gettext("is available"), gettext("The volume has no claim: it is Available.")],
  reserved: [
    gettext("is reserved"),
    gettext("The volume is reserved for a claim that is not bound to it yet: it is Available."),
  ],
  claim_gone: [
    gettext("its claim is gone"),
    gettext("The claim of the volume does not exist any more: the volume is Released."),
  ],
  mode_mismatch: [
    gettext("another volumeMode"),
    gettext("Claim and volume have different volume modes: they will never match."),
  ],
  waits_for_claim: [
    gettext("asks for the claim’s sync"),
    gettext(
      "The volume names the claim, the claim names nothing yet: the claim is queued now, not at the next resync.",
    ),
  ],
  bound_properly: [gettext("is bound"), gettext("The volume is bound to its claim: its phase becomes Bound.")],
  not_needed: [
    gettext("is not needed"),
    gettext("It was provisioned for a claim that has another volume: it is Released and deleted."),
  ],
  unbind: [
    gettext("is unbound"),
    gettext("Its claim has another volume: the binding is undone, and the volume is Available."),
  ],
  migrated: [gettext("is left to CSI"), gettext("The volume is Released: the external provisioner reclaims it.")],
  retain: [gettext("is retained"), gettext("The claim is gone: the volume is Released, and its policy keeps it.")],
  recycle: [
    gettext("is recycled"),
    gettext("The claim is gone: the volume is Released, and recycled beside the controller."),
  ],
  delete: [
    gettext("is deleted"),
    gettext("The claim is gone: the volume is Released, and deleted beside the controller."),
  ],
  unknown_policy: [
    gettext("unknown policy"),
    gettext("The claim is gone, and the reclaim policy is none that is known: Failed."),
  ],
};

/** By the function of a step without a tree. @type {Record<string, [string, string]>} */
export const DELETIONS = {
  deleteClaim: [
    gettext("is deleted"),
    gettext("The claim is gone from the cache: its volume is queued now, not at the next resync."),
  ],
  deleteVolume: [
    gettext("is deleted"),
    gettext("The volume is gone from the cache: its claim is queued now, not at the next resync."),
  ],
  provisionClaimOperation: [
    "writes",
    gettext("The operation that provisions for the claim writes beside the controller."),
  ],
  deleteVolumeOperation: ["writes", gettext("The operation that deletes the volume writes beside the controller.")],
  recycleVolumeOperation: ["writes", gettext("The operation that recycles the volume writes beside the controller.")],
};

/** By the outcome of a step of the scheduler or the provisioner. @type {Record<string, [string, string]>} */
export const BINDING = {
  assumed: [
    "assumes {volume}",
    gettext(
      "The scheduler chose {volume} for {pod} on {node}. It is only assumed, so that the next pod sees it: nothing is written yet.",
    ),
  ],
  "assumed node": [
    "assumes {node}",
    gettext(
      "The volume is to be made for {node}, which was chosen for {pod}. It is only assumed: nothing is written yet.",
    ),
  ],
  VolumePreBound: [
    "{volume}, write 1",
    gettext("The claimRef of {volume} is written, the first of the four writes of a binding."),
  ],
  ClaimNodeSelected: [
    "selected-node",
    gettext("The claim gets the annotation selected-node: the provisioner may begin."),
  ],
  refused: [
    gettext("is refused"),
    gettext("The API server refused the write. What was assumed is dropped, and the pod is tried again."),
  ],
  bound: [gettext("is bound"), gettext("Every claim of {pod} is bound: the pod can be bound to its node.")],
  waits: ["waits", gettext("Not every claim of {pod} is bound yet: it looks again in one second.")],
  "check fails": ["fails", gettext("The binding cannot go on, and the pod has to be scheduled again.")],
  provisioned: ["made {volume}", gettext("{driver} made {volume}. Its claimRef names the claim already.")],
  "provisioning fails": ["fails", gettext("{driver} could not make a volume. It tries again after a wait.")],
};

/** By the decision of the attach/detach controller, or the end of an operation. @type {Record<string, [string, string]>} */
export const ATTACHING = {
  attach: [
    "attaches {volume}",
    gettext("A pod on {node} needs {volume}, which is attached nowhere: an attach starts."),
  ],
  "attached to another node": [
    gettext("waits for {others}"),
    gettext("A pod on {node} needs {volume}, which may be attached to one node only and still is to {others}."),
  ],
  detach: [
    "detaches {volume}",
    gettext("No pod on {node} needs {volume} any more, and the node does not use it: a detach starts."),
  ],
  "detach by force": [
    gettext("detaches by force"),
    gettext("The node still uses {volume}, but the wait is over: it is taken away by force."),
  ],
  "mounted by the node": [
    "waits",
    gettext("No pod on {node} needs {volume} any more, but the node’s volumesInUse still lists it."),
  ],
  "node status not written": [
    "waits",
    gettext("The node’s status could not be written, so that the detach has to wait."),
  ],
  "volume_attach succeeds": [
    gettext("is attached"),
    gettext("{volume} is attached to {node}. The node’s volumesAttached will list it."),
  ],
  "volume_attach fails": [
    "fails",
    gettext("{volume} could not be attached to {node}. It is tried again after {delay}."),
  ],
  "volume_detach succeeds": [
    gettext("is detached"),
    gettext("{volume} is detached from {node}, and free for another node."),
  ],
  "volume_detach fails": [
    "fails",
    gettext("{volume} could not be detached from {node}. It is tried again after {delay}."),
  ],
};

/** By what a tick of a kubelet did first. @type {Record<string, [string, string]>} */
export const TICKS = {
  "findAndAddNewPods new": ["adds {pod}", gettext("{pod} is new on this node: its volumes go into the desired state.")],
  "findAndAddNewPods again": [
    "adds {pod} again",
    gettext("{pod} or one of its claims was written: its volumes go into the desired state once more."),
  ],
  findAndRemoveDeletedPods: [
    "removes {pod}",
    gettext("{pod} has ended and no container of it runs: its volumes are no longer desired."),
  ],
  VerifyControllerAttachedVolume: [
    gettext("looks for {volume}"),
    gettext("{volume} is desired and not known to be attached: the kubelet reads the node’s status."),
  ],
  AttachVolume: [
    "attaches {volume}",
    gettext("{volume} is desired and not attached, and this kubelet attaches itself."),
  ],
  MountVolume: ["mounts {volume}", gettext("{volume} is attached, and desired without being mounted: a mount starts.")],
  ExpandInUseVolume: ["expands {volume}", gettext("{volume} has grown: its file system is expanded in use.")],
  UnmountVolume: [
    "unmounts {volume}",
    gettext("{volume} is mounted for a pod that does not need it any more: an unmount starts."),
  ],
  UnmountDevice: [
    gettext("unmounts device"),
    gettext("{volume} is mounted for no pod any more: its device is unmounted."),
  ],
  MarkVolumeAsDetached: [
    "forgets {volume}",
    gettext("{volume} is not mounted any more: the kubelet stops to report it."),
  ],
  DetachVolume: ["detaches {volume}", gettext("{volume} is not mounted any more, and this kubelet detaches itself.")],
};

/** How an operation of a kubelet ended. @type {Record<string, [string, string]>} */
export const ENDS = {
  "fails once": [
    "fails",
    gettext("It failed once. Nothing is tried for {delay}; the next tick after that is at {retry} s."),
  ],
  fails: [
    "fails, {failures} times",
    gettext("It failed {failures} times in a row, and each wait is twice the last: nothing is tried before {retry} s."),
  ],
  "verify fails": [
    gettext("is not attached"),
    gettext("The node’s status does not list {volume}: the kubelet looks again at {retry} s, and not earlier."),
  ],
  succeeds: ["works", gettext("It works: {volume} is as it should be, and what was desired is actual.")],
  "succeeds, more to do": ["works", gettext("It works. The next tick goes on with {volume}.")],
};
