"""ResourceQuota admission: a new object is refused, or added to the quotas of its namespace.

Upstream: apiserver pkg/admission/plugin/resourcequota/controller.go, CheckRequest().
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from engine.api_server.admission.quota.amounts import (
    Amounts,
    added,
    exceeding,
    growth,
    masked,
    printed,
    read_amounts,
    without_zeros,
    written,
)
from engine.api_server.admission.quota.scopes import scopes_of
from engine.api_server.admission.quota.usage import QuotaMeter, Usage
from engine.api_server.admission.refusals import forbidden
from engine.api_server.admission.rules import AdmissionRules
from engine.api_server.store.store import ObjectStore
from engine.objects.objects import ApiObject

KIND: Final = "ResourceQuota"
AUTHOR: Final = "apiserver"


class QuotaAdmission:
    """Enforces the quotas of each namespace; a quota's status says what is used already."""

    __slots__ = ("_meter", "_rules", "_store")

    def __init__(self, store: ObjectStore, rules: AdmissionRules) -> None:
        self._store = store
        self._rules = rules
        self._meter = QuotaMeter(rules)

    def charge(self, obj: ApiObject) -> None:
        """Add *obj*, which is about to be created, to the quotas that count it.

        Raises Forbidden, and adds nothing, when a quota does not allow it.
        """
        usage = self._meter.usages.get(obj.kind)
        quotas = self._quotas(obj.namespace)
        if usage is not None and quotas:
            self._charge(usage, quotas, None, obj)

    def check(self, obj: ApiObject) -> None:
        """As `charge`, but nothing is added: raises Forbidden when a quota does not allow *obj*."""
        usage = self._meter.usages.get(obj.kind)
        quotas = self._quotas(obj.namespace)
        if usage is not None and quotas:
            self._allowed(usage, quotas, None, obj)

    def charge_update(self, old: ApiObject, new: ApiObject) -> None:
        """As `charge`, for what *new* takes beyond *old*, which it is about to replace."""
        usage = self._meter.usages.get(new.kind)
        quotas = self._quotas(new.namespace)
        if usage is not None and quotas and usage.is_charged_again(old, new):
            self._charge(usage, quotas, old, new)

    def counted(self, quota: ApiObject) -> ApiObject:
        """*quota* with the status that the objects in the store give it, unless it has one.

        In a real cluster the quota controller has counted them long before.
        """
        if quota.status:
            return quota

        def listed(kind: str) -> list[ApiObject]:
            return self._store.grouped(kind).in_namespace(quota.namespace)

        return quota.patched({"status": self._meter.status(quota, listed, self._store.clock)})

    def _quotas(self, namespace: str) -> list[ApiObject]:
        return self._store.grouped(KIND).in_namespace(namespace)

    def _charge(
        self, usage: Usage, quotas: list[ApiObject], old: ApiObject | None, obj: ApiObject
    ) -> None:
        for quota, used in self._allowed(usage, quotas, old, obj):
            if used != read_amounts(quota.status.get("used")):
                patch = {"status": {"used": written(used)}}
                self._store.patch(KIND, quota.key, patch, by=AUTHOR, event="ResourceQuotaUsed")

    def _allowed(
        self, usage: Usage, quotas: list[ApiObject], old: ApiObject | None, obj: ApiObject
    ) -> list[tuple[ApiObject, Amounts]]:
        """The quotas that count *obj*, each with its new usage. Raises Forbidden."""
        interested = [quota for quota in quotas if self._counts(usage, quota, obj)]
        for quota in interested:
            self._refuse_unknown(usage, quota, obj)
        taken = usage.usage(obj, self._store.clock)
        return [
            (quota, self._used_with(quota, self._delta(usage, quota, old, taken), obj))
            for quota in interested
        ]

    def _counts(self, usage: Usage, quota: ApiObject, obj: ApiObject) -> bool:
        """Whether *quota* counts some of what *obj* takes. Upstream: Matches()."""
        if not usage.matching(quota.status.get("hard") or ()):
            return False
        return all(usage.is_in_scope(obj, scope) for scope in scopes_of(quota, self._rules))

    def _refuse_unknown(self, usage: Usage, quota: ApiObject, obj: ApiObject) -> None:
        """Raises Forbidden when it is unknown what *obj* takes, or how much others have taken."""
        hard: Mapping[str, Any] = quota.status.get("hard") or {}
        used: Mapping[str, Any] = quota.status.get("used") or {}
        names = usage.matching(hard)
        missing = usage.missing(names, obj)
        if missing:
            raise forbidden(obj, f"failed quota: {quota.name}: {missing}")
        needed: Iterable[str] = names if self._rules.partial_usage else hard
        if any(name not in used for name in needed):
            known = f", resources: {','.join(names)}" if self._rules.partial_usage else ""
            raise forbidden(obj, f"status unknown for quota: {quota.name}{known}")

    def _delta(
        self, usage: Usage, quota: ApiObject, old: ApiObject | None, taken: Amounts
    ) -> Amounts:
        """What *quota* has to be charged: what the object takes beyond its *old* version."""
        if old is not None and self._counts(usage, quota, old):
            taken = growth(taken, usage.usage(old, self._store.clock))
        return without_zeros(taken)

    def _used_with(self, quota: ApiObject, delta: Amounts, obj: ApiObject) -> Amounts:
        """The usage of *quota* with *delta*. Raises Forbidden when that is more than it allows."""
        hard = read_amounts(quota.status.get("hard"))
        used = read_amounts(quota.status.get("used"))
        requested = masked(delta, hard)
        total = added(used, requested)
        exceeded = exceeding(masked(total, requested), hard)
        if exceeded:
            raise forbidden(
                obj,
                f"exceeded quota: {quota.name}, requested: {printed(masked(requested, exceeded))}, "
                f"used: {printed(masked(used, exceeded))}, "
                f"limited: {printed(masked(hard, exceeded))}",
            )
        return total
