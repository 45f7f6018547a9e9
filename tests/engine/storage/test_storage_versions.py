"""What the next version of an object is known to be, held against what its manifest says."""

from random import Random
from typing import Any, cast

import pytest

from engine.api_server.store.watches import WatchEvent
from engine.objects.objects import (
    ApiObject,
    PersistentVolume,
    PersistentVolumeClaim,
    derived,
    from_manifest,
)
from engine.storage.binding.assume_cache import VolumeAssumeCache
from engine.storage.matching.offers import offer_of, wanted_of

BETA_CLASS = "volume.beta.kubernetes.io/storage-class"
PARTS: dict[str, dict[str, Any]] = {
    "Pod": {"spec": {"nodeName": "n", "priority": 3}, "status": {"phase": "Running"}},
    "Node": {"spec": {}, "status": {"allocatable": {"cpu": "2"}}},
    "PersistentVolume": {
        "spec": {
            "capacity": {"storage": "3Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "disk",
            "claimRef": {"namespace": "default", "name": "data", "uid": "u-1"},
        },
        "status": {"phase": "Available"},
    },
    "PersistentVolumeClaim": {
        "spec": {
            "resources": {"requests": {"storage": "2Gi"}},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "disk",
            "volumeName": "v",
        },
        "status": {"phase": "Pending"},
    },
    "StorageClass": {"provisioner": "p"},
}
OTHER_STATUS = {
    "Pod": {"phase": "Succeeded"},
    "Node": {"allocatable": {"cpu": "5"}},
    "PersistentVolume": {"phase": "Bound"},
    "PersistentVolumeClaim": {"phase": "Bound"},
    "StorageClass": {"any": "thing"},
}


def read(obj: ApiObject) -> dict[str, Any]:
    """Everything that is derived from the manifest, and what the index keeps on it."""
    kinds = [kind for kind in reversed(type(obj).__mro__) if issubclass(kind, ApiObject)]
    names = [n for kind in kinds for n, a in vars(kind).items() if isinstance(a, derived)]
    found = {name: getattr(obj, name) for name in names}
    if isinstance(obj, PersistentVolume):
        found |= {f"offer.{name}": getattr(offer_of(obj), name) for name in offer_of(obj).__slots__}
    if isinstance(obj, PersistentVolumeClaim):
        wanted = wanted_of(obj)
        found |= {f"wanted.{name}": getattr(wanted, name) for name in wanted.__slots__}
    return found


def known(kind: str) -> ApiObject:
    """An object that the store has had, of which everything has been read."""
    metadata = {"name": "x", "uid": "u", "resourceVersion": "4", "finalizers": ["f"]}
    obj = from_manifest({"kind": kind, "metadata": metadata, **PARTS[kind]})
    read(obj)
    return obj


@pytest.mark.parametrize("kind", PARTS)
def test_a_new_status_discards_the_old_one(kind: str) -> None:
    new = known(kind).with_status(OTHER_STATUS[kind])
    assert new.raw["status"] == OTHER_STATUS[kind]
    assert read(new) == read(from_manifest(new.raw))


@pytest.mark.parametrize("uid", ["u", "another"])
@pytest.mark.parametrize("kind", PARTS)
def test_a_stored_version_reads_as_its_manifest_says(kind: str, uid: str) -> None:
    old = known(kind)
    new = old.stored(uid, "9")
    assert new.raw == old.with_metadata(uid=uid, resourceVersion="9").raw
    assert old.resource_version == "4"
    assert new.resource_version == "9"
    assert read(new) == read(from_manifest(new.raw))


@pytest.mark.parametrize("parts", [{}, {"spec": {"accessModes": ["ReadOnlyMany"]}}])
@pytest.mark.parametrize("kind", ["PersistentVolume", "PersistentVolumeClaim"])
def test_an_annotated_version_reads_as_its_manifest_says(kind: str, parts: dict[str, Any]) -> None:
    old = cast("PersistentVolume | PersistentVolumeClaim", known(kind))
    new = old.annotated({BETA_CLASS: "fast", "pv.kubernetes.io/bind-completed": "yes"}, **parts)
    assert new.annotations[BETA_CLASS] == "fast"
    assert not old.annotations
    assert read(new) == read(from_manifest(new.raw))


def test_the_assume_cache_accepts_events_and_objects() -> None:
    for seed in range(50):
        chance = Random(seed)
        by_event, by_object = VolumeAssumeCache(), VolumeAssumeCache()
        versions = [cast("PersistentVolume", known("PersistentVolume").stored("u", "5"))]
        versions += [versions[0].stored("u", str(revision)) for revision in range(6, 15)]
        for place in range(1, len(versions)):
            # What comes late, or twice, changes nothing.
            at = chance.choice([place, place, place, max(place - 1, 1)])
            old, new = versions[at - 1], versions[at]
            by_event.observe(WatchEvent("MODIFIED", old, new))
            by_object.add(new)
            if chance.random() < 0.4:
                assumed = by_object.get("x").with_status({"phase": "Released"})
                by_event.assume(assumed)
                by_object.assume(assumed)
            assert by_event.get("x") is by_object.get("x")
            assert by_event.get_api("x") is by_object.get_api("x")
            assert by_event.index.get("x") is by_object.index.get("x")
