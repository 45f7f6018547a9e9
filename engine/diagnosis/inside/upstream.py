"""Where Kubernetes does what a step does, by the name of the function."""

from collections.abc import Sequence
from typing import Final

from engine.kernel.trace import Place, Places

_PV: Final = "pkg/controller/volume/persistentvolume"
_KUBELET: Final = "pkg/kubelet/volumemanager"
_OPERATIONS: Final = "pkg/volume/util/operationexecutor/operation_generator.go"
_ATTACH_DETACH: Final = "pkg/controller/volume/attachdetach/reconciler/reconciler.go"
_PROVISIONER: Final = "sig-storage-lib-external-provisioner/controller/controller.go"


def _since_1_11(file: str, *functions: str) -> dict[str, Sequence[Place]]:
    return {function: (Place(11, file, function),) for function in functions}


def _binder(function: str, at_first: str = "") -> Sequence[Place]:
    """*at_first* is the function that did its work in v1.11, where *function* was not there yet."""
    return (
        Place(11, f"{_PV}/scheduler_binder.go", at_first or function),
        Place(12, f"{_PV}/scheduler_binder.go", function),
        Place(16, "pkg/controller/volume/scheduling/scheduler_binder.go", function),
        Place(21, "pkg/scheduler/framework/plugins/volumebinding/binder.go", function),
    )


def _reconciler(part: str, old: str) -> Sequence[Place]:
    """Until v1.16 one function does all three parts."""
    return (
        Place(11, f"{_KUBELET}/reconciler/reconciler.go", "reconcile"),
        Place(20, f"{_KUBELET}/reconciler/reconciler.go", old),
        Place(26, f"{_KUBELET}/reconciler/reconciler_common.go", part),
    )


PLACES: Final[Places] = {
    **_since_1_11(
        f"{_PV}/pv_controller.go",
        "syncClaim",
        "syncBoundClaim",
        "syncUnboundClaim",
        "syncVolume",
        "bind",
        "provisionClaim",
        "reclaimVolume",
        "unbindVolume",
        "provisionClaimOperation",
        "deleteVolumeOperation",
        "recycleVolumeOperation",
    ),
    **_since_1_11(f"{_PV}/index.go", "findBestMatchForClaim"),
    **_since_1_11(f"{_PV}/pv_controller_base.go", "deleteClaim", "deleteVolume"),
    "AssumePodVolumes": _binder("AssumePodVolumes"),
    "BindPodVolumes": _binder("BindPodVolumes"),
    "bindAPIUpdate": _binder("bindAPIUpdate", at_first="BindPodVolumes"),
    "checkBindings": _binder("checkBindings", at_first="FindPodVolumes"),
    "external provisioner": (Place(11, _PROVISIONER, "provisionClaimOperation"),),
    **_since_1_11(_ATTACH_DETACH, "reconcile", "attachDesiredVolumes"),
    **_since_1_11(
        f"{_KUBELET}/populator/desired_state_of_world_populator.go",
        "findAndAddNewPods",
        "processPodVolumes",
        "findAndRemoveDeletedPods",
        "deleteProcessedPod",
    ),
    "unmountVolumes": _reconciler("unmountVolumes", "unmountVolumes"),
    "mountOrAttachVolumes": _reconciler("mountOrAttachVolumes", "mountAttachVolumes"),
    "unmountDetachDevices": _reconciler("unmountDetachDevices", "unmountDetachDevices"),
    **_since_1_11(
        _OPERATIONS,
        "GenerateAttachVolumeFunc",
        "GenerateDetachVolumeFunc",
        "GenerateMapVolumeFunc",
        "GenerateMountVolumeFunc",
        "GenerateUnmapDeviceFunc",
        "GenerateUnmapVolumeFunc",
        "GenerateUnmountDeviceFunc",
        "GenerateUnmountVolumeFunc",
        "GenerateVerifyControllerAttachedVolumeFunc",
    ),
    "GenerateExpandInUseVolumeFunc": (
        Place(11, _OPERATIONS, "GenerateExpandVolumeFSWithoutUnmountingFunc"),
        Place(16, _OPERATIONS, "GenerateExpandInUseVolumeFunc"),
    ),
    "backoff": (
        Place(11, "pkg/util/goroutinemap/exponentialbackoff/exponential_backoff.go", "Update"),
    ),
}
"""In which file of which version; that of the external provisioner is in its own repository."""

OPERATIONS: Final = {
    "volume_attach": "GenerateAttachVolumeFunc",
    "volume_detach": "GenerateDetachVolumeFunc",
    "volume_mount": "GenerateMountVolumeFunc",
    "map_volume": "GenerateMapVolumeFunc",
    "volume_fs_resize": "GenerateExpandInUseVolumeFunc",
    "volume_unmount": "GenerateUnmountVolumeFunc",
    "unmount_device": "GenerateUnmountDeviceFunc",
    "verify_controller_attached_volume": "GenerateVerifyControllerAttachedVolumeFunc",
}
"""By the name of an operation, the function of upstream that carries it out."""
