"""What a kubelet refuses beside a lack of resources, as each version words it.

Upstream: pkg/kubelet/lifecycle/predicate_test.go.
"""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.kernel.units import SECOND
from tests.builders import node, pod, scene

ZONE = {"zone": "a"}
TERM = {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["a"]}]}
REQUIRED = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [TERM]}}
BROKEN = {"key": "broken", "effect": "NoExecute"}
LABELS = "Predicate NodeAffinity failed: node(s) didn't match Pod's node affinity/selector"
TAINT = "Predicate TaintToleration failed: node(s) had taints that the pod didn't tolerate"


def played(
    spec: dict[str, Any],
    *others: dict[str, Any],
    profile: str = "v1.36",
    labels: dict[str, str] | None = None,
    taints: tuple[dict[str, str], ...] = (),
) -> Cluster:
    """A cluster with *others* and a pod that names its node, a moment after it began."""
    there = node("n", labels=labels or {})
    there["spec"] = {**there.get("spec", {}), "taints": [*taints]}
    made = pod("p", nodeName="n", **spec)
    cluster = Cluster.create(scene(there, *others, made), profile=profile)
    cluster.advance(5 * SECOND)
    return cluster


def status_of(spec: dict[str, Any], *others: dict[str, Any], **given: Any) -> dict[str, Any]:
    return dict(played(spec, *others, **given).store.get("Pod", "default/p").status)


@pytest.mark.parametrize(
    ("profile", "reason", "message"),
    [
        ("v1.36", "NodeAffinity", LABELS),
        ("v1.34", "NodeAffinity", LABELS),
        ("v1.20", "NodeAffinity", "Predicate NodeAffinity failed"),
        ("v1.16", "MatchNodeSelector", "Predicate MatchNodeSelector failed"),
    ],
)
@pytest.mark.parametrize("spec", [{"nodeSelector": ZONE}, {"affinity": {"nodeAffinity": REQUIRED}}])
def test_pod_is_refused_by_labels_of_its_node(
    spec: dict[str, Any], profile: str, reason: str, message: str
) -> None:
    status = status_of(spec, profile=profile)
    assert (status["phase"], status["reason"]) == ("Failed", reason)
    assert status["message"] == f"Pod {message}"
    assert status_of(spec, profile=profile, labels=ZONE)["phase"] == "Running"


@pytest.mark.parametrize(("profile", "is_refused"), [("v1.36", True), ("v1.20", False)])
def test_pod_is_refused_by_a_taint(profile: str, is_refused: bool) -> None:
    # The taint manager deletes it, whatever the kubelet says.
    cluster = played({}, profile=profile, taints=(BROKEN,))
    told = [one.message for one in cluster.untaken if one.object == "pod/default/p"]
    assert any(TAINT in message for message in told) is is_refused


def test_tolerated_and_weaker_taints_refuse_nobody() -> None:
    tolerations = [{"key": "broken", "operator": "Exists"}]
    assert status_of({"tolerations": tolerations}, taints=(BROKEN,))["phase"] == "Running"
    weaker = {**BROKEN, "effect": "NoSchedule"}
    assert status_of({}, taints=(weaker,))["phase"] == "Running"


@pytest.mark.parametrize(
    ("profile", "reason"), [("v1.36", "NodeAffinity"), ("v1.16", "PodFitsHostPorts")]
)
def test_the_first_check_that_fails_counts(profile: str, reason: str) -> None:
    ports = [{"containerPort": 80, "hostPort": 80}]
    spec: dict[str, Any] = {"containers": [{"name": "c", "image": "i", "ports": ports}]}
    holds = pod("first", nodeName="n", **spec)
    assert status_of({**spec, "nodeSelector": ZONE}, holds, profile=profile)["reason"] == reason


def test_static_pods_stay_on_tainted_nodes() -> None:
    mirror = {"kubernetes.io/config.mirror": "x"}
    made = pod("static", nodeName="n", tolerations=[])
    made["metadata"]["annotations"] = mirror
    cluster = played({}, made, taints=(BROKEN,))
    told = [one.message for one in cluster.untaken if one.object == "pod/default/static"]
    assert not any(TAINT in message for message in told)
