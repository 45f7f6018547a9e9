"""Upstream's reconciler/reconciler_test.go, case by case.

Upstream's reconciler runs beside its test, so that the order in which a recording writes down calls of
the two, and how often it sees an operation repeated, are partly chance. Checked are: every result and
state of the test's own calls, that each recorded state of the world is reached in turn, which driver
calls and operations happen at all, and upstream's own assertions on how often they do.
"""

import re
from collections.abc import Iterable
from typing import Any

import pytest

from engine.kernel.loop import EventLoop
from engine.kernel.units import MILLISECOND, SECOND
from engine.kubelet.volume_manager.actual_state import AttachedVolume, MountedVolume
from engine.kubelet.volume_manager.desired_state import VolumeToMount
from engine.kubelet.volume_manager.operations.base import VolumeOperation
from engine.kubelet.volume_manager.operations.executor import OperationExecutor
from engine.kubelet.volume_manager.reconciler import Reconciler
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.storage.plugins.spec import Answer, ErrorKind, VolumeError, VolumePlugin, VolumeSpec
from tests.conformance.kubelet.volumemanager import (
    FakePlugin,
    FakePlugins,
    States,
    actual_state,
    cases_of,
    pod_of,
    unordered,
)
from tests.conformance.vectors import Json, parametrised, upstream

CASES = cases_of(upstream("volumemanager_reconciler_test.json"))

PATHS = {
    "Attach": "/dev/vdb-test",
    "WaitForAttach": "/dev/sdb",
    "GlobalMapPath": "plugins/fake-plugin/volumeDevices/pluginDependentPath",
}

FAILED = VolumeError("mounting failed")
TIMED_OUT = VolumeError("mount time out", ErrorKind.UNCERTAIN)

# What the driver answers to the first call of a kind, and to later ones. The names are upstream's.
OUTCOMES: dict[str, tuple[VolumeError | None, VolumeError | None]] = {
    "timeout-mount-device-volume": (TIMED_OUT, TIMED_OUT),
    "fail-mount-device-volume-name": (FAILED, FAILED),
    "timeout-and-fail-mount-device-name": (TIMED_OUT, FAILED),
    "success-and-timeout-device-name": (None, TIMED_OUT),
    "success-and-failed-mount-device-name": (None, FAILED),
    "timeout-setup-volume": (TIMED_OUT, TIMED_OUT),
    "fail-setup-volume": (FAILED, FAILED),
    "timeout-and-fail-setup-volume": (TIMED_OUT, FAILED),
    "success-and-timeout-setup-volume-name": (None, TIMED_OUT),
    "success-and-failed-setup-device-name": (None, FAILED),
}
DEVICE_CALLS = ("MountDevice", "SetUpDevice")
POD_CALLS = ("SetUp", "MapPodDevice")

# Operations as the recordings name the requests for them.
OPERATIONS = {
    "volume_attach": "AttachVolume",
    "verify_controller_attached_volume": "VerifyControllerAttachedVolume",
    "volume_mount": "MountVolume",
    "map_volume": "MountVolume",
    "volume_fs_resize": "ExpandInUseVolume",
    "volume_unmount": "UnmountVolume",
    "unmount_device": "UnmountDevice",
    "volume_detach": "DetachVolume",
}


class Driver(FakePlugin):
    """The fake plugin, with a millisecond for every call and failures for magic volume names."""

    def __init__(self, *, remount: bool) -> None:
        super().__init__(remount=remount)
        self.calls: list[str] = []
        self.attempts: dict[str, int] = {}

    def call(self, call: str, spec: VolumeSpec | None, pod: Pod | None, node: str = "") -> Answer:
        assert spec is not None
        if call == "CheckNodeAffinity":
            return Answer()  # In upstream the kubelet does that itself.
        if call == "NodeExpand":
            if spec.name == "fail-expansion-in-use":
                return Answer(error=VolumeError("in use", ErrorKind.FAILED_PRECONDITION))
            return Answer()
        error = self._outcome(call, spec.name)
        # Upstream's fake counts an attempt to set up a file system, and of the others what succeeds.
        if error is None or call == "SetUp":
            self.calls.append(call)
        return Answer(MILLISECOND, PATHS.get(call, ""), error)

    def _outcome(self, call: str, volume: str) -> VolumeError | None:
        if volume not in OUTCOMES:
            return None
        if call not in (POD_CALLS if "setup" in volume else DEVICE_CALLS):
            return None
        attempt = self.attempts[call] = self.attempts.get(call, 0) + 1
        return OUTCOMES[volume][attempt > 1]


class Api:
    """The API server of the test."""

    def __init__(self) -> None:
        self.attached: list[Manifest] = [
            {"name": "fake-plugin/fake-device1", "devicePath": "/fake/path"}
        ]
        self.claim: Manifest = {}

    def volumes_attached(self) -> list[Manifest]:
        return self.attached

    def claim_of(self, volume: Manifest) -> Manifest:
        return self.claim

    def mark_fs_resize_finished(self, claim: Manifest, capacity: str) -> None:
        return None


class ReconcilerTest:
    """One upstream test: the reconciler loop, and what the test's steps do beside it."""

    def __init__(self, case: Json) -> None:
        self.loop = EventLoop()
        self.driver = Driver(remount=case.get("table", {}).get("supportRemount", False))
        self.states = States(FakePlugins(self.driver), "mynodename")
        self.api = Api()
        self.operations: dict[str, None] = {}
        self.executor = OperationExecutor(
            self.loop, self.states.plugins, self.api, self.states.actual, self
        )
        self.reconciler = Reconciler(self.states.desired, self.states.actual, self.executor)
        self.waiting = False
        self.awaited: dict[str, None] = {}
        self.reached = 0

    # What operations tell

    def operation_waits(self, operation: VolumeOperation) -> None:
        return None

    def operation_started(self, operation: VolumeOperation) -> None:
        self.operations[OPERATIONS[operation.name]] = None

    def operation_finished(self, operation: VolumeOperation, error: str | None) -> None:
        pass

    def warn(self, pod: ApiObject | None, type: str, reason: str, message: str) -> None:
        pass

    # The steps of the test

    def take(self, step: Json) -> None:
        if "setup" in step:
            self._set_up(step)
        elif "waitBegin" in step:
            self.waiting = True
            self.awaited.clear()
        elif "waitDone" in step:
            self.waiting = False
            self._advance_to_state(step["actualState"])
            self.reached = len(self.driver.calls)
        elif "assert" in step:
            self._assert_calls(step["assert"], step["expectedAtLeastOrEqual"])
        elif "pluginCall" in step and self.waiting:
            self.awaited[step["pluginCall"]] = None
        elif "pluginCall" in step:
            self._advance_to_call(step["pluginCall"])
        elif step.get("by") == "test" and not self.waiting:
            self._check(step)

    def _set_up(self, step: Json) -> None:
        if step["setup"] == "api objects":
            if step["nodeStatusVolumesAttached"] is not None:
                self.api.attached = step["nodeStatusVolumesAttached"]
            self.api.claim = step["pvc"]
        else:
            self.reconciler = Reconciler(
                self.states.desired,
                self.states.actual,
                self.executor,
                controller_attach_detach=step["controllerAttachDetachEnabled"],
            )

    def _check(self, step: Json) -> None:
        """The test's own call. Its answer may be awaited: upstream polls without saying so."""
        if "stateAfter" in step or not step["call"].startswith("ASW."):
            self.states.check(step)
            return
        for _ in self._passes():
            results = self.states.call(step["call"], step.get("args") or {})
            if unordered(results) == unordered(step["results"]):
                return
        self.states.check(step)

    def _assert_calls(self, assertion: str, expected: int) -> None:
        found = re.fullmatch(r"Verify(Zero)?(?:Get)?(\w+?)(?:CallCount|Calls)", assertion)
        assert found, assertion
        count = self.driver.calls.count(found[2])
        assert count == 0 if found[1] else count >= expected, assertion

    # The loop of the reconciler

    def _passes(self) -> Iterable[None]:
        """Before every pass of the loop that upstream's own wait would allow."""
        until = self.loop.now + 10 * SECOND
        while self.loop.now <= until:
            yield
            self.reconciler.reconcile()
            # Operations take steps between two passes.
            self.loop.run(self.loop.now)
            yield
            self.loop.run(self.loop.now + MILLISECOND)

    def _advance_to_state(self, expected: Json) -> None:
        """Let the loop run until the state is as recorded, and what led there has been called."""
        wanted = unordered(expected)
        seen = False
        for _ in self._passes():
            if unordered(actual_state(self.states.actual)) == wanted:
                seen = True
                if self.awaited.keys() <= set(self.driver.calls[self.reached :]):
                    return
        assert seen or unordered(actual_state(self.states.actual)) == wanted

    def _advance_to_call(self, call: str) -> None:
        for _ in self._passes():
            if call in self.driver.calls[self.reached :]:
                self.reached = self.driver.calls.index(call, self.reached) + 1
                return
            if self.states.actual.get_attached_volumes() == []:
                return


def _unknown_plugin_test(case: Json) -> None:
    """A request on a volume whose plugin is not known, or cannot do block devices."""
    plugin: VolumePlugin = FakePlugin("fake-file-plugin", block=False)
    test = ReconcilerTest(case)
    known = case["name"] == "blockVolumePlugin is nil"
    test.executor.plugins = FakePlugins(plugin) if known else NoPlugins()
    (step,) = case["steps"]
    request, args = step["call"].partition(".")[2], step["args"]
    spec = VolumeSpec(persistent_volume={"metadata": {"name": ""}, "spec": {"volumeMode": "Block"}})
    pod = pod_of({"metadata": {"name": "pod1", "uid": "pod1uid"}})
    result: Any
    if request == "MountVolume":
        result = test.executor.mount_volume(VolumeToMount("", "", pod, spec, ""))
    elif request == "UnmountVolume":
        name = args["volumeToUnmount"]["PluginName"]
        mounted = MountedVolume("", "", "", "", "", name, "", "", spec)
        result = test.executor.unmount_volume(mounted)
    else:
        assert request == "UnmountDevice"
        name = args["deviceToDetach"]["PluginName"]
        test.states.actual.node_name = args["deviceToDetach"]["NodeName"]
        result = test.executor.unmount_device(AttachedVolume("", spec, name, False, ""))
    assert [{"error": result}] == step["results"]


class NoPlugins:
    """Knows no plugin."""

    def find_by_spec(self, spec: VolumeSpec) -> None:
        return None

    def find_by_name(self, name: str) -> None:
        return None


def _recorded(steps: list[Json], prefix: str) -> set[str]:
    """Names of the requests of the reconciler, or of the driver calls, that a recording has."""
    if prefix == "pluginCall":
        return {step["pluginCall"] for step in steps if "pluginCall" in step}
    calls = (step["call"] for step in steps if step.get("by") == "reconciler.go")
    return {call.partition(".")[2] for call in calls if call.startswith(prefix)}


@pytest.mark.parametrize("case", parametrised(CASES))
def test_the_reconciler_does_as_upstream(case: Json) -> None:
    if case["upstreamTest"].endswith("_Plugin_Not_Found"):
        _unknown_plugin_test(case)
        return
    test = ReconcilerTest(case)
    for step in case["steps"]:
        test.take(step)
    assert set(test.driver.calls) == _recorded(case["steps"], "pluginCall")
    assert set(test.operations) == _recorded(case["steps"], "operationExecutor.")
