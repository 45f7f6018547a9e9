"""What a user asks of a live run is checked as a file is, and refused with the field in question."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.kernel.errors import Invalid
from engine.kernel.units import SECOND
from engine.objects.objects import Pod
from tests.builders import node, node_of, played, pod, scene


def _refusal(cluster: Cluster, **parts: Any) -> str:
    """Why the command is refused; "" when it is carried out."""
    return cluster.apply(Command.from_dict(parts)).reason


@pytest.mark.parametrize("verb", ["create", "apply", "replace"])
def test_faulty_manifest_is_refused_at_its_field(verb: str) -> None:
    cluster = played(Cluster.create(scene(node("n"))))
    broken = pod("web", nodeSelector="zone")
    assert _refusal(cluster, verb=verb, manifest=broken) == (
        'Invalid: Pod "web" is invalid: spec.nodeSelector: Invalid value: expected a '
        'mapping, found "zone"'
    )
    assert cluster.store.find("Pod", "default/web") is None
    assert _refusal(cluster, verb=verb, manifest=pod("web")) == ""
    assert node_of(played(cluster), "web") == "n"


@pytest.mark.parametrize("verb", ["create", "apply", "replace"])
def test_copy_of_an_exported_object_gets_another_uid(verb: str) -> None:
    cluster = played(Cluster.create(scene(node("n"), pod("web"))))
    exported = cluster.store.get("Pod", "default/web").raw
    copy = {**pod("copy"), "metadata": {**exported["metadata"], "name": "copy"}}
    assert _refusal(cluster, verb=verb, manifest=copy) == ""
    made = cluster.store.get("Pod", "default/copy")
    assert made.uid not in ("", exported["metadata"]["uid"])
    assert node_of(played(cluster), "copy") == "n"


def test_patch_is_refused_for_its_resulting_object() -> None:
    cluster = played(Cluster.create(scene(node("n"))))
    patch = {"spec": {"taints": [{"key": "a", "effect": "Sometimes"}]}}
    refusal = _refusal(cluster, verb="patch", object="node/n", patch=patch)
    field = 'Invalid: Node "n" is invalid: spec.taints[0].effect: '
    assert refusal.startswith(f'{field}Unsupported value: "Sometimes": supported values: ')
    assert cluster.store.get("Node", "n").spec.get("taints") is None


@pytest.mark.parametrize(
    "patch", [{"metadata": None}, {"kind": None}, {"kind": "Node"}, {"apiVersion": 1}, {"spec": 5}]
)
def test_patch_cannot_take_away_what_every_object_has(patch: dict[str, Any]) -> None:
    cluster = played(Cluster.create(scene(node("n"), pod("web"))))
    assert _refusal(cluster, verb="patch", object="pod/default/web", patch=patch)
    assert node_of(played(cluster), "web") == "n"


def test_a_deletion_goes_on_whatever_a_patch_says() -> None:
    held = {**pod("web"), "metadata": {"name": "web", "finalizers": ["a.b/c"]}}
    cluster = played(Cluster.create(scene(node("n"), held)))
    name = "pod/default/web"
    begun = {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}}
    refusal = _refusal(cluster, verb="patch", object=name, patch=begun)
    assert "metadata.deletionTimestamp: Invalid value" in refusal
    assert _refusal(cluster, verb="delete", object=name, grace_seconds=0) == ""
    undone: dict[str, Any] = {"metadata": {"deletionTimestamp": None}}
    assert _refusal(cluster, verb="patch", object=name, patch=undone) == ""
    assert cluster.store.get("Pod", "default/web").deletion_timestamp
    more = {"metadata": {"finalizers": ["a.b/c", "d.e/f"]}}
    refusal = _refusal(cluster, verb="patch", object=name, patch=more)
    assert "metadata.finalizers: Forbidden: no new finalizers can be added" in refusal


def test_null_inside_a_patched_list_is_no_field() -> None:
    cluster = played(Cluster.create(scene(node("n"))))
    taint = {"key": "a", "value": None, "effect": "NoSchedule"}
    patch = {"spec": {"taints": [taint], "unschedulable": None}}
    assert _refusal(cluster, verb="patch", object="node/n", patch=patch) == ""
    found = cluster.store.get("Node", "n").spec["taints"]
    assert {"key": "a", "effect": "NoSchedule"} in found


def test_faulty_step_is_refused_and_the_run_continues() -> None:
    """A patch cannot be checked before there is something to be patched."""
    bad = {"object": "node/n", "patch": {"status": {"allocatable": {"cpu": "lots"}}}}
    steps = [(1, "patch", bad), (2, "create", {"manifest": pod("web")})]
    cluster = played(Cluster.create(scene(node("n"), steps=steps)))
    (refused,) = [event for event in cluster.take().events if event.kind == "CommandRejected"]
    assert "status.allocatable.cpu" in refused.message
    assert node_of(cluster, "web") == "n"


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"verb": "create", "manifest": "kind: Pod"}, "manifest: expected a mapping, found"),
        ({"verb": ["create"]}, "verb: expected a text, found a list"),
        ({"verb": "patch", "object": "node/n", "patch": []}, "patch: expected a mapping, found"),
        ({"verb": "delete", "object": {"kind": "Pod"}}, "object: expected a text, found a mapping"),
        ({"verb": "delete", "object": "pod/a/b", "grace_seconds": True}, "expected an integer"),
        ({"verb": "delete", "object": "pod/a/b", "grace_seconds": -1}, "-1 is less than 0"),
    ],
)
def test_command_with_parts_of_wrong_kinds_is_refused(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid, match=said):
        Command.from_dict(parts)


@pytest.mark.parametrize("grace", [2**40, 2**63 - 1, -1])
def test_pod_may_ask_for_any_time_to_end(grace: int) -> None:
    web = pod("web", cpu="4", terminationGracePeriodSeconds=grace)
    cluster = played(Cluster.create(scene(node("n"), web)))
    assert _refusal(cluster, verb="delete", object="pod/default/web") == ""
    leaving = cluster.store.get("Pod", "default/web")
    assert leaving.metadata["deletionGracePeriodSeconds"] == max(grace, 1)
    cluster.advance(cluster.now + 60 * SECOND)
    assert cluster.store.find("Pod", "default/web") is None


def test_times_far_from_the_run_are_valid() -> None:
    old = pod("old", cpu="4", nodeName="n")
    old["metadata"]["creationTimestamp"] = "0001-01-01T00:00:00Z"
    old["status"] = {"startTime": "9999-12-31T23:59:59Z", "phase": "Running"}
    cluster = played(Cluster.create(scene(node("n"), old, pod("new", cpu="4", priority=1))))
    assert node_of(cluster, "new") == "n"
    assert cluster.take().rows


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ({"kind": "ConfigMap", "spec": "x"}, 'spec: Invalid value: expected a mapping, found "x"'),
        ({"kind": "Namespace", "status": []}, "status: Invalid value: "),
        ({"kind": "Pod", "apiVersion": "v1", "spec": True}, "spec: Invalid value: "),
        ({"kind": "Job", "apiVersion": "batch.example.com/v1", "spec": "x"}, "the Job"),
        ({"kind": "No/Kind"}, 'kind: Invalid value: "No/Kind" is not'),
        ({"kind": "ConfigMap", "metadata": {"name": "n" * 300}}, "metadata.name: "),
        ({"kind": "ControllerRevision", "data": {"spec": {"template": "x"}}}, "data.spec.template"),
        ({"kind": "ControllerRevision", "revision": "new"}, "revision: Invalid value: "),
    ],
)
def test_a_manifest_of_the_wrong_shape_is_refused(manifest: dict[str, Any], said: str) -> None:
    cluster = played(Cluster.create(scene(node("n"))))
    whole = {"apiVersion": "v1", "metadata": {"name": "a"}, **manifest}
    for verb in ("create", "apply", "replace"):
        assert said in _refusal(cluster, verb=verb, manifest=whole)
    assert _refusal(cluster, verb="create", manifest=pod("web")) == ""
    assert node_of(played(cluster), "web") == "n"


def test_a_broken_controller_revision_never_reaches_its_controller() -> None:
    template = {"metadata": {"labels": {"app": "db"}}, "spec": {"containers": [{"name": "c"}]}}
    spec = {"selector": {"matchLabels": {"app": "db"}}, "serviceName": "db", "template": template}
    db = {"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "db"}, "spec": spec}
    cluster = played(Cluster.create(scene(node("n"), db)))
    (revision,) = cluster.store.objects("ControllerRevision")
    for nonsense in ("x", {"spec": "x"}, {"spec": {"template": {"spec": {"containers": ["a"]}}}}):
        refusal = _refusal(cluster, verb="patch", object=revision.id, patch={"data": nonsense})
        assert 'ControllerRevision "db-' in refusal
        assert "data" in refusal
    assert cluster.store.get("ControllerRevision", revision.key) is revision


def test_refusal_names_the_field_and_shows_the_value() -> None:
    cluster = played(Cluster.create(scene(node("n"))))
    broken = pod("web", containers=[])
    assert _refusal(cluster, verb="create", manifest=broken) == (
        'Invalid: Pod "web" is invalid: spec.containers: Invalid value: []: needs at least 1'
    )


@pytest.mark.parametrize("verb", ["apply", "patch"])
def test_change_made_from_an_older_version_conflicts(verb: str) -> None:
    cluster = played(Cluster.create(scene(node("n"))))
    older = cluster.store.get("Node", "n").raw
    assert _refusal(cluster, verb="cordon", object="node/n") == ""
    if verb == "apply":
        refusal = _refusal(cluster, verb=verb, manifest=older)
    else:
        patch = {"metadata": {"resourceVersion": older["metadata"]["resourceVersion"]}}
        refusal = _refusal(cluster, verb=verb, object="node/n", patch=patch)
    assert refusal.startswith("Conflict: ")
    assert cluster.store.get("Node", "n").spec["unschedulable"]


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"verb": "delete", "object": "pod/" + "n" * 5_000}, "object: .* has 5,004 characters"),
        ({"verb": "delete", "object": "pod/a\0"}, r"object: .* holds the character U\+0000"),
        ({"verb": "delete", "object": "pod/a/b", "grace_seconds": 2**63}, "not a 64-bit integer"),
        ({"verb": "x" * 5_000}, "verb is .{0,90}; it must be one of"),
    ],
)
def test_a_part_that_no_column_holds_is_refused(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid, match=said):
        Command.from_dict(parts)


@pytest.mark.parametrize("verb", ["apply", "patch"])
def test_an_immutable_field_is_refused(verb: str) -> None:
    storage = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "p"}
    storage |= {"metadata": {"name": "fast"}, "parameters": {"type": "ssd"}}
    cluster = played(Cluster.create(scene(node("n"), storage)))
    change = {"parameters": {"type": "hdd"}}
    if verb == "apply":
        refusal = _refusal(cluster, verb="apply", manifest={**storage, **change})
    else:
        refusal = _refusal(cluster, verb="patch", object="class/fast", patch=change)
    assert refusal == (
        'Invalid: StorageClass "fast" is invalid: parameters: Forbidden: updates to parameters are '
        "forbidden."
    )


@pytest.mark.parametrize(("profile", "is_refused"), [("v1.16", False), ("v1.36", True)])
def test_data_is_immutable_since_versions_know_the_field(profile: str, is_refused: bool) -> None:
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "immutable": True}
    cluster = played(Cluster.create(scene(node("n")), profile=profile))
    assert _refusal(cluster, verb="create", manifest=data) == ""
    refusal = _refusal(
        cluster, verb="patch", object="configmap/default/c", patch={"data": {"a": "b"}}
    )
    assert (refusal != "") is is_refused


def test_generation_counts_changes_of_a_pods_spec() -> None:
    cluster = played(Cluster.create(scene(node("n"), pod("web"))))
    patch = {"metadata": {"labels": {"a": "b"}}}
    assert _refusal(cluster, verb="patch", object="pod/default/web", patch=patch) == ""
    assert _pod_of(cluster).generation == 1
    toleration = {"key": "a", "operator": "Exists"}
    patch = {"spec": {"tolerations": [toleration]}}
    assert _refusal(cluster, verb="patch", object="pod/default/web", patch=patch) == ""
    assert _pod_of(cluster).generation == 2
    deletion = {"verb": "delete", "object": "pod/default/web", "grace_seconds": 600}
    assert _refusal(cluster, **deletion) == ""
    assert _pod_of(cluster).generation == 3


def _pod_of(cluster: Cluster) -> Pod:
    found = cluster.store.get("Pod", "default/web")
    assert isinstance(found, Pod)
    return found
