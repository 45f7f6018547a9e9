"""The inside of what looks after volumes: the steps of demos, and that they change nothing."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.cluster.cluster import Cluster
from engine.controllers.persistent_volumes.trace_steps.branches import TREES
from engine.diagnosis.inside.answer import Step, VolumesInside
from engine.diagnosis.inside.steps import inside_volumes
from engine.diagnosis.inside.trace import Asked, VolumesTrace
from engine.diagnosis.inside.upstream import PLACES
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from engine.kernel.trace import place_of
from engine.kernel.units import SECOND
from engine.versions.registry import VERSIONS
from tests import builders
from tests.properties.clusters import random_scenario
from tests.properties.examples import examples
from tests.scenarios.played import FOLDER


def inside(name: str, version: str = "v1.36", **asked: str) -> VolumesInside:
    scenario = Scenario.from_load(load_paths([FOLDER / f"{name}.yaml"]), name=name)
    return played(scenario, version, **asked)


def played(scenario: Scenario, version: str = "v1.36", **asked: str) -> VolumesInside:
    cluster = Cluster.create(scenario, profile=version, seed=scenario.seed)
    trace = cluster.loop.trace = VolumesTrace(cluster, Asked(**asked))
    cluster.advance(scenario.until)
    return inside_volumes(trace, version)


def of(answer: VolumesInside, outcome: str) -> Step:
    return next(step for step in answer.steps if step.outcome == outcome)


def test_a_refused_write_leaves_the_claim_half_bound() -> None:
    answer = inside("half-bound", claim="shop/orders")
    first, again, *_ = (
        step for step in answer.steps if step.outcome in ("found", "waits_for_claim")
    )
    assert [(write.kind, bool(write.error)) for write in first.writes] == [
        ("VolumePreBound", False),
        ("VolumeBound", False),
        ("ClaimBindCompleted", True),
    ]
    assert first.queued_again
    assert "the object has been modified" in first.error
    assert again.entity == "volume/pv-gold"
    assert ("PV controller", "claimQueue", "", "shop/orders") in [
        (one.whose, one.what, one.before, one.after) for one in again.memory
    ]


@pytest.mark.parametrize(
    ("version", "file"), [("v1.11", "persistentvolume"), ("v1.36", "volumebinding")]
)
def test_the_scheduler_assumes_before_it_writes(version: str, file: str) -> None:
    answer = inside("local-volumes", version, claim="default/data-db-0")
    assumed = of(answer, "assumed")
    name = assumed.says["volume"]
    (known,) = (one for one in assumed.known if one.entity == f"volume/{name}")
    assert (known.over, known.names) == ("claimRef", "")
    assert ("scheduler", name, f"rv {known.assumed}", f"rv {known.assumed} + claimRef") in [
        (one.whose, one.what, one.before, one.after) for one in assumed.memory
    ]
    assert file in assumed.stack[0].file
    assert of(answer, "written").writes[0].kind == "VolumePreBound"


def test_a_volume_is_bound_again_by_its_claim() -> None:
    made = inside("recycled-volume", "v1.20", claim="default/first").steps
    writes = [(step.function, one.kind) for step in made for one in step.writes]
    assert ("recycleVolumeOperation", "VolumeUnbound") in writes
    assert writes[-2:] == [("syncClaim", "VolumePreBound"), ("syncClaim", "VolumeBound")]


def test_each_wait_of_a_mount_doubles() -> None:
    answer = inside("wrong-fs-type", claim="default/reports")
    tries = [one for one in answer.tries if one.operation == "volume_mount" and one.error]
    assert [one.delay / SECOND for one in tries[:4]] == [0.5, 1, 2, 4]
    for one, following in zip(tries, tries[1:], strict=False):
        assert one.retry_at == following.began
    fails = next(
        step for step in answer.steps if step.outcome == "fails" and step.part == "kubelet"
    )
    assert [frame.function for frame in fails.stack] == ["GenerateMountVolumeFunc", "Update"]


def test_the_populator_says_why_it_left_a_pod() -> None:
    answer = inside("wrong-fs-type", node="node-1")
    tick = next(step.tick for step in answer.steps if step.function == "findAndRemoveDeletedPods")
    assert tick is not None
    seen = {(pod.function, pod.pod): (pod.found, pod.what, pod.done) for pod in tick.pods}
    removed = seen["findAndRemoveDeletedPods", "default/web"]
    assert removed == ("terminated", "removed", True)
    assert seen["findAndAddNewPods", "default/api"] == ("in processedPods", "skipped", False)


def test_an_attach_waits_for_the_other_node() -> None:
    answer = inside("dangling-attach", pod="default/db-0")
    refused = of(answer, "attached to another node")
    assert refused.says == {"volume": "disk-1", "others": ["node-1"]}
    after = [
        step.outcome for step in answer.steps if step.part == "attach" and step.at > refused.at
    ]
    assert after[:3] == ["detach", "succeeds", "attach"]


def test_what_only_repeats_is_counted() -> None:
    waiting = (
        builders.storage_class("disk", "kubernetes.io/no-provisioner", mode="WaitForFirstConsumer"),
        builders.claim("data", "disk", "1Gi"),
    )
    answer = played(
        Scenario(name="waits", objects=waiting, until=40 * SECOND), claim="default/data"
    )
    (step,) = answer.steps
    assert (step.outcome, step.repeated) == ("waits_for_consumer", 2)
    assert step.last_at == 30 * SECOND


@pytest.mark.parametrize("version", sorted(VERSIONS))
def test_every_function_has_a_place_upstream(version: str) -> None:
    files = [place_of(PLACES, name, version).file for name in PLACES]
    assert all(file.startswith(("pkg/", "sig-storage-lib")) for file in files)


def test_every_end_of_a_tree_has_its_sentence() -> None:
    text = Path("static/js/model/inside/sentences.js").read_text()
    known = set(re.findall(r"^  (\w+): \[", text, re.MULTILINE))
    ends = {one.id for tree in TREES.values() for one in tree if one.kind == "end"}
    assert ends <= known


@examples(5)
@given(st.integers(0, 10_000), st.sampled_from(sorted(VERSIONS)))
def test_listening_to_volumes_changes_no_history(seed: int, version: str) -> None:
    scenario = random_scenario(seed)
    alone, answer = (Cluster.create(scenario, seed=seed, profile=version) for _ in range(2))
    trace = answer.loop.trace = VolumesTrace(answer, Asked(claim="default/data-0"))
    for cluster in (alone, answer):
        cluster.advance(30 * SECOND)
        cluster.take()
    assert answer.digest() == alone.digest()
    assert len(inside_volumes(trace, version).steps) <= len(trace.volume_entries)
