"""Rules that objects of several kinds share: metadata, conditions, quantities."""

from __future__ import annotations

from collections.abc import Iterable

from kscope.sim.objects.validation.rules import (
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
)

quantities = map_of(quantity)
texts = list_of(text)
natural_number = integer(0)
any_integer = integer(-(2**63), 2**63 - 1)
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
# Read as a whole, or passed on: all that matters is that it is a mapping.
any_mapping = fields()

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
    """As `fields`; spec and status are mappings, also where nothing in them is read."""
    return fields(required, **({"spec": any_mapping, "status": any_mapping} | rules))
