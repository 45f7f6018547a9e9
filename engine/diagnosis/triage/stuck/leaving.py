"""Objects that are being deleted and cannot go: who would have to let go of them."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass, field
from typing import Final

from engine.cluster.commands import Command
from engine.diagnosis.observed.evidence import Evidence, SeenEvent, condition, entity, key_of
from engine.diagnosis.triage.carrying_out import bodies, deleted_at_once, without_finalizer
from engine.diagnosis.triage.report import Change, Group, counted
from engine.diagnosis.triage.stuck.claims import users_of, uses_text
from engine.diagnosis.triage.stuck.controllers import Behind, behind, remover_of, served_by
from engine.diagnosis.triage.stuck.explained import facts_of
from engine.diagnosis.triage.stuck.nodes import Broken
from engine.diagnosis.triage.stuck.refusals import started
from engine.framework.explaining.case import listed
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest

# What a deletion may take without being stuck, besides a pod's grace period.
_PATIENCE_SECONDS: Final = 60

_REMAINING: Final = re.compile(r"([^\s,:]+(?:/[^\s,]+)?) in \d+ resource instances")
_OWN_FINALIZER: Final = "kubernetes"
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
        return [f"discovery: {failed.get('message')}"]
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
    text = f"{_subject(spaces, objects)} cannot go"
    owner = None
    if not finalizer:
        text, by = _unconfirmed(evidence, objects, text)
    elif finalizer.startswith("discovery: "):
        text = f"{text}: {finalizer.removeprefix('discovery: ')}."
        said, by, owner = _api_service(evidence, finalizer)
        text = f"{text} {said}".strip()
    else:
        text = f"{text}: {_held_by(group)}."
        by = f"finalizer {finalizer}"
        known = remover_of(finalizer, objects)
        owner = None if known else behind(evidence, finalizer, "operator", "controller", "manager")
        if known:
            text = f"{text} {known[:1].upper()}{known[1:]}."
            text = f"{text} {_users(evidence, objects, finalizer)}".rstrip()
        elif owner is not None:
            text = f"{text} {owner.said(evidence, 'removes it')}"
            by = f"{by} ({owner.name})"
        else:
            text = f"{text} No workload in the files looks like the one that removes it."
    pods = sorted(key_of(each) for each in objects if each["kind"] == "Pod")
    claims = sorted(key_of(each) for each in objects if each["kind"] == "PersistentVolumeClaim")
    nodes = sorted(key_of(each) for each in objects if each["kind"] == "Node")
    counted_ones = ("Pod", "PersistentVolumeClaim", "Node")
    return Group(
        kind="terminating",
        cause=text,
        by=by,
        observed=_observed(group),
        predicted="It stays until the finalizer is removed." if finalizer else "",
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


def _subject(spaces: list[str], objects: list[Manifest]) -> str:
    parts = [f"namespace{'' if len(spaces) == 1 else 's'} {listed(spaces, 4)}"] if spaces else []
    kinds: dict[str, list[str]] = {}
    for each in objects:
        kinds.setdefault(each["kind"], []).append(key_of(each))
    parts += [
        f"{kind}{'' if len(keys) == 1 else 's'} {listed(keys, 4)}" for kind, keys in kinds.items()
    ]
    text = listed(parts)
    return f"{text[:1].upper()}{text[1:]}"


def _held_by(group: _Leaving) -> str:
    """Whose finalizer it is: of the namespaces themselves, or of something in them."""
    spaces, objects, finalizer = group.namespaces, group.objects, group.finalizer
    own = [each for each in spaces if finalizer in _own_finalizers(each)]
    if not spaces or (own and not objects):
        what = "they keep" if len(spaces) + len(objects) > 1 else "it keeps"
        return f"{what} the finalizer {finalizer}"
    if not objects:
        what = "it" if len(spaces) == 1 else "them"
        return f"something in {what} keeps the finalizer {finalizer}"
    kinds: dict[str, int] = {}
    for each in objects:
        kinds[each["kind"]] = kinds.get(each["kind"], 0) + 1
    held = listed([counted(number, kind) for kind, number in kinds.items()])
    verb = "keeps" if len(objects) == 1 else "keep"
    return f"{held} there {verb} the finalizer {finalizer}"


def _own_finalizers(namespace: Manifest) -> list[str]:
    spec = section(namespace, "spec").get("finalizers") or ()
    return [*map(str, spec), *items_of(namespace["metadata"])]


def _unconfirmed(evidence: Evidence, pods: list[Manifest], text: str) -> tuple[str, str]:
    """Nothing holds it but the kubelet, which has not said that it has ended."""
    nodes = sorted({str(section(each, "spec").get("nodeName") or "") for each in pods} - {""})
    gone = [name for name in nodes if evidence.find("Node", name) is None]
    if gone:
        return (
            f"{text}: node {listed(gone)} is not in the files, and only its kubelet may confirm the end.",
            f"node {listed(gone)}",
        )
    if nodes:
        warnings = (event for pod in pods for event in evidence.events(pod) if event.is_warning)
        newest = max(warnings, key=_last, default=None)
        text = f"{text}: the kubelet of {listed(nodes, 4)} has not confirmed the end."
        if newest is not None:
            text = f"{text} It says: {newest.text.rstrip('.')}."
        return text, f"node {listed(nodes)}"
    return f"{text}.", entity(pods[0]).replace("/", " ", 1) if pods else ""


def _last(event: SeenEvent) -> str:
    return event.last


def _api_service(evidence: Evidence, message: str) -> tuple[str, str, Behind | None]:
    """The aggregated API that does not answer, and who should serve it."""
    for each in evidence.all("APIService"):
        spec = section(each, "spec")
        if f"{spec.get('group')}/{spec.get('version')}" not in message:
            continue
        name, found = str(each["metadata"]["name"]), condition(each, "Available")
        text = f"APIService {name} is not available"
        text += f": {found['message']}." if found is not None and found.get("message") else "."
        service = section(spec, "service")
        owner = served_by(evidence, str(service.get("namespace")), str(service.get("name")))
        if owner is not None:
            text = f"{text} {owner.said(evidence, 'serves it')}"
        return text, f"apiservice {name}", owner
    return "", "apiservice", None


def _users(evidence: Evidence, objects: list[Manifest], finalizer: str) -> str:
    """Who still uses claims that are being deleted."""
    keys = {key_of(each) for each in objects if each["kind"] == "PersistentVolumeClaim"}
    if not keys or finalizer != _CLAIM_FINALIZER:
        return ""
    them = "it" if len(keys) == 1 else "them"
    users = users_of(evidence, keys)
    if users:
        ended = [each for each in users if _has_ended(evidence, each)]
        rest = " It has ended, and holds the claim until it is deleted." if ended == users else ""
        return f"{uses_text(users)} {them}.{rest}"
    return f"No pod that has a node uses {them}: it should have been removed."


def _observed(group: _Leaving) -> str:
    for each in group.namespaces:
        for kind in (
            "NamespaceDeletionDiscoveryFailure",
            "NamespaceFinalizersRemaining",
            "NamespaceContentRemaining",
        ):
            found = condition(each, kind)
            if found is not None and found.get("status") == "True":
                return f"Namespace {each['metadata']['name']}, condition {kind}: {found.get('message')}"
    first = (group.objects or group.namespaces)[0]
    metadata = first["metadata"]
    held = f", finalizers {listed(items_of(metadata))}" if metadata.get("finalizers") else ""
    return (
        f"{first['kind']} {key_of(first)}: deletionTimestamp {metadata['deletionTimestamp']}{held}"
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
        data = "the data of the claim, where its volume is deleted with it"
        commands = bodies(_deleted(each) for each in users)
        if all(_has_ended(evidence, each) for each in users):
            text = (
                f"Delete pod {listed(users, 4)}, which {'has' if len(users) == 1 else 'have'} ended"
            )
            yield Change(text=text, kind="pod", loses=data, commands=commands)
        else:
            yield Change(
                text=f"Let pod {listed(users, 4)} end, or delete it, once its work is done",
                kind="pod",
                loses=f"what it is at work on; and {data}",
                commands=commands,
            )
    if owner is not None and not owner.is_running:
        yield started(owner.workload)
    names = listed([f"{each['kind']} {key_of(each)}" for each in objects or group.namespaces], 3)
    if not finalizer:
        yield Change(
            text=f"Delete {names} by force (grace period 0) once nothing of it runs any more",
            kind="force",
            loses="the certainty that it has ended: two copies may write to one volume",
            commands=bodies(map(deleted_at_once, objects)),
        )
    elif objects and finalizer not in (_CLAIM_FINALIZER, _OWN_FINALIZER):
        yield Change(
            text=f"Take the finalizer {finalizer} off {names}",
            kind="finalizer",
            loses="what its owner would have cleaned up: it stays behind",
            commands=bodies(without_finalizer(each, finalizer) for each in objects),
        )
