"""The assume caches against upstream's scheduler_assume_cache_test.go."""

from typing import Any

import pytest

from engine.kernel.errors import NotFound, SimError
from engine.objects.objects import PersistentVolume, PersistentVolumeClaim
from engine.storage.binding.assume_cache import AssumeCache, ClaimAssumeCache, VolumeAssumeCache
from tests.conformance.vectors import Json, obj, parametrised, upstream

FILE = upstream("scheduling_scheduler_assume_cache_test.json")
KINDS: dict[str, Any] = {
    "TestAssumePV": (VolumeAssumeCache, PersistentVolume),
    "TestAssumePVC": (ClaimAssumeCache, PersistentVolumeClaim),
}


def table() -> list[Any]:
    if FILE is None:
        return parametrised(None)
    return parametrised(
        (f"{test}-{case['name']}", (test, case))
        for test, cases in FILE["tables"].items()
        for case in cases
    )


@pytest.mark.parametrize("case", table())
def test_an_assumed_object_is_kept_as_upstream(case: tuple[str, Json]) -> None:
    test, row = case
    make_cache, kind = KINDS[test]
    cache: AssumeCache[Any] = make_cache()
    old, new = obj(kind, row["old"]), obj(kind, row["new"])
    cache.add(old)
    if row["shouldSucceed"]:
        cache.assume(new)
    else:
        with pytest.raises(SimError) as raised:
            cache.assume(new)
        assert str(raised.value) == row["actualError"]
    assert cache.get(old.key) is (new if row["shouldSucceed"] else old)


def volume(name: str, version: str = "1", storage_class: str = "") -> PersistentVolume:
    spec = {"storageClassName": storage_class}
    return obj(
        PersistentVolume, {"metadata": {"name": name, "resourceVersion": version}, "spec": spec}
    )


def volumes_of(cache: VolumeAssumeCache, storage_class: str) -> list[PersistentVolume]:
    found = [v for v in cache.latest.values() if v.storage_class_name == storage_class]
    return sorted(found, key=lambda volume: volume.name)


# The sequences of upstream's tests, which the vectors give in words.


@pytest.mark.parametrize("test", KINDS)
def test_a_restored_object_is_kept_as_upstream(test: str) -> None:
    make_cache, kind = KINDS[test]
    cache: AssumeCache[Any] = make_cache()
    manifest = {"metadata": {"name": "x", "namespace": "ns1", "resourceVersion": "5"}}
    old, new = obj(kind, manifest), obj(kind, manifest)
    cache.restore("nothing")
    cache.add(old)
    cache.restore(old.key)
    assert cache.get(old.key) is old
    cache.assume(new)
    assert cache.get(old.key) is new
    cache.restore(old.key)
    assert cache.get(old.key) is old


def test_volumes_are_listed_by_storage_class() -> None:
    cache = VolumeAssumeCache()
    with pytest.raises(NotFound):
        cache.get("nothere")
    for number in range(10):
        cache.add(volume(f"test-pv{number}"))
    assert [v.name for v in volumes_of(cache, "")] == [f"test-pv{n}" for n in range(10)]
    newer = volume("test-pv3", "2")
    cache.add(newer)
    assert volumes_of(cache, "")[3] is newer
    cache.delete(volume("test-pv7"))
    assert len(volumes_of(cache, "")) == 9
    assert len(cache.index) == 9


def test_volume_cache_with_storage_classes() -> None:
    cache = VolumeAssumeCache()
    for number in range(10):
        cache.add(volume(f"class1-pv{number}", "1", "class1"))
        cache.add(volume(f"class2-pv{number}", "1", "class2"))
    assert len(volumes_of(cache, "class1")) == len(volumes_of(cache, "class2")) == 10
    newer = volume("class1-pv0", "2", "class1")
    cache.add(newer)
    cache.delete(volume("class1-pv1", "1", "class1"))
    assert volumes_of(cache, "class1")[0] is newer
    assert len(volumes_of(cache, "class1")) == 9
    assert len(volumes_of(cache, "class2")) == 10


@pytest.mark.parametrize("test", KINDS)
def test_the_same_version_keeps_the_assumed_object(test: str) -> None:
    make_cache, kind = KINDS[test]
    cache: AssumeCache[Any] = make_cache()
    manifest = {"metadata": {"name": "x", "namespace": "ns1", "resourceVersion": "1"}}
    cache.add(obj(kind, manifest))
    assumed = obj(kind, manifest).patched({"metadata": {"annotations": {"a": "b"}}})
    cache.assume(assumed)
    cache.add(obj(kind, manifest))
    assert cache.get(assumed.key) is assumed
    newer = obj(kind, manifest).patched({"metadata": {"resourceVersion": "2"}})
    cache.add(newer)
    assert cache.get(assumed.key) is newer
