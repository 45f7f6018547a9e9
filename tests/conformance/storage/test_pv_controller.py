"""The PV controller against upstream's own table tests, compared down to every API call."""

from typing import Any

import pytest

from engine.controllers.persistent_volumes.migration_annotations import migration_patch
from engine.controllers.persistent_volumes.trace_steps.branches import TREES
from engine.controllers.persistent_volumes.trace_steps.syncs import BranchTaken
from engine.kernel.trace import Trace
from engine.objects.objects import PersistentVolume, PersistentVolumeClaim, StorageClass
from engine.objects.phases import (
    BETA_STORAGE_PROVISIONER,
    MIGRATED_TO,
    PROVISIONED_BY,
    STORAGE_PROVISIONER,
)
from engine.storage.matching.index import VolumeIndex
from engine.storage.migration import MigrationGates
from engine.storage.pv_helpers import ControllerError, is_delay_binding
from tests.conformance.storage.pv_harness import CLAIMS, VOLUMES, FakeListers, Harness
from tests.conformance.vectors import Json, obj, parametrised, pruned, upstream, without_versions

FILES = {
    name: upstream(f"persistentvolume_{name}_test.json")
    for name in ("binder", "delete", "provision", "recycle", "pv_controller")
}
CONTROLLER = FILES["pv_controller"]


def cases(runner: str) -> list[Any]:
    if not any(FILES.values()):
        return parametrised(None)
    return parametrised(
        (f"{case['upstreamTest']}-{case['name']}", (case, file))
        for file in FILES.values()
        for case in (file["cases"] if file else ())
        if case["runner"] == runner
    )


def harness(case: Json, file: Json, *, running: bool = False) -> Harness:
    classes = file["storageClassSets"][case["storageClassSet"]] if "storageClassSet" in case else []
    pods = file["podSets"][case["podSet"]] if "podSet" in case else []
    return Harness(case, classes, pods, running=running)


def check_outcome(done: Harness, *, exact: bool = True) -> None:
    case = done.case
    for resource, which in ((VOLUMES, "volumes"), (CLAIMS, "claims")):
        final = [pruned(item.raw) for item in done.api.objects[resource].values()]
        final.sort(key=_name)
        actual = sorted((pruned(raw) for raw in case["actual"][which] or ()), key=_name)
        assert [without_versions(raw) for raw in final] == [without_versions(r) for r in actual]
        if exact:
            assert final == actual
    assert done.events.texts == (case["actual"]["events"] or [])


def _name(raw: Json) -> str:
    return raw["metadata"]["name"]


def steps(trace: list[Json]) -> list[Json]:
    return [pruned({**step, "error": step.get("error")}) for step in trace]


@pytest.mark.parametrize("case", cases("sync"))
def test_one_sync_does_as_upstream(case: tuple[Json, Json]) -> None:
    done = harness(*case)
    error = done.run_sync()
    check_outcome(done)
    assert error == case[0]["actual"]["actReturnedError"]
    assert steps(done.trace) == steps(case[0]["actual"]["trace"])


@pytest.mark.parametrize("case", cases("multisync"))
def test_repeated_syncs_do_as_upstream(case: tuple[Json, Json]) -> None:
    done = harness(*case)
    done.run_multisync()
    check_outcome(done)
    assert steps(done.trace) == steps(case[0]["actual"]["trace"])


@pytest.mark.parametrize("case", cases("running"))
def test_a_running_controller_does_as_upstream(case: tuple[Json, Json]) -> None:
    done = harness(*case, running=True)
    done.run_running()
    check_outcome(done)
    # Two workers run side by side upstream: only the order per object is fixed.
    for resource in (VOLUMES, CLAIMS):
        mine, theirs = (
            [s for s in steps(trace) if s.get("resource") == resource and s["verb"] != "get"]
            for trace in (done.trace, case[0]["actual"]["trace"])
        )
        assert mine == theirs


def _version_sequences() -> list[Any]:
    if CONTROLLER is None:
        return parametrised(None)
    sequences = CONTROLLER["resourceVersionCache"]["sequences"]
    return parametrised((each["upstreamTest"], each["steps"]) for each in sequences)


@pytest.mark.parametrize("case", _version_sequences())
def test_cache_refuses_older_versions(case: list[Json]) -> None:
    done = _bare_harness()
    for step in case:
        volume = obj(
            PersistentVolume,
            {"metadata": {"name": "pvName", "resourceVersion": step["version"]}},
        )
        if step.get("shouldFail"):
            with pytest.raises(ControllerError) as raised:
                done.caches.store_volume_update(volume)
            assert str(raised.value) == step["actualError"]
        else:
            assert done.caches.store_volume_update(volume) == step["expectedStored"]


def _bare_harness() -> Harness:
    case: Json = {"act": {"call": "syncClaim"}, "initialClaims": [], "initialVolumes": []}
    return Harness(case, [], [], running=False)


def _delay_cases() -> list[Any]:
    if CONTROLLER is None:
        return parametrised(None)
    return parametrised((each["name"], each) for each in CONTROLLER["delayBindingMode"]["cases"])


@pytest.mark.parametrize("case", _delay_cases())
def test_binding_is_delayed_as_upstream(case: Json) -> None:
    listers = FakeListers({}, CONTROLLER["delayBindingMode"]["storageClasses"], [])
    claim = obj(PersistentVolumeClaim, case["claim"])
    if case["shouldFail"]:
        with pytest.raises(ControllerError) as raised:
            is_delay_binding(claim, listers)
        assert str(raised.value) == case["actualError"]
    else:
        assert is_delay_binding(claim, listers) == case["expectedDelay"]


def _migration_cases() -> list[Any]:
    if CONTROLLER is None:
        return parametrised(None)
    found = CONTROLLER["migrationAnnotations"]["cases"]
    return parametrised((each["name"], each) for each in found)


@pytest.mark.parametrize("case", _migration_cases())
def test_migration_annotations_are_written_as_upstream(case: Json) -> None:
    migration = MigrationGates(frozenset(case["migrationGatesOn"]))
    claim_keys = (STORAGE_PROVISIONER, BETA_STORAGE_PROVISIONER)
    for given, expected, keys in (
        ("claimAnnotations", "expectedClaimAnnotations", claim_keys),
        ("volumeAnnotations", "expectedVolumeAnnotations", (PROVISIONED_BY,)),
    ):
        annotations: dict[str, Any] = dict(case[given] or {})
        annotations.update(migration_patch(annotations, migration, *keys) or {})
        kept = {key: value for key, value in annotations.items() if value is not None}
        assert kept == (case[expected] or {})
        assert MIGRATED_TO not in kept or kept[MIGRATED_TO]


def _other_tests() -> list[Any]:
    file = FILES["provision"]
    if file is None:
        return parametrised(None)
    return parametrised((each["upstreamTest"], each) for each in file["otherTests"])


@pytest.mark.parametrize("case", _other_tests())
def test_disabled_dynamic_provisioning_does_nothing(case: Json) -> None:
    done = _bare_harness()
    done.context.dynamic_provisioning = False
    claim = {"metadata": {"name": "claim", "namespace": "default", "uid": "u"}, "spec": {}}
    done.controller.operations.provision_claim(obj(PersistentVolumeClaim, claim))
    done.settle()
    assert done.trace == []


def test_delay_binding_of_a_claim_without_class() -> None:
    listers = FakeListers({}, [], [])
    listers.classes[""] = obj(StorageClass, {"metadata": {"name": ""}})
    assert not is_delay_binding(obj(PersistentVolumeClaim, {}), listers)
    assert len(VolumeIndex()) == 0


class _NoEvents:
    seq = 0


# Upstream has no table of these.
_IN_NO_TABLE = {
    ("syncClaim", "default_class"),
    ("provisionClaim", "provisioning_off"),
    ("reclaimVolume", "migrated"),
}


def test_syncs_of_upstreams_tables_end_at_every_line() -> None:
    cases_of_both = [*cases("sync"), *cases("multisync")]
    if not any(FILES.values()):
        pytest.skip("upstream's tables are not there")
    ended: set[tuple[str, str]] = set()
    for parameters in cases_of_both:
        done = harness(*parameters.values[0])
        loop = done.controller.context.loop
        trace = loop.trace = Trace(loop, _NoEvents())
        done.run_sync() if done.case["runner"] == "sync" else done.run_multisync()
        ended |= {(taken.function, taken.leaf) for _, taken in trace.each(BranchTaken)}
    lines = {
        (function, one.id) for function, tree in TREES.items() for one in tree if one.kind == "end"
    }
    assert ended == lines - _IN_NO_TABLE
