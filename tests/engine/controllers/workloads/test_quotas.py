"""Quotas and limits in a run: what is refused, what controllers do about it, what is counted."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.kernel.units import MINUTE
from tests.engine.controllers.workloads.builders import Json, World, make, make_node

_REQUESTS = {"requests": {"cpu": "1", "memory": "1Gi"}}


def _quota(hard: Json, name: str = "team", **spec: Any) -> Json:
    metadata = {"name": name, "namespace": "default"}
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": metadata,
        "spec": {"hard": hard, **spec},
    }


def _limit_range(**item: Any) -> Json:
    metadata = {"name": "bounds", "namespace": "default"}
    limits = [{"type": "Container", **item}]
    return {
        "apiVersion": "v1",
        "kind": "LimitRange",
        "metadata": metadata,
        "spec": {"limits": limits},
    }


def _containers(**resources: Any) -> list[Json]:
    return [{"name": "c", "image": "app:1", "resources": resources or _REQUESTS}]


def _template(name: str = "web", **resources: Any) -> Json:
    spec = {"containers": _containers(**resources)}
    return {"metadata": {"labels": {"app": name}}, "spec": spec}


def _used(world: World, name: str = "team") -> Json:
    return world.get("ResourceQuota", name).status["used"]


def _condition(world: World, kind: str, wanted: str) -> Json:
    conditions = world.get(kind, world.store.objects(kind)[0].name).status.get("conditions") or []
    return next((each for each in conditions if each["type"] == wanted), {})


def test_replica_set_stops_at_the_quota() -> None:
    world = World(
        make_node("a"), _quota({"pods": "2"}), make("ReplicaSet", replicas=3, template=_template())
    )
    world.run(1)
    assert len(world.pods()) == 2
    refusal = "is forbidden: exceeded quota: team, requested: pods=1, used: pods=2, limited: pods=2"
    failed = [each for each in world.said() if each.startswith("FailedCreate")]
    assert failed[0].startswith('FailedCreate: Error creating: pods "web-')
    assert failed[0].endswith(refusal)
    condition = _condition(world, "ReplicaSet", "ReplicaFailure")
    assert (condition["status"], condition["reason"]) == ("True", "FailedCreate")
    assert condition["message"].endswith(refusal)


def test_creation_is_tried_again_after_growing_delays() -> None:
    replica_set = make("ReplicaSet", replicas=1, template=_template())
    world = World(make_node("a"), _quota({"pods": "0"}), replica_set)
    world.run(1)
    tried = world.facts("FailedCreate")
    delays = [later - earlier for earlier, later in zip(tried, tried[1:], strict=False)]
    assert delays[:6] == pytest.approx([0.005, 0.01, 0.02, 0.04, 0.08, 0.16])


def test_raised_quota_lets_the_pod_be_created() -> None:
    replica_set = make("ReplicaSet", replicas=2, template=_template())
    world = World(make_node("a"), _quota({"limits.cpu": "1"}), replica_set)
    world.run(1)
    assert world.pods() == []
    world.patch(
        "replicaset/default/web", spec={"template": _template(limits={"cpu": "1", "memory": "1Gi"})}
    )
    world.run(60)
    assert len(world.pods()) == 1
    world.patch("resourcequota/default/team", spec={"hard": {"limits.cpu": "2"}})
    world.run(120)
    assert len(world.pods()) == 2
    assert _used(world) == {"limits.cpu": "2"}
    assert not _condition(world, "ReplicaSet", "ReplicaFailure")


def test_deployment_shows_the_failure_of_its_replica_set() -> None:
    world = World(
        make_node("a"), _quota({"pods": "1"}), make("Deployment", replicas=2, template=_template())
    )
    world.run(5)
    shown = _condition(world, "Deployment", "ReplicaFailure")
    own = _condition(world, "ReplicaSet", "ReplicaFailure")
    assert shown["reason"] == "FailedCreate"
    assert shown["message"] == own["message"]
    assert shown["lastUpdateTime"] == own["lastTransitionTime"]
    world.patch("resourcequota/default/team", spec={"hard": {"pods": "2"}})
    world.run(60)
    assert not _condition(world, "Deployment", "ReplicaFailure")


def test_replica_set_that_is_refused_is_reported() -> None:
    world = World(
        make_node("a"),
        _quota({"count/replicasets.apps": "0"}),
        make("Deployment", replicas=1, template=_template()),
    )
    world.run(1)
    (said, *_) = [each for each in world.said() if each.startswith("ReplicaSetCreateError")]
    assert 'Failed to create new replica set "web-' in said
    assert "exceeded quota: team, requested: count/replicasets.apps=1" in said
    condition = _condition(world, "Deployment", "Progressing")
    assert (condition["status"], condition["reason"]) == ("False", "ReplicaSetCreateError")


def test_stateful_set_reports_the_refused_pod() -> None:
    world = World(
        make_node("a"), _quota({"pods": "0"}), make("StatefulSet", replicas=1, template=_template())
    )
    world.run(1)
    assert (
        'FailedCreate: create Pod web-0 in StatefulSet web failed error: pods "web-0" is forbidden: '
        "exceeded quota: team, requested: pods=1, used: pods=0, limited: pods=0"
    ) in world.said()


def test_stateful_set_reports_the_refused_claim() -> None:
    claim = {
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "2Gi"}}},
    }
    stateful_set = make("StatefulSet", template=_template(), volumeClaimTemplates=[claim])
    world = World(make_node("a"), _quota({"requests.storage": "1Gi"}), stateful_set)
    world.run(1)
    assert (
        "FailedCreate: create Claim data-web-0 Pod web-0 in StatefulSet web failed error: "
        'persistentvolumeclaims "data-web-0" is forbidden: exceeded quota: team, requested: '
        "requests.storage=2Gi, used: requests.storage=0, limited: requests.storage=1Gi"
    ) in world.said()


def test_daemon_set_tries_no_nodes_after_a_refusal() -> None:
    nodes = [make_node(f"n{place}") for place in range(8)]
    world = World(*nodes, _quota({"pods": "1"}), make("DaemonSet", template=_template()))
    world.run(0.001)
    # One pod, then two, of which the quota allows none.
    assert len(world.pods()) == 1
    assert len(world.facts("FailedCreate")) == 2
    world.run(1)
    assert world.get("DaemonSet").status["desiredNumberScheduled"] == 8


def test_job_reports_the_refusal_and_its_status() -> None:
    world = World(make_node("a"), _quota({"pods": "1"}), make("Job", parallelism=4, completions=4))
    world.run(0.001)
    job = world.get("Job")
    assert job.status["active"] == 1
    assert job.status["startTime"]
    # One pod, then two at once, of which the quota allows none.
    assert len(world.facts("FailedCreate")) == 2


def test_ephemeral_volume_reports_the_refused_claim() -> None:
    claim = {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    }
    volume = {"name": "scratch", "ephemeral": {"volumeClaimTemplate": claim}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": _containers(), "volumes": [volume]},
    }
    world = World(make_node("a"), _quota({"persistentvolumeclaims": "0"}), pod)
    world.run(1)
    assert (
        "FailedBinding: ephemeral volume scratch: create PVC p-scratch: persistentvolumeclaims "
        '"p-scratch" is forbidden: exceeded quota: team, requested: persistentvolumeclaims=1, '
        "used: persistentvolumeclaims=0, limited: persistentvolumeclaims=0"
    ) in world.said()


def test_pods_that_finish_leave_their_quota() -> None:
    world = World(
        make_node("a"), _quota({"pods": "5", "count/pods": "9"}), make("ReplicaSet", replicas=2)
    )
    world.run(5)
    assert _used(world) == {"count/pods": "2", "pods": "2"}
    world.do("delete", "replicaset/default/web")
    world.run(60)
    assert _used(world) == {"count/pods": "0", "pods": "0"}


def test_new_quota_counts_what_is_there() -> None:
    world = World(make_node("a"), make("ReplicaSet", replicas=2, template=_template()))
    world.run(5)
    world.do("create", manifest=_quota({"requests.cpu": "8", "count/replicasets.apps": "3"}))
    assert "status" not in world.get("ResourceQuota", "team").raw
    world.run(1)
    status = world.get("ResourceQuota", "team").status
    assert status["hard"] == {"count/replicasets.apps": "3", "requests.cpu": "8"}
    assert status["used"] == {"count/replicasets.apps": "1", "requests.cpu": "2"}


def test_first_quota_has_counted_the_first_objects() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": _containers()},
    }
    world = World(make_node("a"), _quota({"pods": "1"}), pod)
    assert _used(world) == {"pods": "1"}
    outcome = world.cluster.apply(
        Command(verb="create", manifest={**pod, "metadata": {"name": "q", "namespace": "default"}})
    )
    assert outcome.reason == (
        'Forbidden: pods "q" is forbidden: exceeded quota: team, requested: pods=1, used: pods=1, '
        "limited: pods=1"
    )


def test_resync_finds_what_was_charged_in_vain() -> None:
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": _containers()},
    }
    world = World(make_node("a"), _quota({"pods": "5"}), pod)
    world.run(1)
    # The name is taken, which the API server sees after admission.
    assert not world.cluster.apply(Command(verb="create", manifest=pod)).applied
    assert _used(world) == {"pods": "2"}
    world.cluster.advance(6 * MINUTE)
    assert _used(world) == {"pods": "1"}


def test_quota_controller_counts_again_after_a_restart() -> None:
    world = World(make_node("a"), _quota({"pods": "5"}), make("ReplicaSet", replicas=2))
    world.run(5)
    world.cluster.workloads.restart(["resourcequota-controller"])
    world.patch("replicaset/default/web", spec={"replicas": 1})
    world.run(60)
    assert _used(world) == {"pods": "1"}


def test_service_that_changes_its_type_is_counted_again() -> None:
    service = {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "default"},
        "spec": {"type": "LoadBalancer", "ports": [{"port": 80}, {"port": 443}]},
    }
    hard = {"services": "2", "services.loadbalancers": "1", "services.nodeports": "2"}
    world = World(make_node("a"), _quota(hard), service)
    world.run(1)
    assert _used(world) == {
        "services": "1",
        "services.loadbalancers": "1",
        "services.nodeports": "2",
    }
    world.patch("service/default/web", spec={"type": "ClusterIP"})
    world.run(1)
    assert _used(world)["services.loadbalancers"] == "0"


def test_grown_claim_is_held_to_the_quota() -> None:
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "fast",
            "volumeName": "pv",
            "resources": {"requests": {"storage": "1Gi"}},
        },
        "status": {"phase": "Bound"},
    }
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "fast"},
        "provisioner": "example.com/disk",
        "allowVolumeExpansion": True,
    }
    name = "fast.storageclass.storage.k8s.io/requests.storage"
    world = World(storage_class, claim, _quota({name: "3Gi"}))
    patch = {"spec": {"resources": {"requests": {"storage": "4Gi"}}}}
    refused = world.cluster.apply(
        Command(verb="patch", object="claim/default/data", patch=patch)
    ).reason
    assert refused.endswith(f"requested: {name}=3Gi, used: {name}=1Gi, limited: {name}=3Gi")


def test_limit_range_gives_pods_their_requests() -> None:
    bounds = _limit_range(default={"cpu": "2"}, defaultRequest={"cpu": "500m", "memory": "1Gi"})
    world = World(make_node("a"), bounds, make("ReplicaSet", replicas=1))
    world.run(1)
    (pod,) = world.pods()
    assert pod.spec["containers"][0]["resources"] == {
        "limits": {"cpu": "2"},
        "requests": {"cpu": "500m", "memory": "1Gi"},
    }
    assert pod.annotations["kubernetes.io/limit-ranger"] == (
        "LimitRanger plugin set: cpu, memory request for container c; cpu limit for container c"
    )


def test_limit_range_refuses_pods_out_of_bounds() -> None:
    world = World(make_node("a"), _limit_range(max={"cpu": "1"}))
    resources = {"limits": {"cpu": "2"}}
    pod = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": {"containers": _containers(**resources)},
    }
    outcome = world.cluster.apply(Command(verb="create", manifest=pod))
    wrong = "maximum cpu usage per Container is 1, but limit is 2"
    assert outcome.reason == f'Forbidden: pods "p" is forbidden: {wrong}'


def test_pod_refused_by_limit_ranges_is_not_charged() -> None:
    world = World(make_node("a"), _limit_range(max={"cpu": "1"}), _quota({"pods": "5"}))
    deployment = make("ReplicaSet", template=_template(limits={"cpu": "2"}))
    world.do("create", manifest=deployment)
    world.run(1)
    assert _used(world) == {"pods": "0"}
    assert world.facts("FailedCreate")


@pytest.mark.parametrize("profile", ["v1.11", "v1.16", "v1.20", "v1.34"])
def test_every_version_holds_pods_to_quotas(profile: str) -> None:
    world = World(
        make_node("a"),
        _quota({"requests.cpu": "2"}),
        make("ReplicaSet", replicas=3, template=_template()),
        profile=profile,
    )
    world.run(2)
    assert len(world.pods()) == 2
    assert _used(world) == {"requests.cpu": "2"}


def test_rolling_update_waits_for_the_quota() -> None:
    """Six pods use all that the quota allows, and the surge pod of a rollout needs more."""
    resources = {"requests": {"cpu": "10m"}, "limits": {"cpu": "1", "memory": "2Gi"}}
    strategy = {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    quota = _quota({"limits.cpu": "6", "limits.memory": "12Gi"}, "namespace-quota")
    world = World(
        make_node("a"),
        quota,
        make(
            "Deployment",
            "manager",
            replicas=3,
            strategy=strategy,
            template=_template("manager", **resources),
        ),
        make("Deployment", "api", replicas=3, template=_template("api", **resources)),
    )
    world.run(30)
    assert _used(world, "namespace-quota") == {"limits.cpu": "6", "limits.memory": "12Gi"}
    newer = _template("manager", **resources)
    newer["spec"]["containers"][0]["image"] = "app:2"
    world.patch("deployment/default/manager", spec={"template": newer})
    world.run(30)
    refusals = [each for each in world.said("replicaset-controller") if "FailedCreate" in each]
    assert refusals[-1].endswith(
        "is forbidden: exceeded quota: namespace-quota, requested: limits.cpu=1,limits.memory=2Gi, "
        "used: limits.cpu=6,limits.memory=12Gi, limited: limits.cpu=6,limits.memory=12Gi"
    )
    assert len(world.pods()) == 6
    hard = {"limits.cpu": "8", "limits.memory": "16Gi"}
    world.patch("resourcequota/default/namespace-quota", spec={"hard": hard}, status={"hard": hard})
    world.run(120)
    images = [pod.spec["containers"][0]["image"] for pod in world.pods()]
    assert images.count("app:2") == 3
    assert _used(world, "namespace-quota") == {"limits.cpu": "6", "limits.memory": "12Gi"}


def test_restored_run_counts_quotas_alike() -> None:
    world = World(make_node("a"), _quota({"pods": "2", "cpu": "9"}), make("ReplicaSet", replicas=3))
    world.patch("replicaset/default/web", spec={"template": _template()})
    world.run(5)
    world.cluster.take()
    restored = Cluster.restore(world.cluster.checkpoint())
    doomed = world.names()[0]
    for cluster in (world.cluster, restored):
        cluster.apply(Command(verb="delete", object=f"pod/default/{doomed}"))
        cluster.advance(10 * MINUTE)
    assert restored.digest() == world.cluster.digest()
    assert _used(world) == {"cpu": "2", "pods": "2"}


def _map(name: str, kind: str = "ConfigMap") -> Json:
    metadata = {"name": name, "namespace": "default"}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret", "ServiceAccount"])
def test_what_commands_store_counts_beside_the_files(kind: str) -> None:
    name = f"count/{kind.lower()}s"
    known = {"hard": {name: "5"}, "used": {name: "3"}}
    world = World(make_node("a"), {**_quota({name: "5"}), "status": known})
    world.run(1)
    for each in "ab":
        world.do("create", manifest=_map(each, kind))
    world.run(1)
    assert _used(world) == {name: "5"}
    refused = world.cluster.apply(
        Command.from_dict({"verb": "create", "manifest": _map("c", kind)})
    )
    assert f"exceeded quota: team, requested: {name}=1, used: {name}=5" in refused.reason
    world.do("delete", f"{kind.lower()}/default/a")
    world.run(1)
    assert _used(world) == {name: "4"}


def test_a_new_quota_counts_maps_of_before() -> None:
    world = World(make_node("a"))
    world.run(1)
    world.do("create", manifest=_map("a"))
    world.do("create", manifest=_quota({"configmaps": "2", "count/serviceaccounts": "2"}))
    world.run(1)
    # With kube-root-ca.crt and the account "default", which controllers have made.
    assert _used(world) == {"configmaps": "2", "count/serviceaccounts": "1"}
    refused = world.cluster.apply(Command.from_dict({"verb": "create", "manifest": _map("b")}))
    assert "requested: configmaps=1, used: configmaps=2" in refused.reason
