"""What a cause adds to upstream's reason: who blocks, where a value comes from, what would match."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.diagnosis import Cause, diagnose
from engine.framework.explaining.manifests import REQUIRED
from tests.builders import Manifest, node, played, pod, scene

ZONE = "topology.kubernetes.io/zone"
ALL_PROFILES = ("v1.34", "v1.20", "v1.16", "v1.11")


def _causes(*objects: Manifest, profile: str = "v1.34") -> tuple[Cause, ...]:
    cluster = played(Cluster.create(scene(*objects), profile=profile), 20)
    return diagnose(cluster, "default/p", tries_changes=False).causes


def _facts(*objects: Manifest, profile: str = "v1.34") -> list[str]:
    return [fact.text for cause in _causes(*objects, profile=profile) for fact in cause.because]


def _why(*objects: Manifest) -> str:
    return " ".join(cause.why for cause in _causes(*objects))


def _tainted(name: str, key: str, value: str = "", **status: Any) -> Manifest:
    made = node(name)
    made["spec"] = {"taints": [{"key": key, "value": value, "effect": "NoSchedule"}]}
    made["status"] |= status
    return made


def _labelled(manifest: Manifest, **labels: str) -> Manifest:
    manifest["metadata"]["labels"] = labels
    return manifest


def _tolerating(**toleration: str) -> Manifest:
    return pod("p", tolerations=[toleration])


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_the_pods_that_fill_a_node_are_named(profile: str) -> None:
    told = _facts(
        node("n", cpu="2"),
        pod("big", cpu="1500m", nodeName="n"),
        pod("p", cpu="1"),
        profile=profile,
    )
    assert "Container main asks for 1 cpu." in told
    assert "Pod default/big on n holds 1500m cpu." in told


def test_node_without_a_resource_is_not_the_closest() -> None:
    knows = node("gpu")
    knows["status"]["allocatable"]["example.com/gpu"] = "0"
    wanted = pod("p")
    wanted["spec"]["containers"][0]["resources"] = {"limits": {"example.com/gpu": "1"}}
    (cause,) = _causes(node("plain"), knows, wanted)
    assert cause.check is not None
    assert cause.check.node == "gpu"
    assert (
        cause.lead
        == "Node gpu advertises 0 example.com/gpu, as when the device plugin reports no device."
    )
    assert "Node plain has no example.com/gpu at all." in [fact.text for fact in cause.because]


def test_a_well_known_taint_names_its_condition() -> None:
    pressed = {"type": "DiskPressure", "status": "True", "reason": "KubeletHasDiskPressure"}
    told = _facts(_tainted("n", "node.kubernetes.io/disk-pressure", conditions=[pressed]), pod("p"))
    assert "Node n has DiskPressure=True, reason KubeletHasDiskPressure." in told


@pytest.mark.parametrize(
    ("toleration", "told"),
    [
        (
            {"key": "team", "operator": "Equal", "value": "b", "effect": "NoSchedule"},
            'The pod tolerates team with value "b" (operator Equal), and the taint has value "a".',
        ),
        (
            {"key": "team", "operator": "Exists", "effect": "NoExecute"},
            "The pod tolerates team with effect NoExecute only, and the taint has effect NoSchedule.",
        ),
        (
            {"key": "Team", "operator": "Exists"},
            "The pod tolerates Team; the taint is spelt team.",
        ),
    ],
)
def test_a_toleration_that_nearly_matches_is_named(toleration: dict[str, str], told: str) -> None:
    assert told in _facts(_tainted("n", "team", "a"), _tolerating(**toleration))


def test_a_renamed_taint_key_is_named() -> None:
    told = _why(
        _tainted("n", "node-role.kubernetes.io/control-plane"),
        _tolerating(key="node-role.kubernetes.io/master", operator="Exists"),
    )
    assert "which is now called node-role.kubernetes.io/control-plane" in told


def test_a_label_that_no_node_has_is_named() -> None:
    assert _why(node("n"), pod("p", nodeSelector={"disk": "ssd"})) == "No node has the label disk."


def test_values_that_nodes_have_are_named() -> None:
    told = _why(node("n", labels={"disk": "hdd"}), pod("p", nodeSelector={"disk": "ssd"}))
    assert told == "No node has disk in [ssd]; the nodes have disk in [hdd]."


@pytest.mark.parametrize("profile", ALL_PROFILES)
def test_the_holder_of_a_host_port_is_named(profile: str) -> None:
    def with_port(name: str, **fields: Any) -> Manifest:
        made = pod(name, **fields)
        made["spec"]["containers"][0]["ports"] = [{"containerPort": 80, "hostPort": 80}]
        return made

    told = _facts(node("n"), with_port("holder", nodeName="n"), with_port("p"), profile=profile)
    assert "Pod default/holder holds host port 80/TCP on n." in told


def _anti(app: str) -> Manifest:
    term = {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": "kubernetes.io/hostname"}
    return {"podAntiAffinity": {REQUIRED: [term]}}


def test_a_pod_that_is_avoided_is_named() -> None:
    told = _why(
        node("n", labels={"kubernetes.io/hostname": "n"}),
        _labelled(pod("web", nodeName="n"), app="web"),
        pod("p", affinity=_anti("web")),
    )
    assert told == "The pod's anti-affinity keeps it away from default/web on n."


def test_a_pod_that_keeps_others_away_is_named() -> None:
    told = _why(
        node("n", labels={"kubernetes.io/hostname": "n"}),
        pod("lone", nodeName="n", affinity=_anti("web")),
        _labelled(pod("p"), app="web"),
    )
    assert told == "The pod is kept away by the anti-affinity of default/lone on n."


def test_missing_peers_of_an_affinity_are_reported() -> None:
    affinity = {"podAffinity": _anti("cache")["podAntiAffinity"]}
    told = _why(node("n", labels={"kubernetes.io/hostname": "n"}), pod("p", affinity=affinity))
    assert told == (
        "No pod that has a node matches app=cache in namespace default, which the pod's affinity "
        "requires."
    )


def test_a_forbidden_preemption_is_named() -> None:
    low = pod("low", cpu="4", nodeName="n", priority=1)
    high = pod("p", cpu="4", priority=10, preemptionPolicy="Never")
    causes = _causes(node("n", cpu="4"), low, high)
    assert causes[-1].because[0].field == "spec.preemptionPolicy"


def test_no_answer_mentions_a_preemption_without_victims() -> None:
    causes = _causes(node("n", cpu="1"), pod("p", cpu="2"))
    assert [cause.plugin for cause in causes] == ["NodeResourcesFit"]
