"""Which conclusions rest on placeholders: objects that the files name and do not hold."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from typing import Any, Final

from engine.diagnosis.observed.evidence import Evidence, claims_of, entity
from engine.diagnosis.triage.report import Group
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest

# How many sentences about single objects are told; more are counted.
_MOST: Final = 3
_NAME: Final = re.compile(r"[\w./-]+")
_NODES: Final = "node/"


def with_assumed(evidence: Evidence, group: Group) -> Group:
    """*group* with the sentences about the placeholders that it rests on."""
    if not evidence.assumed:
        return group
    named = {*group.nodes, *group.claims, *group.objects, *group.facts, *group.workloads}
    said = " ".join((group.cause, group.by, group.observed, group.predicted, *group.because))
    return replace(
        group,
        assumed=tuple(resting_on(evidence, named, said, on_all_nodes=group.kind == "pending")),
    )


def assumed_of(
    evidence: Evidence, raw: Manifest, said: str, *, is_waiting: bool
) -> tuple[str, ...]:
    """The same of an answer about one object, which says *said* of it."""
    named = {entity(raw), *_used(evidence, raw)}
    return tuple(resting_on(evidence, named, said, on_all_nodes=is_waiting))


def resting_on(
    evidence: Evidence, named: Iterable[str], said: str, *, on_all_nodes: bool
) -> Iterator[str]:
    """The sentences about placeholders that are *named*, or that a text names.

    *on_all_nodes*: that a pod fits no node rests on every node.
    """
    words, keys = set(_NAME.findall(said)), set(named)
    nodes: list[str] = []
    others: list[str] = []
    for each, sentence in evidence.assumed.items():
        key = each.partition("/")[2]
        is_node = each.startswith(_NODES)
        if is_node and on_all_nodes:
            nodes.append(sentence)
        elif each in keys or key in keys or key in words or key.rpartition("/")[2] in words:
            others.append(sentence)
    for found, what in ((nodes, "nodes"), (others, "objects")):
        yield from found[:_MOST]
        more = len(found) - _MOST
        if more > 0:
            yield f"{more:,} more {what} are assumed as well, because these files do not hold them."


def _used(evidence: Evidence, raw: Manifest) -> Iterator[str]:
    """What an object stands on: the node of a pod, its claims, their volumes."""
    spec: Any = section(raw, "spec")
    if raw["kind"] == "Pod":
        yield f"node/{spec.get('nodeName')}"
        for key in claims_of(raw):
            yield f"persistentvolumeclaim/{key}"
            claim = evidence.find("PersistentVolumeClaim", key)
            yield from _used(evidence, claim) if claim is not None else ()
    elif raw["kind"] == "PersistentVolumeClaim":
        yield f"persistentvolume/{spec.get('volumeName')}"
        yield f"storageclass/{spec.get('storageClassName')}"
    elif raw["kind"] == "PersistentVolume":
        ref = section(raw, "spec", "claimRef")
        yield f"persistentvolumeclaim/{ref.get('namespace')}/{ref.get('name')}"
