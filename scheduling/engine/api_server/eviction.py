"""Evictions: deletions that a disruption budget may refuse.

Upstream: pkg/registry/core/pod/storage/eviction.go. What a budget allows is kept in its status by
the disruption controller.
"""

from kscope.sim.api_server.store import ObjectStore
from kscope.sim.errors import ApiError, TooManyRequests
from kscope.sim.kernel.units import timestamp
from kscope.sim.objects.objects import ApiObject, Pod
from kscope.sim.objects.selectors import LabelSelector

AUTHOR = "apiserver"

_NOT_COUNTED = "The disruption budget {} is still being processed by the server."
_TOO_MANY = "Cannot evict pod as it would violate the pod's disruption budget."
_SEVERAL = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
    "support."
)


def evict(store: ObjectStore, pod: Pod, now: int) -> None:
    """Take *pod* off its budget's allowance at *now*, as the API server; its deletion is the caller's.

    Raises TooManyRequests when the budget has none left, and ApiError when several budgets select
    the pod.
    """
    if is_exempt(pod):
        return
    budgets = [budget for budget in store.objects("PodDisruptionBudget") if selects(budget, pod)]
    if not budgets:
        return
    if len(budgets) > 1:
        raise ApiError(_SEVERAL)
    (budget,) = budgets
    # Upstream: checkAndDecrement(). A budget without a status has not been counted yet.
    if not is_counted(budget):
        raise TooManyRequests(_NOT_COUNTED.format(budget.name))
    allowed: int = budget.status.get("disruptionsAllowed") or 0
    if allowed <= 0:
        raise TooManyRequests(_TOO_MANY)
    noted = {"disruptionsAllowed": allowed - 1, "disruptedPods": {pod.name: timestamp(now)}}
    patch = {"status": noted}
    store.patch(budget.kind, budget.key, patch, by=AUTHOR, event="PodDisruptionBudgetUsed")


def is_exempt(pod: Pod) -> bool:
    """Whether the pod may be evicted whatever a budget says."""
    # Upstream: canIgnorePDB().
    return pod.phase in ("Succeeded", "Failed", "Pending") or bool(pod.deletion_timestamp)


def is_counted(budget: ApiObject) -> bool:
    """Whether the status of the budget is of its newest spec."""
    return (budget.status.get("observedGeneration") or 0) >= (
        budget.metadata.get("generation") or 0
    )


def selects(budget: ApiObject, pod: Pod) -> bool:
    """Whether the budget is about the pod."""
    if budget.namespace != pod.namespace:
        return False
    selector = budget.spec.get("selector")
    # In policy/v1beta1 an empty selector selects nothing.
    if not selector and budget.raw.get("apiVersion") == "policy/v1beta1":
        return False
    return LabelSelector.parse(selector).matches(pod.labels)
