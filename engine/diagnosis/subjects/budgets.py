"""Why an eviction is refused: the disruption budget, its counts, and the workload behind the pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.scene import Scene, cause
from engine.framework.explaining.case import FEW, listed
from engine.framework.explaining.fact import Fact, fact
from engine.objects.objects import ApiObject, Pod
from engine.objects.pods.conditions import is_ready

COMPONENT: Final = "disruption-controller"


def budget_causes_of(scene: Scene, pod: Pod) -> Iterator[Cause]:
    """Each budget that forbids to evict *pod* now."""
    for budget in scene.budgets_of(pod):
        if refuses_eviction(budget, pod):
            yield _refuses(scene, budget, pod)
    budgets = scene.budgets_of(pod)
    if len(budgets) > 1:
        yield _several(pod, budgets)


def _several(pod: Pod, budgets: list[ApiObject]) -> Cause:
    """Upstream: eviction.go, Create(), which refuses pods with more than one budget."""
    because = [
        fact(each, ("spec", "selector"), f"PodDisruptionBudget {each.key} selects pod {pod.key}.")
        for each in budgets
    ]
    names = listed([each.name for each in budgets])
    sentence = f"Pod {pod.key} cannot be evicted: {len(budgets)} budgets select it, {names}."
    why = "An eviction is refused where more than one PodDisruptionBudget selects the pod."
    return cause(COMPONENT, sentence, because, why=why, severity="notes")


def budget_causes(scene: Scene, budget: ApiObject) -> Iterator[Cause]:
    """Why *budget* allows no disruption."""
    if allowed_disruptions(budget) <= 0:
        yield _refuses(scene, budget, None)


def allowed_disruptions(budget: ApiObject) -> int:
    """How many of the budget's pods may be evicted now."""
    return int(budget.status.get("disruptionsAllowed") or 0)


def _refuses(scene: Scene, budget: ApiObject, pod: Pod | None) -> Cause:
    status = budget.status
    healthy, desired = status.get("currentHealthy"), status.get("desiredHealthy")
    because: list[Fact] = []
    rule = ""
    for name in ("minAvailable", "maxUnavailable"):
        if budget.spec.get(name) is not None:
            rule = f"{name} {budget.spec[name]}"
            text = f"PodDisruptionBudget {budget.key} has {rule}."
            because.append(fact(budget, ("spec", name), text))
    because.append(
        fact(
            budget,
            ("status", "disruptionsAllowed"),
            f"Its disruptionsAllowed is {allowed_disruptions(budget)}: the healthy pods are {healthy}, "
            f"and {desired} have to be healthy.",
            compared_with=1,
        )
    )
    because.extend(_unready_facts(scene, budget))
    workloads = _workloads(scene, budget, pod)
    for workload in workloads:
        replicas = workload.spec.get("replicas", 1)
        because.append(
            fact(
                workload,
                ("spec", "replicas"),
                f"{workload.kind} {workload.name} has replicas {replicas}.",
                compared_with=desired,
            )
        )
    sentence = f"PodDisruptionBudget {budget.name} ({rule}) allows 0 disruptions"
    if pod is None:
        sentence = f"{sentence}, so none of its pods can be evicted."
    else:
        sentence = f"Pod {pod.key} cannot be evicted: {sentence}."
    why = _why(budget, workloads)
    severity = "notes" if pod is not None else "blocks"
    return cause(COMPONENT, sentence, because, why=why, severity=severity)


def _unready_facts(scene: Scene, budget: ApiObject) -> Iterator[Fact]:
    """The pods that do not count as healthy, and whether they may be evicted all the same."""
    unready = [
        each
        for each in scene.pods(budget.namespace)
        if each.node_name and budget in scene.budgets_of(each) and not is_ready(each)
    ]
    if not unready:
        return
    for pod in unready[:FEW]:
        path = ("status", "conditions")
        stands = "is not ready" if pod.status.get("conditions") else "does not say that it is ready"
        yield fact(pod, path, f"Pod {pod.key} on {pod.node_name} {stands}, so it is not healthy.")
    policy = budget.spec.get("unhealthyPodEvictionPolicy")
    text = (
        "Its unhealthyPodEvictionPolicy is AlwaysAllow: pods that are not ready may be evicted."
        if policy == "AlwaysAllow"
        else f"Its unhealthyPodEvictionPolicy is {policy or 'IfHealthyBudget'}: pods that are not "
        "ready may be evicted only while enough others are healthy."
    )
    yield fact(budget, ("spec", "unhealthyPodEvictionPolicy"), text, compared_with="AlwaysAllow")


def refuses_eviction(budget: ApiObject, pod: Pod) -> bool:
    """Whether *budget* forbids to evict *pod* now. Upstream: eviction.go, canIgnorePDB()."""
    if allowed_disruptions(budget) > 0:
        return False
    return is_ready(pod) or budget.spec.get("unhealthyPodEvictionPolicy") != "AlwaysAllow"


def _workloads(scene: Scene, budget: ApiObject, pod: Pod | None) -> list[ApiObject]:
    """The workloads of the budget's pods, the Deployment rather than its ReplicaSet."""
    pods = (
        [pod]
        if pod is not None
        else [each for each in scene.pods(budget.namespace) if budget in scene.budgets_of(each)]
    )
    found: dict[str, ApiObject] = {}
    for each in pods:
        owner = scene.controller_of(each)
        above = None if owner is None else scene.controller_of(owner)
        top = above or owner
        if top is not None:
            found[top.id] = top
    return list(found.values())


def _why(budget: ApiObject, workloads: list[ApiObject]) -> str:
    desired = budget.status.get("desiredHealthy")
    healthy = int(budget.status.get("currentHealthy") or 0)
    replicas = sum(int(each.spec.get("replicas", 1)) for each in workloads)
    if not isinstance(desired, int):
        return "Its status has not been computed yet."
    if workloads and replicas <= desired:
        names = ", ".join(f"{each.kind} {each.name}" for each in workloads)
        counted = "1 replica" if replicas == 1 else f"{replicas} replicas"
        return (
            f"{names} has {counted} and {desired} must stay healthy, so no disruption is "
            "ever allowed; an eviction starts no replacement first."
        )
    if healthy < replicas:
        verb = "is" if healthy == 1 else "are"
        return f"Only {healthy} of {replicas} pods {verb} healthy; it allows more once they are."
    return ""
