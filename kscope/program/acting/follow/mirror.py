"""A cluster of the engine that is kept as another one is: its time stands still, only writes happen.

Nothing is scheduled, made or ended by itself, because no time passes. A scheduler that leaves the
decisions to the other cluster says what it would have decided.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.input.cleaning import clean
from engine.input.load_result import LoadResult
from engine.input.scenario import Scenario
from engine.input.sources.versions import versions_told
from engine.kernel.errors import SimError
from engine.objects.kinds import entity_id
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.scheduler.cycle.shadow.trials import Decided
from engine.versions.shown.choices import proposed_version

# What the API server of the other cluster has set, and this one sets itself.
_OWN: Final = ("resourceVersion", "selfLink")


@dataclass(slots=True)
class Mirror:
    """The cluster, and the writes that it could not take over."""

    cluster: Cluster
    refused: list[str] = field(default_factory=list[str])
    # The commands since the last `taken`, for a run that is kept in step as well.
    _done: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    @classmethod
    def of(cls, loaded: LoadResult, profile: str | None) -> Mirror:
        """The mirror of what was read. Raises SimError or ValueError where none can be made."""
        scenario = replace(Scenario.from_load(loaded, name="follow"), external_scheduler=True)
        told = versions_told(loaded.manifests, scenario.served)
        name = profile or scenario.profile or proposed_version(told.versions)
        return cls(Cluster.create(scenario, profile=name))

    def pod(self, key: str) -> Pod | None:
        """The pod as it is here; None where there is none."""
        found = self.cluster.store.find(Pod.KIND, key)
        return found if isinstance(found, Pod) else None

    def pods_that_wait(self) -> Iterator[Pod]:
        """Those without a node that have not ended, by name."""
        for pod in sorted(self.cluster.store.objects(Pod.KIND), key=lambda each: each.key):
            if isinstance(pod, Pod) and not pod.node_name and not pod.is_terminated:
                yield pod

    def decision(self, pod: Pod) -> Decided | None:
        """What kscope decides on a pod as things are; None for one of a scheduler that is not here."""
        for replicas in self.cluster.replicas:
            shadow = replicas.shadow_of(pod)
            if shadow is not None:
                return shadow.decide(pod)
        return None

    def put(self, manifest: Manifest) -> None:
        """Take an object over as it is there."""
        wanted = _own(manifest)
        entity, here = _entity(wanted), self.cluster.store.find(wanted["kind"], _key(wanted))
        if here is not None and here.uid != wanted["metadata"].get("uid", here.uid):
            # Another object of that name: the one before is gone.
            self._delete(entity)
            here = None
        if here is not None:
            self._lead_up(here, wanted)
        if self._apply({"verb": "apply", "manifest": wanted}):
            # What may not be changed is made anew.
            self._delete(entity)
            why = self._apply({"verb": "apply", "manifest": wanted})
            if why:
                self.refused.append(f"{entity}: {why}")
        self.cluster.take()

    def _lead_up(self, here: ApiObject, wanted: Manifest) -> None:
        """What no update may do: a pod gets its node by a binding, an object ends by a deletion."""
        entity, metadata = _entity(wanted), wanted["metadata"]
        node = str((wanted.get("spec") or {}).get("nodeName") or "")
        if isinstance(here, Pod) and node and not here.node_name:
            self._apply({"verb": "bind", "object": entity, "node": node})
        grace = metadata.pop("deletionGracePeriodSeconds", None)
        if metadata.pop("deletionTimestamp", None) and not here.deletion_timestamp:
            # At least a second: it is there until it is told that it is gone.
            body: dict[str, Any] = {"verb": "delete", "object": entity}
            if here.kind == Pod.KIND:
                body["grace_seconds"] = max(int(grace or 0), 1)
            self._apply(body)

    def remove(self, kind: str, key: str) -> None:
        """An object that is gone there."""
        if self.cluster.store.find(kind, key) is not None:
            self._delete(entity_id(kind, key))
            self.cluster.take()

    def keys(self, kind: str) -> list[str]:
        """The keys of all objects of a kind."""
        return [each.key for each in self.cluster.store.objects(kind)]

    def taken(self) -> list[dict[str, Any]]:
        """The commands since the last time."""
        done, self._done = self._done, []
        return done

    def _delete(self, entity: str) -> None:
        self._apply(
            {"verb": "patch", "object": entity, "patch": {"metadata": {"finalizers": None}}}
        )
        body: dict[str, Any] = {"verb": "delete", "object": entity}
        if entity.startswith("pod/"):
            body["grace_seconds"] = 0
        self._apply(body)

    def _apply(self, body: dict[str, Any]) -> str:
        """Carry a command out; "" or why it was refused."""
        try:
            outcome = self.cluster.apply(Command.from_dict(body))
        except SimError as refusal:
            return str(refusal)
        if outcome.applied:
            self._done.append(body)
            return ""
        return outcome.reason


def _own(manifest: Manifest) -> Manifest:
    cleaned = clean(manifest)
    metadata = {k: v for k, v in cleaned["metadata"].items() if k not in _OWN}
    return {**cleaned, "metadata": metadata}


def _key(manifest: Manifest) -> str:
    metadata = manifest["metadata"]
    namespace = metadata.get("namespace")
    return f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])


def _entity(manifest: Manifest) -> str:
    return entity_id(str(manifest["kind"]), _key(manifest))
