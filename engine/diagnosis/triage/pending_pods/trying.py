"""Tries one change of a group on a copy of what the schedulers see."""

from __future__ import annotations

from itertools import chain
from typing import Final

from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.carrying_out import Body, bodies, of_nodes, of_pods
from engine.diagnosis.triage.deciding import Deciding, Trials
from engine.diagnosis.triage.pending_pods.held import GroupChange, Held
from engine.diagnosis.triage.report import Change
from engine.diagnosis.triage.stuck.controllers import owners_text
from engine.kernel.sentences import say, together
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest, Pod

_NO_TEMPLATE_CHANGE: Final = "job/"
_REPLACED_AT_ONCE: Final = say(
    "Pods that run with the old rule keep the new ones away, so that a rolling "
    "update does not end: replace them all at once (strategy Recreate)."
)


def offered(
    evidence: Evidence, trials: Trials, held: Held, change: GroupChange, places: int
) -> Change:
    """*change* as it is offered: it places so many of the group."""
    text = change.text
    if change.fields:
        owners = [held.classes[place].workload for place in change.fields]
        names = list(dict.fromkeys(filter(None, owners)))
        if names:
            text = say(
                "{change} in the template of {workloads}",
                change=text,
                workloads=owners_text(names),
            )
    note = change.note
    if _keeps_apart(held, change):
        note = together(note, _REPLACED_AT_ONCE)
    if any(held.classes[place].workload.startswith(_NO_TEMPLATE_CHANGE) for place in change.fields):
        note = together(
            note,
            say(
                "A Job's template cannot be changed: it is deleted and created again.",
            ),
        )
    held.tried[text] = change
    return Change(
        text=text,
        kind=change.kind,
        places=places,
        of=len(held.pods),
        loses=change.loses,
        shared=change.shared,
        note=note,
        commands=commands_of(evidence, trials, held, change),
    )


def commands_of(
    evidence: Evidence, trials: Trials, held: Held, change: GroupChange
) -> tuple[Body, ...]:
    """What carries *change* out in a fork of the run."""
    table = trials.deciding.cluster.handle.table
    before = {
        each.name: table.node(table.rows[each.name])
        for each in change.objects
        if each.name in table.rows
    }
    of_classes = (
        command
        for place, fields in change.fields.items()
        for command in of_pods(
            evidence, held.classes[place].pods, fields, at_once=_keeps_apart(held, change)
        )
    )
    return bodies(chain(of_nodes(change.objects, before), of_classes))


def _keeps_apart(held: Held, change: GroupChange) -> bool:
    """Whether it changes anti-affinity, by which pods with the old rule keep new ones away."""
    return any(
        "affinity" in fields
        and section(fields, "affinity", "podAntiAffinity")
        != section(held.classes[place].pod.spec, "affinity", "podAntiAffinity")
        for place, fields in change.fields.items()
    )


def placed(trials: Trials, held: Held, change: GroupChange) -> int:
    """How many pods of the group get a node after *change*."""
    mine = {pod.key for pod in held.pods}

    def prepare() -> None:
        for node in change.objects:
            trials.deciding.put_node(node)
        change_siblings(trials.deciding, held, change)

    return len(trials.placed(prepare, changed_pods(held, change), mine))


def changed_pods(held: Held, change: GroupChange) -> dict[str, Pod]:
    """The waiting pods of the group as *change* makes them, by key."""
    return {
        pod.key: _with(pod, change.fields[place])
        for place, each in enumerate(held.classes)
        if place in change.fields
        for pod in each.pods
    }


def change_siblings(copy: Deciding, held: Held, change: GroupChange) -> None:
    """Make a change that is read from both sides in the pods of the workloads that run."""
    if change.is_mutual:
        for place, fields in change.fields.items():
            _change_siblings(copy, held.classes[place].pod, fields)


def _with(pod: Pod, fields: Manifest) -> Pod:
    spec = {key: part for key, part in {**pod.spec, **fields}.items() if part is not None}
    return Pod({**pod.raw, "spec": spec})


def _change_siblings(copy: Deciding, pod: Pod, fields: Manifest) -> None:
    """The pods of the same controller that run get the same fields, where they are."""
    owner = pod.controller
    if owner is None:
        return
    table = copy.cluster.handle.table
    for row in list(table.rows.values()):
        for info in list(table.pods[row].values()):
            other = info.pod.controller
            same = info.pod.namespace == pod.namespace and other is not None
            if same and other is not None and other.get("name") == owner.get("name"):
                copy.remove(info.pod)
                copy.put(_with(info.pod, fields))
