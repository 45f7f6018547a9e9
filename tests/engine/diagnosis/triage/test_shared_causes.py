"""What is behind several causes, and how sure it is who is behind a name."""

from tests.builders.nodes import ZONE, node
from tests.builders.pods import pod
from tests.engine.diagnosis.triage.clusters import (
    deployment,
    event,
    leaving,
    only_group,
    placed,
    silent,
    triage_of,
)

_UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "effect": "NoSchedule"}


def test_a_node_behind_two_causes_is_reported_once() -> None:
    down = silent(node("n1", "b", taints=[_UNREACHABLE]))
    caught = leaving(placed(pod("s-0")))
    waiting = pod("a", nodeSelector={ZONE: "b"})
    found = triage_of(node("n2", "a"), down, caught, waiting)
    (shared,) = found.shared_causes
    assert shared.object == "node/n1"
    assert shared.groups == (0, 1)
    assert shared.sentence == (
        "Node n1 is not ready (Ready=Unknown): it keeps pods of cause 2 away, and is behind cause 1 "
        "itself."
    )


def test_a_controller_that_is_held_itself_is_reported() -> None:
    operator = deployment("acme-operator", 1, 0)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "acme-operator", "uid": "1"}
    its_pod = pod("acme-operator-0", cpu="64")
    its_pod["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    gated = pod("a", schedulingGates=[{"name": "acme.io/wait"}])
    (shared,) = triage_of(node("n1"), operator, its_pod, gated).shared_causes
    assert shared.sentence.startswith("Deployment default/acme-operator has 0 of 1 pods ready")
    assert "Its own pods are held by cause" in shared.sentence


def test_who_is_behind_a_name_is_a_guess() -> None:
    guessed = deployment("acme-operator", 1, 0)
    gated = pod("a", schedulingGates=[{"name": "acme.io/wait"}])
    assert "By its name, deployment default/acme-operator most likely opens it" in (
        only_group(node("n1"), guessed, gated).cause
    )


def test_pod_with_a_drivers_folder_serves_the_driver() -> None:
    plugin = deployment("storage-node", 1, 0)
    folder = {"name": "d", "hostPath": {"path": "/var/lib/kubelet/plugins/csi.acme.io"}}
    plugin["spec"]["template"]["spec"]["volumes"] = [folder]
    stuck = placed(pod("a"))
    missing = "driver name csi.acme.io not found in the list of registered CSI drivers"
    group = only_group(node("n1"), plugin, stuck, event(stuck, "FailedMount", missing))
    assert (
        "Deployment default/storage-node is its node plugin (its pods use the folder" in group.cause
    )
