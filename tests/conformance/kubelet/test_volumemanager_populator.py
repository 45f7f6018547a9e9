"""Upstream's populator/desired_state_of_world_populator_test.go, case by case."""

from typing import Any

import pytest

from engine.kubelet.volume_manager.populator import DesiredStateOfWorldPopulator, PopulatorSources
from engine.objects.objects import Pod
from tests.conformance.kubelet.volumemanager import (
    AnyObjects,
    FakePlugin,
    FakePlugins,
    States,
    actual_state,
    cases_of,
    desired_state,
    pod_of,
    unordered,
    written_spec,
)
from tests.conformance.vectors import Json, parametrised, upstream

CASES = cases_of(upstream("volumemanager_populator_test.json"))


class PodManager:
    """Pods as the kubelet knows them; none of their containers runs."""

    def __init__(self) -> None:
        self.pods: dict[str, Pod] = {}

    def get_pods(self) -> list[Pod]:
        return [*self.pods.values()]

    def get_pod_by_uid(self, uid: str) -> Pod | None:
        return self.pods.get(uid)

    def has_running_containers(self, uid: str) -> bool:
        return False


class StoppedClock:
    now = 0


class PopulatorTest:
    """One upstream test: its populator, and what its steps do to it."""

    def __init__(self, *, expand_in_use: bool) -> None:
        self.plugin = FakePlugin()
        self.states = States(FakePlugins(self.plugin), expand_in_use=expand_in_use)
        self.pods = PodManager()
        self.api = AnyObjects({}, {})
        self.populator = DesiredStateOfWorldPopulator(
            PopulatorSources(StoppedClock(), self.api, self.pods, self.pods),
            self.states.desired,
            self.states.actual,
            self.states.plugins,
            expand_in_use=expand_in_use,
        )

    def take(self, step: Json) -> None:
        if "setup" in step:
            self.api.volume, self.api.claim = step["pv"], step["pvc"]
        elif "change" in step:
            self._change(step)
        elif "assert" in step:
            assert step["assert"] == "volumes marked fsResizeRequired"
            assert self._marked_for_resize() == step["value"]
        elif step["by"] != "test":
            # Seen in the state after the populator's pass.
            return
        elif self.states.has(step["call"]):
            self.states.check(step)
        else:
            self._call(step)

    def _change(self, step: Json) -> None:
        what = step["change"]
        if what.startswith("API client replaced"):
            self.api.volume, self.api.claim = {}, {}
        elif what.startswith("pod status.phase set to "):
            phase = what.split()[4]
            for uid, pod in self.pods.pods.items():
                self.pods.pods[uid] = pod.patched({"status": {"phase": phase}})
        elif what == "volume plugin stops being attachable":
            self.plugin.attachable = False
        elif what == "resize function ran":
            self.api.volume, self.api.claim = step["pv"], step["pvc"]
        else:
            # "actual state made equal …", "emptied": the calls that do so follow.
            assert what.startswith("actual state "), what

    def _marked_for_resize(self) -> list[str]:
        return sorted(
            volume.name
            for volume in self.states.actual.get_attached_volumes()
            if any(pod.fs_resize_required for pod in volume.pods.values())
        )

    def _call(self, step: Json) -> None:
        results = self._results(step["call"], step.get("args") or {})
        if "results" in step:
            assert results == step["results"]
        if "stateAfter" in step:
            state = {
                "actualState": actual_state(self.states.actual),
                "desiredState": desired_state(self.states.desired),
                "processedPods": self.populator.processed_pods,
            }
            assert unordered(state) == unordered(step["stateAfter"])

    def _results(self, call: str, args: Json) -> list[Any]:
        populator = self.populator
        if call == "podManager.AddPod":
            pod = pod_of(args["pod"])
            self.pods.pods[pod.uid] = pod
        elif call == "podManager.DeletePod":
            del self.pods.pods[pod_of(args["pod"]).uid]
        elif call == "populator.findAndAddNewPods":
            populator.find_and_add_new_pods()
        elif call == "populator.findAndRemoveDeletedPods":
            populator.find_and_remove_deleted_pods()
        elif call == "populator.ReprocessPod":
            populator.reprocess_pod(args["podName"])
        elif call == "populator.podPreviouslyProcessed":
            return [populator.processed_pods.get(args["podName"], False)]
        elif call == "populator.podHasBeenSeenOnce":
            return [populator.pod_has_been_seen_once(args["podName"])]
        else:
            assert call == "populator.createVolumeSpec", call
            return self._create_volume_spec(args)
        return []

    def _create_volume_spec(self, args: Json) -> list[Any]:
        created = self.populator.create_volume_spec(
            args["podVolume"], pod_of(args["pod"]), args["mounts"], args["devices"]
        )
        claim = None if created.claim is None else self.api.claim
        spec = None if created.spec is None else written_spec(created.spec)
        if spec and "PersistentVolume" in spec:
            assert created.spec is not None
            assert created.spec.name == self.api.volume["metadata"]["name"]
            spec["PersistentVolume"] = self.api.volume
        error = None if created.error is None else {"error": created.error}
        return [claim, spec, created.gid, error]


@pytest.mark.parametrize("case", parametrised(CASES))
def test_the_populator_does_as_upstream(case: Json) -> None:
    test = PopulatorTest(expand_in_use=case.get("enableResize", True))
    for step in case["steps"]:
        test.take(step)
