"""Evictions: deletions that a disruption budget may refuse.

Upstream: pkg/registry/core/pod/storage/eviction.go. The budget's allowance is its status, where one
stands there; otherwise it is what the disruption controller would have written
(pkg/controller/disruption/disruption.go).
"""

from typing import Any

from kscope.sim.errors import ApiError, TooManyRequests
from kscope.sim.objects import ApiObject, Pod
from kscope.sim.selectors import LabelSelector
from kscope.sim.store import ObjectStore

_TOO_MANY = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
    "support."
)


def evict(store: ObjectStore, pod: Pod, by: str) -> None:
    """Take *pod* off its budget's allowance; its deletion is the caller's.

    Raises TooManyRequests when the budget has none left, and ApiError when several budgets select
    the pod.
    """
    # Upstream: canIgnorePDB().
    if pod.phase in ("Succeeded", "Failed", "Pending") or pod.deletion_timestamp:
        return
    budgets = [budget for budget in store.objects("PodDisruptionBudget") if _selects(budget, pod)]
    if not budgets:
        return
    if len(budgets) > 1:
        raise ApiError(_SEVERAL)
    (budget,) = budgets
    allowed = disruptions_allowed(store, budget)
    if allowed <= 0:
        raise TooManyRequests(_TOO_MANY)
    if "disruptionsAllowed" in budget.status:
        patch = {"status": {"disruptionsAllowed": allowed - 1}}
        store.patch(budget.kind, budget.key, patch, by=by, event="DisruptionAllowed")


def disruptions_allowed(store: ObjectStore, budget: ApiObject) -> int:
    """How many of the budget's pods may be evicted now."""
    given = budget.status.get("disruptionsAllowed")
    if given is not None:
        return int(given)
    pods = [pod for pod in store.objects("Pod") if isinstance(pod, Pod) and _selects(budget, pod)]
    pods = [pod for pod in pods if not pod.is_terminated]
    healthy = sum(1 for pod in pods if _is_healthy(pod))
    return max(0, healthy - _desired_healthy(budget, len(pods)))


def _desired_healthy(budget: ApiObject, expected: int) -> int:
    # Upstream: getExpectedPodCount(); percentages are of the pods that there are, rounded up.
    unavailable = budget.spec.get("maxUnavailable")
    if unavailable is not None:
        return max(0, expected - _scaled(unavailable, expected))
    return _scaled(budget.spec.get("minAvailable", 1), expected)


def _scaled(amount: int | str, of: int) -> int:
    if isinstance(amount, str):
        return -(-int(amount.removesuffix("%")) * of // 100)
    return amount


def _is_healthy(pod: Pod) -> bool:
    if pod.deletion_timestamp:
        return False
    conditions: list[dict[str, Any]] = pod.status.get("conditions") or []
    ready = next((each.get("status") for each in conditions if each.get("type") == "Ready"), None)
    return ready == "True"


def _selects(budget: ApiObject, pod: Pod) -> bool:
    if budget.namespace != pod.namespace:
        return False
    selector = budget.spec.get("selector")
    # In policy/v1beta1 an empty selector selects nothing.
    if not selector and budget.raw.get("apiVersion") == "policy/v1beta1":
        return False
    return LabelSelector.parse(selector).matches(pod.labels)
