"""ReplicaSets, StatefulSets, DaemonSets and Jobs."""

from copy import deepcopy

import pytest

from engine.api_server.admission.defaults import with_defaults
from tests.engine.controllers.workloads.builders import World, make, make_node, make_pod, template

NODES = (make_node("n1"), make_node("n2"))


# ReplicaSets


def test_a_replica_set_adopts_orphans_first() -> None:
    world = World(*NODES, make_pod("stray", "n1"), make("ReplicaSet", replicas=2))
    world.run(2)
    assert len(world.names()) == 2
    stray = world.get("Pod", "stray")
    assert [ref["name"] for ref in stray.owner_references] == ["web"]


def test_a_relabeled_pod_is_released_and_replaced() -> None:
    world = World(*NODES, make("ReplicaSet", replicas=1))
    world.run(2)
    (first,) = world.names()
    world.patch(f"pod/default/{first}", metadata={"labels": {"app": "debug"}})
    world.run(2)
    assert len(world.names()) == 2
    assert world.get("Pod", first).owner_references == []


def test_scaling_down_removes_unscheduled_then_young_pods() -> None:
    replica_set = make("ReplicaSet", replicas=2)
    replica_set["metadata"]["uid"] = "rs"
    old, new = "2025-12-01T00:00:00Z", "2025-12-31T23:59:50Z"
    pods = [
        make_pod("waiting", "", replica_set, creationTimestamp=old),
        make_pod("young", "n1", replica_set, creationTimestamp=new),
        make_pod("old", "n2", replica_set, creationTimestamp=old),
        make_pod("older", "n1", replica_set, creationTimestamp="2025-01-01T00:00:00Z"),
    ]
    pods[0]["spec"]["nodeSelector"] = {"no": "where"}
    world = World(*NODES, replica_set, *pods)
    world.run(2)
    assert world.names() == ["old", "older"]


def test_pod_that_costs_less_to_delete_goes_first() -> None:
    replica_set = make("ReplicaSet", replicas=1)
    replica_set["metadata"]["uid"] = "rs"
    cost = "controller.kubernetes.io/pod-deletion-cost"
    pods = [
        make_pod("dear", "n1", replica_set, annotations={cost: "100"}),
        make_pod("cheap", "n2", replica_set, annotations={cost: "-5"}),
    ]
    world = World(*NODES, replica_set, *pods)
    world.run(2)
    assert world.names() == ["dear"]


def test_a_refused_pod_emits_one_event_per_attempt() -> None:
    missing = template("web", priorityClassName="vip")
    world = World(*NODES, make("ReplicaSet", replicas=5, template=missing))
    world.run(0.1)
    said = world.said("replicaset-controller")
    assert set(said) == {
        'FailedCreate: Error creating: pods "web-" is forbidden: no PriorityClass with name vip was '
        "found"
    }
    made = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
    world.do("create", manifest={**made, "metadata": {"name": "vip"}, "value": 7})
    world.run(60)
    assert [pod.priority for pod in world.pods()] == [7] * 5


# StatefulSets


def test_a_loaded_stateful_set_keeps_its_pods() -> None:
    owner = make("StatefulSet", replicas=1, serviceName="web")
    owner["metadata"] |= {"uid": "sts", "generation": 3}
    owner["status"] = {"updateRevision": "web-5d4f", "observedGeneration": 3}
    label = {"controller-revision-hash": "web-5d4f"}
    world = World(*NODES, owner, make_pod("web-0", "n1", owner, labels=label, uid="pod"))
    world.run(60)
    assert world.get("Pod", "web-0").uid == "pod"


def test_stateful_sets_scale_by_ordinal() -> None:
    world = World(*NODES, make("StatefulSet", replicas=3, serviceName="web"))
    world.run(10)
    assert world.names() == ["web-0", "web-1", "web-2"]
    started = world.facts("PodRunning")
    assert world.facts("PodCreated")[1] > started[0]
    world.patch("statefulset/default/web", spec={"replicas": 1})
    world.run(10)
    ended = [
        event.object for event in world.cluster.recorder.pending if event.kind == "PodTerminating"
    ]
    assert ended == ["pod/default/web-2", "pod/default/web-1"]


def test_parallel_stateful_set_makes_all_pods_at_once() -> None:
    world = World(*NODES, make("StatefulSet", replicas=3, podManagementPolicy="Parallel"))
    world.run(10)
    assert len({*world.facts("PodCreated")}) == 1
    assert world.names() == ["web-0", "web-1", "web-2"]


def test_a_rolling_update_stops_at_the_partition() -> None:
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"partition": 1}}
    world = World(*NODES, make("StatefulSet", replicas=3, updateStrategy=strategy))
    world.run(10)
    changed = {"template": {"metadata": {"annotations": {"v": "2"}}}}
    world.patch("statefulset/default/web", spec=changed)
    world.run(30)
    marked = {pod.name: "v" in pod.annotations for pod in world.pods()}
    assert marked == {"web-0": False, "web-1": True, "web-2": True}
    status = world.get("StatefulSet").status
    assert status["currentRevision"] != status["updateRevision"]
    world.patch(
        "statefulset/default/web", spec={"updateStrategy": {"rollingUpdate": {"partition": 0}}}
    )
    world.run(30)
    assert all("v" in pod.annotations for pod in world.pods())
    status = world.get("StatefulSet").status
    assert status["currentRevision"] == status["updateRevision"]


def test_a_replaced_ordinal_keeps_its_name_and_claim() -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": "1Gi"}},
            "storageClassName": "",
        },
    }
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv"},
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "hostPath": {"path": "/data"},
        },
    }
    world = World(*NODES, volume, make("StatefulSet", replicas=1, volumeClaimTemplates=[claim]))
    world.run(60)
    first = world.get("Pod", "web-0")
    assert first.spec["volumes"][0]["persistentVolumeClaim"] == {"claimName": "data-web-0"}
    world.do("delete", "pod/default/web-0")
    world.run(60)
    again = world.get("Pod", "web-0")
    assert again.uid != first.uid
    claims = world.store.objects("PersistentVolumeClaim")
    assert [each.name for each in claims] == ["data-web-0"]
    assert claims[0].owner_references == []


def test_a_stateful_sets_claim_precedes_its_pod() -> None:
    wanted = {"metadata": {"name": "data"}, "spec": {"storageClassName": "late"}}
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "late"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    world = World(
        *NODES, storage_class, make("StatefulSet", replicas=1, volumeClaimTemplates=[wanted])
    )
    world.run(1)
    (claimed,), (created,) = world.facts("ClaimCreated"), world.facts("PodCreated")
    assert created - claimed == pytest.approx(0.002)
    assert world.said("pv-controller") == [
        "WaitForFirstConsumer: waiting for first consumer to be created before binding"
    ]


@pytest.mark.parametrize(("profile", "claims"), [("v1.34", ["data-web-0"]), ("v1.20", [])])
def test_since_1_34_pending_pods_get_missing_claims(profile: str, claims: list[str]) -> None:
    """Upstream: kubernetes#113270, stateful_set_control.go processReplica()."""
    wanted = {"metadata": {"name": "data"}, "spec": {"storageClassName": "none"}}
    world = World(
        *NODES, make("StatefulSet", replicas=1, volumeClaimTemplates=[wanted]), profile=profile
    )
    world.run(5)
    world.do("delete", "claim/default/data-web-0")
    world.run(5)
    # The deletion of a claim alone wakes no StatefulSet.
    world.patch("pod/default/web-0", metadata={"labels": {"woken": "yes"}})
    world.run(5)
    found = world.store.objects("PersistentVolumeClaim")
    assert [each.name for each in found if not each.deletion_timestamp] == claims


# DaemonSets


def test_a_daemon_set_labels_pods_by_revision() -> None:
    world = World(*NODES, make("DaemonSet"))
    world.run(5)
    world.patch("daemonset/default/web", spec={"updateStrategy": {"type": "OnDelete"}})
    changed = {"template": {"metadata": {"annotations": {"v": "2"}}}}
    world.patch("daemonset/default/web", spec=changed)
    world.do("delete", f"pod/default/{world.names()[0]}")
    world.run(10)
    counted = world.get("DaemonSet").annotations["deprecated.daemonset.template.generation"]
    assert counted == "2"
    marks = [pod.labels["pod-template-generation"] for pod in world.pods()]
    assert sorted(marks) == ["1", "2"]
    revisions = world.store.objects("ControllerRevision")
    told = [each.annotations["deprecated.daemonset.template.generation"] for each in revisions]
    assert told == ["1", "2"]


def test_daemons_run_on_cordoned_but_not_tainted_nodes() -> None:
    tainted = make_node("n3")
    tainted["spec"]["taints"] = [{"key": "dedicated", "effect": "NoSchedule"}]
    world = World(*NODES, tainted, make("DaemonSet"))
    world.run(3)
    assert sorted(pod.node_name for pod in world.pods()) == ["n1", "n2"]
    world.do("cordon", "node/n1")
    world.run(3)
    assert sorted(pod.node_name for pod in world.pods()) == ["n1", "n2"]
    world.patch("node/n3", spec={"taints": None})
    world.run(3)
    assert sorted(pod.node_name for pod in world.pods()) == ["n1", "n2", "n3"]


def test_a_daemon_leaves_a_node_after_relabeling() -> None:
    selected = template("web", nodeSelector={"role": "edge"})
    nodes = make_node("n1", role="edge"), make_node("n2")
    world = World(*nodes, make("DaemonSet", template=selected))
    world.run(3)
    assert [pod.node_name for pod in world.pods()] == ["n1"]
    world.patch("node/n1", metadata={"labels": {"role": None}})
    world.patch("node/n2", metadata={"labels": {"role": "edge"}})
    world.run(5)
    assert [pod.node_name for pod in world.pods()] == ["n2"]


def test_daemons_update_replaces_one_pod_at_a_time() -> None:
    world = World(*NODES, make_node("n3"), make("DaemonSet"))
    world.run(3)
    changed = {"template": {"metadata": {"annotations": {"v": "2"}}}}
    world.patch("daemonset/default/web", spec=changed)
    fewest = 3
    while world.cluster.next_at is not None and world.cluster.now < 60 * 10**9:
        world.cluster.advance(60 * 10**9, stop="event")
        ready = sum(pod.phase == "Running" for pod in world.pods())
        fewest = min(fewest, ready)
    assert fewest == 2
    assert [pod.annotations for pod in world.pods()] == [{"v": "2"}] * 3


# Jobs


def running_for(seconds: int, code: int = 0) -> dict[str, str]:
    return {"kscope.dev/run-for": f"{seconds}s", "kscope.dev/exit-code": str(code)}


def test_a_job_limits_its_parallel_pods() -> None:
    made = make("Job", completions=5, parallelism=2)
    made["spec"]["template"]["metadata"]["annotations"] = running_for(2)
    world = World(*NODES, made)
    most = 0
    while world.cluster.next_at is not None and world.cluster.now < 60 * 10**9:
        world.cluster.advance(60 * 10**9, stop="event")
        most = max(most, sum(not pod.is_terminated for pod in world.pods()))
    assert most == 2
    status = world.get("Job").status
    assert status["succeeded"] == 5
    assert [each["type"] for each in status["conditions"]] == ["Complete"]
    assert world.said("job-controller")[-1] == "Completed: Job completed"


def test_a_failing_job_backs_off_and_gives_up() -> None:
    made = make("Job", backoffLimit=2)
    made["spec"]["template"]["metadata"]["annotations"] = running_for(1, code=1)
    world = World(*NODES, made)
    world.run(120)
    created = world.facts("PodCreated")
    waits = [round(b - a) for a, b in zip(created, created[1:], strict=False)]
    assert waits == [12, 22]
    (condition,) = world.get("Job").status["conditions"]
    assert condition["type"] == "Failed"
    assert condition["reason"] == "BackoffLimitExceeded"
    assert condition["message"] == "Job has reached the specified backoff limit"


def test_until_v1_20_the_first_job_retry_is_immediate() -> None:
    made = make("Job", backoffLimit=3)
    made["spec"]["template"]["metadata"]["annotations"] = running_for(3, code=1)
    world = World(*NODES, made, profile="v1.20")
    world.run(300)
    created = world.facts("PodCreated")
    waits = [round(b - a, 1) for a, b in zip(created, created[1:], strict=False)]
    # The first after its 3.8 s, the others at looks 10 s and 20 s apart.
    assert waits == [3.8, 10, 20]
    assert world.get("Job").status["failed"] == 4
    # Its last failure was seen at the look after that, 40 s later.
    assert world.facts("BackoffLimitExceeded") == [pytest.approx(created[-1] + 40, abs=0.1)]


def test_a_job_past_its_deadline_fails() -> None:
    world = World(*NODES, make("Job", activeDeadlineSeconds=5))
    world.run(60)
    assert world.names() == []
    (condition,) = world.get("Job").status["conditions"]
    assert condition["reason"] == "DeadlineExceeded"


@pytest.mark.parametrize("kind", ["StatefulSet", "DaemonSet", "Deployment"])
def test_a_template_written_back_is_the_old_one(kind: str) -> None:
    # test/e2e/apps/statefulset.go, rollbackTest(): a client puts what it was shown, with defaults.
    made = make(kind, replicas=2) if kind != "DaemonSet" else make(kind)
    probe = {"httpGet": {"path": "/", "port": 80}}
    first = made["spec"]["template"]["spec"]["containers"][0]
    first["readinessProbe"] = probe
    world = World(make_node("n1"), make_node("n2"), made, profile="v1.36")
    world.run(60)
    id = f"{kind.lower()}/default/web"

    def put(image: str) -> None:
        shown = deepcopy(with_defaults(world.get(kind).raw)["spec"]["template"])
        shown["spec"]["containers"][0]["image"] = image
        world.patch(id, spec={"template": shown})
        world.run(200)

    old = first["image"]
    put("other:2")
    put(old)
    kept = "ReplicaSet" if kind == "Deployment" else "ControllerRevision"
    assert len(world.store.objects(kept)) == 2
    assert [pod.spec["containers"][0]["image"] for pod in world.pods()] == [old, old]
