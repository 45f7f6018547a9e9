"""The states of pods, claims, volumes, nodes and operations, as a run's events change them.

The states are those of the timeline (engine/diagnosis/trace/states.py). Only what is there is kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from engine.diagnosis.trace.states import (
    awaited_state,
    claim_state,
    node_state,
    operation_states,
    part_of,
    pod_state,
)
from engine.kernel.view import Attributes, Changes, merge

# What states are read from, by the kind of an entity.
_KEPT: Final[Mapping[str, tuple[str, ...]]] = {
    "pod": ("phase", "queue", "assumed", "node", "nominated", "deleting", "scheduler", "claims"),
    "claim": ("phase", "volume", "trouble"),
    "volume": ("phase", "claim"),
    "node": ("ready", "unschedulable", "volumes", "attachments"),
}
_PARTS: Final = ("volumes", "attachments")


class States:
    """Folds the changes of events; `known` are the attributes of what is there."""

    def __init__(self) -> None:
        self.known: dict[str, Attributes] = {}
        self._states: dict[str, str] = {}
        self._named: dict[str, int] = {}

    def take(self, changes: Changes) -> Iterator[tuple[str, str]]:
        """Fold the changes of one event; each entity or operation that has another state now, "" for none.

        An operation on a volume is called attach/NODE/VOLUME or mount/NODE/VOLUME.
        """
        for entity, patch in changes.items():
            kind = entity.partition("/")[0]
            keys = _KEPT.get(kind)
            if keys is None:
                continue
            before = self.known.get(entity) or {}
            after = self._fold(entity, patch, keys)
            yield from self._moved(kind, entity, before, after)

    def _fold(self, entity: str, patch: Attributes | None, keys: tuple[str, ...]) -> Attributes:
        if patch is None:
            self.known.pop(entity, None)
            return {}
        kept = {key: patch[key] for key in keys if key in patch}
        found: Attributes = merge(self.known.get(entity), kept)
        # One without anything that is kept is there all the same.
        self.known[entity] = found
        return found or {"is_there": True}

    def _moved(
        self, kind: str, entity: str, before: Attributes, after: Attributes
    ) -> Iterator[tuple[str, str]]:
        if kind == "pod":
            yield from self._pod(entity, after)
        elif kind == "claim":
            yield from self._claim(entity, after)
        elif kind == "volume":
            yield from self._volume(entity, before, after)
        else:
            yield from self._node(entity, before, after)

    def _pod(self, entity: str, pod: Attributes) -> Iterator[tuple[str, str]]:
        node = self.known.get(f"node/{pod.get('node')}") or {}
        yield from self._changed(
            entity, pod_state(pod, awaited_state(entity.removeprefix("pod/"), node))
        )

    def _claim(self, entity: str, claim: Attributes) -> Iterator[tuple[str, str]]:
        state = claim_state(claim, is_named=bool(self._named.get(entity)))
        yield from self._changed(entity, state)

    def _volume(
        self, entity: str, before: Attributes, after: Attributes
    ) -> Iterator[tuple[str, str]]:
        yield from self._changed(entity, str(after.get("phase") or "Pending") if after else "")
        if before.get("claim") == after.get("claim"):
            return
        for key, by in ((before.get("claim"), -1), (after.get("claim"), 1)):
            claim = f"claim/{key}"
            if key:
                self._named[claim] = self._named.get(claim, 0) + by
            if key and claim in self.known:
                yield from self._claim(claim, self.known[claim])

    def _node(self, entity: str, before: Attributes, node: Attributes) -> Iterator[tuple[str, str]]:
        yield from self._changed(entity, node_state(node))
        uniques = dict.fromkeys(
            unique for each in (before, node) for part in _PARTS for unique in part_of(each, part)
        )
        for unique in uniques:
            if any(part_of(before, p).get(unique) != part_of(node, p).get(unique) for p in _PARTS):
                yield from self._operations(entity, unique, before, node)
                yield from self._waiting(entity, unique, (before, node))

    def _operations(
        self, entity: str, unique: str, before: Attributes, node: Attributes
    ) -> Iterator[tuple[str, str]]:
        entries = [part_of(each, part, unique) for each in (node, before) for part in _PARTS]
        name = next((each["name"] for each in entries if each.get("name")), unique)
        place = f"{entity.removeprefix('node/')}/{name}"
        for word, state in zip(("attach", "mount"), operation_states(unique, node), strict=True):
            yield from self._changed(f"{word}/{place}", state)

    def _waiting(
        self, entity: str, unique: str, nodes: Iterable[Attributes]
    ) -> Iterator[tuple[str, str]]:
        keys = dict.fromkeys(
            key
            for node in nodes
            for part in _PARTS
            for key in part_of(node, part, unique, "desired")
        )
        for key in keys:
            pod: Any = self.known.get(f"pod/{key}")
            if pod and f"node/{pod.get('node')}" == entity:
                yield from self._pod(f"pod/{key}", pod)

    def _changed(self, key: str, state: str) -> Iterator[tuple[str, str]]:
        if self._states.get(key, "") == state:
            return
        if state:
            self._states[key] = state
        else:
            del self._states[key]
        yield key, state


class Attempts:
    """Whose scheduling attempt led to each of the newest events of the scheduler."""

    _MOST = 65_536

    def __init__(self) -> None:
        self._pods: dict[int, str] = {}

    def take(self, seq: int, kind: str, entity: str, cause: int | None) -> str:
        """The pod for whose sake event *seq* of a scheduler came; "" where that is not known."""
        pod = entity if kind == "AttemptStarted" else self._pods.get(cause or 0, "")
        if pod:
            self._pods[seq] = pod
            if len(self._pods) > self._MOST:
                del self._pods[next(iter(self._pods))]
        return pod
