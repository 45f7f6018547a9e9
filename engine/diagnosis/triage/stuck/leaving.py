"""Objects that are being deleted and cannot go: who would have to let go of them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Final

from engine.cluster.commands import Command
from engine.diagnosis.observed.evidence import Evidence, SeenEvent, condition, entity, key_of
from engine.diagnosis.triage.carrying_out import bodies, deleted_at_once, without_finalizer
from engine.diagnosis.triage.drawn import known_as
from engine.diagnosis.triage.report import Change, Group, counted
from engine.diagnosis.triage.stuck.claims import users_of, uses_it, uses_them
from engine.diagnosis.triage.stuck.controllers import (
    REMOVES,
    SERVES,
    Behind,
    behind,
    remover_of,
    served_by,
)
from engine.diagnosis.triage.stuck.explained import facts_of
from engine.diagnosis.triage.stuck.nodes import Broken
from engine.diagnosis.triage.stuck.refusals import started
from engine.framework.explaining.case import listed
from engine.kernel.sentences import NOTHING, Argument, Sentence, say, say_count, together
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest

# What a deletion may take without being stuck, besides a pod's grace period.
_PATIENCE_SECONDS: Final = 60

_REMAINING: Final = re.compile(r"([^\s,:]+(?:/[^\s,]+)?) in \d+ resource instances")
_OWN_FINALIZER: Final = "kubernetes"
# Stands for a finalizer where an aggregated API does not answer.
_DISCOVERY: Final = "discovery: "
_CLAIM_FINALIZER: Final = "kubernetes.io/pvc-protection"


@dataclass(slots=True)
class _Leaving:
    """Objects that one finalizer, or one silence, holds."""

    finalizer: str
    objects: list[Manifest] = field(default_factory=list[Manifest])
    namespaces: list[Manifest] = field(default_factory=list[Manifest])


def leaving_groups(
    evidence: Evidence, broken: dict[str, Broken], named: Container[str]
) -> Iterator[Group]:
    """The groups; a pod that only the kubelet of a broken node can end goes to that node's group.

    Objects *named* are the cause of another group already.
    """
    found: dict[tuple[str, ...], _Leaving] = {}
    for each in evidence.everything():
        if not each["metadata"].get("deletionTimestamp") or not _is_late(evidence, each):
            continue
        if entity(each) in named:
            continue
        if each["kind"] == "Pod" and _goes_with_node(each, broken):
            continue
        finalizers = _finalizers(each)
        key = (finalizers[0] if finalizers else "", *_of_its_own(evidence, each, finalizers))
        group = found.setdefault(key, _Leaving(finalizers[0] if finalizers else ""))
        is_namespace = each["kind"] == "Namespace"
        (group.namespaces if is_namespace else group.objects).append(each)
    for group in found.values():
        yield _group(evidence, group)


def _is_late(evidence: Evidence, obj: Manifest) -> bool:
    """Whether it should have gone by now; deletionTimestamp of a pod has its grace added already."""
    since = str(obj["metadata"]["deletionTimestamp"])
    return evidence.age_seconds(since) > _PATIENCE_SECONDS


def _goes_with_node(pod: Manifest, broken: dict[str, Broken]) -> bool:
    node = str(section(pod, "spec").get("nodeName") or "")
    if node in broken and not pod["metadata"].get("finalizers"):
        broken[node].pods.append(pod)
        return True
    return False


def _finalizers(obj: Manifest) -> list[str]:
    """What holds the object; of a namespace, what holds the things in it."""
    if obj["kind"] != "Namespace":
        return [str(each) for each in obj["metadata"].get("finalizers") or ()]
    remaining = condition(obj, "NamespaceFinalizersRemaining")
    message = str(remaining.get("message") or "") if remaining is not None else ""
    found = [each for each in _REMAINING.findall(message) if "/" in each or "." in each]
    failed = condition(obj, "NamespaceDeletionDiscoveryFailure")
    if not found and failed is not None and failed.get("status") == "True":
        return [f"{_DISCOVERY}{failed.get('message')}"]
    own = section(obj, "spec").get("finalizers") or obj["metadata"].get("finalizers") or ()
    return found or [str(each) for each in own]


def _of_its_own(evidence: Evidence, obj: Manifest, finalizers: list[str]) -> tuple[str, ...]:
    """The key that distinguishes two objects with the same finalizer of Kubernetes itself."""
    if finalizers and not remover_of(finalizers[0]):
        return ()
    if obj["kind"] == "Pod":
        return (str(section(obj, "spec").get("nodeName")),)
    return (evidence.workload(obj) or entity(obj),)


def _group(evidence: Evidence, group: _Leaving) -> Group:
    spaces = [str(each["metadata"]["name"]) for each in group.namespaces]
    objects, finalizer = group.objects, group.finalizer
    everything = [*group.namespaces, *objects]
    subject = _subject(spaces, objects)
    owner = None
    if not finalizer:
        text, by = _unconfirmed(evidence, objects, subject)
    elif finalizer.startswith(_DISCOVERY):
        message = finalizer.removeprefix(_DISCOVERY)
        text = say("{objects} cannot go: {message}.", objects=subject, message=message)
        said, by, owner = _api_service(evidence, finalizer)
        text = together(text, said)
    else:
        text = _held_by(group, subject)
        by = known_as("finalizer", finalizer)
        known = remover_of(finalizer, objects)
        owner = None if known else behind(evidence, finalizer, "operator", "controller", "manager")
        if known:
            text = together(text, known, _users(evidence, objects, finalizer))
        elif owner is not None:
            text = together(text, owner.said(evidence, REMOVES))
            by = f"{by} ({owner.name})"
        else:
            none = say("No workload in the files looks like the one that removes it.")
            text = together(text, none)
    pods = sorted(key_of(each) for each in objects if each["kind"] == "Pod")
    claims = sorted(key_of(each) for each in objects if each["kind"] == "PersistentVolumeClaim")
    nodes = sorted(key_of(each) for each in objects if each["kind"] == "Node")
    counted_ones = ("Pod", "PersistentVolumeClaim", "Node")
    return Group(
        kind="terminating",
        cause=text,
        by=by,
        observed=_observed(group),
        predicted=say("It stays until the finalizer is removed.") if finalizer else NOTHING,
        since=min(str(each["metadata"]["deletionTimestamp"]) for each in everything),
        pods=tuple(pods),
        claims=tuple(claims),
        nodes=tuple(nodes),
        namespaces=tuple(spaces),
        objects=tuple(entity(each) for each in objects if each["kind"] not in counted_ones),
        workloads=tuple(
            dict.fromkeys(
                filter(None, (evidence.workload(each) for each in objects if each["kind"] == "Pod"))
            )
        ),
        facts=facts_of(owner),
        changes=tuple(_changes(evidence, group, owner)),
    )


def _subject(spaces: list[str], objects: list[Manifest]) -> Sentence:
    """The objects by kind; beginning a sentence."""
    kinds: dict[str, list[str]] = {}
    for each in objects:
        kinds.setdefault(each["kind"], []).append(key_of(each))
    names = listed(spaces, 4)
    parts = [say_count("Namespace {names}", "Namespaces {names}", len(spaces), names=names)]
    return listed(
        [
            *(parts if spaces else ()),
            *(
                say_count(
                    "{kind} {names}", "{kind}s {names}", len(keys), kind=kind, names=listed(keys, 4)
                )
                for kind, keys in kinds.items()
            ),
        ]
    )


def _held_by(group: _Leaving, subject: Sentence) -> Sentence:
    """Whose finalizer it is: of the namespaces themselves, or of something in them."""
    spaces, objects, finalizer = group.namespaces, group.objects, group.finalizer
    own = [each for each in spaces if finalizer in _own_finalizers(each)]
    if not spaces or (own and not objects):
        return say_count(
            "{objects} cannot go: it keeps the finalizer {finalizer}.",
            "{objects} cannot go: they keep the finalizer {finalizer}.",
            len(spaces) + len(objects),
            objects=subject,
            finalizer=finalizer,
        )
    if not objects:
        return say_count(
            "{objects} cannot go: something in it keeps the finalizer {finalizer}.",
            "{objects} cannot go: something in them keeps the finalizer {finalizer}.",
            len(spaces),
            objects=subject,
            finalizer=finalizer,
        )
    kinds: dict[str, int] = {}
    for each in objects:
        kinds[each["kind"]] = kinds.get(each["kind"], 0) + 1
    held = listed([counted(number, kind) for kind, number in kinds.items()])
    return say_count(
        "{objects} cannot go: {held} there keeps the finalizer {finalizer}.",
        "{objects} cannot go: {held} there keep the finalizer {finalizer}.",
        len(objects),
        objects=subject,
        held=held,
        finalizer=finalizer,
    )


def _own_finalizers(namespace: Manifest) -> list[str]:
    spec = section(namespace, "spec").get("finalizers") or ()
    return [*map(str, spec), *items_of(namespace["metadata"])]


def _unconfirmed(
    evidence: Evidence, pods: list[Manifest], subject: Sentence
) -> tuple[Sentence, str]:
    """Nothing holds it but the kubelet, which has not said that it has ended."""
    nodes = sorted({str(section(each, "spec").get("nodeName") or "") for each in pods} - {""})
    gone = [name for name in nodes if evidence.find("Node", name) is None]
    if gone:
        return (
            say(
                "{objects} cannot go: node {nodes} is not in the files, and only its kubelet may "
                "confirm the end.",
                objects=subject,
                nodes=listed(gone),
            ),
            known_as("node", listed(gone)),
        )
    if nodes:
        warnings = (event for pod in pods for event in evidence.events(pod) if event.is_warning)
        newest = max(warnings, key=_last, default=None)
        text = say(
            "{objects} cannot go: the kubelet of {nodes} has not confirmed the end.",
            objects=subject,
            nodes=listed(nodes, 4),
        )
        if newest is not None:
            text = together(text, say("It says: {message}.", message=newest.text.rstrip(".")))
        return text, known_as("node", listed(nodes))
    by = entity(pods[0]).replace("/", " ", 1) if pods else ""
    return say("{objects} cannot go.", objects=subject), by


def _last(event: SeenEvent) -> str:
    return event.last


def _api_service(evidence: Evidence, message: str) -> tuple[Sentence, str, Behind | None]:
    """The aggregated API that does not answer, and who should serve it."""
    for each in evidence.all("APIService"):
        spec = section(each, "spec")
        if f"{spec.get('group')}/{spec.get('version')}" not in message:
            continue
        name, found = str(each["metadata"]["name"]), condition(each, "Available")
        text = say("APIService {name} is not available.", name=name)
        if found is not None and found.get("message"):
            text = say(
                "APIService {name} is not available: {message}.",
                name=name,
                message=found["message"],
            )
        service = section(spec, "service")
        owner = served_by(evidence, str(service.get("namespace")), str(service.get("name")))
        if owner is not None:
            text = together(text, owner.said(evidence, SERVES))
        return text, known_as("apiservice", name), owner
    return NOTHING, "apiservice", None


def _users(evidence: Evidence, objects: list[Manifest], finalizer: str) -> Sentence:
    """Who still uses claims that are being deleted."""
    keys = {key_of(each) for each in objects if each["kind"] == "PersistentVolumeClaim"}
    if not keys or finalizer != _CLAIM_FINALIZER:
        return NOTHING
    users = users_of(evidence, keys)
    if not users:
        return say_count(
            "No pod that has a node uses it: it should have been removed.",
            "No pod that has a node uses them: it should have been removed.",
            len(keys),
        )
    ended = [each for each in users if _has_ended(evidence, each)]
    rest = say("It has ended, and holds the claim until it is deleted.")
    text = uses_it(users) if len(keys) == 1 else uses_them(users)
    return together(text, rest if ended == users else NOTHING)


def _observed(group: _Leaving) -> Sentence:
    for each in group.namespaces:
        for kind in (
            "NamespaceDeletionDiscoveryFailure",
            "NamespaceFinalizersRemaining",
            "NamespaceContentRemaining",
        ):
            found = condition(each, kind)
            if found is not None and found.get("status") == "True":
                return say(
                    "Namespace {name}, condition {kind}: {message}",
                    name=each["metadata"]["name"],
                    kind=kind,
                    message=found.get("message"),
                )
    first = (group.objects or group.namespaces)[0]
    metadata = first["metadata"]
    known: dict[str, Argument] = {
        "kind": first["kind"],
        "name": key_of(first),
        "since": metadata["deletionTimestamp"],
    }
    if not metadata.get("finalizers"):
        return say("{kind} {name}: deletionTimestamp {since}", **known)
    return say(
        "{kind} {name}: deletionTimestamp {since}, finalizers {finalizers}",
        **known,
        finalizers=listed(items_of(metadata)),
    )


def items_of(metadata: Manifest) -> list[str]:
    """The finalizers in metadata."""
    return [str(each) for each in metadata.get("finalizers") or ()]


def _has_ended(evidence: Evidence, key: str) -> bool:
    pod = evidence.find("Pod", key)
    return pod is not None and section(pod, "status").get("phase") in ("Succeeded", "Failed")


def _deleted(pod: str) -> Command:
    return Command(verb="delete", object=f"pod/{pod}")


def _changes(evidence: Evidence, group: _Leaving, owner: Behind | None) -> Iterator[Change]:
    objects, finalizer = group.objects, group.finalizer
    keys = {key_of(each) for each in objects if each["kind"] == "PersistentVolumeClaim"}
    users = users_of(evidence, keys) if finalizer == _CLAIM_FINALIZER else []
    if users:
        commands = bodies(_deleted(each) for each in users)
        if all(_has_ended(evidence, each) for each in users):
            text = say_count(
                "Delete pod {pods}, which has ended",
                "Delete pod {pods}, which have ended",
                len(users),
                pods=listed(users, 4),
            )
            data = say("the data of the claim, where its volume is deleted with it")
            yield Change(text=text, kind="pod", loses=data, commands=commands)
        else:
            yield Change(
                text=say(
                    "Let pod {users} end, or delete it, once its work is done",
                    users=listed(users, 4),
                ),
                kind="pod",
                loses=say(
                    "what it is at work on; and the data of the claim, where its volume is deleted "
                    "with it"
                ),
                commands=commands,
            )
    if owner is not None and not owner.is_running:
        yield started(owner.workload)
    names = listed([f"{each['kind']} {key_of(each)}" for each in objects or group.namespaces], 3)
    if not finalizer:
        yield Change(
            text=say(
                "Delete {names} by force (grace period 0) once nothing of it runs any more",
                names=names,
            ),
            kind="force",
            loses=say("the certainty that it has ended: two copies may write to one volume"),
            commands=bodies(map(deleted_at_once, objects)),
        )
    elif objects and finalizer not in (_CLAIM_FINALIZER, _OWN_FINALIZER):
        yield Change(
            text=say(
                "Take the finalizer {finalizer} off {names}", finalizer=finalizer, names=names
            ),
            kind="finalizer",
            loses=say("what its owner would have cleaned up: it stays behind"),
            commands=bodies(without_finalizer(each, finalizer) for each in objects),
        )
