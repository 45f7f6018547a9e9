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
from engine.kernel.sentences import NOTHING, enumerated, say, say_count, together
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
    conclusion = NOTHING
    if not changes:
        conclusion = say(
            "None of {changes} that were tried places any of them.",
            changes=counted(tried, "change"),
        )
        if not tried:
            conclusion = say("No change of these pods or of the nodes is known that could help.")
        if kind == "fits" and unplayed_claims(held):
            conclusion = say(
                "No change was tried: kscope does not allocate devices in this version."
            )
        elif kind == "fits":
            conclusion = say(
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
    waits = say("Wait for the end of the grace period first.") if left > 0 else NOTHING
    return Change(
        text=say("Delete {pods} by force (grace period 0)", pods=listed(list(leaving), 4)),
        kind="force",
        places=len(trials.placed(prepare, {}, mine)),
        of=len(mine),
        loses=say("the certainty that it has ended: two copies may write to one volume"),
        note=together(
            waits, say("Be sure that nothing of them runs any more: no kubelet confirms it.")
        ),
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
                text=say(
                    "Raise nominalQuota of ClusterQueue {queue} by {asked}, or wait until "
                    "admitted workloads end",
                    queue=queue,
                    asked=_asked(evidence, trials, held, queue),
                ),
                kind="quota",
                places=places,
                of=of,
                note=say("The queue is shared: ask who owns it."),
                commands=by_hand,
            )
        )
    found.append(
        Change(
            text=say("Remove the gate {gate} by hand", gate=gate),
            kind="gate",
            places=places,
            of=of,
            shared=say("it goes round the queue, or whatever the gate waits for"),
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
    note = say(
        "Counted as {known} would place them: how {name} decides is not known here.",
        known=known[0],
        name=name,
    )
    owner = behind(evidence, name, "scheduler")
    found: list[Change] = []
    if owner is not None and not owner.is_running:
        # No run has such a scheduler.
        found.append(replace(started(owner.workload), places=places, of=of, note=note, commands=()))
    elif owner is not None:
        text = say("Let {owner} do its work: see its log and its roles", owner=owner.name)
        found.append(Change(text=text, kind="scheduler", places=places, of=of, note=note))
    else:
        text = say("Run a scheduler of the name {name}", name=name)
        found.append(Change(text=text, kind="scheduler", places=places, of=of, note=note))
    text = say_count(
        "Give it the schedulerName {name}",
        "Give the pods the schedulerName {name}",
        of,
        name=known[0],
    )
    if held.workloads:
        text = say_count(
            "Give it the schedulerName {name} in the template of {workloads}",
            "Give the pods the schedulerName {name} in the template of {workloads}",
            of,
            name=known[0],
            workloads=owners_text(held.workloads),
        )
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
                labels = enumerated([f"{key}={value}" for key, value in sorted(selector.items())])
                text = say(
                    "Label the nodes that have the devices with {labels}, so that {name} runs "
                    "there and publishes them",
                    labels=labels,
                    name=name,
                )
                change = Change(text=text, kind="label")
            return replace(group, changes=(change,))
    changes, tried = changes_for(evidence, trials, held)
    text = say(
        "None of {changes} that were tried places any of them: see the driver.",
        changes=counted(tried, "change"),
    )
    return replace(group, changes=tuple(changes), conclusion=NOTHING if changes else text)
