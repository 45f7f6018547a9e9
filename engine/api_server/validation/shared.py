"""Rules that objects of several kinds share: metadata, conditions, quantities."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final, cast

from engine.api_server.validation.report import Report, duplicate, invalid_value
from engine.api_server.validation.rules import (
    Rule,
    boolean,
    fields,
    integer,
    label_value,
    labels,
    list_of,
    map_of,
    one_of,
    qualified_name,
    quantity,
    text,
    timestamp,
    typed,
)
from engine.kernel.sentences import say
from engine.objects.documents import Path
from engine.objects.pods.pod_resources import HUGE_PAGES, is_extended_resource_name
from engine.objects.values.quantity import NANO, Quantity, QuantityError, parse
from engine.objects.values.shown import shown

# Upstream: pkg/apis/core/helper, integerResources.
_WHOLE: Final = frozenset(
    {
        *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"),
        *("persistentvolumeclaims", "services.nodeports", "services.loadbalancers"),
    }
)

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


def amounts(value: Any, path: Path, report: Report) -> None:
    """Amounts by the names of resources. Upstream: ValidateResourceQuantityValue()."""
    quantities(value, path, report)
    for name, amount in _parsed(value).items():
        if _is_whole(name) and amount.nanos % NANO:
            written = value[name]
            problem = say("{found} is no whole number", found=shown(written))
            answer = invalid_value(str(written), "must be an integer")
            report.add((*path, name), written, problem, answer)


_requests_and_limits = fields(requests=amounts, limits=amounts)


def resource_requirements(value: Any, path: Path, report: Report) -> None:
    """Requests and limits. Upstream: validateContainerResourceRequirements().

    A limit that is missing is no fault here, though upstream demands one of extended resources.
    """
    _requests_and_limits(value, path, report)
    parts = mapping_in(value)
    requests, limits = mapping_in(parts.get("requests")), mapping_in(parts.get("limits"))
    most = _parsed(limits)
    for name, amount in _parsed(requests).items():
        limit = most.get(name, amount)
        may_be_less = not is_extended_resource_name(name) and not name.startswith(HUGE_PAGES)
        if amount.nanos == limit.nanos or (may_be_less and amount.nanos < limit.nanos):
            continue
        written = {"found": shown(requests[name]), "limit": shown(limits[name])}
        if may_be_less:
            problem = say("{found} is more than the limit {limit}", **written)
            why = f"must be less than or equal to {name} limit of {limits[name]}"
        else:
            problem = say(
                "{found} is not the limit {limit}, which it must be for {name}",
                **written,
                name=name,
            )
            why = f"must be equal to {name} limit of {limits[name]}"
        answer = invalid_value(str(requests[name]), why)
        report.add((*path, "requests", name), requests[name], problem, answer)


def mapping_in(value: Any) -> dict[str, Any]:
    """*value*, or nothing where its type is already found to be wrong."""
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _parsed(value: Any) -> dict[str, Quantity]:
    """The amounts that are quantities."""
    found: dict[str, Quantity] = {}
    for name, written in mapping_in(value).items():
        with suppress(QuantityError):
            found[name] = parse(written)
    return found


def _is_whole(name: str) -> bool:
    """Upstream: IsIntegerResourceName()."""
    return name in _WHOLE or name.startswith("count/") or is_extended_resource_name(name)


_taints = list_of(
    fields(
        ("key", "effect"),
        key=qualified_name,
        value=label_value,
        effect=one_of("NoSchedule", "PreferNoSchedule", "NoExecute"),
    )
)


def node_taints(value: Any, path: Path, report: Report) -> None:
    """Upstream: validateNodeTaints()."""
    _taints(value, path, report)
    known: set[tuple[str, str]] = set()
    for place, each in enumerate(cast("list[Any]", value) if isinstance(value, list) else ()):
        taint = mapping_in(each)
        found = str(taint.get("key")), str(taint.get("effect"))
        if taint and found in known:
            problem = say("has the key and the effect of another one")
            answer = duplicate(taint, "taints must be unique by key and effect pair")
            report.add((*path, place), taint, problem, answer)
        known.add(found)
