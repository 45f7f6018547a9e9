"""What the files say changed about when something got stuck: scaled, created, a node not ready."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Final

from engine.diagnosis.observed.evidence import Evidence, condition, entity, key_of
from engine.diagnosis.triage.drawn import Happening
from engine.diagnosis.triage.report import Group
from engine.kernel.sentences import say
from engine.objects.objects import Manifest

# How long before a wait began, and after, something may have happened that has to do with it.
_BEFORE_SECONDS: Final = 600
_AFTER_SECONDS: Final = 60
_MOST: Final = 6
_KINDS: Final = (
    ("Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob")
    + ("ResourceQuota", "StorageClass")
    + ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration")
)
# Upstream: pkg/controller/deployment/sync.go, scaleReplicaSet().
_SCALED: Final = re.compile(r"Scaled (?:up|down) replica set \S+?(?: from (\d+))? to (\d+)")


def happened(evidence: Evidence, groups: Iterable[Group]) -> tuple[Happening, ...]:
    """The changes, the oldest first."""
    stuck = [group for group in groups if group.since]
    if not evidence.instant or not stuck:
        return ()
    known = {entity(each): each for kind in _KINDS for each in evidence.all(kind)}
    nodes = list(_of_nodes(evidence))
    found: dict[Happening, None] = {}
    for group in stuck:
        names = (*group.workloads, group.by.replace(" ", "/", 1))
        mine = [known[name] for name in names if name in known]
        for each in (*_of_objects(evidence, mine), *nodes):
            if _is_about(evidence, each.at, group.since):
                found[each] = None
    return tuple(sorted(list(found)[:_MOST], key=_at))


def _is_about(evidence: Evidence, at: str, since: str) -> bool:
    before = evidence.age_seconds(at) - evidence.age_seconds(since)
    return bool(at) and -_AFTER_SECONDS <= before <= _BEFORE_SECONDS


def _of_objects(evidence: Evidence, objects: Iterable[Manifest]) -> Iterator[Happening]:
    for each in objects:
        created = str(each["metadata"].get("creationTimestamp") or "")
        yield Happening(at=created, text=say("{name} created", name=_name(each)))
        for event in evidence.events(each, "ScalingReplicaSet"):
            match = _SCALED.search(event.message)
            if match is not None:
                text = say("{name} scaled to {replicas}", name=_name(each), replicas=match[2])
                if match[1]:
                    text = say(
                        "{name} scaled from {old} to {replicas}",
                        name=_name(each),
                        old=match[1],
                        replicas=match[2],
                    )
                yield Happening(at=event.last, text=text)


def _of_nodes(evidence: Evidence) -> Iterator[Happening]:
    for node in evidence.all("Node"):
        text = say("node {key_of} not ready", key_of=key_of(node))
        ready = condition(node, "Ready")
        if ready is not None and ready.get("status") != "True":
            yield Happening(at=str(ready.get("lastTransitionTime") or ""), text=text)
        else:
            events = evidence.events(node, "NodeNotReady")
            yield from (Happening(at=event.first, text=text) for event in events)


def _name(obj: Manifest) -> str:
    return entity(obj).replace("/", " ", 1)


def _at(found: Happening) -> str:
    return found.at
