"""Controllers of a client: the engine's own ones, which write by commands and hear late."""

from dataclasses import replace
from typing import Any

from engine.api_server.store.store import ObjectStore
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.controllers.actors import EXTERNAL
from engine.controllers.shared.controller import Controller, ControllerContext
from engine.controllers.shared.listers import WorkloadListers
from engine.kernel.errors import ApiError
from engine.kernel.rng import Streams
from engine.kernel.units import MILLISECOND
from engine.objects.objects import ApiObject, Manifest
from engine.storage.kubernetes_events import RecordedEvents


class _ClientStore:
    """The store as a client has it: it reads it, and writes by commands."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._store: ObjectStore = cluster.store

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    def create(self, obj: ApiObject, **_: Any) -> ApiObject:
        self._do(verb="create", manifest=obj.raw)
        return self._store.get(obj.kind, obj.key)

    def update(self, obj: ApiObject, **_: Any) -> ApiObject:
        old = self._store.get(obj.kind, obj.key)
        patch = {**_patch(old.raw, obj.raw)}
        self._do(verb="patch", object=obj.id, patch=patch)
        return self._store.find(obj.kind, obj.key) or obj

    def patch(self, kind: str, key: str, patch: Manifest, **_: Any) -> ApiObject:
        old = self._store.get(kind, key)
        self._do(verb="patch", object=old.id, patch=patch)
        return self._store.find(kind, key) or old

    def delete(self, kind: str, key: str, *, grace_seconds: int = 0, **_: Any) -> ApiObject:
        old = self._store.get(kind, key)
        self._do(verb="delete", object=old.id, grace_seconds=grace_seconds)
        return old

    def _do(self, **parts: Any) -> None:
        outcome = self._cluster.apply(Command(**parts))
        if not outcome.applied:
            raise ApiError(outcome.reason)


def _patch(old: Any, new: Any) -> Any:
    """The merge patch that makes *new* of *old*."""
    if not isinstance(old, dict) or not isinstance(new, dict):
        return new
    gone: dict[str, Any] = {name: None for name in old if name not in new}
    changed = {
        name: _patch(old.get(name), part) for name, part in new.items() if old.get(name) != part
    }
    return {name: part for name, part in (gone | changed).items() if name != "resourceVersion"}


def start_outside(cluster: Cluster, *names: str, lag: int = 50 * MILLISECOND) -> list[Controller]:
    """Start these controllers, whose watches deliver after *lag* ns."""
    context: ControllerContext = cluster.workloads._context  # pyright: ignore[reportPrivateUsage]
    store: Any = _ClientStore(cluster)
    outside = replace(
        context,
        store=store,
        listers=WorkloadListers(cluster.store, lag),
        names=Streams(99).stream("outside"),
        watch_latency=lag,
    )
    kinds = cluster.workloads.kinds_of(names)
    made: list[Controller] = []
    for name in names:
        component = EXTERNAL[name]
        events = RecordedEvents(cluster.recorder, component, cluster.loop, cluster.store)
        made.append(kinds[name](outside, events))
    return made
