"""The TTL of finished Jobs. Upstream: pkg/controller/ttlafterfinished."""

from typing import Any

import pytest

from tests.engine.controllers.workloads.builders import Json, World, make, make_node


def _job(**spec: Any) -> Json:
    made = make("Job", **spec)
    ends = {"kscope.dev/run-for": "2s", "kscope.dev/exit-code": "0"}
    made["spec"]["template"]["metadata"]["annotations"] = ends
    return made


def _world(*objects: Json, profile: str = "v1.36", **more: Any) -> World:
    return World(make_node("n1"), *objects, profile=profile, **more)


@pytest.mark.parametrize("profile", ["v1.34", "v1.35", "v1.36"])
def test_a_finished_job_goes_with_its_pods(profile: str) -> None:
    world = _world(_job(ttlSecondsAfterFinished=30), profile=profile)
    world.run(20)
    finished = world.get("Job").status["completionTime"]
    assert finished
    assert len(world.pods()) == 1
    world.run(80)
    assert not world.store.objects("Job")
    assert not world.store.objects("Pod")
    recorded = world.cluster.recorder.pending
    authors = [one.component for one in recorded if one.kind == "JobTerminating"]
    assert authors == ["ttl-after-finished-controller"]


def test_a_job_without_ttl_stays() -> None:
    world = _world(_job())
    world.run(300)
    assert world.get("Job").status["succeeded"] == 1


def test_a_longer_ttl_counts_from_the_end() -> None:
    world = _world(_job(ttlSecondsAfterFinished=10))
    world.run(8)
    world.patch("job/default/web", spec={"ttlSecondsAfterFinished": 60})
    world.run(30)
    assert world.store.objects("Job")
    world.run(80)
    assert not world.store.objects("Job")


def test_a_ttl_of_zero_deletes_at_once() -> None:
    world = _world(_job(ttlSecondsAfterFinished=0))
    world.run(20)
    assert not world.store.objects("Job")


def test_the_ttl_waits_for_its_gate() -> None:
    world = _world(_job(ttlSecondsAfterFinished=5), profile="v1.20")
    world.run(60)
    assert world.get("Job").status["succeeded"] == 1
    gates = {"TTLAfterFinished": True}
    world = _world(_job(ttlSecondsAfterFinished=5), profile="v1.20", feature_gates=gates)
    world.run(60)
    assert not world.store.objects("Job")
