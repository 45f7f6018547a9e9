"""Shadow writes: what this run's controllers say of what a client writes in their place."""

from typing import Any

import pytest

from engine.api_server.admission.defaults import with_defaults
from engine.cluster.commands import Command
from engine.cluster.shadow import planned, shadow_writes
from engine.kernel.recorder import Event
from engine.objects.objects import ApiObject
from tests.builders import owner_reference
from tests.engine.controllers.outside_controllers import start_outside
from tests.engine.controllers.workloads.builders import World, make, make_node

Json = dict[str, Any]


def left_to_client(*external: str, objects: tuple[Json, ...] = (), **more: Any) -> World:
    """A world of one node whose *external* controllers a client runs, after a second."""
    world = World(make_node("n1"), *objects, external_controllers=external, **more)
    world.run(1)
    return world


def verdicts(world: World) -> list[tuple[str, str]]:
    """What was written, and the verdict on it."""
    return [(f"{data['verb']} {one.object}", data["verdict"]) for one, data in told(world)]


def told(world: World) -> list[tuple[Event, Json]]:
    pending = world.cluster.untaken
    return [(one, one.data or {}) for one in pending if one.kind == "ShadowWrite"]


def pod_for(owner: ApiObject, name: str, **labels: str) -> Json:
    """The pod that a ReplicaSet controller makes of *owner*'s template."""
    template = owner.spec["template"]
    labels = {**template["metadata"]["labels"], **labels}
    metadata = {
        "name": name,
        "generateName": f"{owner.name}-",
        "namespace": "default",
        "labels": labels,
        "ownerReferences": [owner_reference(owner.raw)],
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": template["spec"]}


def write_status(world: World, kind: str, **status: Any) -> None:
    world.patch(f"{kind.lower()}/default/web", status=status)


def replica_set(replicas: int = 2) -> Json:
    return make("ReplicaSet", replicas=replicas)


def make_pods(world: World, *names: str) -> None:
    for name in names:
        world.do("create", manifest=pod_for(world.get("ReplicaSet"), name))


def test_same_pods_and_status_agree() -> None:
    world = left_to_client("replicaset", objects=(replica_set(),))
    make_pods(world, "web-aaaaa", "web-bbbbb")
    # As kube-controller-manager counts, whose status is of the pods that it found at first.
    write_status(world, "ReplicaSet", replicas=0, observedGeneration=1)
    assert verdicts(world) == [
        ("create pod/default/web-aaaaa", "agrees"),
        ("create pod/default/web-bbbbb", "agrees"),
        ("update replicaset/default/web", "agrees"),
    ]


def test_one_pod_too_many_differs() -> None:
    world = left_to_client("replicaset", objects=(replica_set(1),))
    make_pods(world, "web-aaaaa")
    world.run(5)
    make_pods(world, "web-bbbbb")
    assert [verdict for _, verdict in verdicts(world)] == ["agrees", "differs"]
    event, data = told(world)[1]
    assert data["expected"] == ["update replicaset/default/web"]
    assert event.message == "replicaset would have written: update replicaset/default/web."


def test_difference_names_field_and_values() -> None:
    world = left_to_client("replicaset", objects=(replica_set(1),))
    owner = world.get("ReplicaSet")
    world.do("create", manifest=pod_for(owner, "web-aaaaa", extra="yes"))
    _, data = told(world)[0]
    assert data["verdict"] == "differs"
    assert data["fields"] == [
        {"field": "metadata.labels.extra", "written": "yes", "expected": None}
    ]
    # What was meant by it is written all the same: the status that follows is right.
    write_status(world, "ReplicaSet", replicas=0, observedGeneration=1)
    assert verdicts(world)[1][1] == "agrees"


def test_write_without_the_newest_change_is_stale() -> None:
    world = left_to_client("replicaset", objects=(replica_set(1),))
    world.patch("replicaset/default/web", spec={"replicas": 2})
    world.run(0.5)
    write_status(world, "ReplicaSet", replicas=0, observedGeneration=1)
    _, data = told(world)[0]
    assert (data["verdict"], data["unseen"]) == ("stale", "replicaset/default/web")
    assert data["unseen_ms"] == 500


def test_each_kind_may_be_behind_by_itself() -> None:
    world = left_to_client("replicaset", objects=(replica_set(1),))
    world.patch("replicaset/default/web", spec={"replicas": 2})
    make_pods(world, "web-aaaaa")
    # The client has seen its pod, and not what the set asks for since.
    write_status(world, "ReplicaSet", replicas=1, fullyLabeledReplicas=1, observedGeneration=1)
    *_, (_, data) = told(world)
    assert (data["verdict"], data["unseen"]) == ("stale", "replicaset/default/web")


def test_change_long_ago_makes_nothing_stale() -> None:
    world = left_to_client("replicaset", objects=(replica_set(1),))
    world.patch("replicaset/default/web", spec={"replicas": 2})
    world.run(10)
    write_status(world, "ReplicaSet", replicas=0, observedGeneration=1)
    (_, data), *_ = told(world)
    assert data["verdict"] == "differs"
    assert [each["field"] for each in data["fields"]] == ["status.observedGeneration"]


def test_trials_of_two_seconds_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shadow_writes, "_MOST_TRIED", 1)
    world = left_to_client("replicaset", objects=(replica_set(1),))
    world.patch("replicaset/default/web", spec={"replicas": 2})
    world.run(0.5)
    write_status(world, "ReplicaSet", replicas=7)
    write_status(world, "ReplicaSet", replicas=0, observedGeneration=1)
    world.run(2)
    world.patch("replicaset/default/web", spec={"replicas": 3})
    write_status(world, "ReplicaSet", replicas=0, observedGeneration=2)
    assert [verdict for _, verdict in verdicts(world)] == ["differs", "differs", "stale"]


def test_users_who_delete_pods_get_no_verdict() -> None:
    world = left_to_client("replicaset", objects=(replica_set(1),))
    make_pods(world, "web-aaaaa")
    world.run(1)
    world.do("delete", "pod/default/web-aaaaa")
    world.patch("replicaset/default/web", metadata={"labels": {"team": "a"}})
    assert len(verdicts(world)) == 1


def test_deletion_of_another_pod_differs() -> None:
    world = left_to_client("replicaset", objects=(replica_set(2),))
    make_pods(world, "web-aaaaa", "web-bbbbb")
    world.run(30)
    write_status(
        world,
        "ReplicaSet",
        replicas=2,
        fullyLabeledReplicas=2,
        readyReplicas=2,
        availableReplicas=2,
        observedGeneration=1,
    )
    world.patch("replicaset/default/web", spec={"replicas": 1})
    world.run(5)
    world.do("delete", "pod/default/web-bbbbb")
    assert verdicts(world)[2][1] == "agrees"


def test_deployment_controller_may_name_its_sets_otherwise() -> None:
    world = left_to_client("deployment", objects=(make("Deployment", replicas=2),))
    twin = World(make_node("n1"), make("Deployment", replicas=2))
    twin.run(1)
    (made,) = twin.store.objects("ReplicaSet")
    template, labels = made.spec["template"], {**made.labels, "pod-template-hash": "77"}
    owner = world.get("Deployment")
    manifest: Json = {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": "web-77",
            "namespace": "default",
            "labels": labels,
            "annotations": made.annotations,
            "ownerReferences": [{**owner_reference(owner.raw), "blockOwnerDeletion": True}],
        },
        "spec": {
            "replicas": 2,
            "selector": {"matchLabels": labels},
            "template": {**template, "metadata": {"labels": labels}},
        },
    }
    world.do("create", manifest=manifest)
    assert verdicts(world) == [("create replicaset/default/web-77", "agrees")]


def test_refusal_is_the_same_with_external_controllers() -> None:
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}
    held = replica_set(1)
    held["metadata"] |= {"namespace": "team", "finalizers": ["a.b/c"]}
    unknown = make("ReplicaSet")
    pod: Json = {"apiVersion": "v1", "kind": "Pod", "spec": unknown["spec"]["template"]["spec"]}
    pod["metadata"] = {"name": "p", "namespace": "team"}
    pod["spec"] = {**pod["spec"], "priorityClassName": "unknown"}
    refusals: list[str] = []
    for external in ((), ("replicaset",)):
        world = left_to_client(*external, objects=(namespace, held))
        world.do("delete", "namespace/team")
        refusals.append(world.cluster.apply(Command(verb="create", manifest=pod)).reason)
        assert told(world) == []
    assert refusals[0].startswith("Forbidden: ")
    assert refusals[0].endswith("because it is being terminated")
    assert refusals[1] == refusals[0]


def test_pod_that_fills_its_quota_agrees() -> None:
    quota: Json = {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "q", "namespace": "default"},
        "spec": {"hard": {"pods": "1"}},
    }
    world = left_to_client("replicaset", objects=(replica_set(2), quota))
    make_pods(world, "web-aaaaa")
    late = pod_for(world.get("ReplicaSet"), "web-bbbbb")
    assert "exceeded quota" in world.cluster.apply(Command(verb="create", manifest=late)).reason
    assert verdicts(world) == [("create pod/default/web-aaaaa", "agrees")]


def pods_of_daemon_set(nodes: list[Json], owner: ApiObject) -> list[Json]:
    """The pods that its controller makes of *owner*, in its order, as a client names them."""
    twin = World(*nodes, make("DaemonSet"))
    twin.run(1)
    found: list[Json] = []
    for number, pod in enumerate(twin.pods()):
        made = pod_for(owner, f"web-{number:05}", **pod.labels)
        made["metadata"]["annotations"] = pod.annotations
        made["metadata"]["ownerReferences"][0]["blockOwnerDeletion"] = True
        spec = {name: part for name, part in pod.spec.items() if name != "nodeName"}
        found.append({**made, "spec": spec})
    return found


def test_pods_in_another_order_agree_without_comparing_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    nodes = [make_node(f"n{number}") for number in range(40)]
    world = World(*nodes, make("DaemonSet"), external_controllers=("daemonset",))
    world.run(1)
    read: list[str] = []

    def counted(manifest: Json) -> Json:
        read.append(manifest["kind"])
        return with_defaults(manifest)

    monkeypatch.setattr(planned, "with_defaults", counted)
    pods = pods_of_daemon_set(nodes, world.get("DaemonSet"))
    assert len(pods) == len(nodes)
    for pod in reversed(pods):
        world.do("create", manifest=pod)
    assert [verdict for _, verdict in verdicts(world)] == ["agrees"] * len(nodes)
    # Each pod and what was planned for its node.
    assert len(read) <= 2 * len(nodes)


def test_cluster_without_external_controllers_judges_nothing() -> None:
    world = World(make_node("n1"), replica_set(1))
    world.run(1)
    write_status(world, "ReplicaSet", replicas=7)
    assert told(world) == []


def short_job() -> Json:
    """Two pods at a time, which run for five seconds."""
    made = make("Job", completions=4, parallelism=2)
    made["spec"]["template"]["metadata"]["annotations"] = {"kscope.dev/run-for": "5s"}
    return made


WORKLOADS = {
    "deployment": make("Deployment", replicas=3),
    "replicaset": make("ReplicaSet", replicas=3),
    "statefulset": make("StatefulSet", replicas=3, serviceName="web"),
    "daemonset": make("DaemonSet"),
    "job": short_job(),
}


@pytest.mark.parametrize("profile", ["v1.20", "v1.34", "v1.36"])
@pytest.mark.parametrize("name", list(WORKLOADS))
def test_controllers_of_this_version_agree_from_outside(name: str, profile: str) -> None:
    names = ("deployment", "replicaset") if name == "deployment" else (name,)
    nodes = [make_node(f"n{number}") for number in range(3)]
    world = World(*nodes, WORKLOADS[name], external_controllers=names, profile=profile)
    start_outside(world.cluster, *names)
    world.run(60)
    kind, key = WORKLOADS[name]["kind"], "default/web"
    if name not in ("job", "daemonset"):
        world.patch(f"{kind.lower()}/{key}", spec={"replicas": 1})
    world.run(60)
    found = verdicts(world)
    assert len(found) > 4
    assert [each for each in found if each[1] == "differs"] == []
    assert [each[1] for each in found].count("agrees") > len(found) // 2
