"""Why the API server refuses the next pod of a workload: quotas, LimitRanges, a missing class."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from engine.api_server.admission.admission import Admission
from engine.controllers.shared.pods import pod_of_template
from engine.diagnosis.subjects.scene import Scene
from engine.framework.explaining.fact import Fact, fact
from engine.kernel.errors import ApiError
from engine.kernel.sentences import Sentence, phrase, say, verbatim
from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject, from_manifest, quantity

# What a pod must state once a quota limits it. Upstream: core/pods.go, requiredResources.
_COMPUTE: Final = ("cpu", "memory")
_TEMPLATE: Final = ("spec", "template", "spec")
_SYSTEM: Final = "system-"
_AT_MOST: Final = phrase(
    "LimitRange {limit_range} allows at most {bound} {resource} per container; container "
    "{container} has {amount}."
)
_AT_LEAST: Final = phrase(
    "LimitRange {limit_range} allows at least {bound} {resource} per container; container "
    "{container} has {amount}."
)


@dataclass(frozen=True, slots=True)
class Refusal:
    """One reason why the next pod is refused: the obstacle in a few words, and the field."""

    obstacle: Sentence
    fact: Fact


def refusals_of(scene: Scene, workload: ApiObject) -> Iterator[Refusal]:
    """Every rule that the next pod of *workload* breaks; else what the API server says of it."""
    found = list(_broken_rules(scene, workload))
    yield from found
    said = "" if found or scene.admission is None else refusal_text(scene.admission, workload)
    if said:
        reason = said.partition(" is forbidden: ")[2] or said
        text = say("The API server refuses its next pod: {reason}.", reason=reason.rstrip("."))
        yield Refusal(verbatim(reason.rstrip(".")), fact(workload, ("spec", "template"), text))


def refusal_text(admission: Admission, workload: ApiObject) -> str:
    """What the API server says of the next pod of *workload*; "" where it admits it."""
    made = pod_of_template(section(workload.spec, "template"), workload, f"{workload.name}-")
    made["metadata"]["generateName"] = f"{workload.name}-"
    try:
        admission.check(from_manifest(made))
    except ApiError as refusal:
        return str(refusal)
    return ""


def _broken_rules(scene: Scene, workload: ApiObject) -> Iterator[Refusal]:
    missing = missing_class(scene, workload)
    if missing:
        path = (*_TEMPLATE, "priorityClassName")
        text = say(
            "The template names PriorityClass {missing}, which does not exist.", missing=missing
        )
        yield Refusal(
            say("PriorityClass {missing} does not exist", missing=missing),
            fact(workload, path, text),
        )
    for each, text in _exceeded(scene, workload):
        name = each.key.rpartition("/")[2]
        yield Refusal(
            say("ResourceQuota {name} forbids one more", name=name), replace(each, text=text)
        )
    for each in _unspecified(scene, workload):
        name, resource = each.key.rpartition("/")[2], each.path[-1]
        yield Refusal(
            say("ResourceQuota {name} wants {resource} to be stated", name=name, resource=resource),
            each,
        )
    for bound in broken_bounds(scene, workload):
        yield Refusal(
            say(
                "LimitRange {limit_range} forbids its resources", limit_range=bound.limit_range.name
            ),
            bound.fact,
        )


def missing_class(scene: Scene, workload: ApiObject) -> str:
    """The PriorityClass that the template names and that does not exist; "" for none."""
    name = str(section(workload.spec, "template", "spec").get("priorityClassName") or "")
    is_known = name.startswith(_SYSTEM) or scene.store.find("PriorityClass", name) is not None
    return "" if not name or is_known else name


@dataclass(frozen=True, slots=True)
class BrokenBound:
    """A bound of a LimitRange that the template breaks, and the amount that it has instead."""

    limit_range: ApiObject
    # The place in spec.limits, "max" or "min", and the resource.
    path: tuple[int, str, str]
    amount: Any
    fact: Fact


def broken_bounds(scene: Scene, workload: ApiObject) -> Iterator[BrokenBound]:
    """The bounds per container that the template breaks. Upstream: limitranger, maxConstraint()."""
    for limit_range in scene.store.objects("LimitRange"):
        if limit_range.namespace != workload.namespace:
            continue
        for place, item in enumerate(items(limit_range.spec, "limits")):
            if item.get("type") == "Container":
                for container in items(section(workload.spec, "template", "spec"), "containers"):
                    yield from _bounds_broken_by(container, limit_range, place, item)


def _bounds_broken_by(
    container: Mapping[str, Any], limit_range: ApiObject, place: int, item: Mapping[str, Any]
) -> Iterator[BrokenBound]:
    resources = section(container, "resources")
    requests, limits = section(resources, "requests"), section(resources, "limits")
    for side, words, amounts in (
        ("max", _AT_MOST, {**requests, **limits}),
        ("min", _AT_LEAST, {**limits, **requests}),
    ):
        for name, bound in section(item, side).items():
            amount = amounts.get(name)
            if amount is None:
                continue
            has, allowed = quantity.milli_value(amount), quantity.milli_value(bound)
            if (has > allowed) if side == "max" else (has < allowed):
                text = words.say(
                    limit_range=limit_range.key,
                    bound=bound,
                    resource=name,
                    container=container.get("name"),
                    amount=amount,
                )
                path = ("spec", "limits", place, side, name)
                found = fact(limit_range, path, text, compared_with=amount)
                yield BrokenBound(limit_range, (place, side, name), amount, found)


def unspecified_amounts(scene: Scene, workload: ApiObject) -> list[str]:
    """What a quota wants every container to state and the template leaves out: "limits.cpu"."""
    return list(dict.fromkeys(str(each.path[-1]) for each in _unspecified(scene, workload)))


def _unspecified(scene: Scene, workload: ApiObject) -> Iterator[Fact]:
    """The limits of quotas for which every container has to say what it asks for."""
    asked = template_amounts(section(workload.spec, "template", "spec"))
    for quota in scene.store.objects("ResourceQuota"):
        if quota.namespace != workload.namespace:
            continue
        for name in _limits(quota):
            if name.removeprefix("requests.").removeprefix("limits.") not in _COMPUTE:
                continue
            if name not in asked:
                text = say(
                    "ResourceQuota {quota} limits {name}, which the pod template leaves out.",
                    quota=quota.key,
                    name=name,
                )
                yield fact(quota, ("spec", "hard", name), text)


def _exceeded(scene: Scene, workload: ApiObject) -> Iterator[tuple[Fact, str]]:
    """The limits of quotas that one more pod of the template would exceed."""
    for quota, name, more, _ in _over(scene, workload):
        limit, used = _limits(quota)[name], section(quota.status, "used").get(name, 0)
        text = say(
            "ResourceQuota {quota} limits {name} to {limit}; {used} is used, and one "
            "more pod needs {written_amount}.",
            quota=quota.key,
            name=name,
            limit=limit,
            used=used,
            written_amount=written_amount(name, more),
        )
        yield fact(quota, ("status", "used", name), text, compared_with=limit), text


def _over(scene: Scene, workload: ApiObject) -> Iterator[tuple[ApiObject, str, int, int]]:
    """A quota, a resource, what one more pod needs of it and how much it would be then, times 1000."""
    asked = template_amounts(section(workload.spec, "template", "spec"))
    for quota in scene.store.objects("ResourceQuota"):
        if quota.namespace != workload.namespace:
            continue
        used = section(quota.status, "used")
        for name, limit in _limits(quota).items():
            more = asked.get(name)
            total = quantity.milli_value(used.get(name, 0)) + (more or 0)
            if more is not None and total > quantity.milli_value(limit):
                yield quota, name, more, total


def _limits(quota: ApiObject) -> dict[str, Any]:
    return section(quota.status, "hard") or section(quota.spec, "hard")


def template_amounts(spec: Mapping[str, Any]) -> dict[str, int]:
    """What one pod counts in a quota, in thousandths."""
    amounts: dict[str, int] = {"pods": 1000, "count/pods": 1000}
    for container in items(spec, "containers"):
        for field in ("requests", "limits"):
            for name, text in section(container, "resources", field).items():
                amount = quantity.milli_value(text)
                amounts[f"{field}.{name}"] = amounts.get(f"{field}.{name}", 0) + amount
                if field == "requests":
                    amounts[name] = amounts.get(name, 0) + amount
    return amounts


def written_amount(name: str, milli: int) -> str:
    """An amount in thousandths as it is written for a resource: "500m", "2Gi"."""
    if name.endswith("cpu"):
        return quantity.format_cpu(milli)
    if name.endswith(("memory", "storage")):
        return quantity.format_bytes(milli // 1000)
    return str(milli // 1000)


def exceeded_limits(
    scene: Scene, workload: ApiObject
) -> Iterator[tuple[ApiObject, dict[str, str]]]:
    """The quotas that one more pod of the template would exceed, with limits that would do."""
    found: dict[str, tuple[ApiObject, dict[str, str]]] = {}
    for quota, name, _, total in _over(scene, workload):
        found.setdefault(quota.id, (quota, {}))[1][name] = written_amount(name, total)
    yield from found.values()
