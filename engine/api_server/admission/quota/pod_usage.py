"""What a pod takes of a quota. Upstream: pkg/quota/v1/evaluator/core/pods.go."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Final

from engine.api_server.admission.quota.amounts import ONE, Amounts, added, largest, read_amounts
from engine.api_server.admission.quota.scopes import is_terminating, pod_in_scope
from engine.api_server.admission.rules import AdmissionRules
from engine.kernel.units import nanoseconds, nanoseconds_of
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.pods.pod_resources import HUGE_PAGES, is_extended_resource_name

OBJECT_COUNT: Final = "count/pods"

# Of these a request counts by its own name and by "requests.…", a limit by "limits.…".
_COMPUTED: Final = ("cpu", "memory", "ephemeral-storage")
_KNOWN: Final = frozenset(
    (OBJECT_COUNT, "pods")
    + tuple(f"{prefix}{name}" for name in _COMPUTED for prefix in ("", "requests.", "limits."))
)
# Each container must say how much it takes of these where a quota counts them.
_REQUIRED: Final = frozenset(
    f"{prefix}{name}" for name in ("cpu", "memory") for prefix in ("", "requests.", "limits.")
)
_REQUESTS: Final = "requests."
_NATIVE: Final = "kubernetes.io/"
# Under this a pod's template keeps what pods made from it take.
_MEMO: Final = "quota"


class PodUsage:
    """Counts pods: their requests, their limits and their number."""

    def __init__(self, rules: AdmissionRules) -> None:
        self._rules = rules

    def matching(self, names: Iterable[str]) -> list[str]:
        """Those of the resources in *names* of which pods take some, sorted."""
        return sorted(name for name in names if name in _KNOWN or _is_counted_by_prefix(name))

    def is_in_scope(self, obj: ApiObject, scope: Manifest) -> bool:
        """Whether the pod meets this requirement of a quota."""
        return pod_in_scope(obj, scope, self._rules)

    def missing(self, names: Iterable[str], obj: ApiObject) -> str:
        """What the containers have to specify because a quota counts *names*; "" for nothing.

        Upstream: Constraints().
        """
        if self._rules.pod_totals and _has_pod_level_resources(obj):
            return ""
        spec = obj.spec
        containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
        required = sorted(_REQUIRED.intersection(names))
        lacking: dict[str, list[str]] = {}
        for container in containers:
            given = _by_quota_name(_amounts(container, "requests"), _amounts(container, "limits"))
            for name in required:
                if name not in given:
                    lacking.setdefault(name, []).append(container.get("name") or "")
        if not lacking:
            return ""
        if not self._rules.names_containers:
            return f"must specify {','.join(sorted(lacking))}"
        named = (f"{name} for: {','.join(sorted(lacking[name]))}" for name in sorted(lacking))
        return f"must specify {'; '.join(named)}"

    def usage(self, obj: ApiObject, clock: int) -> Amounts:
        """What the pod takes at *clock*. Upstream: PodUsageFunc()."""
        assert isinstance(obj, Pod)
        if not is_charged(obj, clock):
            return {OBJECT_COUNT: ONE}
        known: Amounts | None = obj.template.get(_MEMO)
        if known is None:
            known = obj.template[_MEMO] = self._usage_of_spec(obj.spec)
        return known

    def likeness(self, obj: ApiObject, clock: int) -> Hashable:
        """The same for pods that take the same and are in the same scopes."""
        assert isinstance(obj, Pod)
        return id(obj.template), is_charged(obj, clock)

    def is_charged_again(self, old: ApiObject, new: ApiObject) -> bool:
        """Whether an update counts as a new request. Upstream: Handles()."""
        if self._rules.scope_updates and is_terminating(old) != is_terminating(new):
            return True
        return self._rules.resizes_pods and self._usage_of_spec(old.spec) != self._usage_of_spec(
            new.spec
        )

    def frees(self, old: ApiObject, new: ApiObject, clock: int) -> bool:
        """Whether an update gives something back. Upstream: DefaultUpdateFilter()."""
        return is_charged(old, clock) and not is_charged(new, clock)

    def _usage_of_spec(self, spec: Mapping[str, Any]) -> Amounts:
        newest = self._rules.pod_totals
        requests = pod_totals(spec, "requests", newest=newest)
        limits = pod_totals(spec, "limits", newest=newest)
        overhead = read_amounts(spec.get("overhead")) if self._rules.overhead else {}
        if overhead:
            requests = added(requests, overhead)
            if not self._rules.overhead_without_limit:
                overhead = {name: more for name, more in overhead.items() if limits.get(name)}
            limits = added(limits, overhead)
        return {OBJECT_COUNT: ONE, "pods": ONE, **_by_quota_name(requests, limits)}


def is_charged(pod: ApiObject, clock: int) -> bool:
    """Whether the pod takes more of a quota than its place as an object.

    It does not once it has finished, or once it should have been gone for its whole grace period.
    Upstream: QuotaV1Pod().
    """
    if pod.status.get("phase") in ("Failed", "Succeeded"):
        return False
    grace = pod.metadata.get("deletionGracePeriodSeconds")
    if not pod.deletion_timestamp or grace is None:
        return True
    return clock <= nanoseconds_of(pod.deletion_timestamp) + nanoseconds(grace)


def pod_totals(spec: Mapping[str, Any], field: str, *, newest: bool) -> Amounts:
    """The `requests`, or the `limits`, of a pod as a whole, without its overhead.

    Only the *newest* version knows sidecars and pod-level resources. Upstream: PodRequests(),
    PodLimits(); quota.Add() and quota.Max() before.
    """
    total: Amounts = {}
    for container in spec.get("containers") or ():
        total = added(total, _amounts(container, field))
    sidecars: Amounts = {}
    peak: Amounts = {}
    for container in spec.get("initContainers") or ():
        own = _amounts(container, field)
        if newest and container.get("restartPolicy") == "Always":
            total, sidecars = added(total, own), added(sidecars, own)
            peak = largest(peak, sidecars)
        else:
            peak = largest(peak, added(own, sidecars))
    total = largest(total, peak)
    if newest:
        level = _amounts(spec, field)
        total |= {name: amount for name, amount in level.items() if _is_pod_level(name)}
    return total


def _amounts(holder: Mapping[str, Any], field: str) -> Amounts:
    resources: Manifest = holder.get("resources") or {}
    return read_amounts(resources.get(field))


def _is_pod_level(name: str) -> bool:
    return name in ("cpu", "memory") or name.startswith(HUGE_PAGES)


def _has_pod_level_resources(pod: ApiObject) -> bool:
    resources: Manifest = pod.spec.get("resources") or {}
    return any(
        _is_pod_level(name)
        for field in ("requests", "limits")
        for name in resources.get(field) or ()
    )


def _is_counted_by_prefix(name: str) -> bool:
    """Huge pages, and extended resources as "requests.…"."""
    if name.startswith((HUGE_PAGES, _REQUESTS + HUGE_PAGES)):
        return True
    return name.startswith(_REQUESTS) and "/" in name and _NATIVE not in name


def _by_quota_name(requests: Amounts, limits: Amounts) -> Amounts:
    """The amounts by the names that quotas use. Upstream: podComputeUsageHelper()."""
    taken: Amounts = {}
    for name in _COMPUTED:
        if name in requests:
            taken[name] = taken[_REQUESTS + name] = requests[name]
        if name in limits:
            taken[f"limits.{name}"] = limits[name]
    for name, amount in requests.items():
        if name.startswith(HUGE_PAGES):
            taken[name] = taken[_REQUESTS + name] = amount
        elif is_extended_resource_name(name):
            taken[_REQUESTS + name] = amount
    return taken
