"""Why a pod of a gang waits: its group is not there, has too few pods, or cannot be placed whole."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.cluster.commands import Command
from engine.diagnosis.candidates import Candidate, patched
from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.scene import Scene
from engine.framework import names
from engine.framework.explaining.case import FEW, listed
from engine.framework.explaining.fact import Fact, fact
from engine.framework.explaining.manifests import HOSTNAME, deep_copy
from engine.framework.pod_groups.groups import POD_GROUP, group_of
from engine.kernel.sentences import Sentence, say, say_count
from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject, Pod
from engine.plugins.gang_scheduling.plugin import WAITS_TO_APPEAR, WAITS_TO_BE_SCHEDULED

_GATES: Final = (WAITS_TO_APPEAR, "waiting for pods's pod group")


def is_gate_of_gang(message: str) -> bool:
    """Whether GangScheduling gives this reason for holding a pod back."""
    return message.startswith(_GATES)


def gang_cause(scene: Scene, pod: Pod) -> Cause | None:
    """What keeps the group of *pod* from getting nodes; None where its group holds nothing back."""
    group = group_of(pod)
    if not group:
        return None
    names_group = fact(
        pod,
        ("spec", "schedulingGroup", "podGroupName"),
        say("Pod {pod} belongs to {group}.", pod=pod.key, group=group),
    )
    found = scene.store.find(POD_GROUP, group)
    if found is None:
        sentence = say(
            "Pod {pod} waits for PodGroup {group}, which does not exist.", pod=pod.key, group=group
        )
        return _cause(
            sentence, [names_group], say("No pod of the group is tried before it exists.")
        )
    minimum = section(found.spec, "schedulingPolicy", "gang").get("minCount")
    members = _members(scene, group)
    placed = [each for each in members if each.node_name]
    if minimum is None or len(placed) >= minimum:
        return None
    path = ("spec", "schedulingPolicy", "gang", "minCount")
    needs = fact(
        found,
        path,
        say("Gang {group} needs {minimum} pods.", group=group, minimum=minimum),
        compared_with=len(members),
    )
    if len(members) < minimum:
        sentence = say(
            "Gang {group} needs {minimum} pods, and {count} of them exist.",
            group=group,
            minimum=minimum,
            count=len(members),
        )
        why = say("Its pods enter the queue when enough of them exist.")
        return _cause(sentence, [names_group, needs, *_listed(members)], why)
    return _without_room(found, minimum, members, [names_group, needs])


def gang_changes(scene: Scene, pod: Pod) -> Iterator[Candidate]:
    """Changes that may let the group of *pod* get nodes."""
    group = group_of(pod)
    found = scene.store.find(POD_GROUP, group) if group else None
    if found is None:
        return
    for node in sorted(scene.nodes(), key=lambda each: -each.allocatable_units.get("cpu", 0))[:1]:
        manifest = deep_copy(node.raw)
        name = f"{node.name}-more"
        manifest["metadata"] = {
            "name": name,
            "labels": {**node.labels, **({HOSTNAME: name} if HOSTNAME in node.labels else {})},
        }
        yield Candidate(
            kind="node",
            text=say("Add one more node like {node}", node=node.name),
            command=Command(verb="create", manifest=manifest),
            decidable=False,
            note=say("It costs one more machine, and the time to set it up."),
        )
    fitting = [each for each in _members(scene, group) if _fits(each) or each.node_name]
    if fitting:
        policy = {"spec": {"schedulingPolicy": {"gang": {"minCount": len(fitting)}}}}
        yield Candidate(
            kind="gang",
            text=say("Let gang {group} start with {count} pods", group=group, count=len(fitting)),
            command=patched(found.id, policy),
            decidable=False,
            note=say(
                "Only if its work can be done by fewer pods; the others follow when there is room."
            ),
        )


def _members(scene: Scene, group: str) -> list[Pod]:
    namespace = group.partition("/")[0]
    return [each for each in scene.pods(namespace) if group_of(each) == group]


def _without_room(
    group: ApiObject, minimum: int, members: list[Pod], because: list[Fact]
) -> Cause | None:
    refused = [each for each in members if not each.node_name and not _fits(each)]
    refused = [each for each in refused if _refusal(each)]
    if not any(_fits(each) for each in members) and not refused:
        return None
    fit = len(members) - len(refused)
    sentence = say(
        "Gang {group} needs {minimum} pods on nodes at once; only {fit} of them fit.",
        group=group.key,
        minimum=minimum,
        fit=fit,
    )
    for each in refused[:FEW]:
        place, message = _refusal(each) or (0, "")
        text = say("Pod {each} fits nowhere: {message}", each=each.key, message=message)
        because.append(fact(each, ("status", "conditions", place, "message"), text))
    why = say_count(
        "All of them wait because {pods} fits nowhere.",
        "All of them wait because {pods} fit nowhere.",
        len(refused),
        pods=listed([each.key for each in refused]),
    )
    return _cause(sentence, because, why)


def _fits(pod: Pod) -> bool:
    found = _refusal(pod)
    return found is not None and found[1].endswith(WAITS_TO_BE_SCHEDULED)


def _refusal(pod: Pod) -> tuple[int, str] | None:
    """Where the pod's condition says why it is not scheduled, and what."""
    for place, each in enumerate(items(pod.status, "conditions")):
        if each.get("type") == "PodScheduled" and each.get("status") == "False":
            return place, str(each.get("message"))
    return None


def _listed(members: list[Pod]) -> Iterator[Fact]:
    for each in members[:FEW]:
        path = ("spec", "schedulingGroup", "podGroupName")
        yield fact(each, path, say("Pod {each} is one of them.", each=each.key))


def _cause(sentence: Sentence, because: list[Fact], why: Sentence) -> Cause:
    return Cause(
        severity="blocks",
        sentence=sentence,
        why=why,
        plugin=names.GANG_SCHEDULING,
        because=tuple(because),
    )
