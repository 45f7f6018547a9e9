"""Pods without a node: one group for each cause, and changes for all of its pods."""

import pytest

from engine.diagnosis.triage.pending_pods import held
from tests.builders.nodes import ZONE, node
from tests.builders.pods import pod
from tests.builders.storage import claim, storage_class, volume
from tests.engine.diagnosis.triage.clusters import deployment, event, only_group, triage_of

_GPU = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
_ANTI_AFFINITY = {
    "podAntiAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": [
            {"labelSelector": {"matchLabels": {"app": "web"}}, "topologyKey": ZONE}
        ]
    }
}


def test_nothing_is_stuck_where_all_fits() -> None:
    found = triage_of(node("n1"), pod("a"))
    assert (found.groups, found.headline) == ((), "Nothing is stuck in 1 pod and 1 node.")


def test_only_pods_beyond_the_room_are_stuck() -> None:
    group = only_group(node("n1", cpu="4"), *(pod(f"p{n}", cpu="2") for n in range(5)))
    assert group.pods == ("default/p2", "default/p3", "default/p4")


def test_as_many_nodes_are_added_as_all_need() -> None:
    group = only_group(node("n1", cpu="4"), *(pod(f"p{n}", cpu="2") for n in range(7)))
    best = group.changes[0]
    assert best.text == "Add 3 nodes like n1"
    assert (best.places, best.of) == (5, 5)


def test_two_causes_make_two_groups() -> None:
    pods = [pod("big", cpu="9"), pod("picky", cpu="1", nodeSelector={"disk": "fast"})]
    found = triage_of(node("n1"), *pods)
    assert sorted(each.pods for each in found.groups) == [("default/big",), ("default/picky",)]
    assert found.headline == "2 causes hold 2 pods"


def test_toleration_comes_before_removing_the_taint() -> None:
    group = only_group(node("n1", taints=[_GPU]), pod("a"), pod("b"))
    assert [each.kind for each in group.changes] == ["toleration", "taint"]
    assert [(each.places, bool(each.shared)) for each in group.changes] == [(2, False), (2, True)]


def test_rule_about_its_kind_changes_running_pods_too() -> None:
    running = {**pod("r", labels={"app": "web"}, affinity=_ANTI_AFFINITY, nodeName="n1")}
    waiting = pod("w", labels={"app": "web"}, affinity=_ANTI_AFFINITY)
    owner = {"kind": "ReplicaSet", "name": "web", "uid": "1", "controller": True}
    for each in (running, waiting):
        each["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", **owner}]
    group = only_group(node("n1", "a"), node("n2", "a"), running, waiting)
    assert "1 domain (a)" in group.cause
    assert (group.changes[0].kind, group.changes[0].places) == ("affinity", 1)


def test_what_was_refused_and_fits_now_contradicts() -> None:
    waiting = pod("a")
    group = only_group(node("n1"), waiting, event(waiting, "FailedScheduling", "0/1 nodes"))
    assert (group.contradicts, group.predicted) == (True, "It fits n1 now.")


def test_scheduler_without_replicas_is_named() -> None:
    other = deployment("batch-scheduler", 0, 0)
    group = only_group(node("n1"), other, pod("a", schedulerName="batch-scheduler"))
    assert group.by == "deployment default/batch-scheduler"
    assert group.changes[0].text == "Scale deployment default/batch-scheduler to 1"
    assert (group.changes[0].places, group.changes[0].of) == (1, 1)


def test_gate_names_the_operator_that_does_not_run() -> None:
    operator = deployment("acme-operator", 1, 0)
    gated = pod("a", schedulingGates=[{"name": "acme.io/wait"}])
    group = only_group(node("n1"), operator, gated)
    assert "has 0 of 1 pods ready" in group.cause
    assert [(each.kind, bool(each.shared)) for each in group.changes] == [
        ("start", False),
        ("gate", True),
    ]


def test_of_many_nodes_all_are_named_and_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a large cluster only the closest nodes are looked at one by one."""
    monkeypatch.setattr(held, "_LOOKED_AT", 2)
    monkeypatch.setattr(held, "_MANY_NODES", 3)
    nodes = [node(f"n{number}", taints=[_GPU]) for number in range(6)]
    group = only_group(*nodes, *(pod(f"p{number}", cpu="4") for number in range(6)))
    assert group.by == "taint of nodes n0–n5"
    assert [(each.kind, each.places) for each in group.changes] == [("toleration", 6), ("taint", 6)]


def test_best_changes_are_tried_together() -> None:
    picky = [pod(f"p{n}", cpu="1", nodeSelector={"disk": "fast"}) for n in range(2)]
    found = triage_of(node("n1"), pod("odd", cpu="1", schedulerName="x"), *picky).together
    assert found is not None
    assert (found.places, found.of, found.note) == (3, 3, "")
    assert [(group, places) for group, _, places in found.changes] == [(0, 2), (1, 1)]


def test_changes_that_compete_for_room_say_so() -> None:
    picky = pod("picky", cpu="3", priority=1, nodeSelector={"disk": "fast"})
    pods = [picky, pod("plain", cpu="3", schedulerName="x")]
    found = triage_of(node("n1", cpu="4"), *pods).together
    assert found is not None
    assert (found.places, found.of) == (1, 2)
    assert "compete for the same room" in found.note


def test_one_group_has_nothing_together() -> None:
    assert triage_of(node("n1", taints=[_GPU]), pod("a")).together is None


def test_node_may_get_the_label_that_pods_select() -> None:
    found = only_group(node("n1"), pod("a", nodeSelector={"disk": "fast"}))
    assert ("Label n1 disk=fast", 1) in [(each.text, each.places) for each in found.changes]


def test_unbound_claim_says_why_and_what_binds_it() -> None:
    wide = {**volume("v1", "slow", "1Gi"), "status": {"phase": "Available"}}
    wants = claim("data", "slow", "1Gi", accessModes=["ReadWriteMany"])
    slow = storage_class("slow", "kubernetes.io/no-provisioner", mode="Immediate")
    group = only_group(node("n1"), slow, wide, wants, pod("a", claims=["data"]))
    assert "No volume of class slow fits claim default/data" in group.cause
    assert {each.kind for each in group.changes} >= {"volume", "claim"}
