"""LimitRanges: default requests and limits of containers, and the bounds of pods and claims.

Upstream: plugin/pkg/admission/limitranger/admission.go, SetDefaults_LimitRangeItem().
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from engine.api_server.admission.quota.amounts import Amounts, read_amounts, total_of
from engine.api_server.admission.quota.pod_usage import pod_totals
from engine.api_server.admission.refusals import forbidden
from engine.api_server.admission.rules import AdmissionRules
from engine.api_server.store.store import ObjectStore
from engine.objects.objects import ApiObject, Manifest, PersistentVolumeClaim, Pod
from engine.objects.values.quantity import MAX_INT64, Quantity

KIND: Final = "LimitRange"
# Upstream: limitRangerAnnotation.
ANNOTATION: Final = "kubernetes.io/limit-ranger"

_MOST_IN_THOUSANDTHS: Final = MAX_INT64 // 1000
_LISTS: Final = (("containers", "container"), ("initContainers", "init container"))


def with_item_defaults(limit_range: ApiObject) -> ApiObject:
    """*limit_range* with the defaults that follow from its bounds, as the API server stores it.

    A container's default limit is the maximum, its default request the default limit or else the
    minimum, where the LimitRange does not give them. Upstream: SetDefaults_LimitRangeItem().
    """
    items: list[Manifest] = limit_range.spec.get("limits") or []
    filled = [_filled_item(item) for item in items]
    return limit_range if filled == items else limit_range.patched({"spec": {"limits": filled}})


def _filled_item(item: Manifest) -> Manifest:
    if item.get("type") != "Container":
        return item
    limits: Manifest = {**(item.get("max") or {}), **(item.get("default") or {})}
    requests: Manifest = {
        **(item.get("min") or {}),
        **limits,
        **(item.get("defaultRequest") or {}),
    }
    defaults = {"default": limits, "defaultRequest": requests}
    return {**item, **{name: amounts for name, amounts in defaults.items() if amounts}}


class LimitRanger:
    """Applies the LimitRanges of a namespace to its new pods and claims."""

    __slots__ = ("_rules", "_store")

    def __init__(self, store: ObjectStore, rules: AdmissionRules) -> None:
        self._store = store
        self._rules = rules

    def with_defaults(self, pod: Pod) -> Pod:
        """*pod* with the default requests and limits of its namespace; an annotation lists them.

        Upstream: PodMutateLimitFunc().
        """
        for limit_range in self._limit_ranges(pod.namespace):
            pod = _with_defaults_of(limit_range, pod)
        return pod

    def check(self, obj: ApiObject) -> None:
        """Raises Forbidden when *obj* is outside the bounds of its namespace.

        Upstream: PodValidateLimitFunc(), PersistentVolumeClaimValidateLimitFunc().
        """
        if not isinstance(obj, (Pod, PersistentVolumeClaim)):
            return
        for limit_range in self._limit_ranges(obj.namespace):
            wrong = [*dict.fromkeys(self._faults(limit_range, obj))]
            if wrong:
                # As utilerrors.NewAggregate() prints them.
                text = wrong[0] if len(wrong) == 1 else f"[{', '.join(wrong)}]"
                raise forbidden(obj, text)

    def _limit_ranges(self, namespace: str) -> list[ApiObject]:
        return self._store.grouped(KIND).in_namespace(namespace)

    def _faults(self, limit_range: ApiObject, obj: ApiObject) -> Iterator[str]:
        for item in limit_range.spec.get("limits") or ():
            bounds = _Bounds(item, self._rules)
            if isinstance(obj, PersistentVolumeClaim):
                if item.get("type") == "PersistentVolumeClaim":
                    resources: Manifest = obj.spec.get("resources") or {}
                    yield from bounds.claim_faults(read_amounts(resources.get("requests")))
            elif item.get("type") == "Container":
                for container in _containers(obj):
                    resources = container.get("resources") or {}
                    requests = read_amounts(resources.get("requests"))
                    yield from bounds.faults(requests, read_amounts(resources.get("limits")))
            elif item.get("type") == "Pod":
                yield from bounds.faults(
                    self._pod_sums(obj, "requests"), self._pod_sums(obj, "limits")
                )

    def _pod_sums(self, pod: ApiObject, field: str) -> Amounts:
        """The requests, or limits, of the whole pod. Upstream: podRequests(); sum() earlier."""
        if self._rules.pod_totals:
            return pod_totals(pod.spec, field, newest=True)
        containers = [_amounts_of(each, field) for each in pod.spec.get("containers") or ()]
        total = {
            name: amount
            for name, amount in total_of(containers).items()
            if all(name in each for each in containers)
        }
        for container in pod.spec.get("initContainers") or ():
            for name, amount in _amounts_of(container, field).items():
                if name not in total or amount > total[name]:
                    total[name] = amount
        return total


def _amounts_of(container: Manifest, field: str) -> Amounts:
    resources: Manifest = container.get("resources") or {}
    return read_amounts(resources.get(field))


def _containers(pod: ApiObject) -> list[Manifest]:
    return [container for name, _ in _LISTS for container in pod.spec.get(name) or ()]


def _with_defaults_of(limit_range: ApiObject, pod: Pod) -> Pod:
    """Upstream: defaultContainerResourceRequirements(), mergePodResourceRequirements()."""
    limits: Manifest = {}
    requests: Manifest = {}
    for item in with_item_defaults(limit_range).spec.get("limits") or ():
        if item.get("type") == "Container":
            requests |= item.get("defaultRequest") or {}
            limits |= item.get("default") or {}
    spec: Manifest = {}
    notes: list[str] = []
    for name, title in _LISTS:
        containers: list[Manifest] = pod.spec.get(name) or []
        filled = [_filled(each, title, (requests, limits), notes) for each in containers]
        if filled != containers:
            spec[name] = filled
    if not spec:
        return pod
    text = f"LimitRanger plugin set: {'; '.join(notes)}"
    return pod.patched({"metadata": {"annotations": {ANNOTATION: text}}, "spec": spec})


def _filled(
    container: Manifest, title: str, defaults: tuple[Manifest, Manifest], notes: list[str]
) -> Manifest:
    """The container with the default (requests, limits) that it lacks; each adds to *notes*."""
    resources: Manifest = container.get("resources") or {}
    changed: Manifest = {}
    for field, amounts in zip(("requests", "limits"), defaults, strict=True):
        given: Manifest = resources.get(field) or {}
        missing = {name: amount for name, amount in amounts.items() if name not in given}
        if missing:
            changed[field] = {**given, **missing}
            names = ", ".join(sorted(missing))
            notes.append(f"{names} {field[:-1]} for {title} {container.get('name')}")
    return {**container, "resources": {**resources, **changed}} if changed else container


class _Bounds:
    """One item of a LimitRange: the minima, the maxima and the ratios that it sets."""

    __slots__ = ("_item", "_stop", "_type")

    def __init__(self, item: Mapping[str, Any], rules: AdmissionRules) -> None:
        self._item = item
        self._type = item["type"]
        self._stop = "." if rules.limit_full_stops else ""

    def faults(self, requests: Amounts, limits: Amounts) -> Iterator[str]:
        """Where a container, or a pod as a whole, is out of bounds."""
        yield from self._below_minimum(requests, limits)
        for name, most in self._bounds("max"):
            if name not in limits:
                yield self._text(f"maximum {name}", most, ".  No limit is specified")
            elif _is_less(most, limits[name], (requests, limits), name):
                yield self._text(f"maximum {name}", most, f", but limit is {limits[name]}")
            elif name in requests and _is_less(most, requests[name], (requests, limits), name):
                yield self._text(f"maximum {name}", most, f", but request is {requests[name]}")
        for name, ratio in self._bounds("maxLimitRequestRatio"):
            wrong = _ratio_fault(requests.get(name), limits.get(name), ratio)
            if wrong:
                yield (
                    f"{name} max limit to request ratio per {self._type} is {ratio}, but {wrong}"
                    f"{self._stop}"
                )

    def claim_faults(self, requests: Amounts) -> Iterator[str]:
        """Where a claim is out of bounds; only its requests count."""
        yield from self._below_minimum(requests, {})
        for name, most in self._bounds("max"):
            if name not in requests:
                yield self._text(f"maximum {name}", most, ".  No request is specified")
            elif _is_less(most, requests[name], (requests, {}), name):
                yield self._text(f"maximum {name}", most, f", but request is {requests[name]}")

    def _below_minimum(self, requests: Amounts, limits: Amounts) -> Iterator[str]:
        for name, least in self._bounds("min"):
            if name not in requests:
                yield self._text(f"minimum {name}", least, ".  No request is specified")
            elif _is_less(requests[name], least, (requests, limits), name):
                yield self._text(f"minimum {name}", least, f", but request is {requests[name]}")
            elif name in limits and _is_less(limits[name], least, (requests, limits), name):
                yield self._text(f"minimum {name}", least, f", but limit is {limits[name]}")

    def _bounds(self, field: str) -> Iterator[tuple[str, Quantity]]:
        """The bounds of one field, sorted by resource; upstream's order is random."""
        yield from sorted(read_amounts(self._item.get(field)).items())

    def _text(self, bound: str, enforced: Quantity, wrong: str) -> str:
        return f"{bound} usage per {self._type} is {enforced}{wrong}{self._stop}"


def _is_less(one: Quantity, other: Quantity, asked: tuple[Amounts, Amounts], name: str) -> bool:
    """Compare in thousandths, or in units when any amount is too large for thousandths.

    Upstream: requestLimitEnforcedValues(). *asked* are the requests and the limits.
    """
    amounts = (one, other, *(each[name] for each in asked if name in each))
    if all(amount.value <= _MOST_IN_THOUSANDTHS for amount in amounts):
        return one.milli_value < other.milli_value
    return one.value < other.value


def _ratio_fault(request: Quantity | None, limit: Quantity | None, most: Quantity) -> str:
    """Upstream: limitRequestRatioConstraint(), which uses floats, too."""
    if request is None or not request.milli_value:
        return "no request is specified or request is 0"
    if limit is None or not limit.milli_value:
        return "no limit is specified or limit is 0"
    ratio = limit.milli_value / request.milli_value
    if ratio * 1000 > most.milli_value:
        return f"provided ratio is {ratio:f}"
    return ""
