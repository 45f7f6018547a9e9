"""The trace of a run: its events folded once into lanes of states, from which a timeline is drawn."""

import re
from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.diagnosis.trace.lane import Lane, Tally
from engine.diagnosis.trace.states import (
    CODES,
    awaited_state,
    claim_state,
    node_state,
    operation_states,
    part_of,
    pod_state,
)
from engine.kernel.view import Attributes, Changes, merge

# What the states are read from; the rest of an entity is not kept.
_POD = ("phase", "queue", "assumed", "node", "nominated", "deleting", "owner", "told")
_CLAIM = ("phase", "volume", "trouble")
_NODE = ("ready", "unschedulable", "volumes", "attachments")
_VOLUMES = ("volumes", "attachments")
_ORDINAL = re.compile(r"-\d+$")


@dataclass(slots=True)
class Group:
    """The pods of one workload of a namespace."""

    pods: dict[str, None] = field(default_factory=dict[str, None])
    tally: Tally = field(default_factory=Tally)


class Trace:
    """The lanes of a run up to event `seq`. Entity ids are the keys; see docs/events.md.

    An operation on a volume has the key attach/NODE/VOLUME or mount/NODE/VOLUME.
    """

    def __init__(self) -> None:
        self.ats = array("q")
        """The time of each event; that of event 1 comes first."""
        self.pods: dict[str, Lane] = {}
        self.nominated: dict[str, Lane] = {}
        """While a pod is nominated to a node, and has none."""
        self.claims: dict[str, Lane] = {}
        self.operations: dict[str, Lane] = {}
        self.nodes: dict[str, Lane] = {}
        self.groups: dict[str, Group] = {}
        self.on_node: dict[str, Tally] = {}
        self.whole = Tally()
        self.kinds: dict[tuple[str, str, bool], array[int]] = {}
        """The seqs of events by component, kind, and whether they are Kubernetes Events."""
        self.volumes_of: dict[str, dict[str, None]] = {}
        """The volumes, as NODE/VOLUME, that a pod asked a node for."""
        self._known: dict[str, Attributes] = {}
        self._group_of: dict[str, Group] = {}
        self._named: dict[str, int] = {}
        self._names: dict[tuple[str, str], str] = {}

    @property
    def seq(self) -> int:
        """The newest event that it knows."""
        return len(self.ats)

    def lane(self, key: str) -> Lane | None:
        """The lane of an entity or operation; None if there is none."""
        return self._lanes(key).get(key)

    def take(
        self,
        at: int,
        kind: str,
        entity: str,
        component: str,
        is_event: bool,
        changes: Changes | None,
    ) -> None:
        """Fold the next event. *is_event* is whether it is a Kubernetes Event."""
        self.ats.append(at)
        seqs = self.kinds.get((component, kind, is_event))
        if seqs is None:
            seqs = self.kinds[component, kind, is_event] = array("I")
        seqs.append(self.seq)
        for changed, patch in (changes or {}).items():
            if changed.startswith("pod/"):
                self._pod(changed, patch)
            elif changed.startswith("claim/"):
                self._claim(changed, patch)
            elif changed.startswith("node/"):
                self._node(changed, patch)
            elif changed.startswith("volume/"):
                self._volume(changed, patch)
        if is_event and (lane := self.lane(entity)) is not None:
            lane.events.append(self.seq)

    def group_of(self, pod: str) -> str:
        """The name of the workload that *pod* belongs to: "NS/NAME"."""
        namespace, _, name = pod.removeprefix("pod/").partition("/")
        owner = (self._known.get(pod) or {}).get("owner")
        return f"{namespace}/{owner or _ORDINAL.sub('', name)}"

    def _lanes(self, key: str) -> dict[str, Lane]:
        kind = key.partition("/")[0]
        lanes = {"pod": self.pods, "claim": self.claims, "node": self.nodes}
        return lanes.get(kind, self.operations)

    def _fold(self, entity: str, patch: Attributes | None, keys: tuple[str, ...]) -> Attributes:
        """What is known of the *entity* after the *patch*; nothing where it is gone."""
        if patch is None:
            self._known.pop(entity, None)
            return {}
        kept = {key: patch[key] for key in keys if key in patch}
        known: Attributes = merge(self._known.get(entity), kept)
        self._known[entity] = known
        return known

    def _pod(self, entity: str, patch: Attributes | None) -> None:
        before = (self._known.get(entity) or {}).get("node")
        pod = self._fold(entity, patch, _POD)
        after = pod.get("node")
        if before != after:
            self._count_on(before, "running", "")
            self._count_on(after, "", "running")
        self._restate(entity, pod)
        is_promised = bool(pod.get("nominated")) and not after and pod.get("deleting") is None
        if is_promised or entity in self.nominated:
            lane = self.nominated.setdefault(entity, Lane())
            lane.change(self.seq, CODES["nominated" if is_promised else ""], self.ats)

    def _count_on(self, node: str | None, before: str, after: str) -> None:
        if node:
            tally = self.on_node.setdefault(f"node/{node}", Tally())
            tally.move(self.seq, before, after, self.ats)

    def _restate(self, entity: str, pod: Attributes) -> None:
        lane = self.pods.setdefault(entity, Lane())
        group = self._group_of.get(entity)
        if group is None:
            group = self.groups.setdefault(self.group_of(entity), Group())
            group.pods[entity] = None
            self._group_of[entity] = group
        node = self._known.get(f"node/{pod.get('node')}") or {}
        state = pod_state(pod, awaited_state(entity.removeprefix("pod/"), node))
        before = lane.state(self.seq)
        if lane.change(self.seq, CODES[state], self.ats):
            for tally in (group.tally, self.whole):
                tally.move(self.seq, before, state, self.ats)

    def _claim(self, entity: str, patch: Attributes | None) -> None:
        self._restate_claim(entity, self._fold(entity, patch, _CLAIM))

    def _restate_claim(self, entity: str, claim: Attributes) -> None:
        lane = self.claims.setdefault(entity, Lane())
        state = claim_state(claim, is_named=bool(self._named.get(entity)))
        lane.change(self.seq, CODES[state], self.ats)

    def _volume(self, entity: str, patch: Attributes | None) -> None:
        before = (self._known.get(entity) or {}).get("claim")
        after = self._fold(entity, patch, ("claim",)).get("claim")
        if before == after:
            return
        for key, by in ((before, -1), (after, 1)):
            claim = f"claim/{key}"
            self._named[claim] = self._named.get(claim, 0) + by
            if claim in self._known:
                self._restate_claim(claim, self._known[claim])

    def _node(self, entity: str, patch: Attributes | None) -> None:
        before = self._known.get(entity) or {}
        node = self._fold(entity, patch, _NODE)
        lane = self.nodes.setdefault(entity, Lane())
        lane.change(self.seq, CODES[node_state(node)], self.ats)
        uniques: dict[str, None] = {}
        for part in _VOLUMES:
            if patch is None or part in patch:
                named: Mapping[str, Any] | None = (patch or {}).get(part)
                # null takes away all that there was.
                uniques.update(dict.fromkeys(named or before.get(part) or {}))
        for unique in uniques:
            self._operation(entity, unique, node)
        for pod in self._desiring((before, node), uniques):
            known = self._known.get(pod)
            if known is not None and f"node/{known.get('node')}" == entity:
                self._restate(pod, known)

    def _operation(self, entity: str, unique: str, node: Attributes) -> None:
        entries: list[Attributes] = [part_of(node, part, unique) for part in _VOLUMES]
        for entry in entries:
            if entry.get("name"):
                self._names[entity, unique] = entry["name"]
        place = f"{entity.removeprefix('node/')}/{self._names.get((entity, unique), unique)}"
        for pod in self._desiring((node,), {unique: None}):
            self.volumes_of.setdefault(pod, {})[place] = None
        for name, state in zip(("attach", "mount"), operation_states(unique, node), strict=True):
            key = f"{name}/{place}"
            if state or key in self.operations:
                lane = self.operations.setdefault(key, Lane())
                lane.change(self.seq, CODES[state], self.ats)

    @staticmethod
    def _desiring(nodes: tuple[Attributes, ...], uniques: Mapping[str, None]) -> dict[str, None]:
        """The pods that need one of these volumes of a node, before or after it changed."""
        return {
            f"pod/{key}": None
            for node in nodes
            for part in _VOLUMES
            for unique in uniques
            for key in part_of(node, part, unique, "desired")
        }
