"""Rules that objects of several kinds share: metadata, conditions, quantities."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.api_server.validation.report import Report
from engine.api_server.validation.rules import (
    Rule,
    boolean,
    fields,
    integer,
    labels,
    list_of,
    map_of,
    one_of,
    quantity,
    text,
    timestamp,
    typed,
)
from engine.kernel.sentences import say
from engine.objects.documents import Path
from engine.objects.values.shown import shown

quantities = map_of(quantity)
texts = list_of(text)
natural_number = integer(0)
any_integer = typed
conditions = list_of(
    fields(
        ("type", "status"),
        type=text,
        status=one_of("True", "False", "Unknown"),
        reason=text,
        message=text,
        lastTransitionTime=timestamp,
        lastUpdateTime=timestamp,
    )
)
# Read as a whole, or passed on.
any_mapping = typed

METADATA = fields(
    name=text,
    namespace=text,
    uid=text,
    resourceVersion=text,
    labels=labels,
    annotations=map_of(text),
    finalizers=texts,
    creationTimestamp=timestamp,
    deletionTimestamp=timestamp,
    deletionGracePeriodSeconds=any_integer,
    generation=any_integer,
    ownerReferences=list_of(
        fields(
            ("kind", "name"),
            apiVersion=text,
            kind=text,
            name=text,
            uid=text,
            controller=boolean,
            blockOwnerDeletion=boolean,
        )
    ),
)
labels_and_annotations = fields(labels=labels, annotations=map_of(text))


def kind_fields(required: Iterable[str] = (), /, **rules: Rule) -> Rule:
    """As `fields`; spec and status are mappings, also of kinds that have no definition."""
    return fields(required, **({"spec": _a_mapping, "status": _a_mapping} | rules))


def _a_mapping(value: Any, path: Path, report: Report) -> None:
    if not isinstance(value, dict):
        report.add(path, value, say("expected a mapping, found {found}", found=shown(value)))
