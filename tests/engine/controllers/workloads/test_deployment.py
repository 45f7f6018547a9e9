from typing import Any

from engine.input.cleaning import clean
from tests.engine.controllers.workloads.builders import World, make, make_node, make_pod, template

NODES = (make_node("n1"), make_node("n2"))


def replicas(world: World) -> dict[str, int]:
    """Replicas per revision."""
    revision = "deployment.kubernetes.io/revision"
    return {s.annotations[revision]: s.spec["replicas"] for s in world.store.objects("ReplicaSet")}


def test_a_deployment_creates_pods_and_reports_availability() -> None:
    world = World(*NODES, make("Deployment", replicas=3))
    world.run(5)
    assert len(world.names()) == 3
    status = world.get("Deployment").status
    assert status["availableReplicas"] == status["updatedReplicas"] == 3
    reasons = {each["type"]: each["reason"] for each in status["conditions"]}
    assert reasons == {
        "Progressing": "NewReplicaSetAvailable",
        "Available": "MinimumReplicasAvailable",
    }


def test_an_old_deployment_selects_what_it_makes() -> None:
    old = make("Deployment", version="extensions/v1beta1", replicas=2, selector=None)
    world = World(*NODES, old)
    world.run(5)
    assert world.get("Deployment").spec["selector"] == {"matchLabels": {"app": "web"}}
    assert len(world.names()) == 2


def test_a_rolling_update_stays_within_surge_and_unavailability() -> None:
    rolling = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 1}}
    world = World(*NODES, make("Deployment", replicas=4, strategy=rolling))
    world.run(5)
    world.patch(
        "deployment/default/web", spec={"template": {"metadata": {"annotations": {"v": "2"}}}}
    )
    seen: list[tuple[int, int]] = []
    while world.cluster.now < 60 * 10**9 and world.cluster.next_at is not None:
        world.cluster.advance(60 * 10**9, stop="event")
        pods = world.pods()
        ready = sum(pod.phase == "Running" for pod in pods)
        seen.append((sum(replicas(world).values()), ready))
    assert max(total for total, _ in seen) <= 5
    assert min(ready for _, ready in seen) >= 3
    assert replicas(world) == {"1": 0, "2": 4}
    assert all(pod.annotations == {"v": "2"} for pod in world.pods())


def test_recreate_never_runs_two_revisions_side_by_side() -> None:
    world = World(*NODES, make("Deployment", replicas=2, strategy={"type": "Recreate"}))
    world.run(5)
    world.patch(
        "deployment/default/web", spec={"template": {"metadata": {"annotations": {"v": "2"}}}}
    )
    while world.cluster.next_at is not None and world.cluster.now < 60 * 10**9:
        world.cluster.advance(60 * 10**9, stop="event")
        hashes = {pod.labels["pod-template-hash"] for pod in world.store.objects("Pod")}
        assert len(hashes) <= 1
    assert replicas(world) == {"1": 0, "2": 2}


def test_a_rollback_renumbers_the_old_replica_set() -> None:
    world = World(*NODES, make("Deployment", replicas=1))
    world.run(5)
    world.patch(
        "deployment/default/web", spec={"template": {"metadata": {"annotations": {"v": "2"}}}}
    )
    world.run(10)
    world.patch("deployment/default/web", spec={"template": {"metadata": {"annotations": None}}})
    world.run(10)
    assert replicas(world) == {"2": 0, "3": 1}


def test_scaling_during_a_rollout_is_proportional() -> None:
    rolling = {"rollingUpdate": {"maxSurge": 3, "maxUnavailable": 2}}
    world = World(make_node("n1"), make("Deployment", replicas=10, strategy=rolling))
    world.run(5)
    stuck = template("web", nodeSelector={"no": "where"})
    world.patch("deployment/default/web", spec={"template": stuck})
    world.run(5)
    assert replicas(world) == {"1": 8, "2": 5}
    world.patch("deployment/default/web", spec={"replicas": 15})
    world.run(5)
    assert replicas(world) == {"1": 11, "2": 7}


def test_a_stuck_rollout_is_reported_once() -> None:
    stuck = template("web", nodeSelector={"no": "where"})
    deployment = make("Deployment", replicas=1, template=stuck, progressDeadlineSeconds=20)
    world = World(*NODES, deployment)
    world.run(30)
    conditions = world.get("Deployment").status["conditions"]
    progress = next(each for each in conditions if each["type"] == "Progressing")
    assert (progress["status"], progress["reason"]) == ("False", "ProgressDeadlineExceeded")


def test_a_complete_deployment_leaves_nothing_due() -> None:
    world = World(*NODES, make("Deployment", replicas=2))
    world.run(60)
    assert world.cluster.next_at is None


def test_scaling_events_name_the_old_size() -> None:
    for profile, since in (("v1.20", ""), ("v1.34", "from 0 ")):
        world = World(*NODES, make("Deployment", replicas=2), profile=profile)
        world.run(1)
        (said,) = world.said("deployment-controller")
        name = world.store.objects("ReplicaSet")[0].name
        assert said == f"ScalingReplicaSet: Scaled up replica set {name} {since}to 2"


def dumped(**more: Any) -> list[dict[str, Any]]:
    """What kubectl get would show of a Deployment of two pods that has long been up."""
    deployment = make("Deployment", replicas=2)
    deployment["metadata"] |= {
        "uid": "d-uid",
        "generation": 3,
        "annotations": {"deployment.kubernetes.io/revision": "1"},
    }
    deployment["status"] = {
        "observedGeneration": 3,
        "replicas": 2,
        "updatedReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
        "conditions": [
            {"type": "Available", "status": "True", "reason": "MinimumReplicasAvailable"},
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
        ],
    }
    labels = {"pod-template-hash": "79d8c"}
    name = "web-79d8c"
    full = template("web", restartPolicy="Always", dnsPolicy="ClusterFirst", securityContext={})
    full["metadata"] = {"creationTimestamp": None, "labels": {"app": "web", **labels}}
    selector = {"matchLabels": {"app": "web", **labels}}
    replica_set = make("ReplicaSet", replicas=2, template=full, selector=selector)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "d-uid"}
    replica_set["metadata"] |= {
        "name": name,
        "uid": "rs-uid",
        "generation": 1,
        "labels": {"app": "web", **labels},
        "annotations": {
            "deployment.kubernetes.io/revision": "1",
            "deployment.kubernetes.io/desired-replicas": "2",
            "deployment.kubernetes.io/max-replicas": "3",
        },
        "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
    }
    replica_set["status"] = {
        "observedGeneration": 1,
        "replicas": 2,
        "fullyLabeledReplicas": 2,
        "readyReplicas": 2,
        "availableReplicas": 2,
    }
    pods = [make_pod(f"{name}-{n}", "n1", replica_set, labels=labels) for n in ("aaaaa", "bbbbb")]
    return [deployment, replica_set, *pods]


def test_a_settled_deployment_stays_unchanged() -> None:
    world = World(*NODES, *dumped())
    before = len(world.cluster.recorder.pending)
    world.run(120)
    told = [
        event.kind
        for event in world.cluster.recorder.pending[before:]
        if event.component not in ("scheduler", "kubelet")
    ]
    assert told == []


def test_pods_of_an_unknown_replica_set_are_replaced() -> None:
    deployment, _, *pods = dumped()
    world = World(*NODES, deployment, *pods)
    world.run(60)
    assert len(world.names()) == 2
    assert not {pod["metadata"]["name"] for pod in pods} & {*world.names()}


def test_pods_of_unknown_owner_kinds_are_kept() -> None:
    _, _, *pods = dumped()
    world = World(*NODES, *pods)
    world.run(60)
    assert world.names() == [pod["metadata"]["name"] for pod in pods]


def test_a_changed_environment_starts_a_rollout() -> None:
    def with_level(value: str) -> dict[str, Any]:
        env = [{"name": "LEVEL", "value": value}]
        container = {"name": "c", "image": "app:1", "env": env}
        return clean(make("Deployment", replicas=1, template=template(containers=[container])))

    world = World(make_node("n1"), with_level("info"))
    world.run(30)
    world.do("apply", manifest=with_level("info"))
    world.run(30)
    (before,) = world.names()
    world.do("apply", manifest=with_level("debug"))
    world.run(30)
    assert before not in world.names()
    assert len(world.names()) == 1
