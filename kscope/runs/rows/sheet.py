"""A run after one event, as far as lists need it, with a table for each kind of list.

It goes on event by event, and back over the newest of them. What changes is only noted; the rows of
changed objects are made anew when somebody asks.
"""

from collections import deque
from collections.abc import Iterable, Mapping
from typing import Any, cast

from engine.kernel.view import Attributes, Changes, State, merge
from kscope.runs.rows.chains import chains_of, touches_chains
from kscope.runs.rows.node_volumes import awaited_on, volumes_of
from kscope.runs.rows.states import (
    NODE_STATES,
    POD_STATES,
    lingers_since,
    node_state,
    place_of,
    pod_state,
)
from kscope.runs.rows.table import Key, Row, Table, Wanted, Window, natural

# So many events it can go back.
BACK = 2_000
_POD, _NODE = "pod/", "node/"
# What of each kind the lists look at; of others only that they exist.
_KEPT: Mapping[str, tuple[str, ...]] = {
    "pod": (
        *("node", "assumed", "nominated", "queue", "phase", "deleting"),
        *("told", "trouble", "priority", "attempts", "created"),
    ),
    "node": (
        *("ready", "zone", "taints", "unschedulable", "deleting"),
        *("requested", "allocatable", "volumes", "attachments"),
    ),
    "claim": ("phase", "volume", "selected_node", "completed", "class"),
    "volume": ("phase", "claim", "class"),
}
# What of a node decides how its pods are.
_BEARING = ("ready", "volumes", "attachments")
_NOTHING: Attributes = {}
_POD_RANK = {state: rank for rank, state in enumerate(POD_STATES)}
_NODE_RANK = {state: rank for rank, state in enumerate(NODE_STATES)}

Before = list[tuple[str, Attributes | None]]


def _value(place: int) -> Key:
    return lambda row: row.values[place]


SORTS: Mapping[str, Mapping[str, Key]] = {
    "pods": {
        # Oldest first.
        "state": lambda row: (_POD_RANK.get(row.state, len(_POD_RANK)), row.values[0]),
        "name": lambda row: row.name,
        "priority": _value(1),
        "attempts": _value(2),
    },
    "nodes": {
        "state": lambda row: _NODE_RANK[row.state],
        "name": lambda row: row.name,
        "zone": _value(0),
        "cpu": _value(1),
        "memory": _value(2),
        "pods": _value(3),
        "volumes": _value(4),
    },
    "volumes": {"class": _value(0), "claim": _value(1), "volume": _value(2)},
    "objects": {"name": lambda row: row.name},
}
"""By what the rows of each kind of list can be sorted; the first is the usual order."""


class Sheet:
    """The lists of a run after event *seq*, at moment *at*; *state* is its view state then."""

    def __init__(self, seq: int, at: int, state: State) -> None:
        self.seq = seq
        self.at = at
        self._state: dict[str, Attributes] = {
            entity: _slim(entity, _NOTHING, shown) for entity, shown in state.items()
        }
        self._undos: deque[tuple[int, int, Before]] = deque(maxlen=BACK)
        self._tables = {kind: Table(sorts) for kind, sorts in SORTS.items()}
        self._on_nodes: dict[str, set[str]] = {}
        # The moments from which nodes may be stuck by their volumes alone.
        self._lingering: dict[str, int] = {}
        self._awaited: dict[str, dict[str, str]] = {}
        self._changed: dict[str, Attributes | None] = dict.fromkeys(self._state)

    def __len__(self) -> int:
        return len(self._state)

    @property
    def oldest(self) -> int:
        """The first event that it can go back to."""
        return self._undos[0][0] if self._undos else self.seq

    def take(self, seq: int, at: int, changes: Changes | None) -> None:
        """Go on to event *seq*."""
        before: Before = []
        for entity, patch in (changes or {}).items():
            old = self._state.get(entity)
            if patch is None:
                if old is None:
                    continue
                del self._state[entity]
            else:
                new = _slim(entity, old, patch)
                if new is old:
                    continue
                self._state[entity] = new
            before.append((entity, old))
        self._note(before)
        self._undos.append((self.seq, self.at, before))
        self.seq, self.at = seq, at

    def go_back(self, seq: int) -> None:
        """Go back to event *seq*, which is not before the oldest."""
        while self.seq > seq:
            self.seq, self.at, before = self._undos.pop()
            now: Before = []
            for entity, old in reversed(before):
                now.append((entity, self._state.get(entity)))
                if old is None:
                    self._state.pop(entity, None)
                else:
                    self._state[entity] = old
            self._note(now)

    def window(self, kind: str, wanted: Wanted, at: int = 0) -> Window:
        """Some rows of a kind; *at* is the moment, where time has gone on after the event."""
        self._refresh(max(self.at, at))
        return self._tables[kind].window(wanted)

    def _note(self, before: Before) -> None:
        """Remember which rows are no longer right, and what the objects were when they were."""
        for entity, old in before:
            self._changed.setdefault(entity, old)

    def _refresh(self, at: int) -> None:
        changed, self._changed = self._changed, {}
        nodes, pods = self._affected(changed)
        for name in nodes:
            self._put_node(name, at)
        for entity in pods:
            self._put_pod(entity)
        if any(map(touches_chains, changed)):
            self._tables["volumes"].replace(chains_of(self._state))
        for entity in changed:
            self._put_object(entity)

    def _affected(self, changed: Mapping[str, Attributes | None]) -> tuple[set[str], set[str]]:
        """The names of the nodes and the ids of the pods whose rows may be others now.

        A pod on a node is as its node lets it be; a node, as its pods have started or not.
        """
        pods = {entity for entity in changed if entity.startswith(_POD)}
        nodes = {entity[len(_NODE) :] for entity in changed if entity.startswith(_NODE)}
        for entity in pods:
            nodes.update(self._move(entity, changed[entity]))
        for name in nodes:
            before = changed.get(f"{_NODE}{name}")
            if not self._bears_pods_alike(name, before):
                pods.update(self._on_nodes.get(name, ()))
        nodes.update(self._lingering)
        return nodes, pods

    def _bears_pods_alike(self, name: str, before: Attributes | None) -> bool:
        """Whether a node is as good for the pods on it as it was."""
        now = self._state.get(f"{_NODE}{name}")
        if now is None or before is None:
            return False
        return all(now.get(each) is before.get(each) for each in _BEARING)

    def _move(self, entity: str, before: Attributes | None) -> Iterable[str]:
        """Note on which node a pod is now; returns the nodes that may be in another state by it."""
        now = self._state.get(entity, _NOTHING)
        row = self._tables["pods"].get(entity)
        was_on: str = row.values[-1] if row else ""
        is_on = place_of(now)
        if was_on != is_on:
            self._on_nodes.get(was_on, set[str]()).discard(entity)
            if is_on:
                self._on_nodes.setdefault(is_on, set()).add(entity)
        if was_on != is_on or (before or _NOTHING).get("phase") != now.get("phase"):
            return [name for name in (was_on, is_on) if self._awaited.get(name)]
        return ()

    def _put_pod(self, entity: str) -> None:
        pod = self._state.get(entity)
        table = self._tables["pods"]
        if pod is None:
            table.remove(entity)
            return
        key = entity[len(_POD) :]
        name = pod.get("node") or ""
        awaited = self._awaited.get(name, {}).get(key, "")
        state = pod_state(pod, self._state.get(f"{_NODE}{name}"), awaited)
        sorted_by = pod.get("created") or 0, pod.get("priority") or 0, pod.get("attempts") or 0
        table.put(Row(entity, key.lower(), natural(key), state, (*sorted_by, place_of(pod))))

    def _put_object(self, entity: str) -> None:
        table = self._tables["objects"]
        if entity not in self._state:
            table.remove(entity)
        elif table.get(entity) is None:
            table.put(Row(entity, entity.lower(), natural(entity), ""))

    def _put_node(self, name: str, at: int) -> None:
        node = self._state.get(f"{_NODE}{name}")
        self._lingering.pop(name, None)
        self._awaited.pop(name, None)
        if node is None:
            self._tables["nodes"].remove(f"{_NODE}{name}")
            return
        volumes = volumes_of(node)
        if volumes:
            self._awaited[name] = awaited_on(node)
        since = lingers_since(volumes)
        if since is not None:
            self._lingering[name] = since
        pods = {each: self._state[each] for each in self._on_nodes.get(name, ())}
        self._tables["nodes"].put(_node_row(name, node, node_state(node, pods, at)))


def _node_row(name: str, node: Attributes, state: str) -> Row:
    zone = node.get("zone") or ""
    values = (
        (zone == "", natural(zone)),
        _share(node, "cpu"),
        _share(node, "memory"),
        (node.get("requested") or {}).get("pods") or 0,
        len(node.get("attachments") or ()),
    )
    return Row(f"{_NODE}{name}", name.lower(), natural(name), state, values)


def _share(node: Attributes, resource: str) -> float:
    """How much of a resource is requested, 0 to 1; -1 where the node has none."""
    whole = (node.get("allocatable") or {}).get(resource) or 0
    return ((node.get("requested") or {}).get(resource) or 0) / whole if whole else -1.0


def _slim(entity: str, old: Attributes | None, patch: Any) -> Attributes:
    """*old* with *patch*, as far as lists look at it; *old* itself where nothing of that changes."""
    kept = _KEPT.get(entity.partition("/")[0], ())
    changes = {name: patch[name] for name in kept if name in patch}
    if old is not None and not changes:
        return old
    return cast("Attributes", merge(old, changes)) or _NOTHING
