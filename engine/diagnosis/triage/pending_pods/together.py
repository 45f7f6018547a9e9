"""The best changes of several groups at once: what one places may take the room of another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from engine.diagnosis.triage.carrying_out import difference
from engine.diagnosis.triage.deciding import Deciding, Trials
from engine.diagnosis.triage.pending_pods.held import GroupChange, Held
from engine.diagnosis.triage.pending_pods.trying import change_siblings, changed_pods
from engine.diagnosis.triage.report import Group, Together
from engine.objects.objects import Node, Pod


def tried_together(trials: Trials, groups: Sequence[tuple[int, Held, Group]]) -> Together | None:
    """The first change of each group that places all of it, all of them in one trial.

    *groups* have their places in the answer. A change of nodes that several groups have counts once, with
    what it places of all of them. None where there are fewer than two changes.
    """
    best = [
        (place, held, change)
        for place, held, group in groups
        if (change := next((each for each in group.changes if each.is_whole), None)) is not None
    ]
    best = [each for each in best if each[2].text in each[1].tried]
    made = [(held, held.tried[change.text]) for _, held, change in best]
    firsts = [_first_alike([change for _, change in made], place) for place in range(len(made))]
    if len(set(firsts)) < 2:
        return None
    changed: dict[str, Pod] = {}
    for held, change in made:
        changed |= changed_pods(held, change)
    counted = {pod.key for _, held, _ in best for pod in held.pods}

    table = trials.deciding.cluster.handle.table
    before = {
        name: table.node(table.rows[name])
        for _, change in made
        for name in (node.name for node in change.objects)
        if name in table.rows
    }

    def prepare() -> None:
        for held, change in made:
            _make(trials.deciding, before, held, change)

    placed = set(trials.placed(prepare, changed, counted))
    places = Counter[int]()
    for first, (held, _) in zip(firsts, made, strict=True):
        places[first] += sum(pod.key in placed for pod in held.pods)
    return Together(
        changes=tuple((best[one][0], best[one][2].text, number) for one, number in places.items()),
        places=len(placed),
        of=len(counted),
    )


def _first_alike(changes: Sequence[GroupChange], place: int) -> int:
    """The place of the first change that is the one at *place*."""
    return next(
        at for at, each in enumerate(changes) if at == place or _is_same(each, changes[place])
    )


def _is_same(one: GroupChange, other: GroupChange) -> bool:
    """Whether both make the same of the same nodes, and change no pod."""
    is_of_nodes = not one.fields and not other.fields
    return is_of_nodes and [each.raw for each in one.objects] == [
        each.raw for each in other.objects
    ]


def _make(deciding: Deciding, before: Mapping[str, Node], held: Held, change: GroupChange) -> None:
    """Make *change*, after others that may have changed the nodes that were there *before*."""
    table = deciding.cluster.handle.table
    for node in change.objects:
        old = before.get(node.name)
        current = table.node(table.rows[node.name]) if old is not None else node
        deciding.put_node(node if old is None else _both(old, current, node))
    change_siblings(deciding, held, change)


def _both(before: Node, current: Node, wanted: Node) -> Node:
    """*current* with what makes *wanted* of *before*; a taint that one of them lacks is gone."""
    left = [each for each in current.taints if each in wanted.taints]
    changed = current.patched(difference(before.raw, wanted.raw))
    return changed.patched({"spec": {"taints": left}}) if left != changed.taints else changed
