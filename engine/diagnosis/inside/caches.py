"""What the components know of a claim or a volume at one instant, read from their caches."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from engine.api_server.store.workqueue import WorkQueue
from engine.cluster.cluster import Cluster
from engine.objects.objects import ApiObject, PersistentVolume, PersistentVolumeClaim
from engine.objects.phases import SELECTED_NODE
from engine.storage.binding.assume_cache import AssumeCache

PV_CONTROLLER = "PV controller"
SCHEDULER = "scheduler"


@dataclass(frozen=True, slots=True)
class Known:
    """An object as the components know it, by resourceVersion; "" without it.

    *informer* is that of the PV controller, *cache* its own one. *assumed* is the version in the
    scheduler's assume cache; *over* says what is assumed on top of it and not written yet. *phase* and
    *names*, the claim of a volume or the volume of a claim, are those of the API server.
    """

    entity: str
    api_server: str
    informer: str
    cache: str
    assumed: str
    over: str
    phase: str
    names: str


@dataclass(frozen=True, slots=True)
class Held:
    """A value in a component's memory: *whose* it is, *what* it is, and the *value* in words."""

    whose: str
    what: str
    value: str


def read_known(cluster: Cluster, volumes: Iterable[str], claims: Iterable[str]) -> Iterator[Known]:
    """Each of the volumes and claims as the components know it now."""
    for name in volumes:
        yield _known(cluster, "PersistentVolume", name)
    for key in claims:
        yield _known(cluster, "PersistentVolumeClaim", key)


def read_held(cluster: Cluster, volumes: Iterable[str], claims: Iterable[str]) -> Iterator[Held]:
    """What the PV controller and the schedulers hold now: of all, and of these volumes and claims."""
    controller = cluster.volumes.pv_controller
    caches = controller.caches
    yield Held(PV_CONTROLLER, "volumes", str(len(caches.volumes)))
    for name in volumes:
        yield Held(PV_CONTROLLER, name, _in_words(caches.volumes.get(name)))
    for key in claims:
        yield Held(PV_CONTROLLER, key, _in_words(caches.claims.get(key)))
    for what, queue in (
        ("claimQueue", controller.claim_queue),
        ("volumeQueue", controller.volume_queue),
    ):
        if isinstance(queue, WorkQueue):
            yield Held(PV_CONTROLLER, what, ", ".join(queue.keys))
    yield Held(PV_CONTROLLER, "operations", ", ".join(controller.runner.running()))
    for kind, keys in (("PersistentVolume", volumes), ("PersistentVolumeClaim", claims)):
        for key in keys:
            found, over = _assumed(cluster, kind, key)
            version = f"rv {found.resource_version}" if found is not None else ""
            yield Held(SCHEDULER, key, f"{version} + {over}" if over else version)


def _known(cluster: Cluster, kind: str, key: str) -> Known:
    controller = cluster.volumes.pv_controller
    listers, caches = controller.context.listers, controller.caches
    heard: ApiObject | None
    cached: ApiObject | None
    if kind == "PersistentVolume":
        entity, heard, cached = f"volume/{key}", listers.volume(key), caches.volumes.get(key)
    else:
        entity, heard, cached = f"claim/{key}", listers.claim(key), caches.claims.get(key)
    stored = cluster.store.find(kind, key)
    assumed, over = _assumed(cluster, kind, key)
    return Known(
        entity,
        _version(stored),
        _version(heard),
        _version(cached),
        _version(assumed),
        over,
        str(stored.status.get("phase") or "") if stored is not None else "",
        _names(stored),
    )


def _assumed(cluster: Cluster, kind: str, key: str) -> tuple[ApiObject | None, str]:
    """The object in an assume cache, and what is assumed of it: by the first scheduler that does."""
    first: ApiObject | None = None
    for scheduler in cluster.schedulers:
        binder = scheduler.volume_work.binder
        cache: AssumeCache[Any] = binder.volumes if kind == "PersistentVolume" else binder.claims
        found: ApiObject | None = cache.find(key)
        if found is not None and found is not cache.informer.get(key):
            return found, _over(found)
        first = first or found
    return first, ""


def _over(assumed: ApiObject) -> str:
    """What the scheduler assumes: a volume's claimRef, or a claim's selected node."""
    if isinstance(assumed, PersistentVolume):
        return "claimRef"
    return f"selected-node {assumed.annotations.get(SELECTED_NODE, '')}".strip()


def _names(obj: ApiObject | None) -> str:
    if isinstance(obj, PersistentVolume):
        return obj.claim_key
    return obj.volume_name if isinstance(obj, PersistentVolumeClaim) else ""


def _version(obj: ApiObject | None) -> str:
    return "" if obj is None else obj.resource_version


def _in_words(obj: ApiObject | None) -> str:
    if obj is None:
        return ""
    return f"rv {obj.resource_version} {obj.status.get('phase') or ''}".strip()
