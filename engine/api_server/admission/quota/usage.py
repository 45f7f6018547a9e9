"""What the objects of a namespace take of a quota, counted from scratch.

Upstream: apiserver pkg/quota/v1/resources.go (CalculateUsage), generic/evaluator.go
(CalculateUsageStats), pkg/quota/v1/evaluator/core/registry.go.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Final, Protocol

from engine.api_server.admission.quota.amounts import (
    ZERO,
    Amounts,
    added,
    masked,
    read_amounts,
    written,
)
from engine.api_server.admission.quota.other_usage import (
    ALWAYS_THERE,
    COUNTED,
    PARTLY_HELD,
    ClaimUsage,
    CountUsage,
    ServiceUsage,
)
from engine.api_server.admission.quota.pod_usage import PodUsage
from engine.api_server.admission.quota.scopes import scopes_of
from engine.api_server.admission.rules import AdmissionRules
from engine.objects.objects import ApiObject, Manifest
from engine.objects.values.quantity import NANO, Quantity

NOTHING: Final[Amounts] = {}
# The objects of a kind in the namespace of a quota.
Listed = Callable[[str], Iterable[ApiObject]]


class Usage(Protocol):
    """How objects of one kind take from quotas. Upstream: quota.Evaluator."""

    def matching(self, names: Iterable[str]) -> list[str]:
        """Those of the resources in *names* of which such objects take some, sorted."""
        ...

    def is_in_scope(self, obj: ApiObject, scope: Manifest) -> bool:
        """Whether *obj* meets this requirement of a quota."""
        ...

    def missing(self, names: Iterable[str], obj: ApiObject) -> str:
        """What *obj* has to specify because a quota counts *names*; "" for nothing."""
        ...

    def usage(self, obj: ApiObject, clock: int) -> Amounts:
        """What *obj* takes at *clock*."""
        ...

    def likeness(self, obj: ApiObject, clock: int) -> Hashable:
        """The same for objects that take the same and are in the same scopes."""
        ...

    def is_charged_again(self, old: ApiObject, new: ApiObject) -> bool:
        """Whether an update is compared with the quotas as a creation is."""
        ...

    def frees(self, old: ApiObject, new: ApiObject, clock: int) -> bool:
        """Whether an update gives something back, so that quotas have to be counted again."""
        ...


def usages(rules: AdmissionRules) -> Mapping[str, Usage]:
    """How objects take from quotas, by kind."""
    return {
        "Pod": PodUsage(rules),
        "PersistentVolumeClaim": ClaimUsage(rules),
        "Service": ServiceUsage(rules),
        **{kind: CountUsage(names) for kind, names in COUNTED.items()},
    }


class QuotaMeter:
    """Counts what the objects of a namespace take of its quotas."""

    __slots__ = ("_rules", "usages")

    def __init__(self, rules: AdmissionRules) -> None:
        self._rules = rules
        self.usages = usages(rules)

    def status(
        self, quota: ApiObject, listed: Listed, clock: int, beyond: Amounts = NOTHING
    ) -> Manifest:
        """The status that *quota* has to have at *clock*. Upstream: syncResourceQuota().

        *beyond* is what objects take that the run does not hold.
        """
        hard = read_amounts(quota.spec.get("hard"))
        before = read_amounts(quota.status.get("used"))
        counted = added(self._used(quota, hard, listed, clock), masked(beyond, hard))
        used = {**masked(before, hard), **counted}
        return {"hard": written(hard), "used": written(used)}

    def beyond(self, quota: ApiObject, listed: Listed) -> Amounts:
        """What the first status of *quota* counts of ConfigMaps and Secrets that are not listed."""
        used = read_amounts(quota.status.get("used"))
        found: Amounts = {}
        for kind in PARTLY_HELD:
            usage = self.usages[kind]
            held = sum(1 for _ in listed(kind)) + _is_made(kind, listed)
            for name in usage.matching(used):
                found[name] = Quantity(max(0, used[name].nanos - held * NANO), used[name].format)
        return found

    def kinds(self, hard: Iterable[str]) -> list[str]:
        """The kinds whose objects take some of the resources in *hard*."""
        names = [*hard]
        return [kind for kind, usage in self.usages.items() if usage.matching(names)]

    def _used(
        self, quota: ApiObject, hard: Mapping[str, Quantity], listed: Listed, clock: int
    ) -> Amounts:
        total: Amounts = {}
        scopes = scopes_of(quota, self._rules)
        for kind in self.kinds(hard):
            usage = self.usages[kind]
            made = {} if scopes else masked(_made(usage, kind, listed), hard)
            total = added(total, dict.fromkeys(usage.matching(hard), ZERO) | made)
            for obj, number in _alike(usage, listed(kind), clock):
                if all(usage.is_in_scope(obj, scope) for scope in scopes):
                    taken = masked(usage.usage(obj, clock), hard)
                    total = added(total, {name: _times(taken[name], number) for name in taken})
        return total


def _is_made(kind: str, listed: Listed) -> bool:
    """Whether a controller has made an object of that kind that the run itself does not hold."""
    name = ALWAYS_THERE.get(kind)
    return name is not None and all(one.name != name for one in listed(kind))


def _made(usage: Usage, kind: str, listed: Listed) -> Amounts:
    if not isinstance(usage, CountUsage) or not _is_made(kind, listed):
        return {}
    return usage.each


def _alike(
    usage: Usage, objects: Iterable[ApiObject], clock: int
) -> Iterable[tuple[ApiObject, int]]:
    """One object of each likeness, and how many of it there are."""
    counts: dict[Hashable, tuple[ApiObject, int]] = {}
    for obj in objects:
        likeness = usage.likeness(obj, clock)
        first, number = counts.get(likeness, (obj, 0))
        counts[likeness] = first, number + 1
    return counts.values()


def _times(amount: Quantity, number: int) -> Quantity:
    return Quantity(amount.nanos * number, amount.format)


def is_current(quota: ApiObject, status: Manifest) -> bool:
    """Whether *quota* has that status already, however its amounts are written."""
    return all(
        field in quota.status
        and read_amounts(quota.status.get(field)) == read_amounts(status[field])
        for field in ("hard", "used")
    )
