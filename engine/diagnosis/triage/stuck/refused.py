"""Pods that were refused before they existed: by a quota, a webhook, a missing account, a policy."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, islice
from typing import Final

from engine.cluster.cluster import Cluster
from engine.diagnosis.observed.evidence import (
    Evidence,
    SeenEvent,
    condition,
    entity,
    key_of,
    told_by,
)
from engine.diagnosis.subjects.admission import refusal_text
from engine.diagnosis.triage.deciding import Trials
from engine.diagnosis.triage.drawn import WorkloadCount
from engine.diagnosis.triage.report import Group, counted
from engine.diagnosis.triage.stuck.controllers import owners_text
from engine.diagnosis.triage.stuck.explained import Stuck
from engine.diagnosis.triage.stuck.refusals import explain_refusal, kind_of
from engine.diagnosis.triage.stuck.security import security_refusal
from engine.diagnosis.triage.stuck.webhooks import unanswered_webhook
from engine.framework.explaining.case import listed
from engine.kernel.sentences import NOTHING, Sentence, grouped, say, say_count, together
from engine.objects.manifest_parts import section, wanted_pods
from engine.objects.objects import Manifest, Pod

_KINDS: Final = ("ReplicaSet", "ReplicationController", "StatefulSet", "DaemonSet", "Job")
_FAILED: Final = "FailedCreate"

# Names of pods and numbers differ from refusal to refusal of one cause.
_POD: Final = re.compile(r'pods? "[^"]*"')


def refused_groups(evidence: Evidence, cluster: Cluster) -> Iterator[tuple[Group, list[Pod]]]:
    """Workloads with too few pods because the API server refuses to create them.

    With each group come the pods that its first change would let be made: see `with_places`. No
    pods come where kscope does not know the rule that refuses.
    """
    pods = evidence.pods_by_controller
    found: dict[tuple[str, ...], Stuck] = {}
    for kind in _KINDS:
        for owner in evidence.all(kind):
            message, since = _refusal(evidence, owner)
            lacks = wanted_pods(owner) - len(pods.get((kind, key_of(owner)), ()))
            if lacks <= 0:
                continue
            # A plain manifest without a status has not lacked anything yet.
            message = message or _by_rules(evidence, cluster, owner)
            if not message:
                continue
            key = _key(message, str(owner["metadata"].get("namespace")))
            group = found.setdefault(key, Stuck(message))
            group.objects.append(owner)
            group.lacks[entity(owner)] = lacks
            group.since = min(filter(None, (group.since, since)), default="")
    for key, group in found.items():
        shown = _group(evidence, key, group)
        known = key[0] in _COUNTED and shown.changes
        yield shown, list(_all_made(evidence, group)) if known else []


# The rules that kscope's API server has as well.
_KNOWN_RULES: Final = (
    *("quota", "unstated", "class", "account", "runtime", "bound", "ratio", "leaving"),
)
# Those whose pods can be counted once the first change is made.
_COUNTED: Final = ("quota", "unstated", "class", "account", "runtime")


def _all_made(evidence: Evidence, found: Stuck) -> Iterator[Pod]:
    for owner in found.objects:
        yield from _made(evidence, owner, found.lacks[entity(owner)])


def with_places(trials: Trials, made: list[Pod], group: Group) -> Group:
    """*group* with how many of the pods *made* fit once the first change has let them be made."""
    places = len(trials.placed(None, {}, {pod.key for pod in made}, made))
    first = replace(group.changes[0], places=places, of=len(made))
    return replace(group, changes=(first, *group.changes[1:]))


def _made(evidence: Evidence, owner: Manifest, number: int) -> list[Pod]:
    """The pods that the controller of *owner* would create from its template, beside those there are."""
    if owner["kind"] == "DaemonSet":
        return []  # Each of its pods is for one node, which only its controller knows.
    template = section(owner, "spec", "template")
    metadata, name = section(template, "metadata"), owner["metadata"]["name"]
    reference = {"kind": owner["kind"], "name": name, "controller": True}
    namespace = owner["metadata"].get("namespace")
    free = (place for place in count() if not evidence.find("Pod", f"{namespace}/{name}-{place}"))
    return [
        Pod(
            {
                "apiVersion": "v1",
                "kind": "Pod",
                "metadata": {
                    "name": f"{name}-{place}",
                    "namespace": namespace,
                    "labels": section(metadata, "labels"),
                    "ownerReferences": [reference],
                    "uid": f"{key_of(owner)}-{place}",
                },
                "spec": section(template, "spec"),
            }
        )
        for place in islice(free, number)
    ]


def _refusal(evidence: Evidence, owner: Manifest) -> tuple[str, str]:
    """The newest refusal that stands about a workload, and since when."""
    found = condition(owner, "ReplicaFailure")
    events = evidence.events(owner, _FAILED)
    if found is not None and found.get("status") == "True":
        return str(found.get("message") or ""), str(found.get("lastTransitionTime") or "")
    if not events:
        return "", ""
    made = evidence.events(owner, "SuccessfulCreate")
    if made and made[-1].last > events[-1].last:
        return "", ""
    return events[-1].message, events[0].first


def _by_rules(evidence: Evidence, cluster: Cluster, owner: Manifest) -> str:
    """What the API server would say of the next pod, by the objects of the files; "" for nothing."""
    namespace = str(owner["metadata"].get("namespace"))
    template = section(owner, "spec", "template")
    workload = cluster.store.find(owner["kind"], key_of(owner))
    return (
        unanswered_webhook(evidence, namespace, section(template, "metadata", "labels"))
        or ("" if workload is None else refusal_text(cluster.admission, workload))
        or security_refusal(evidence.find("Namespace", namespace), section(template, "spec"))
    )


def _key(message: str, namespace: str) -> tuple[str, ...]:
    """What two refusals of one cause have in common."""
    kind, name = kind_of(message)
    if kind:
        is_local = kind not in ("webhook", "denied", "class", "policy", "runtime")
        return (kind, namespace if is_local else "", name)
    return ("other", namespace, _POD.sub("pod", message))


def _group(evidence: Evidence, key: tuple[str, ...], found: Stuck) -> Group:
    workloads = list(dict.fromkeys(_top(evidence, each) for each in found.objects))
    kind, namespace, name = key
    explained = explain_refusal(evidence, kind, namespace, name, found)
    events = [event for each in found.objects for event in evidence.events(each, _FAILED)]
    held = say_count(
        "{count} pod of {workloads} is refused before it exists.",
        "{count} pods of {workloads} are refused before they exist.",
        found.missing,
        count=grouped(found.missing),
        workloads=owners_text(workloads),
    )
    return Group(
        kind="workload-refused",
        cause=together(explained.cause, held),
        by=explained.by,
        observed=_observed(evidence, found, events),
        predicted=_predicted(kind),
        contradicts=kind not in _KNOWN_RULES,
        since=found.since,
        pods_missing=found.missing,
        workloads=tuple(workloads),
        workload_counts=tuple(_never_made(evidence, found)),
        facts=explained.facts,
        changes=explained.changes,
        short=explained.short,
        conclusion=NOTHING
        if explained.changes
        else say("No change was tried: what refuses them is not in the files."),
    )


def _never_made(evidence: Evidence, found: Stuck) -> Iterator[WorkloadCount]:
    """The pods that do not exist, by workload."""
    missing: dict[str, int] = {}
    for owner in found.objects:
        top = _top(evidence, owner)
        missing[top] = missing.get(top, 0) + found.lacks[entity(owner)]
    for workload, number in missing.items():
        yield WorkloadCount(workload=workload, waiting=number, of=number)


def _observed(evidence: Evidence, found: Stuck, events: Sequence[SeenEvent]) -> Sentence:
    """What the files say: an Event, or the condition of the workload."""
    if any(_refusal(evidence, each)[0] for each in found.objects):
        return told_by(events, _FAILED, found.message)
    counts = [
        say(
            "{kind} {name} has {count} of {wanted}",
            kind=each["kind"],
            name=key_of(each),
            count=wanted_pods(each) - found.lacks[entity(each)],
            wanted=counted(wanted_pods(each), "pod"),
        )
        for each in found.objects
        if each.get("status")
    ]
    shown = listed(counts, 3)
    return say("{shown}; no Event says why.", shown=shown) if shown else NOTHING


def _predicted(kind: str) -> Sentence:
    if kind in _KNOWN_RULES:
        return say("The API server refuses them as well (FailedCreate).")
    return say("Webhooks and policies are outside the model, which would create them at once.")


def _top(evidence: Evidence, owner: Manifest) -> str:
    return evidence.workload(owner) or entity(owner)
