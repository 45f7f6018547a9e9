"""Upstream's fakes of the kubelet's volume manager tests, and how the vectors write its state down."""

from typing import Any, cast

from engine.kubelet.volume_manager.actual_state import (
    ActualStateOfWorld,
    AttachedVolume,
    DeviceMountState,
    MarkVolumeOpts,
    MountedVolume,
    VolumeMountState,
    mounted_volume,
)
from engine.kubelet.volume_manager.desired_state import DesiredStateOfWorld, VolumeToMount
from engine.objects.objects import PersistentVolume, PersistentVolumeClaim, Pod
from engine.objects.values import quantity
from engine.storage.plugins.spec import Answer, VolumePlugin, VolumePlugins, VolumeSpec
from tests.conformance.vectors import Json, obj


class FakePlugin:
    """Upstream: volumetesting.FakeVolumePlugin; attachable, device-mountable and block-capable."""

    def __init__(
        self,
        name: str = "fake-plugin",
        *,
        attachable: bool = True,
        device_mountable: bool = True,
        block: bool = True,
        remount: bool = False,
    ) -> None:
        self.name = name
        self.attachable = attachable
        self.device_mountable = device_mountable
        self.block = block
        self.requires_remount = remount

    def volume_name(self, spec: VolumeSpec) -> str:
        disk = (spec.volume or {}).get("gcePersistentDisk") or spec.source.get("gcePersistentDisk")
        return disk["pdName"] if disk else spec.name

    def is_attachable(self, spec: VolumeSpec) -> bool:
        return self.attachable

    def is_device_mountable(self, spec: VolumeSpec) -> bool:
        return self.device_mountable

    def is_block_capable(self, spec: VolumeSpec | None) -> bool:
        return self.block

    def is_expandable(self, spec: VolumeSpec) -> bool:
        return True

    def call(self, call: str, spec: VolumeSpec | None, pod: Pod | None, node: str = "") -> Answer:
        raise AssertionError(f"{call} is not expected here")


class FakePlugins:
    """Knows one plugin for every spec; or, for the naming cases, one per volume name."""

    def __init__(
        self, plugin: VolumePlugin, by_volume: dict[str, VolumePlugin] | None = None
    ) -> None:
        self.plugin = plugin
        self.by_volume = by_volume or {}

    def find_by_spec(self, spec: VolumeSpec) -> VolumePlugin | None:
        return self.by_volume.get(spec.name, self.plugin)

    def find_by_name(self, name: str) -> VolumePlugin | None:
        return self.plugin if name == self.plugin.name else None


def spec_of(written: Json) -> VolumeSpec:
    return VolumeSpec(
        volume=written.get("Volume"),
        persistent_volume=written.get("PersistentVolume"),
        read_only=written.get("ReadOnly", False),
    )


def written_spec(spec: VolumeSpec) -> Json:
    written: Json = {}
    if spec.volume is not None:
        written["Volume"] = spec.volume
    if spec.persistent_volume is not None:
        written["PersistentVolume"] = spec.persistent_volume
    if spec.read_only:
        written["ReadOnly"] = True
    return written


def pod_of(written: Json) -> Pod:
    return obj(Pod, written)


def opts_of(written: Json) -> MarkVolumeOpts:
    return MarkVolumeOpts(
        pod_name=written["PodName"],
        pod_uid=written["PodUID"],
        volume_name=written["VolumeName"],
        spec=spec_of(written["VolumeSpec"]),
        outer_name=written["OuterVolumeSpecName"],
        gid=written["VolumeGidVolume"],
        state=VolumeMountState(written["VolumeMountState"]),
    )


def error_of(text: str | None) -> Json | None:
    return None if text is None or text == "" else {"error": text}


def actual_state(actual: ActualStateOfWorld) -> Json:
    return {
        "attachedVolumes": {
            volume.name: {
                "deviceMountPath": volume.device_mount_path,
                "deviceMountState": volume.device_mount_state.value,
                "devicePath": volume.device_path,
                "mountedPods": {
                    pod.pod_name: {
                        "fsResizeRequired": pod.fs_resize_required,
                        "outerVolumeSpecName": pod.outer_name,
                        "remountRequired": pod.remount_required,
                        "volumeMountState": pod.state.value,
                    }
                    for pod in volume.pods.values()
                },
                "pluginIsAttachable": volume.is_attachable,
                "volumeInUseErrorForExpansion": volume.in_use_error_for_expansion,
            }
            for volume in actual.get_attached_volumes()
        }
    }


CERTAIN = (VolumeMountState.MOUNTED,)
POSSIBLE = (VolumeMountState.MOUNTED, VolumeMountState.UNCERTAIN)


def mounted_volumes(
    actual: ActualStateOfWorld, states: tuple[VolumeMountState, ...] = CERTAIN
) -> list[MountedVolume]:
    """The (volume, pod) pairs whose mount is in one of *states*."""
    return [
        mounted_volume(volume, pod)
        for volume in actual.get_attached_volumes()
        for pod in volume.pods.values()
        if pod.state in states
    ]


def size_text(size: int | None) -> str | None:
    if size is None:
        return None
    return str(quantity.Quantity(size * 10**9, quantity.Format.BINARY_SI))


def desired_state(desired: DesiredStateOfWorld) -> Json:
    volumes: Json = {}
    for volume in desired.volumes():
        written: Json = {
            "pluginIsAttachable": volume.is_attachable,
            "pluginIsDeviceMountable": volume.is_device_mountable,
            "pods": {
                pod.pod_name: {
                    "innerVolumeSpecName": pod.spec.name,
                    "outerVolumeSpecName": pod.outer_name,
                }
                for pod in volume.pods.values()
            },
            "reportedInUse": volume.reported_in_use,
            "volumeGidValue": volume.gid,
        }
        if volume.size_limit is not None:
            written["desiredSizeLimit"] = size_text(volume.size_limit)
        volumes[volume.name] = written
    errors = {name: desired.pod_errors(name) for name in desired.get_pods_with_errors()}
    return {"podErrors": errors, "volumes": volumes}


def written_attached(volume: AttachedVolume, node: str) -> Json:
    return {
        "AttachedVolume": {
            "DeviceMountPath": volume.device_mount_path,
            "DevicePath": volume.device_path,
            "NodeName": node,
            "PluginIsAttachable": volume.is_attachable,
            "PluginName": volume.plugin_name,
            "VolumeName": volume.name,
            "VolumeSpec": written_spec(volume.spec),
        },
        "DeviceMountState": volume.device_mount_state.value,
    }


def written_mounted(mounted: MountedVolume) -> Json:
    return {
        "DeviceMountPath": mounted.device_mount_path,
        "InnerVolumeSpecName": mounted.inner_name,
        "OuterVolumeSpecName": mounted.outer_name,
        "PluginName": mounted.plugin_name,
        "PodName": mounted.pod_name,
        "PodUID": mounted.pod_uid,
        "VolumeGidValue": mounted.gid,
        "VolumeName": mounted.volume_name,
    }


def written_to_mount(volume: VolumeToMount) -> Json:
    return {
        "DesiredSizeLimit": size_text(volume.size_limit),
        "DevicePath": volume.device_path,
        "OuterVolumeSpecName": volume.outer_name,
        "PluginIsAttachable": volume.is_attachable,
        "PluginIsDeviceMountable": volume.is_device_mountable,
        "PodName": volume.pod_name,
        "ReportedInUse": volume.reported_in_use,
        "VolumeGidValue": volume.gid,
        "VolumeName": volume.volume_name,
    }


def unordered(results: Any) -> Any:
    """Lists come in the random order of Go's maps: compare them as sorted."""
    if isinstance(results, list):
        return sorted((unordered(item) for item in cast("list[Any]", results)), key=repr)
    if isinstance(results, dict):
        return {key: unordered(value) for key, value in sorted(cast("Json", results).items())}
    return results


class States:
    """The desired and actual state of one test, with the test's own calls on them."""

    def __init__(
        self, plugins: VolumePlugins, node: str = "mynode", *, expand_in_use: bool = True
    ) -> None:
        self.plugins = plugins
        self.desired = DesiredStateOfWorld(plugins)
        self.actual = ActualStateOfWorld(node, plugins, expand_in_use=expand_in_use)

    def has(self, call: str) -> bool:
        return call.startswith(("DSW.", "ASW."))

    def state_after(self, call: str) -> Json:
        return desired_state(self.desired) if call.startswith("DSW.") else actual_state(self.actual)

    def call(self, call: str, args: Json) -> list[Any] | None:
        """Make the call; its results as the vectors write them, None for none."""
        name = call.replace(".", "_").lower()
        return getattr(self, name)(args)

    # Desired state

    def dsw_addpodtovolume(self, args: Json) -> list[Any]:
        added = self.desired.add_pod_to_volume(
            args["podName"],
            pod_of(args["pod"]),
            spec_of(args["volumeSpec"]),
            args["outerVolumeSpecName"],
            args["volumeGidValue"],
        )
        return [added.volume_name, error_of(added.error)]

    def dsw_volumeexists(self, args: Json) -> list[Any]:
        return [self.desired.volume_exists(args["volumeName"])]

    def dsw_getvolumestomount(self, args: Json) -> list[Any]:
        return [[written_to_mount(volume) for volume in self.desired.get_volumes_to_mount()]]

    def dsw_podexistsinvolume(self, args: Json) -> list[Any]:
        return [self.desired.pod_exists_in_volume(args["podName"], args["volumeName"])]

    def dsw_volumeexistswithspecname(self, args: Json) -> list[Any]:
        pods = [volume.pods.get(args["podName"]) for volume in self.desired.volumes()]
        return [any(pod and pod.spec.name == args["volumeSpecName"] for pod in pods)]

    def dsw_deletepodfromvolume(self, args: Json) -> None:
        self.desired.delete_pod_from_volume(args["podName"], args["volumeName"])

    def dsw_markvolumesreportedinuse(self, args: Json) -> None:
        self.desired.mark_volumes_reported_in_use(args["reportedVolumes"])

    def dsw_markvolumeattachability(self, args: Json) -> None:
        self.desired.mark_volume_attachability(args["volumeName"], args["attachable"])

    def dsw_adderrortopod(self, args: Json) -> None:
        self.desired.add_error_to_pod(args["podName"], args["err"])

    def dsw_poppoderrors(self, args: Json) -> list[Any]:
        return [self.desired.pop_pod_errors(args["podName"])]

    def dsw_getpodswitherrors(self, args: Json) -> list[Any]:
        return [self.desired.get_pods_with_errors()]

    # Actual state

    def asw_markvolumeasattached(self, args: Json) -> list[Any]:
        error = self.actual.mark_volume_as_attached(
            args["volumeName"], spec_of(args["volumeSpec"]), args["devicePath"]
        )
        return [error_of(error)]

    def asw_addpodtovolume(self, args: Json) -> list[Any]:
        return [error_of(self.actual.mark_volume_as_mounted(opts_of(args["markVolumeOpts"])))]

    asw_markvolumeasmounted = asw_addpodtovolume

    def asw_markvolumemountasuncertain(self, args: Json) -> list[Any]:
        opts = opts_of(args["markVolumeOpts"])
        return [error_of(self.actual.mark_volume_mount_as_uncertain(opts))]

    def asw_markvolumeasunmounted(self, args: Json) -> list[Any]:
        error = self.actual.mark_volume_as_unmounted(args["podName"], args["volumeName"])
        return [error_of(error)]

    def asw_markvolumeasdetached(self, args: Json) -> None:
        self.actual.mark_volume_as_detached(args["volumeName"])

    def asw_markdeviceasmounted(self, args: Json) -> list[Any]:
        error = self.actual.mark_device_as_mounted(
            args["volumeName"], args["devicePath"], args["deviceMountPath"]
        )
        return [error_of(error)]

    def asw_markdeviceasuncertain(self, args: Json) -> list[Any]:
        error = self.actual.mark_device_as_uncertain(
            args["volumeName"], args["devicePath"], args["deviceMountPath"]
        )
        return [error_of(error)]

    def asw_markdeviceasunmounted(self, args: Json) -> list[Any]:
        return [error_of(self.actual.mark_device_as_unmounted(args["volumeName"]))]

    def asw_markremountrequired(self, args: Json) -> None:
        self.actual.mark_remount_required(args["podName"])

    def asw_markfsresizerequired(self, args: Json) -> None:
        self.actual.mark_fs_resize_required(args["volumeName"], args["podName"])

    def asw_markvolumeasresized(self, args: Json) -> list[Any]:
        error = self.actual.mark_volume_as_resized(args["podName"], args["volumeName"])
        return [error_of(error)]

    def asw_volumeexists(self, args: Json) -> list[Any]:
        return [self.actual.volume_exists(args["volumeName"])]

    def asw_volumeexistswithspecname(self, args: Json) -> list[Any]:
        volumes = self.actual.get_attached_volumes()
        pods = [volume.pods.get(args["podName"]) for volume in volumes]
        return [any(pod and pod.spec.name == args["volumeSpecName"] for pod in pods)]

    def asw_podexistsinvolume(self, args: Json) -> list[Any]:
        found = self.actual.pod_exists_in_volume(args["podName"], args["volumeName"])
        return [found.mounted, found.device_path, error_of(found.error)]

    def asw_getunmountedvolumes(self, args: Json) -> list[Any]:
        return [self._attached(self.actual.get_unmounted_volumes())]

    def asw_getgloballymountedvolumes(self, args: Json) -> list[Any]:
        mounted = DeviceMountState.GLOBALLY_MOUNTED
        volumes = self.actual.get_attached_volumes()
        return [self._attached([v for v in volumes if v.device_mount_state is mounted])]

    def asw_getattachedvolumes(self, args: Json) -> list[Any]:
        return [self._attached(self.actual.get_attached_volumes())]

    def asw_getmountedvolumes(self, args: Json) -> list[Any]:
        return [[written_mounted(volume) for volume in mounted_volumes(self.actual, CERTAIN)]]

    def asw_getallmountedvolumes(self, args: Json) -> list[Any]:
        return [[written_mounted(volume) for volume in mounted_volumes(self.actual, POSSIBLE)]]

    def asw_getmountedvolumesforpod(self, args: Json) -> list[Any]:
        mounted = self.actual.get_mounted_volumes_for_pod(args["podName"])
        return [[written_mounted(volume) for volume in mounted]]

    def asw_getpossiblymountedvolumesforpod(self, args: Json) -> list[Any]:
        mounted = self.actual.get_possibly_mounted_volumes_for_pod(args["podName"])
        return [[written_mounted(volume) for volume in mounted]]

    def _attached(self, volumes: list[AttachedVolume]) -> list[Json]:
        return [written_attached(volume, self.actual.node_name) for volume in volumes]

    def check(self, step: Json) -> None:
        """Make the test's own call of *step*; its results and the state after it must agree."""
        call = step["call"]
        results = self.call(call, step.get("args") or {})
        if "results" in step:
            assert unordered(results) == unordered(step["results"]), call
        if "stateAfter" in step:
            assert unordered(self.state_after(call)) == unordered(step["stateAfter"]), call


class AnyObjects:
    """An API client that answers one claim and one volume whatever is asked for."""

    def __init__(self, volume: Json, claim: Json) -> None:
        self.volume = volume
        self.claim = claim

    def get_volume(self, name: str) -> PersistentVolume:
        return obj(PersistentVolume, self.volume)

    def get_claim(self, key: str) -> PersistentVolumeClaim:
        return obj(PersistentVolumeClaim, self.claim)


def cases_of(vectors: Any) -> list[tuple[str, Json]] | None:
    """(name, case) of every upstream test and of every case of its table; None without vectors."""
    if vectors is None:
        return None
    found: list[tuple[str, Json]] = []
    for test in vectors["tests"]:
        if "cases" not in test:
            found.append((test["upstreamTest"], test))
        for case in test.get("cases", []):
            name = f"{test['upstreamTest']}/{case['name']}"
            found.append((name, {"upstreamTest": test["upstreamTest"], **case}))
    return found
