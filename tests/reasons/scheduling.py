"""The reasons of the scheduler's plugins that are not about volumes."""

from __future__ import annotations

from typing import Any, Final

from engine.framework.explaining.manifests import REQUIRED
from tests.builders import (
    Manifest,
    claims_in_pod,
    device,
    device_class,
    device_request,
    host,
    node,
    pod,
    resource_claim,
    resource_slice,
    selectors,
)
from tests.reasons.case import ANYTHING, Case
from tests.reasons.case import Expected as Fact

ZONE: Final = "topology.kubernetes.io/zone"
HOSTNAME: Final = "kubernetes.io/hostname"
P: Final = "pod/default/p"


def owned(manifest: Manifest, kind: str = "ReplicaSet", name: str = "web") -> Manifest:
    """The object as the controlled one of a workload."""
    reference = {"apiVersion": "apps/v1", "kind": kind, "name": name, "uid": "1"}
    manifest["metadata"]["ownerReferences"] = [{**reference, "controller": True}]
    return manifest


def with_port(name: str, port: int = 80, **fields: Any) -> Manifest:
    """A pod that wants a host port."""
    made = pod(name, **fields)
    made["spec"]["containers"][0]["ports"] = [{"containerPort": port, "hostPort": port}]
    return made


def pod_term(app: str, key: str = HOSTNAME) -> Manifest:
    """A term of pod affinity for the pods with a label app."""
    return {"labelSelector": {"matchLabels": {"app": app}}, "topologyKey": key}


def node_term(key: str, *values: str, operator: str = "In") -> Manifest:
    """A required node affinity with one requirement."""
    requirement: Manifest = {"key": key, "operator": operator}
    if values:
        requirement["values"] = list(values)
    terms = [{"matchExpressions": [requirement]}]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}


def spread(key: str = ZONE, **fields: Any) -> Manifest:
    """A spread constraint for the pods with label app=web."""
    return {
        "maxSkew": 1,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
        **fields,
    }


def web(name: str, **fields: Any) -> Manifest:
    """A pod with label app=web."""
    return pod(name, labels={"app": "web"}, **fields)


def requesting(name: str, amount: str, **fields: Any) -> Manifest:
    """A pod whose container requests one resource, by its limit too."""
    made = pod("p", cpu="", **fields)
    made["spec"]["containers"][0]["resources"] = {
        "limits": {name: amount},
        "requests": {name: amount},
    }
    return made


def allocated(name: str, *, on: str, reserved_for: str) -> Manifest:
    """A claim with a device of node *on*, which pod *reserved_for* uses."""
    term = {"matchFields": [{"key": "metadata.name", "operator": "In", "values": [on]}]}
    result = {"request": "r", "driver": "gpu.example.com", "pool": on, "device": "gpu-0"}
    return resource_claim(name, device_request("r", "gpu")) | {
        "status": {
            "allocation": {
                "devices": {"results": [result]},
                "nodeSelector": {"nodeSelectorTerms": [term]},
            },
            "reservedFor": [
                {"resource": "pods", "name": reserved_for, "uid": f"uid-of-{reserved_for}"}
            ],
        }
    }


def with_uid(raw: Manifest) -> Manifest:
    """*raw* with a uid that other objects can refer to."""
    return raw | {"metadata": raw["metadata"] | {"uid": f"uid-of-{raw['metadata']['name']}"}}


def with_device(name: str, amount: str) -> Manifest:
    """A node that advertises example.com/gpu."""
    made = node(name)
    made["status"]["allocatable"]["example.com/gpu"] = amount
    return made


CASES: Final = (
    Case(
        reason="node(s) didn't have free ports for the requested pod ports",
        by="NodePorts",
        objects=(node("n"), owned(with_port("holder", nodeName="n")), with_port("p")),
        facts=(
            Fact("pod/default/holder", "spec.containers[0].ports[0].hostPort", 80, 80),
            Fact(P, "spec.containers[0].ports[0].hostPort", 80),
        ),
    ),
    Case(
        reason="node(s) didn't match Pod's required features",
        by="NodeDeclaredFeatures",
        profile="v1.36",
        objects=(node("n"), pod("p", hostNetwork=True, hostUsers=False)),
        facts=(
            Fact(
                "node/n",
                "status.declaredFeatures",
                None,
                ["UserNamespacesHostNetworkSupport"],
            ),
        ),
    ),
    Case(
        reason="cannot allocate all claims",
        by="DynamicResources",
        profile="v1.36",
        objects=(
            node("n"),
            device_class("gpu"),
            resource_slice("n", [device("gpu-0", memory="16Gi")]),
            resource_claim(
                "c",
                device_request("r", "gpu", selectors=selectors('device.driver == "other"')),
            ),
            pod("p", **claims_in_pod("c")),
        ),
        facts=(
            Fact(
                "resourceclaim/default/c",
                "spec.devices.requests[0].exactly.selectors[0].cel.expression",
                'device.driver == "other"',
            ),
        ),
    ),
    Case(
        reason="resourceclaim not available on the node",
        by="DynamicResources",
        profile="v1.36",
        objects=(
            node("n"),
            node("other", pods="1"),
            device_class("gpu"),
            resource_slice("other", [device("gpu-0", memory="16Gi")]),
            allocated("c", on="other", reserved_for="q"),
            with_uid(pod("q", nodeName="other", **claims_in_pod("c"))),
            pod("p", **claims_in_pod("c")),
        ),
        facts=(Fact("resourceclaim/default/c", "status.allocation.nodeSelector"),),
    ),
    Case(
        reason="Too many pods",
        by="NodeResourcesFit",
        objects=(node("n", pods="1"), pod("a", nodeName="n"), pod("p")),
        facts=(Fact("node/n", "status.allocatable.pods", "1"),),
    ),
    Case(
        reason="Insufficient cpu",
        by="NodeResourcesFit",
        objects=(node("n", cpu="2"), pod("big", cpu="1500m", nodeName="n"), pod("p", cpu="1")),
        facts=(
            Fact("node/n", "status.allocatable.cpu", "2", 1000),
            Fact(P, "spec.containers[0].resources.requests.cpu", "1"),
            Fact("pod/default/big", "spec.containers[0].resources.requests.cpu", "1500m"),
        ),
    ),
    Case(
        reason="Insufficient memory",
        by="NodeResourcesFit",
        objects=(node("n", memory="1Gi"), pod("p", cpu="", memory="2Gi")),
        facts=(
            Fact("pod/default/p", "spec.containers[0].resources.requests.memory", "2Gi"),
            Fact("node/n", "status.allocatable.memory", "1Gi", 2147483648),
        ),
    ),
    Case(
        reason="Insufficient ephemeral-storage",
        by="NodeResourcesFit",
        objects=(node("n"), requesting("ephemeral-storage", "1Gi")),
        facts=(
            Fact(
                "pod/default/p", "spec.containers[0].resources.requests[ephemeral-storage]", "1Gi"
            ),
            Fact("node/n", "status.allocatable[ephemeral-storage]", None, 1073741824),
        ),
    ),
    Case(
        reason="Insufficient example.com/gpu",
        by="NodeResourcesFit",
        objects=(with_device("g", "0"), node("n"), requesting("example.com/gpu", "1")),
        facts=(
            Fact("pod/default/p", "spec.containers[0].resources.requests[example.com/gpu]", "1"),
            Fact("node/g", "status.allocatable[example.com/gpu]", "0", 1),
            Fact("node/n", "status.allocatable[example.com/gpu]", None, 1),
        ),
    ),
    Case(
        reason="node(s) were unschedulable",
        by="NodeUnschedulable",
        objects=(node("n", unschedulable=True), pod("p")),
        facts=(Fact("node/n", "spec.unschedulable", True),),
    ),
    Case(
        reason="node(s) had untolerated taint {*: *}",
        by="TaintToleration",
        objects=(
            node("n", taints=[{"key": "team", "value": "a", "effect": "NoSchedule"}]),
            pod("p", tolerations=[{"key": "team", "value": "b", "effect": "NoSchedule"}]),
        ),
        facts=(
            Fact("node/n", "spec.taints[0]"),
            Fact(P, "spec.tolerations[0]", ANYTHING, "a"),
        ),
    ),
    Case(
        reason="node(s) didn't match Pod's node affinity/selector",
        by="NodeAffinity",
        objects=(node("n", labels={"disk": "hdd"}), pod("p", affinity=node_term("disk", "ssd"))),
        facts=(
            Fact(
                "pod/default/p",
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchExpressions[0]",
            ),
            Fact("node/n", "metadata.labels.disk", "hdd", ["ssd"]),
        ),
    ),
    Case(
        reason="node(s) didn't match Pod's node affinity/selector",
        by="NodeAffinity",
        objects=(node("n", labels={"disk": "hdd"}), pod("p", nodeSelector={"disk": "ssd"})),
        facts=(
            Fact("pod/default/p", "spec.nodeSelector.disk", "ssd"),
            Fact("node/n", "metadata.labels.disk", "hdd", ["ssd"]),
        ),
    ),
    Case(
        reason="pod affinity terms conflict",
        by="NodeAffinity",
        objects=(
            node("n"),
            pod(
                "p",
                affinity={
                    "nodeAffinity": {
                        REQUIRED: {
                            "nodeSelectorTerms": [
                                {
                                    "matchFields": [
                                        {"key": "metadata.name", "operator": "In", "values": ["a"]},
                                        {"key": "metadata.name", "operator": "In", "values": ["b"]},
                                    ]
                                }
                            ]
                        }
                    }
                },
            ),
        ),
        facts=(
            Fact(
                "pod/default/p",
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0]",
            ),
            Fact(
                "pod/default/p",
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[1]",
            ),
        ),
    ),
    Case(
        reason="node(s) didn't satisfy plugin(s) [NodeAffinity]",
        by="NodeAffinity",
        objects=(
            node("n"),
            pod(
                "p",
                affinity={
                    "nodeAffinity": {
                        REQUIRED: {
                            "nodeSelectorTerms": [
                                {
                                    "matchFields": [
                                        {"key": "metadata.name", "operator": "In", "values": ["a"]},
                                    ]
                                }
                            ]
                        }
                    }
                },
            ),
        ),
        facts=(
            Fact(
                "pod/default/p",
                "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0].matchFields[0]",
            ),
            Fact("node/n", "metadata.name", "n", ["a"]),
        ),
    ),
    Case(
        reason="node(s) didn't match scheduler-enforced node affinity",
        by="NodeAffinity",
        objects=(node("n"), pod("p")),
        facts=(Fact("node/n", "metadata.labels.pool", None, ["a"]),),
        scenario={
            "configuration": {
                "apiVersion": "kubescheduler.config.k8s.io/v1",
                "kind": "KubeSchedulerConfiguration",
                "profiles": [
                    {
                        "pluginConfig": [
                            {
                                "name": "NodeAffinity",
                                "args": {"addedAffinity": node_term("pool", "a")["nodeAffinity"]},
                            }
                        ]
                    }
                ],
            }
        },
    ),
    Case(
        reason="node(s) didn't match pod affinity rules",
        by="InterPodAffinity",
        objects=(host("n"), pod("p", affinity={"podAffinity": {REQUIRED: [pod_term("cache")]}})),
        facts=(
            Fact(
                "pod/default/p",
                "spec.affinity.podAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]",
            ),
        ),
    ),
    Case(
        reason="node(s) didn't match pod anti-affinity rules",
        by="InterPodAffinity",
        objects=(
            host("n"),
            owned(web("w", nodeName="n")),
            pod("p", affinity={"podAntiAffinity": {REQUIRED: [pod_term("web")]}}),
        ),
        facts=(
            Fact(
                "pod/default/p",
                "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]",
            ),
            Fact("pod/default/w", "metadata.labels"),
        ),
    ),
    Case(
        reason="node(s) didn't satisfy existing pods anti-affinity rules",
        by="InterPodAffinity",
        objects=(
            host("n"),
            owned(
                pod(
                    "lone",
                    nodeName="n",
                    affinity={"podAntiAffinity": {REQUIRED: [pod_term("web")]}},
                )
            ),
            web("p"),
        ),
        facts=(
            Fact("pod/default/p", "metadata.labels"),
            Fact(
                "pod/default/lone",
                "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[0]",
            ),
        ),
    ),
    Case(
        reason="node(s) didn't match pod topology spread constraints",
        by="PodTopologySpread",
        objects=(
            node("a", "a"),
            node("b", "b", unschedulable=True),
            web("w", nodeName="a"),
            web("p", topologySpreadConstraints=[spread()]),
        ),
        facts=(
            Fact("pod/default/p", "spec.topologySpreadConstraints[0].maxSkew", 1, 2),
            Fact("node/b", "metadata.labels[topology.kubernetes.io/zone]", "b"),
            Fact("node/a", "metadata.labels[topology.kubernetes.io/zone]", "a"),
            Fact("node/b", "spec.taints[0]"),
        ),
    ),
    Case(
        reason="node(s) didn't match pod topology spread constraints",
        by="PodTopologySpread",
        objects=(
            node("a", "a"),
            web("w", nodeName="a"),
            web("p", topologySpreadConstraints=[spread(minDomains=2)]),
        ),
        facts=(
            Fact("pod/default/p", "spec.topologySpreadConstraints[0].maxSkew", 1, 2),
            Fact("pod/default/p", "spec.topologySpreadConstraints[0].minDomains", 2),
            Fact("node/a", "metadata.labels[topology.kubernetes.io/zone]", "a"),
        ),
    ),
    Case(
        reason="node(s) didn't match pod topology spread constraints (missing required label)",
        by="PodTopologySpread",
        objects=(node("n"), web("p", topologySpreadConstraints=[spread()])),
        facts=(
            Fact(
                "pod/default/p",
                "spec.topologySpreadConstraints[0].topologyKey",
                "topology.kubernetes.io/zone",
            ),
            Fact("node/n", "metadata.labels[topology.kubernetes.io/zone]", None),
        ),
    ),
    Case(
        reason="waiting for scheduling gates: [*]",
        by="SchedulingGates",
        objects=(node("n"), pod("p", schedulingGates=[{"name": "example.com/wait"}])),
        facts=(Fact("pod/default/p", "spec.schedulingGates[0].name", "example.com/wait"),),
    ),
    Case(
        reason="no nodes available to schedule pods",
        by="",
        objects=(pod("p"),),
        facts=(Fact("pod/default/p", "spec.nodeName", None),),
    ),
    Case(
        reason="not eligible due to preemptionPolicy=Never.",
        by="DefaultPreemption",
        objects=(
            node("n", cpu="4"),
            pod("low", cpu="4", nodeName="n", priority=1),
            pod("p", cpu="4", priority=10, preemptionPolicy="Never"),
        ),
        facts=(Fact("pod/default/p", "spec.preemptionPolicy", "Never"),),
    ),
)
