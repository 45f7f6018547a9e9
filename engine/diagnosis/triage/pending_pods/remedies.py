"""The changes of a group of pending pods, by what holds it."""

from __future__ import annotations

from dataclasses import replace

from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.carrying_out import bodies, deleted_at_once
from engine.diagnosis.triage.carrying_out import opened as gates_off
from engine.diagnosis.triage.deciding import Trials
from engine.diagnosis.triage.pending_pods.changes import (
    changes_for,
    placed_by,
    served_by,
    without_gates,
)
from engine.diagnosis.triage.pending_pods.groups import grace_left, unplayed_claims
from engine.diagnosis.triage.pending_pods.held import Held, leaving_for
from engine.diagnosis.triage.pending_pods.trying import commands_of
from engine.diagnosis.triage.report import Change, Group, counted
from engine.diagnosis.triage.stuck.controllers import behind, owners_text
from engine.diagnosis.triage.stuck.refusals import started
from engine.framework.explaining.amounts import format_amount
from engine.framework.explaining.case import listed
from engine.framework.pods.pod_info import PodInfo
from engine.objects.manifest_parts import items, section


def with_changes(evidence: Evidence, trials: Trials, held: Held, group: Group) -> Group:
    """*group* with what was tried for it, or with a sentence on why nothing helps."""
    kind = held.signature[0]
    if kind == "gate":
        return replace(group, changes=tuple(_for_gate(evidence, trials, held, group)))
    if kind == "scheduler":
        return replace(group, changes=tuple(_for_scheduler(evidence, trials, held)))
    if kind == "nominated":
        return replace(group, changes=(_forced(evidence, trials, held),))
    if kind == "devices":
        return _for_devices(evidence, trials, held, group)
    changes, tried = changes_for(evidence, trials, held)
    conclusion = ""
    if not changes:
        conclusion = f"None of {counted(tried, 'change')} that were tried places any of them."
        if not tried:
            conclusion = "No change of these pods or of the nodes is known that could help."
        if kind == "fits" and unplayed_claims(held):
            conclusion = "No change was tried: kscope does not allocate devices in this version."
        elif kind == "fits":
            conclusion = (
                "Nothing has to be changed for the scheduler to place it at its next attempt."
            )
    return replace(group, changes=tuple(changes), conclusion=conclusion)


def _forced(evidence: Evidence, trials: Trials, held: Held) -> Change:
    """The pods that do not end are deleted at once, which nobody should do before their time."""
    leaving = {each.key: each for pod in held.pods for each in leaving_for(trials.deciding, pod)}
    mine = {pod.key for pod in held.pods}

    def prepare() -> None:
        for each in leaving.values():
            trials.deciding.remove(each)

    left = max(grace_left(evidence, each) for each in leaving.values())
    waits = "Wait for the end of the grace period first. " if left > 0 else ""
    return Change(
        text=f"Delete {listed(list(leaving), 4)} by force (grace period 0)",
        kind="force",
        places=len(trials.placed(prepare, {}, mine)),
        of=len(mine),
        loses="the certainty that it has ended: two copies may write to one volume",
        note=f"{waits}Be sure that nothing of them runs any more: no kubelet confirms it.",
        commands=bodies(deleted_at_once(each.raw) for each in leaving.values()),
    )


def _for_gate(evidence: Evidence, trials: Trials, held: Held, group: Group) -> list[Change]:
    """Let the one who holds the gate open it; to take it off by hand goes round him."""
    opened = without_gates(held)
    places, of = placed_by(trials, held, opened), len(held.pods)
    gate = held.pods[0].scheduling_gates[0]
    by_hand = bodies(map(gates_off, held.pods))
    found: list[Change] = []
    owner = behind(evidence, gate, "controller", "manager")
    queue = group.by.removeprefix("clusterqueue ") if group.by.startswith("clusterqueue") else ""
    if owner is not None and not owner.is_running:
        change = started(owner.workload)
        # The controllers that open gates are not simulated: the commands open them instead.
        commands = (*change.commands, *by_hand)
        found.append(replace(change, places=places, of=of, commands=commands))
    elif queue:
        found.append(
            Change(
                text=f"Raise nominalQuota of ClusterQueue {queue} by {_asked(evidence, trials, held, queue)}, "
                "or wait until admitted workloads end",
                kind="quota",
                places=places,
                of=of,
                note="The queue is shared: ask who owns it.",
                commands=by_hand,
            )
        )
    found.append(
        Change(
            text=f"Remove the gate {gate} by hand",
            kind="gate",
            places=places,
            of=of,
            shared="it goes round the queue, or whatever the gate waits for",
            commands=by_hand,
        )
    )
    held.tried |= dict.fromkeys((each.text for each in found), opened)
    return found


def _asked(evidence: Evidence, trials: Trials, held: Held, queue: str) -> str:
    """What all pods of the group ask for of what the queue counts."""
    found = evidence.find("ClusterQueue", queue) or {}
    covered = [
        str(name)
        for group in items(section(found, "spec"), "resourceGroups")
        for name in group.get("coveredResources") or ()
    ]
    sums = dict.fromkeys(covered, 0)
    for pod in held.pods:
        wanted = PodInfo(pod, trials.deciding.rules).resources.fit
        for name in sums:
            sums[name] += wanted.get(name)
    amounts = [f"{format_amount(name, amount)} {name}" for name, amount in sums.items() if amount]
    return listed(amounts) or "what they ask for"


def _for_scheduler(evidence: Evidence, trials: Trials, held: Held) -> list[Change]:
    known = sorted(trials.deciding.algorithms)
    served = served_by(held, known[0])
    places, of = placed_by(trials, held, served), len(held.pods)
    name = held.pods[0].scheduler_name
    note = f"Counted as {known[0]} would place them: how {name} decides is not known here."
    owner = behind(evidence, name, "scheduler")
    found: list[Change] = []
    if owner is not None and not owner.is_running:
        # No run has such a scheduler.
        found.append(replace(started(owner.workload), places=places, of=of, note=note, commands=()))
    elif owner is not None:
        text = f"Let {owner.name} do its work: see its log and its roles"
        found.append(Change(text=text, kind="scheduler", places=places, of=of, note=note))
    else:
        text = f"Run a scheduler of the name {name}"
        found.append(Change(text=text, kind="scheduler", places=places, of=of, note=note))
    where = f" in the template of {owners_text(held.workloads)}" if held.workloads else ""
    whom = "it" if of == 1 else "the pods"
    text = f"Give {whom} the schedulerName {known[0]}{where}"
    commands = commands_of(evidence, trials, held, served)
    found.append(Change(text=text, kind="template", places=places, of=of, commands=commands))
    held.tried |= dict.fromkeys((each.text for each in found), served)
    return found


def _for_devices(evidence: Evidence, trials: Trials, held: Held, group: Group) -> Group:
    """A driver that publishes nothing comes before anything that a scheduler could show."""
    if group.by.startswith(("daemonset", "deployment")):
        kind, _, rest = group.by.partition(" ")
        name = rest.partition(" ")[0]
        owner = evidence.find({"daemonset": "DaemonSet", "deployment": "Deployment"}[kind], name)
        if owner is not None:
            selector = section(owner, "spec", "template", "spec", "nodeSelector")
            change = started(owner)
            if selector:
                labels = ", ".join(f"{key}={value}" for key, value in sorted(selector.items()))
                text = f"Label the nodes that have the devices with {labels}, so that {name} runs there"
                change = Change(text=f"{text} and publishes them", kind="label")
            return replace(group, changes=(change,))
    changes, tried = changes_for(evidence, trials, held)
    text = f"None of {counted(tried, 'change')} that were tried places any of them: see the driver."
    return replace(group, changes=tuple(changes), conclusion="" if changes else text)
