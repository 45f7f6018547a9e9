"""Triage of a few manifests, as if they had been read from files, and manifests of its own."""

from typing import Any

from engine.cluster.cluster import Cluster
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.answer import Answer
from engine.diagnosis.triage.asking import explain_as_it_stands
from engine.diagnosis.triage.report import Group, Triage
from engine.diagnosis.triage.triage import triage
from engine.objects.outside import Outside
from engine.versions.registry import DEFAULT
from tests.builders.clusters import scene

Manifest = dict[str, Any]

NOON = "2026-11-20T12:00:00Z"
ELEVEN = "2026-11-20T11:00:00Z"
# What only the files say: kscope does not play it.
_ASIDE = frozenset(
    ("NodePool", "NodeClaim")
    + ("Event", "Lease", "Secret", "ConfigMap", "ServiceAccount", "VolumeSnapshot", "Widget")
    + ("ValidatingWebhookConfiguration",)
)


_CLOCK = {
    "apiVersion": "v1",
    "kind": "Lease",
    "metadata": {"name": "clock", "namespace": "kube-system"},
    "spec": {"renewTime": NOON},
}


def triage_of(*manifests: Manifest, profile: str = DEFAULT.name) -> Triage:
    """What is stuck at noon."""
    return triage(cluster_of(*manifests, profile=profile), Evidence([*manifests, _CLOCK]))


def cluster_of(*manifests: Manifest, profile: str = DEFAULT.name) -> Cluster:
    """The cluster of those manifests that kscope plays."""
    played = (each for each in manifests if each["kind"] not in _ASIDE)
    outside = Outside.kept(each for each in manifests if each["kind"] in _ASIDE)
    return Cluster.create(scene(*played, outside=tuple(outside)), profile=profile)


def answer_about(kind: str, key: str, *manifests: Manifest) -> Answer:
    """Why an object is as it is at noon."""
    evidence = Evidence([*manifests, _CLOCK])
    found = explain_as_it_stands(cluster_of(*manifests), evidence, kind, key)
    assert found is not None
    return found


def only_group(*manifests: Manifest) -> Group:
    """The only group of what is stuck."""
    (group,) = triage_of(*manifests).groups
    return group


def event(about: Manifest, reason: str, message: str, **fields: Any) -> Manifest:
    """A warning about an object that came several times, the last time just before noon."""
    metadata = about["metadata"]
    namespace = metadata.get("namespace")
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": f"{metadata['name']}.1", "namespace": namespace or "default"},
        "involvedObject": {"kind": about["kind"], "name": metadata["name"], "namespace": namespace},
        "reason": reason,
        "message": message,
        "count": 7,
        "firstTimestamp": ELEVEN,
        "lastTimestamp": "2026-11-20T11:59:00Z",
        "type": "Warning",
        **fields,
    }


def deployment(name: str, replicas: int, ready: int, namespace: str = "default") -> Manifest:
    """A Deployment with as many pods ready."""
    labels = {"app": name}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": namespace, "uid": f"deployment-{name}"},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": _template(labels),
        },
        "status": {"readyReplicas": ready},
    }


def replica_set(owner: Manifest, replicas: int, message: str) -> Manifest:
    """The ReplicaSet of a Deployment whose pods are refused."""
    metadata = owner["metadata"]
    reference = {"kind": "Deployment", "name": metadata["name"], "uid": metadata["uid"]}
    labels = {"app": metadata["name"], "pod-template-hash": "1"}
    failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
    return {
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": f"{metadata['name']}-1",
            "namespace": metadata["namespace"],
            "ownerReferences": [{"apiVersion": "apps/v1", "controller": True, **reference}],
        },
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": labels},
            "template": _template(labels),
        },
        "status": {"conditions": [{**failure, "message": message}]},
    }


def _template(labels: dict[str, str]) -> Manifest:
    requests = {"requests": {"cpu": "1", "memory": "1Gi"}}
    container = {"name": "main", "image": "app", "resources": requests}
    return {"metadata": {"labels": labels}, "spec": {"containers": [container]}}


def placed(manifest: Manifest, node: str = "n1", **status: Any) -> Manifest:
    """A pod that has its node and is about to start."""
    spec = {**manifest["spec"], "nodeName": node}
    return {**manifest, "spec": spec, "status": {"phase": "Pending", "startTime": ELEVEN, **status}}


def leaving(manifest: Manifest, *finalizers: str) -> Manifest:
    """An object that is being deleted for an hour."""
    held = {"deletionTimestamp": ELEVEN, "finalizers": list(finalizers)}
    return {**manifest, "metadata": {**manifest["metadata"], **held}}


def silent(node: Manifest) -> Manifest:
    """A node whose kubelet has stopped reporting."""
    unknown = {"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}
    return {**node, "status": {**node["status"], "conditions": [unknown]}}
