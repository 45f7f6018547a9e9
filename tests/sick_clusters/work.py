"""Pods and workloads: pending, placed, running, failing or leaving, with what is said of each."""

from random import Random
from typing import Any, Final

from tests.sick_clusters.disks import NAMESPACES
from tests.sick_clusters.machines import EARLIER, OLD, RECENT

Manifest = dict[str, Any]

_FINALIZERS: Final = ("example.com/hold", "batch.kubernetes.io/job-tracking")
_CONTAINERS_FAIL: Final = (
    ("ImagePullBackOff", 'Back-off pulling image "app:2"'),
    ("ErrImagePull", 'failed to pull and unpack image "app:2": not found'),
    ("CrashLoopBackOff", "back-off 5m0s restarting failed container=c"),
    ("CreateContainerError", "context deadline exceeded"),
    ("RunContainerError", "failed to start container"),
)


def named_things(chance: Random) -> list[Manifest]:
    """Secrets, ConfigMaps and ServiceAccounts, of each kind some or none; and Namespaces."""
    found: list[Manifest] = []
    for kind in ("Secret", "ConfigMap", "ServiceAccount"):
        if chance.random() < 0.6:
            found += [_named(kind, namespace, "there") for namespace in NAMESPACES]
    for name in NAMESPACES:
        found.append(_namespace(name, is_leaving=name == "shop" and chance.random() < 0.15))
    if chance.random() < 0.3:
        found.append(_namespace("leaving", is_leaving=True))
    return found


def pods(nodes: list[str], claims: list[Manifest], chance: Random) -> list[Manifest]:
    """Up to ten pods of any kind."""
    return [_pod(f"p{i}", nodes, claims, chance) for i in range(chance.randint(1, 10))]


def workloads(chance: Random) -> list[Manifest]:
    """A workload whose pods are refused, in some clusters, with the quota that refuses them."""
    if chance.random() < 0.6:
        return []
    namespace = chance.choice(NAMESPACES)
    hard, used = {"pods": "2", "requests.cpu": "1"}, {"pods": "2", "requests.cpu": "900m"}
    quota = {
        **_named("ResourceQuota", namespace, "team"),
        "spec": {"hard": hard},
        "status": {"hard": hard, "used": used},
    }
    messages = (
        'pods "web-1-x" is forbidden: exceeded quota: team, requested: pods=1, used: pods=2, '
        "limited: pods=2",
        f'pods "web-1-" is forbidden: error looking up service account {namespace}/absent: '
        'serviceaccount "absent" not found',
        'pods "web-1-" is forbidden: no PriorityClass with name urgent was found',
        'admission webhook "check.example.com" denied the request: no',
    )
    return [quota, *_refused(namespace, chance.choice(messages), chance)]


def _refused(namespace: str, message: str, chance: Random) -> list[Manifest]:
    labels = {"app": "web"}
    container = {"name": "c", "image": "app:1", "resources": {"requests": {"cpu": "100m"}}}
    template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
    spec = {
        "replicas": chance.randint(1, 3),
        "selector": {"matchLabels": labels},
        "template": template,
    }
    deployment = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": namespace, "uid": "web", "creationTimestamp": OLD},
        "spec": spec,
    }
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "uid": "web"}
    failure = {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate"}
    metadata = {"name": "web-1", "namespace": namespace, "uid": "web-1", "creationTimestamp": OLD}
    return [
        deployment,
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": {**metadata, "ownerReferences": [{**owner, "controller": True}]},
            "spec": spec,
            "status": {
                "replicas": 0,
                "conditions": [{**failure, "message": message, "lastTransitionTime": EARLIER}],
            },
        },
    ]


def _named(kind: str, namespace: str, name: str) -> Manifest:
    metadata = {"name": name, "namespace": namespace}
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata}


def _namespace(name: str, *, is_leaving: bool) -> Manifest:
    made: Manifest = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}}
    if not is_leaving:
        return {**made, "status": {"phase": "Active"}}
    made["metadata"]["deletionTimestamp"] = EARLIER
    remaining = {
        "type": "NamespaceFinalizersRemaining",
        "status": "True",
        "reason": "SomeFinalizersRemain",
        "message": "Some content in the namespace has finalizers remaining: example.com/hold in 1 "
        "resource instances",
        "lastTransitionTime": EARLIER,
    }
    status = {"phase": "Terminating", "conditions": [remaining]}
    return {**made, "spec": {"finalizers": ["kubernetes"]}, "status": status}


def _pod(name: str, nodes: list[str], claims: list[Manifest], chance: Random) -> Manifest:
    namespace = chance.choice(NAMESPACES)
    spec = _spec(namespace, claims, chance)
    metadata: Manifest = {
        "name": name,
        "namespace": namespace,
        "uid": f"pod-{name}",
        "creationTimestamp": OLD,
        "labels": {"app": name},
    }
    status: Manifest = {"phase": "Pending"}
    match chance.choice(("pending", "pending", "placed", "placed", "running", "failing")):
        case "pending":
            status |= _unscheduled(nodes, chance)
        case "placed":
            spec["nodeName"] = chance.choice(nodes)
            status["startTime"] = chance.choice((EARLIER, RECENT))
            if chance.random() < 0.6:
                status["containerStatuses"] = _waits("ContainerCreating", "")
        case "running":
            spec["nodeName"] = chance.choice(nodes)
            running = {"running": {"startedAt": EARLIER}}
            status = {"phase": "Running", "startTime": EARLIER}
            status["containerStatuses"] = [{"name": "c", "ready": True, "state": running}]
        case _:
            spec["nodeName"] = chance.choice(nodes)
            reason, message = chance.choice(_CONTAINERS_FAIL)
            phase = "Running" if reason == "CrashLoopBackOff" else "Pending"
            status = {"phase": phase, "startTime": EARLIER}
            status["containerStatuses"] = _waits(reason, message)
    if chance.random() < 0.15:
        metadata |= {"deletionTimestamp": chance.choice((EARLIER, RECENT))}
        metadata["deletionGracePeriodSeconds"] = 30
        if chance.random() < 0.5:
            metadata["finalizers"] = [chance.choice(_FINALIZERS)]
    elif "nodeName" not in spec and chance.random() < 0.15:
        spec["schedulingGates"] = [{"name": "example.com/quota"}]
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status}


def _spec(namespace: str, claims: list[Manifest], chance: Random) -> Manifest:
    requests = {"cpu": chance.choice(("100m", "500m", "1500m", "9"))}
    container: Manifest = {"name": "c", "image": "app:2", "resources": {"requests": requests}}
    volumes: list[Manifest] = []
    mine = [each["metadata"]["name"] for each in claims if _is_in(each, namespace)]
    for used in chance.sample(mine, min(len(mine), chance.choice((0, 1, 1, 2)))):
        volumes.append({"name": used, "persistentVolumeClaim": {"claimName": used}})
    if chance.random() < 0.05:
        volumes.append({"name": "none", "persistentVolumeClaim": {"claimName": "no-such-claim"}})
    if chance.random() < 0.3:
        volumes.append(_source(chance))
    if chance.random() < 0.15:
        part = {"name": chance.choice(("there", "absent")), "key": "k"}
        source = chance.choice(("secretKeyRef", "configMapKeyRef"))
        container["env"] = [{"name": "TOKEN", "valueFrom": {source: part}}]
    mounted = [{"name": each["name"], "mountPath": f"/{each['name']}"} for each in volumes]
    container |= {"volumeMounts": mounted} if mounted else {}
    spec: Manifest = {"containers": [container], "terminationGracePeriodSeconds": 30}
    spec |= {"volumes": volumes} if volumes else {}
    if chance.random() < 0.2:
        spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
    if chance.random() < 0.1:
        spec["tolerations"] = [{"operator": "Exists"}]
    if chance.random() < 0.1:
        spec["schedulerName"] = "absent-scheduler"
    if chance.random() < 0.1:
        spec["hostNetwork"] = True
    if chance.random() < 0.1:
        spec["serviceAccountName"] = "absent"
    return spec


def _is_in(manifest: Manifest, namespace: str) -> bool:
    return manifest["metadata"]["namespace"] == namespace


def _source(chance: Random) -> Manifest:
    name = chance.choice(("there", "absent"))
    match chance.choice(("secret", "config", "projected", "token")):
        case "secret":
            optional = {"optional": True} if chance.random() < 0.2 else {}
            return {"name": "part", "secret": {"secretName": name, **optional}}
        case "config":
            return {"name": "part", "configMap": {"name": name}}
        case "projected":
            return {"name": "part", "projected": {"sources": [{"secret": {"name": name}}]}}
        case _:
            token = {"serviceAccountToken": {"path": "token"}}
            return {"name": "part", "projected": {"sources": [token]}}


def _waits(reason: str, message: str) -> list[Manifest]:
    waiting = {"reason": reason, **({"message": message} if message else {})}
    status = {"name": "c", "ready": False, "state": {"waiting": waiting}}
    return [{**status, "restartCount": 4 if reason == "CrashLoopBackOff" else 0}]


def _unscheduled(nodes: list[str], chance: Random) -> Manifest:
    if chance.random() < 0.3:
        return {}
    return {
        "conditions": [
            {
                "type": "PodScheduled",
                "status": "False",
                "reason": "Unschedulable",
                "message": f"0/{len(nodes)} nodes are available: {len(nodes)} Insufficient cpu.",
                "lastTransitionTime": EARLIER,
            }
        ]
    }
