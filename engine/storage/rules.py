"""How the storage components of versions differ, as data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageRules:
    """What one version does with storage; see also ControllerRules and BinderRules.

    By default, as in the oldest version.
    """

    migrates_in_tree: bool = False
    """CSI drivers do the work of the in-tree plugins of clouds (CSI migration)."""
    recovers_attachments: bool = False
    """The attach/detach controller reads VolumeAttachments when it starts."""
    reconstructs_all: bool = False
    """A kubelet that starts takes over every volume that it finds on its disk."""
    mounts_protected_claims: bool = False
    """A kubelet mounts a claim that is being deleted as long as the finalizer of pvc-protection holds it."""
    names_unprocessed_volumes: bool = False
    """FailedMount of a pod that waits for its volumes says which of them could not be processed, and is not emitted when the wait only times out."""
    healthy_nodes_keep_volumes: bool = False
    """A volume that a node has not unmounted after six minutes is detached by force only if the node is not ready."""
    keeps_terminated_volumes: bool = True
    """The annotation keep-terminated-pod-volumes of a node keeps the volumes of pods that have ended attached."""
    heeds_out_of_service: bool = False
    """Volumes that no pod uses any more are detached at once from a node that has the taint out-of-service."""
    provisioners_hold_volumes: bool = False
    """External provisioners keep a finalizer on volumes until they have deleted the storage, and do not delete it while it is attached."""
    expanding_event: tuple[str, str] = (
        "Warning",
        "Ignoring the PVC: didn't find a plugin capable of expanding the volume; waiting for "
        "an external controller to process this PVC.",
    )
    """Type and message of the Event ExternalExpanding."""
    modifies_volumes: bool = False
    """External resizers change a volume when its claim names another VolumeAttributesClass, and classes in use are protected."""
    updates_limits: bool = False
    """Kubelets ask CSI drivers for their limits again where the CSIDriver says how often, and refuse pods whose volumes a full node cannot attach."""
    tells_unused_claims: bool = False
    """A bound claim has a condition that says whether pods that have not ended name it, and since when."""
    announces_resizes: bool = False
    """A kubelet emits Events when the resize of a pod starts, or has to wait; not only once it is done."""
