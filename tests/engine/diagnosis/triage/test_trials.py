"""Changes are tried on what the schedulers see and taken back; equal pods are looked at once."""

from typing import Any

import pytest

from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage import triage as module
from engine.diagnosis.triage.deciding import Deciding, Trials, deciding_on
from engine.diagnosis.triage.pending_pods.held import held_back
from engine.diagnosis.triage.report import Triage
from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.builders.storage import claim, storage_class
from tests.engine.diagnosis.triage.clusters import answer_about, cluster_of, triage_of

_CLASS = storage_class("late", "disk.example.com")


def _state(deciding: Deciding) -> tuple[Any, ...]:
    table, listers = deciding.cluster.handle.table, deciding.cluster.handle.listers
    kinds = ("PersistentVolumeClaim", "PersistentVolume", "ResourceClaim")
    return (
        dict(table.rows),
        [list(each) for each in table.pods],
        [table.requested_at(row) for row in table.rows.values()],
        [[each.raw for each in listers.all(kind)] for kind in kinds],
        dict(deciding.cluster.placed),
    )


def test_trial_leaves_nothing_behind() -> None:
    user, big = pod("user", claims=("data",)), pod("big", cpu="9")
    owned = [pod("there", nodeName="n1"), _CLASS, claim("data", "late"), user, big]
    deciding = deciding_on(cluster_of(node("n1"), *owned))
    before = _state(deciding)
    more = deciding_on(cluster_of(node("n2", cpu="16"))).cluster.handle.table.node(0)

    def prepare() -> None:
        deciding.put_node(more)
        there = deciding.cluster.handle.table.pods[deciding.cluster.handle.table.rows["n1"]]
        (placed,) = [each.pod for each in there.values()]
        deciding.remove(placed)
        deciding.put(placed)

    placed = Trials(deciding).placed(prepare, {}, {"default/user", "default/big"})
    assert sorted(placed) == ["default/big", "default/user"]
    assert _state(deciding) == before


def test_token_volumes_make_no_classes() -> None:
    owner = {"kind": "ReplicaSet", "name": "web", "uid": "1", "controller": True}
    pods = [pod(f"p{number}", cpu="9") for number in range(2)]
    for number, each in enumerate(pods):
        each["metadata"]["ownerReferences"] = [{"apiVersion": "apps/v1", **owner}]
        token = f"kube-api-access-{number}"
        mount = {"name": token, "mountPath": "/var/run/token"}
        each["spec"]["containers"][0]["volumeMounts"] = [mount]
        each["spec"]["volumes"] = [{"name": token, "projected": {"sources": []}}]
    (held,) = held_back(Evidence(pods), deciding_on(cluster_of(node("n1"), *pods)))
    assert [len(each.pods) for each in held.classes] == [2]


def test_causes_come_before_any_change() -> None:
    manifests = [node("n1"), pod("a", cpu="9"), pod("b", nodeSelector={"disk": "fast"})]
    first, *rest = module.triage_parts(cluster_of(*manifests), Evidence(manifests))
    assert isinstance(first, Triage)
    assert not any(each.changes for each in first.groups)
    assert [each[0] for each in rest if isinstance(each, tuple)] == [0, 1]


def test_one_object_tries_its_own_changes_only(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[str] = []
    real = module.with_changes

    def counted(evidence: Any, trials: Any, held: Any, group: Any) -> Any:
        tried.extend(group.pods)
        return real(evidence, trials, held, group)

    monkeypatch.setattr(module, "with_changes", counted)
    manifests = [node("n1"), pod("a", cpu="9"), pod("b", nodeSelector={"disk": "fast"})]
    assert len(triage_of(*manifests).groups) == 2
    tried.clear()
    answer_about("Pod", "default/a", *manifests)
    assert tried == ["default/a"]
