"""What may settle the question about an object: changes, each still to be tried in a fork."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from engine.cluster.commands import Command
from engine.diagnosis.candidates import Candidate, made_again, patched, replaced
from engine.diagnosis.subjects.admission import (
    broken_bounds,
    exceeded_limits,
    missing_class,
    unspecified_amounts,
)
from engine.diagnosis.subjects.autoscalers import at_maximum
from engine.diagnosis.subjects.budgets import refuses_eviction
from engine.diagnosis.subjects.cron_jobs import CRON_JOB, active_jobs
from engine.diagnosis.subjects.pods.containers import container_changes
from engine.diagnosis.subjects.pods.resizes import resize_changes
from engine.diagnosis.subjects.rollouts import differences, made_from_template, recreated
from engine.diagnosis.subjects.scene import Scene
from engine.diagnosis.subjects.workloads import pods_of, replica_sets, top_workload
from engine.framework.explaining.case import listed
from engine.framework.explaining.manifests import (
    CONDITION,
    HOSTNAME,
    deep_copy,
    taint_of,
    taint_text,
)
from engine.kernel.sentences import Sentence, enumerated, say, say_count, together
from engine.objects.autoscalers import AUTOSCALER, asked_for
from engine.objects.manifest_parts import items, section
from engine.objects.objects import (
    OUT_OF_SERVICE_TAINT,
    ApiObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
)
from engine.objects.phases import is_volume_bound_to_claim, volume_mode
from engine.objects.pods.conditions import is_ready
from engine.storage.matching.explanation import explain_candidates

_DATA_STAYS = say("The volume keeps its data.")
# Requests for a container that states none, in a namespace whose quota demands them.
_MODEST = {"cpu": "100m", "memory": "128Mi"}


def changes_for(scene: Scene, obj: ApiObject) -> Iterator[Candidate]:
    """Changes that may settle the question about *obj*, the smallest first."""
    if isinstance(obj, PersistentVolumeClaim):
        yield from _for_claim(scene, obj)
    elif isinstance(obj, PersistentVolume):
        yield from _for_volume(obj)
    elif isinstance(obj, Pod):
        yield from _for_placed_pod(scene, obj)
    elif isinstance(obj, Node):
        yield from _for_node(obj)
    elif obj.kind == "PodDisruptionBudget":
        yield from _for_budget(scene, obj)
    elif obj.kind == AUTOSCALER:
        yield from _for_autoscaler(scene, obj)
    elif obj.kind == CRON_JOB:
        yield from _for_cron_job(scene, obj)
    else:
        yield from _for_workload(scene, obj)


# -- claims and volumes --------------------------------------------------------------------------


def _for_claim(scene: Scene, claim: PersistentVolumeClaim) -> Iterator[Candidate]:
    if claim.deletion_timestamp:
        yield from deleted_users(scene, claim)
        return
    named = scene.volume(claim.volume_name)
    meant = [named] if named is not None else []
    meant += [each for each in scene.volumes() if is_volume_bound_to_claim(each, claim)]
    for volume in {each.name: each for each in meant}.values():
        yield from _for_mismatch(scene, claim, volume)
    for pod in scene.users(claim):
        node = None if not pod.node_name else scene.node(pod.node_name)
        if node is not None and not claim.volume_name:
            selector = {HOSTNAME: node.labels.get(HOSTNAME, node.name)}
            yield replaced(
                pod,
                {"nodeSelector": {**section(pod.spec, "nodeSelector"), **selector}},
                kind="selector",
                text=say(
                    "Let pod {pod} select {node} by a nodeSelector instead of nodeName",
                    pod=pod.key,
                    node=node.name,
                ),
            )
    if not meant and not claim.volume_name:
        yield from _for_near_misses(scene, claim)


def deleted_users(scene: Scene, claim: PersistentVolumeClaim) -> Iterator[Candidate]:
    """The pods with a node that use *claim* deleted, so that it can go."""
    users = [pod for pod in scene.users(claim) if pod.node_name]
    if not users:
        return
    first, *rest = [Command(verb="delete", object=pod.id) for pod in users]
    names = listed([say("pod {pod}", pod=pod.key) for pod in users], 3)
    yield Candidate(
        kind="pod",
        text=say_count(
            "Delete {pods}, which keeps claim {claim}",
            "Delete {pods}, which keep claim {claim}",
            len(users),
            pods=names,
            claim=claim.key,
        ),
        command=first,
        more=tuple(rest),
        decidable=False,
        note=say(
            "The claim then goes; what its volume holds goes where the reclaim policy is Delete."
        ),
    )


def _for_mismatch(
    scene: Scene, claim: PersistentVolumeClaim, volume: PersistentVolume
) -> Iterator[Candidate]:
    """What the volume that is meant does not have of what the claim asks for."""
    (verdict,) = explain_candidates(claim, [volume])
    rules = {each.rule for each in verdict.faults}
    if "class" in rules:
        name = volume.storage_class_name
        text = say(
            'Make claim {claim} again with storageClassName "{name}"', claim=claim.key, name=name
        )
        yield _claim_again(claim, {"storageClassName": name}, text)
    if "access-modes" in rules:
        modes = list(dict.fromkeys([*volume.access_modes, *claim.access_modes]))
        yield Candidate(
            kind="volume",
            text=say(
                "Let volume {volume} offer {modes}", volume=volume.name, modes=enumerated(modes)
            ),
            command=patched(volume.id, {"spec": {"accessModes": modes}}),
            note=say("Only where its storage can do that."),
        )
        offered = list(volume.access_modes)
        text = say(
            "Make claim {claim} again with accessModes {modes}",
            claim=claim.key,
            modes=enumerated(offered),
        )
        yield _claim_again(claim, {"accessModes": offered}, text)
    if "size" in rules:
        size = str(section(volume.spec, "capacity").get("storage"))
        resources = {"requests": {"storage": size}}
        text = say("Make claim {claim} again with a request of {size}", claim=claim.key, size=size)
        yield _claim_again(claim, {"resources": resources}, text)
    if "volume-mode" in rules:
        mode = volume_mode(volume)
        text = say("Make claim {claim} again with volumeMode {mode}", claim=claim.key, mode=mode)
        yield _claim_again(claim, {"volumeMode": mode}, text)
    if "selector" in rules:
        labels = section(claim.spec, "selector", "matchLabels")
        if labels:
            yield Candidate(
                kind="volume",
                text=say(
                    "Give volume {volume} the labels that the claim selects", volume=volume.name
                ),
                command=patched(volume.id, {"metadata": {"labels": dict(labels)}}),
                note=say("Other claims with that selector may take it, too."),
            )
    if "claimed" in rules and not _is_in_use(scene, volume):
        yield _without_claim_ref(volume)
    elif "claimed" in rules and claim.volume_name:
        text = say("Make claim {claim} again without volumeName", claim=claim.key)
        yield _claim_again(claim, {"volumeName": None}, text)


def _is_in_use(scene: Scene, volume: PersistentVolume) -> bool:
    """Whether a claim that is there has the volume: without its claimRef the claim is Lost."""
    holder = scene.claim(volume.claim_key)
    return holder is not None and is_volume_bound_to_claim(volume, holder)


def _claim_again(
    claim: PersistentVolumeClaim, fields: dict[str, object], text: Sentence
) -> Candidate:
    return Candidate(
        kind="claim",
        text=text,
        command=made_again(claim, fields),
        note=together(say("The claim is deleted and created anew."), _DATA_STAYS),
    )


def _for_near_misses(scene: Scene, claim: PersistentVolumeClaim) -> Iterator[Candidate]:
    """The volumes that break one rule only."""
    volumes = {each.name: each for each in scene.volumes()}
    for verdict in explain_candidates(claim, volumes.values()):
        if len(verdict.faults) == 1:
            yield from _for_mismatch(scene, claim, volumes[verdict.volume])


def _for_volume(volume: PersistentVolume) -> Iterator[Candidate]:
    if volume.claim_ref is not None and volume.phase in ("Released", "Failed"):
        yield _without_claim_ref(volume)


def _without_claim_ref(volume: PersistentVolume) -> Candidate:
    return Candidate(
        kind="volume",
        text=say(
            "Clear the claimRef of volume {volume}, so that another claim may take it",
            volume=volume.name,
        ),
        command=patched(volume.id, {"spec": {"claimRef": None}}),
        note=say("Another claim then sees what the volume holds."),
    )


# -- pods that have their node -------------------------------------------------------------------


def _for_placed_pod(scene: Scene, pod: Pod) -> Iterator[Candidate]:
    if pod.deletion_timestamp:
        return
    for budget in scene.budgets_of(pod):
        if refuses_eviction(budget, pod):
            yield from _for_budget(scene, budget)
    yield from _for_several_budgets(scene.budgets_of(pod))
    if pod.phase == "Running":
        yield from resize_changes(scene, pod)
        yield from container_changes(scene, pod)
        return
    for _, claim in scene.claims_of(pod):
        if claim is None:
            continue
        if not claim.volume_name:
            yield from _for_claim(scene, claim)
            continue
        yield from _for_attached_elsewhere(scene, pod, claim)


def _for_several_budgets(budgets: list[ApiObject]) -> Iterator[Candidate]:
    """All budgets of a pod but one deleted."""
    if len(budgets) < 2:
        return
    for kept in budgets:
        first, *rest = [
            Command(verb="delete", object=each.id) for each in budgets if each is not kept
        ]
        yield Candidate(
            kind="budget",
            text=say(
                "Keep PodDisruptionBudget {kept} as the only one that selects the pod",
                kept=kept.name,
            ),
            command=first,
            more=tuple(rest),
            note=say(
                "The other budgets are deleted: pods that only those select lose their budget."
            ),
        )


def _for_attached_elsewhere(
    scene: Scene, pod: Pod, claim: PersistentVolumeClaim
) -> Iterator[Candidate]:
    top = top_workload(scene, pod)
    if top is not None and top.kind == "Deployment":
        yield recreated(top)
    for other in scene.users(claim):
        if other.key != pod.key and other.node_name and other.node_name != pod.node_name:
            node = scene.node(other.node_name)
            if node is not None and not node.is_ready:
                yield _out_of_service(node)
                continue
            yield Candidate(
                kind="pod",
                text=say(
                    "Delete pod {other} on {node_name}, which holds the volume",
                    other=other.key,
                    node_name=other.node_name,
                ),
                command=Command(verb="delete", object=other.id),
                note=say("What that pod does ends; a workload starts another one."),
            )


def _out_of_service(node: Node) -> Candidate:
    """Upstream: non-graceful node shutdown; the pods are deleted and their volumes detached."""
    taint = {"key": OUT_OF_SERVICE_TAINT, "value": "nodeshutdown"}
    taints = [*node.taints, {**taint, "effect": "NoExecute"}]
    return Candidate(
        kind="taint",
        text=say(
            "Taint {node} with {out_of_service_taint}, so that its volumes detach",
            node=node.name,
            out_of_service_taint=OUT_OF_SERVICE_TAINT,
        ),
        command=patched(node.id, {"spec": {"taints": taints}}),
        note=say(
            "Be sure that the machine is off: its pods are deleted by force. Remove "
            "the taint later."
        ),
    )


# -- nodes -----------------------------------------------------------------------------------------


def _for_node(node: Node) -> Iterator[Candidate]:
    """What lets pods onto the node again."""
    if not node.is_ready:
        conditions = [
            {**each, "status": "True"} if each.get("type") == "Ready" else each
            for each in items(node.status, "conditions")
        ]
        yield Candidate(
            kind="ready",
            text=say("Bring {node} back, so that it is Ready", node=node.name),
            command=patched(node.id, {"status": {"conditions": conditions}}),
            note=say("Its kubelet has to run again: repair the machine or its network."),
        )
    if node.unschedulable:
        yield Candidate(
            kind="uncordon",
            text=say("Uncordon {node}", node=node.name),
            command=Command(verb="uncordon", object=node.id),
            note=say("New pods may be placed on it at once: end its maintenance before."),
        )
    own = [raw for raw in node.taints if not str(raw.get("key")).startswith(CONDITION)]
    for taint in own:
        left = [raw for raw in node.taints if raw != taint]
        yield Candidate(
            kind="taint",
            text=say(
                "Remove the taint {taint} from {node}",
                taint=taint_text(taint_of(taint)),
                node=node.name,
            ),
            command=patched(node.id, {"spec": {"taints": left}}),
            note=say("Pods that the taint keeps away may then be placed on it."),
        )


def changes_for_drain(scene: Scene, node: Node) -> Iterator[Candidate]:
    """What lets a drain of *node* go on: changes of the budgets that refuse evictions."""
    budgets = {
        budget.id: budget
        for pod in scene.pods()
        if pod.node_name == node.name
        for budget in scene.budgets_of(pod)
        if refuses_eviction(budget, pod)
    }
    for budget in budgets.values():
        yield from _for_budget(scene, budget)


# -- budgets and workloads -----------------------------------------------------------------------


def _for_budget(scene: Scene, budget: ApiObject) -> Iterator[Candidate]:
    unready = [
        pod
        for pod in scene.pods(budget.namespace)
        if pod.node_name and budget in scene.budgets_of(pod) and not is_ready(pod)
    ]
    if unready and budget.spec.get("unhealthyPodEvictionPolicy") != "AlwaysAllow":
        yield Candidate(
            kind="budget",
            text=say(
                "Let PodDisruptionBudget {budget} allow to evict pods that are not ready",
                budget=budget.name,
            ),
            command=patched(budget.id, {"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}),
            note=say("Pods that have just started and are not ready yet may be evicted, too."),
        )
    tops = {
        top.id: top
        for pod in scene.pods(budget.namespace)
        if budget in scene.budgets_of(pod) and (top := top_workload(scene, pod)) is not None
    }
    for top in tops.values():
        if "replicas" in top.spec or top.kind in ("Deployment", "ReplicaSet", "StatefulSet"):
            replicas = int(top.spec.get("replicas", 1)) + 1
            yield Candidate(
                kind="replicas",
                text=say(
                    "Run {replicas} replicas of {kind} {top}",
                    replicas=replicas,
                    kind=top.kind,
                    top=top.name,
                ),
                command=patched(top.id, {"spec": {"replicas": replicas}}),
                note=say("It costs the room of one more pod, and needs a node that has it."),
            )
    least = budget.spec.get("minAvailable")
    if isinstance(least, int) and least > 0:
        yield Candidate(
            kind="budget",
            text=say(
                "Let PodDisruptionBudget {budget} keep {wanted} instead of {least}",
                budget=budget.name,
                wanted=least - 1,
                least=least,
            ),
            command=patched(budget.id, {"spec": {"minAvailable": least - 1}}),
            note=say("While a pod moves, fewer of them serve."),
        )
    most = budget.spec.get("maxUnavailable")
    if isinstance(most, int):
        yield Candidate(
            kind="budget",
            text=say(
                "Let PodDisruptionBudget {budget} allow {most} unavailable pods",
                budget=budget.name,
                most=most + 1,
            ),
            command=patched(budget.id, {"spec": {"maxUnavailable": most + 1}}),
            note=say("While a pod moves, fewer of them serve."),
        )
    yield Candidate(
        kind="budget",
        text=say("Delete PodDisruptionBudget {budget}", budget=budget.name),
        command=Command(verb="delete", object=budget.id),
        note=say("Nothing then keeps a drain from evicting all of its pods at once."),
    )


def _for_workload(scene: Scene, workload: ApiObject) -> Iterator[Candidate]:
    yield from _resumed(workload)
    for each in replica_sets(scene, workload):
        yield from _for_admission(scene, each)
        for pod in pods_of(scene, each):
            if differences(scene, pod):
                yield made_from_template(pod, each)


def _resumed(workload: ApiObject) -> Iterator[Candidate]:
    """A Deployment that is paused, or a Job that is suspended, goes on."""
    if workload.kind == "Deployment" and workload.spec.get("paused"):
        yield Candidate(
            kind="resume",
            text=say("Resume Deployment {workload}", workload=workload.key),
            command=patched(workload.id, {"spec": {"paused": None}}),
            note=say("kubectl rollout resume does it. Somebody has paused it: ask why."),
        )
    if workload.kind == "Job" and workload.spec.get("suspend"):
        yield Candidate(
            kind="resume",
            text=say("Let Job {workload} start (spec.suspend false)", workload=workload.key),
            command=patched(workload.id, {"spec": {"suspend": False}}),
            note=say("Somebody has suspended it, or a queue holds it: ask why."),
        )


def _for_cron_job(scene: Scene, cron_job: ApiObject) -> Iterator[Candidate]:
    """It goes on, and so do its Jobs."""
    if cron_job.spec.get("suspend"):
        yield Candidate(
            kind="resume",
            text=say("Let CronJob {cron_job} go on (spec.suspend false)", cron_job=cron_job.key),
            command=patched(cron_job.id, {"spec": {"suspend": False}}),
            note=say("It starts one Job for all the times that it has missed."),
        )
    for job in active_jobs(scene, cron_job):
        yield from _for_workload(scene, job)


def _for_autoscaler(scene: Scene, autoscaler: ApiObject) -> Iterator[Candidate]:
    """Its maximum is raised to what is asked for."""
    wanted = asked_for(autoscaler, scene.now)
    if wanted is None or not at_maximum(autoscaler):
        return
    yield Candidate(
        kind="autoscaler",
        text=say(
            "Let HorizontalPodAutoscaler {autoscaler} have {wanted} replicas (maxReplicas)",
            autoscaler=autoscaler.key,
            wanted=wanted,
        ),
        command=patched(autoscaler.id, {"spec": {"maxReplicas": wanted}}),
        note=say("More pods need more room: ask why they are pending, if they are."),
    )


def _for_admission(scene: Scene, workload: ApiObject) -> Iterator[Candidate]:
    """What lets the API server admit the next pod."""
    for quota, limits in exceeded_limits(scene, workload):
        amounts = enumerated([f"{name} {amount}" for name, amount in limits.items()])
        yield Candidate(
            kind="quota",
            text=say("Raise ResourceQuota {quota} to {amounts}", quota=quota.name, amounts=amounts),
            command=patched(quota.id, {"spec": {"hard": limits}}),
            note=say("The namespace may then use more of what other namespaces share."),
        )
    for bound in broken_bounds(scene, workload):
        place, side, name = bound.path
        limits = deep_copy(bound.limit_range.spec.get("limits"))
        limits[place][side][name] = bound.amount
        yield Candidate(
            kind="limits",
            text=say(
                "Let LimitRange {limit_range} allow {amount} {name} per container",
                limit_range=bound.limit_range.name,
                amount=bound.amount,
                name=name,
            ),
            command=patched(bound.limit_range.id, {"spec": {"limits": limits}}),
            note=say("Every container of the namespace may then ask for as much."),
        )
    unstated = unspecified_amounts(scene, workload)
    if unstated:
        yield _default_amounts(workload, unstated)
    missing = missing_class(scene, workload)
    if missing:
        yield Candidate(
            kind="priority",
            text=say("Create PriorityClass {missing} with value 0", missing=missing),
            command=Command(
                verb="create",
                manifest={
                    "apiVersion": "scheduling.k8s.io/v1",
                    "kind": "PriorityClass",
                    "metadata": {"name": missing},
                    "value": 0,
                },
            ),
            note=say("Give it the value that its owner means: with 0 it has no precedence."),
        )


def _default_amounts(workload: ApiObject, unstated: list[str]) -> Candidate:
    """A LimitRange that states for containers what they leave out."""
    return Candidate(
        kind="limits",
        text=say(
            "Create a LimitRange in {namespace} with defaults for {unstated}",
            namespace=workload.namespace,
            unstated=listed(unstated),
        ),
        command=default_amounts(workload.namespace, unstated),
        note=say("Containers that state nothing get the defaults: choose amounts that suit them."),
    )


def default_amounts(namespace: str, unstated: Iterable[str]) -> Command:
    """The command that creates a LimitRange with modest amounts for what is not stated.

    *unstated* are names as quotas have them: "limits.cpu", "memory".
    """
    item: dict[str, object] = {"type": "Container"}
    for name in unstated:
        kind, _, resource = name.rpartition(".")
        field = item.setdefault("default" if kind == "limits" else "defaultRequest", {})
        assert isinstance(field, dict)
        field[resource] = _MODEST.get(resource, "1Gi")
    manifest = {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": {"namespace": namespace, "name": "defaults"},
        "spec": {"limits": [item]},
    }
    return Command(verb="create", manifest=manifest)
