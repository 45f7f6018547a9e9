"""Evictions: deletions that a disruption budget may refuse.

Upstream: pkg/registry/core/pod/storage/eviction.go. The disruption controller keeps the allowed disruptions of a budget in
its status.
"""

from engine.api_server.admission.rules import AdmissionRules
from engine.api_server.store.store import ObjectStore
from engine.kernel.errors import ApiError, TooManyRequests
from engine.kernel.units import timestamp
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.pods.conditions import (
    disruption_allowed,
    disruption_target,
    is_ready,
    with_condition,
)
from engine.objects.selectors import LabelSelector

AUTHOR = "apiserver"
_EVICTING = "Eviction API: evicting"
_TOO_MANY = "Cannot evict pod as it would violate the pod's disruption budget."
# The causes, which an API server tells apart from the message.
_NOT_COUNTED = "The disruption budget {} is still being processed by the server."
_NONE_LEFT = "The disruption budget {} needs {} healthy pods and has {} currently"
_SEVERAL = (
    "This pod has more than one PodDisruptionBudget, which the eviction subresource does not "
    "support."
)


def evict(store: ObjectStore, pod: Pod, rules: AdmissionRules) -> None:
    """Take *pod* off its budget's allowance, as the API server; its deletion is the caller's.

    Raises TooManyRequests when the budget has none left, and ApiError when several budgets select
    the pod.
    """
    if not is_exempt(pod):
        known = store.grouped("PodDisruptionBudget").in_namespace(pod.namespace)
        budgets = [one for one in known if selects(one, pod)]
        if len(budgets) > 1:
            raise ApiError(_SEVERAL)
        for budget in budgets:
            if not (rules.unready_evictions and _may_go_unready(budget, pod)):
                _take_allowance(store, budget, pod, rules)
    if rules.marks_evicted and not pod.deletion_timestamp:
        condition = disruption_target("EvictionByEvictionAPI", _EVICTING, store.clock)
        patch = {"status": {"conditions": with_condition(pod, condition)}}
        store.patch(pod.kind, pod.key, patch, by=AUTHOR, event="PodDisrupted")


def _may_go_unready(budget: ApiObject, pod: Pod) -> bool:
    """Whether *pod* may go whatever the allowance, because it is not ready.

    By default only while enough others are healthy. Upstream: EvictionREST.Create().
    """
    if is_ready(pod):
        return False
    if budget.spec.get("unhealthyPodEvictionPolicy") == "AlwaysAllow":
        return True
    status = budget.status
    desired: int = status.get("desiredHealthy") or 0
    return 0 < desired <= (status.get("currentHealthy") or 0)


def _take_allowance(store: ObjectStore, budget: ApiObject, pod: Pod, rules: AdmissionRules) -> None:
    """Upstream: checkAndDecrement(). Without a status the pods have not been counted yet."""
    if not is_counted(budget):
        raise TooManyRequests(f"{_TOO_MANY} {_NOT_COUNTED.format(budget.name)}")
    allowed: int = budget.status.get("disruptionsAllowed") or 0
    if allowed <= 0:
        desired: int = budget.status.get("desiredHealthy") or 0
        current: int = budget.status.get("currentHealthy") or 0
        cause = _NONE_LEFT.format(budget.name, desired, current)
        raise TooManyRequests(f"{_TOO_MANY} {cause}")
    noted: Manifest = {
        "disruptionsAllowed": allowed - 1,
        "disruptedPods": {pod.name: timestamp(store.clock)},
    }
    if rules.marks_evicted and allowed == 1:
        condition = disruption_allowed(budget, False, store.clock)
        noted["conditions"] = with_condition(budget, condition)
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
