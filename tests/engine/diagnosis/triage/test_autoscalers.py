"""Nodes that an autoscaler would have to make: what its pool allows, and what it said."""

from typing import Any

import pytest

from engine.diagnosis.observed.autoscalers import Pools
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.report import Change
from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.engine.diagnosis.triage.clusters import answer_about, event, only_group

Manifest = dict[str, Any]

_POOL = "karpenter.sh/nodepool"
_YAML = """
time: 2026-11-20 12:00:00 +0000 UTC
autoscalerStatus: Running
nodeGroups:
- name: workers-a
  health: {status: Healthy, cloudProviderTarget: 3, minSize: 1, maxSize: 3}
  scaleUp: {status: NoActivity}
- name: workers-b
  health: {status: Healthy, cloudProviderTarget: 1, minSize: 1, maxSize: 9}
  scaleUp:
    status: Backoff
    backoffInfo: {errorCode: QUOTA_EXCEEDED, errorMessage: Quota 'CPUS' exceeded.}
"""
_TEXT = """Cluster-autoscaler status at 2026-11-20 12:00:00 +0000 UTC:
Cluster-wide:
  Health:      Healthy (ready=4 unready=0 notStarted=0 registered=4 longUnregistered=0)
  ScaleUp:     NoActivity (ready=4 registered=4)

NodeGroups:
  Name:        https://www.googleapis.com/compute/v1/projects/p/zones/z/instanceGroups/workers-a-grp
  Health:      Healthy (ready=3 unready=0 notStarted=0 longNotStarted=0 registered=3 longUnregistered=0 cloudProviderTarget=3 (minSize=1, maxSize=3))
  ScaleUp:     NoActivity (ready=3 cloudProviderTarget=3)

  Name:        workers-b
  Health:      Healthy (ready=1 unready=0 notStarted=0 registered=1 longUnregistered=0 cloudProviderTarget=1 (minSize=1, maxSize=9))
  ScaleUp:     Backoff (ready=1 cloudProviderTarget=1)
"""


def _status(text: str) -> Manifest:
    metadata = {"name": "cluster-autoscaler-status", "namespace": "kube-system"}
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"status": text}}


def _node_pool(limits: Manifest, used: Manifest, **template: Any) -> Manifest:
    return {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodePool",
        "metadata": {"name": "general"},
        "spec": {"limits": limits, "template": {"spec": template}},
        "status": {"resources": used},
    }


def _added(*manifests: Manifest) -> Change:
    """The change that adds nodes for two pods that take a node each."""
    group = only_group(*manifests, pod("a", cpu="4"), pod("b", cpu="4"))
    return next(each for each in group.changes if each.kind == "node")


@pytest.mark.parametrize("text", [_YAML, _TEXT], ids=["yaml", "text"])
def test_group_at_its_limit_is_said(text: str) -> None:
    full = [pod("full", cpu="3", nodeName="workers-a-1")]
    added = _added(node("workers-a-1"), *full, _status(text))
    assert (added.places, added.shared) == (
        2,
        f"node group workers-a{'-grp' if text is _TEXT else ''} has 3 of 3 nodes: its limit",
    )


def test_answer_about_one_pod_says_the_limit_too() -> None:
    full = pod("full", cpu="3", nodeName="workers-a-1")
    waiting = {**pod("a", cpu="3"), "status": {"phase": "Pending"}}
    answer = answer_about("Pod", "default/a", node("workers-a-1"), full, waiting, _status(_YAML))
    added = next(each for each in answer.fixes if each.buys)
    assert added.text.endswith("(but node group workers-a has 3 of 3 nodes: its limit)")
    assert added.content["text"] == added.text


@pytest.mark.parametrize("text", [_YAML, _TEXT], ids=["yaml", "text"])
def test_group_in_backoff_is_said(text: str) -> None:
    full = [pod("full", cpu="3", nodeName="workers-b-1")]
    added = _added(node("workers-b-1"), *full, _status(text))
    assert "node group workers-b is in backoff after a failed scale-up" in added.shared
    assert ("QUOTA_EXCEEDED" in added.shared) == (text is _YAML)


def test_pool_that_may_still_grow_comes_first() -> None:
    nodes = [node("workers-a-1"), node("other-1", memory="9Gi")]
    full = [pod(f"full-{n}", cpu="3", nodeName=n) for n in ("workers-a-1", "other-1")]
    added = _added(*nodes, *full, _status(_YAML))
    assert (added.text, added.shared) == ("Add 2 nodes like other-1", "")


def test_limits_of_a_node_pool_are_counted() -> None:
    mine = node("n1", labels={_POOL: "general"})
    full = pod("full", cpu="3", nodeName="n1")
    added = _added(mine, full, _node_pool({"cpu": "8"}, {"cpu": "4"}))
    assert added.shared == "NodePool general has used 4 of 8 cpu: its limit"
    added = _added(mine, full, _node_pool({"nodes": "2"}, {"nodes": "1"}))
    assert added.shared == "NodePool general has 1 of 2 nodes: 1 more is its limit"
    assert not _added(mine, full, _node_pool({"cpu": "16"}, {"cpu": "4"})).shared


def test_node_never_made_by_its_pool_says_so() -> None:
    rule = {"key": "disk", "operator": "In", "values": ["slow"]}
    mine = node("n1", labels={_POOL: "general"})
    pool = Pools(Evidence([mine, _node_pool({}, {}, requirements=[rule])])).of(mine)
    assert pool is not None
    assert pool.lacks({"disk": "fast"}, ()) == "NodePool general makes no nodes with disk=fast"
    assert not pool.lacks({"disk": "slow"}, ())


def test_machine_that_does_not_come_is_reported() -> None:
    claim = {
        "apiVersion": "karpenter.sh/v1",
        "kind": "NodeClaim",
        "metadata": {"name": "general-x", "labels": {_POOL: "general"}},
        "status": {
            "conditions": [
                {"type": "Launched", "status": "False", "message": "no g5.xlarge is left in zone a"}
            ]
        },
    }
    full = pod("full", cpu="3", nodeName="n1")
    added = _added(node("n1", labels={_POOL: "general"}), full, claim, _node_pool({}, {}))
    assert added.shared == (
        "NodePool general has NodeClaim general-x, which is not launched: no g5.xlarge is left in "
        "zone a"
    )


def test_what_the_autoscaler_said_is_quoted() -> None:
    waiting = pod("a", cpu="9")
    said = event(
        waiting, "NotTriggerScaleUp", "pod didn't trigger scale-up: 1 max node group size reached"
    )
    group = only_group(node("n1"), waiting, {**said, "type": "Normal"})
    (added,) = [each for each in group.changes if each.kind == "node"]
    assert "NotTriggerScaleUp: pod didn't trigger scale-up: 1 max node group size" in added.note


def test_without_an_autoscaler_nothing_is_said_of_one() -> None:
    added = _added(node("n1"), pod("full", cpu="3", nodeName="n1"))
    assert (added.shared, "autoscaler" in added.note) == ("", False)
