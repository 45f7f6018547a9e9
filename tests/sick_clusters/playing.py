"""What must not happen when a sick cluster is played."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from engine.cluster.cluster import Cluster
from engine.diagnosis.observed.evidence import Evidence
from engine.objects.objects import Node, PersistentVolume, PersistentVolumeClaim, Pod
from tests.sick_clusters.machines import ZONE_LABELS

Manifest = dict[str, Any]

_NETWORK: Final = "network not ready"


def runs_in_vain(cluster: Cluster, evidence: Evidence) -> list[str]:
    """Pods that began to run while the cluster was played, and what they lack."""
    return [
        f"{pod.key} runs on {pod.node_name}: {why}"
        for pod in cluster.store.objects("Pod")
        if isinstance(pod, Pod) and pod.phase == "Running"
        for why in _lacks(cluster, evidence, pod)
        if not _ran_before(evidence, pod)
    ]


def _ran_before(evidence: Evidence, pod: Pod) -> bool:
    seen = evidence.find("Pod", pod.key)
    return seen is not None and seen["status"].get("phase") == "Running"


def _lacks(cluster: Cluster, evidence: Evidence, pod: Pod) -> Iterator[str]:
    node = cluster.store.find("Node", pod.node_name)
    if not isinstance(node, Node):
        yield "there is no such node"
        return
    yield from _kubelet(node, pod)
    yield from _names(evidence, pod)
    yield from _observed(evidence, pod)
    for name in pod.claim_names:
        claim = cluster.store.find("PersistentVolumeClaim", f"{pod.namespace}/{name}")
        if not isinstance(claim, PersistentVolumeClaim) or not claim.volume_name:
            yield f"claim {name} has no volume"
            continue
        volume = cluster.store.find("PersistentVolume", claim.volume_name)
        if not isinstance(volume, PersistentVolume):
            yield f"volume {claim.volume_name} is not there"
            continue
        if not _is_used_there(evidence, pod, name):
            yield from _reach(volume.raw, node)
        yield from _driver(cluster, volume.raw, node)


def _is_used_there(evidence: Evidence, pod: Pod, claim: str) -> bool:
    """Whether the files show a pod that runs on the same node with the claim: so its disk is there."""
    return any(
        each["spec"].get("nodeName") == pod.node_name
        and each["metadata"].get("namespace") == pod.namespace
        and each["status"].get("phase") == "Running"
        and any(
            (volume.get("persistentVolumeClaim") or {}).get("claimName") == claim
            for volume in each["spec"].get("volumes") or ()
        )
        for each in evidence.all("Pod")
    )


def _kubelet(node: Node, pod: Pod) -> Iterator[str]:
    for condition in node.status.get("conditions") or ():
        if condition["type"] != "Ready" or condition["status"] == "True":
            continue
        is_network = condition["status"] == "False" and _NETWORK in condition.get("message", "")
        if not (is_network and pod.spec.get("hostNetwork")):
            yield f"no kubelet that could start it: Ready={condition['status']}"


def _names(evidence: Evidence, pod: Pod) -> Iterator[str]:
    for kind, name in _needed(pod.spec):
        if evidence.has(kind) and evidence.find(kind, f"{pod.namespace}/{name}") is None:
            yield f"{kind} {name} is absent"


def _needed(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """The Secrets and ConfigMaps without which a pod of these clusters cannot start."""
    for volume in spec.get("volumes") or ():
        sources = [volume, *(volume.get("projected") or {}).get("sources", ())]
        for each in sources:
            for field, kind in (("secret", "Secret"), ("configMap", "ConfigMap")):
                part: Manifest = each.get(field) or {}
                if part and not part.get("optional"):
                    yield kind, part.get("secretName") or part["name"]
    for entry in (entry for each in spec["containers"] for entry in each.get("env") or ()):
        for field, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
            if field in entry["valueFrom"]:
                yield kind, entry["valueFrom"][field]["name"]


def _observed(evidence: Evidence, pod: Pod) -> Iterator[str]:
    seen = evidence.find("Pod", pod.key)
    if seen is None or seen["metadata"].get("uid") != pod.uid:
        return
    for each in seen["status"].get("containerStatuses") or ():
        reason = each["state"].get("waiting", {}).get("reason", "ContainerCreating")
        if reason != "ContainerCreating":
            yield f"it was observed in {reason}"


def _reach(volume: Manifest, node: Node) -> Iterator[str]:
    name, spec = volume["metadata"]["name"], volume["spec"]
    zone = next((node.labels[key] for key in ZONE_LABELS if key in node.labels), None)
    for key, value in (volume["metadata"].get("labels") or {}).items():
        if key in ZONE_LABELS and zone not in (None, value):
            yield f"{name} is in {value}, the node in {zone}"
    required = spec.get("nodeAffinity", {}).get("required", {})
    for term in required.get("nodeSelectorTerms", ()):
        for each in term["matchExpressions"]:
            if node.labels.get(each["key"]) not in each["values"]:
                yield f"{name} is out of reach: {each['key']} in {each['values']}"


def _driver(cluster: Cluster, volume: Manifest, node: Node) -> Iterator[str]:
    driver = volume["spec"].get("csi", {}).get("driver")
    csi_node = cluster.store.find("CSINode", node.name)
    if driver is None or csi_node is None:
        return
    known = [each["name"] for each in csi_node.spec.get("drivers") or ()]
    if driver not in known:
        yield f"driver {driver} is not registered there"
