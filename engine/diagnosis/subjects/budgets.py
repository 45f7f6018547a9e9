"""Why an eviction is refused: the disruption budget, its counts, and the workload behind the pod."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.diagnosis.report import Cause
from engine.diagnosis.subjects.scene import Scene, cause
from engine.framework.explaining.case import FEW, listed
from engine.framework.explaining.fact import Fact, fact
from engine.kernel.sentences import NOTHING, Sentence, enumerated, say, say_count
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
        fact(
            each,
            ("spec", "selector"),
            say("PodDisruptionBudget {each} selects pod {pod}.", each=each.key, pod=pod.key),
        )
        for each in budgets
    ]
    names = listed([each.name for each in budgets])
    sentence = say(
        "Pod {pod} cannot be evicted: {count} budgets select it, {names}.",
        pod=pod.key,
        count=len(budgets),
        names=names,
    )
    why = say("An eviction is refused where more than one PodDisruptionBudget selects the pod.")
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
            text = say("PodDisruptionBudget {budget} has {rule}.", budget=budget.key, rule=rule)
            because.append(fact(budget, ("spec", name), text))
    because.append(
        fact(
            budget,
            ("status", "disruptionsAllowed"),
            say(
                "Its disruptionsAllowed is {allowed_disruptions}: the healthy pods are "
                "{healthy}, and {desired} have to be healthy.",
                allowed_disruptions=allowed_disruptions(budget),
                healthy=healthy,
                desired=desired,
            ),
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
                say(
                    "{kind} {workload} has replicas {replicas}.",
                    kind=workload.kind,
                    workload=workload.name,
                    replicas=replicas,
                ),
                compared_with=desired,
            )
        )
    sentence = say(
        "PodDisruptionBudget {budget} ({rule}) allows 0 disruptions", budget=budget.name, rule=rule
    )
    if pod is None:
        sentence = say("{sentence}, so none of its pods can be evicted.", sentence=sentence)
    else:
        sentence = say("Pod {pod} cannot be evicted: {sentence}.", pod=pod.key, sentence=sentence)
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
        if pod.status.get("conditions"):
            text = say(
                "Pod {pod} on {node} is not ready, so it is not healthy.",
                pod=pod.key,
                node=pod.node_name,
            )
        else:
            text = say(
                "Pod {pod} on {node} does not say that it is ready, so it is not healthy.",
                pod=pod.key,
                node=pod.node_name,
            )
        yield fact(pod, path, text)
    policy = budget.spec.get("unhealthyPodEvictionPolicy")
    text = (
        say(
            "Its unhealthyPodEvictionPolicy is AlwaysAllow: pods that are not ready may be evicted."
        )
        if policy == "AlwaysAllow"
        else say(
            "Its unhealthyPodEvictionPolicy is {policy}: pods that are not ready may be evicted "
            "only while enough others are healthy.",
            policy=policy or "IfHealthyBudget",
        )
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


def _why(budget: ApiObject, workloads: list[ApiObject]) -> Sentence:
    desired = budget.status.get("desiredHealthy")
    healthy = int(budget.status.get("currentHealthy") or 0)
    replicas = sum(int(each.spec.get("replicas", 1)) for each in workloads)
    if not isinstance(desired, int):
        return say("Its status has not been computed yet.")
    if workloads and replicas <= desired:
        names = enumerated([f"{each.kind} {each.name}" for each in workloads])
        return say_count(
            "{workloads} has 1 replica and {desired} must stay healthy, so no disruption is ever "
            "allowed; an eviction starts no replacement first.",
            "{workloads} has {count} replicas and {desired} must stay healthy, so no disruption is "
            "ever allowed; an eviction starts no replacement first.",
            replicas,
            workloads=names,
            desired=desired,
        )
    if healthy < replicas:
        return say_count(
            "Only {count} of {replicas} pods is healthy; it allows more once they are.",
            "Only {count} of {replicas} pods are healthy; it allows more once they are.",
            healthy,
            replicas=replicas,
        )
    return NOTHING
