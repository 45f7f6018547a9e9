"""Random small clusters in which things go wrong: every kind of fault, at random times."""

from random import Random
from typing import Any

from engine.api_server.store.faults import AUTHORS, RESTARTABLE
from engine.input.scenario import Scenario, Step
from engine.kernel.units import MILLISECOND, MINUTE, SECOND

Manifest = dict[str, Any]
DRIVER = "csi.example.com"
ZONE = "topology.kubernetes.io/zone"
# Faults and steps come in the first minutes; what comes after is the way to rest.
BUSY = 90 * SECOND
UNTIL = 60 * MINUTE

# These clusters have no quotas and no VolumeAttributesClasses, so faults of the controllers of those
# would show nothing.
_IDLE = ("resourcequota-controller", "vac-protection")
WRITERS = [author for author in AUTHORS if author not in _IDLE]
RESTARTED = (
    "kube-controller-manager",
    "scheduler",
    *(component for component in RESTARTABLE if component not in _IDLE),
)
WATCHED = ("Pod", "Node", "PersistentVolume", "PersistentVolumeClaim", "VolumeAttachment")
REPLICATED = ({"name": "default-scheduler", "replicas": 2},)


def broken_scenario(seed: int, size: int = 1) -> Scenario:
    """Nodes, volumes of all sorts, pods and workloads that use them, and what goes wrong.

    A larger *size* makes more of everything, for a longer hunt.
    """
    chance = Random(seed)
    names = [f"n{i}" for i in range(chance.randint(1, 4 * size))]
    claims = [_claim(f"c{i}", chance) for i in range(chance.randint(0, 5 * size))]
    volumes = [_volume(f"pv{i}", chance, names) for i in range(chance.randint(0, 4 * size))]
    pods = [_pod(f"p{i}", chance, claims) for i in range(chance.randint(0, 6 * size))]
    workloads = [_workload(f"w{i}", chance) for i in range(chance.randint(0, 2 * size))]
    later = [each for each in (*pods, *workloads) if chance.random() < 0.4]
    first = [each for each in (*pods, *workloads) if each not in later]
    steps = [Step(at=_when(chance), verb="create", manifest=each) for each in later]
    things = [*pods, *claims, *volumes, *workloads]
    steps += [_step(chance, names, things) for _ in range(chance.randint(0, 4 * size))]
    for _ in range(chance.randint(0, 5 * size)):
        steps += _fault(chance, names, claims, volumes)
    nodes = [_node(name, chance) for name in names]
    csi_nodes = [_csi_node(name) for name in names]
    return Scenario(
        name=f"broken-{seed}",
        objects=(*CLASSES, *nodes, *csi_nodes, *volumes, *claims, *first),
        steps=tuple(sorted(steps, key=_at)),
        schedulers=REPLICATED if chance.random() < 0.2 else (),
        until=UNTIL,
    )


def _class(name: str, provisioner: str, mode: str, reclaim: str) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": provisioner,
        "volumeBindingMode": mode,
        "reclaimPolicy": reclaim,
        "allowVolumeExpansion": True,
    }


CLASSES = (
    _class("slow", DRIVER, "WaitForFirstConsumer", "Delete"),
    _class("quick", DRIVER, "Immediate", "Delete"),
    _class("kept", DRIVER, "Immediate", "Retain"),
    _class("local", "kubernetes.io/no-provisioner", "WaitForFirstConsumer", "Delete"),
    _class("host", "kubernetes.io/host-path", "Immediate", "Delete"),
)


def _node(name: str, chance: Random) -> Manifest:
    amounts = {"cpu": chance.choice(["1", "2", "4"]), "memory": "8Gi", "pods": "8"}
    labels = {"kubernetes.io/hostname": name, ZONE: chance.choice(["za", "zb"])}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": labels},
        "status": {"capacity": amounts, "allocatable": amounts},
    }


def _csi_node(name: str) -> Manifest:
    driver = {"name": DRIVER, "nodeID": name, "topologyKeys": [ZONE]}
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "CSINode",
        "metadata": {"name": name},
        "spec": {"drivers": [driver]},
    }


def _volume(name: str, chance: Random, nodes: list[str]) -> Manifest:
    spec: Manifest = {
        "capacity": {"storage": f"{chance.randint(1, 6)}Gi"},
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": chance.choice(["local", "kept", "host"]),
        "persistentVolumeReclaimPolicy": "Retain",
    }
    if spec["storageClassName"] == "host":
        spec["hostPath"] = {"path": f"/tmp/{name}"}
        spec["persistentVolumeReclaimPolicy"] = chance.choice(["Delete", "Recycle"])
    if spec["storageClassName"] == "local":
        host = {
            "key": "kubernetes.io/hostname",
            "operator": "In",
            "values": [chance.choice(nodes)],
        }
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [{"matchExpressions": [host]}]}}
        spec["local"] = {"path": f"/mnt/{name}"}
    elif spec["storageClassName"] == "kept":
        spec["csi"] = {"driver": DRIVER, "volumeHandle": name}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": spec,
    }


def _claim_spec(chance: Random) -> Manifest:
    return {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": f"{chance.randint(1, 6)}Gi"}},
        "storageClassName": chance.choice(["slow", "quick", "kept", "local", "host"]),
    }


def _claim(name: str, chance: Random) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": _claim_spec(chance),
    }


def _pod_spec(chance: Random, claims: list[str]) -> Manifest:
    container: Manifest = {
        "name": "c",
        "image": "app:1",
        "resources": {"requests": {"cpu": chance.choice(["100m", "400m", "1500m"])}},
    }
    spec: Manifest = {"containers": [container], "terminationGracePeriodSeconds": 5}
    if claims:
        spec["volumes"] = [
            {"name": f"v{i}", "persistentVolumeClaim": {"claimName": name}}
            for i, name in enumerate(claims)
        ]
        container["volumeMounts"] = [
            {"name": f"v{i}", "mountPath": f"/data{i}"} for i in range(len(claims))
        ]
    return spec


def _pod(name: str, chance: Random, claims: list[Manifest]) -> Manifest:
    names = [each["metadata"]["name"] for each in claims]
    used = chance.sample(names, min(len(names), chance.choice([0, 1, 1, 2])))
    spec = _pod_spec(chance, used)
    if chance.random() < 0.15:
        template = {"spec": _claim_spec(chance)}
        own = {"name": "own", "ephemeral": {"volumeClaimTemplate": template}}
        spec["volumes"] = [*spec.get("volumes", ()), own]
        mounts = spec["containers"][0].setdefault("volumeMounts", [])
        mounts.append({"name": "own", "mountPath": "/own"})
    if chance.random() < 0.2:
        source = chance.choice(
            ({"secret": {"secretName": "settings"}}, {"configMap": {"name": "settings"}})
        )
        spec["volumes"] = [*spec.get("volumes", ()), {"name": "settings", **source}]
        mounts = spec["containers"][0].setdefault("volumeMounts", [])
        mounts.append({"name": "settings", "mountPath": "/settings"})
    spec["priority"] = chance.choice([0, 0, 100])
    annotations = {"kscope.dev/run-for": "20s"} if chance.random() < 0.2 else {}
    spec["restartPolicy"] = "Never" if annotations else "Always"
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": spec,
    }


def _workload(name: str, chance: Random) -> Manifest:
    labels = {"app": name}
    kind = chance.choice(["Deployment", "StatefulSet", "StatefulSet", "DaemonSet", "Job"])
    spec = _pod_spec(chance, [])
    claims: list[Manifest] = []
    if kind == "StatefulSet":
        claims = [{"metadata": {"name": "data"}, "spec": _claim_spec(chance)}]
        mounts = [{"name": "data", "mountPath": "/data"}]
        spec["containers"] = [{**spec["containers"][0], "volumeMounts": mounts}]
    if kind == "Job":
        spec["restartPolicy"] = "Never"
        annotations = {"kscope.dev/run-for": "20s", "kscope.dev/exit-code": chance.choice("01")}
        template = {"metadata": {"annotations": annotations}, "spec": spec}
        wanted = {"parallelism": chance.randint(1, 2), "completions": 2, "backoffLimit": 2}
        return {
            "apiVersion": "batch/v1",
            "kind": kind,
            "metadata": {"name": name, "namespace": "default"},
            "spec": {**wanted, "template": template},
        }
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            **({} if kind == "DaemonSet" else {"replicas": chance.randint(1, 3)}),
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": spec},
            **({"volumeClaimTemplates": claims, "serviceName": name} if claims else {}),
        },
    }


def _when(chance: Random) -> int:
    return chance.randint(0, BUSY // MILLISECOND) * MILLISECOND


def _at(step: Step) -> int:
    return step.at


def _entity(manifest: Manifest) -> str:
    prefix = {"PersistentVolumeClaim": "claim", "PersistentVolume": "volume"}
    metadata = manifest["metadata"]
    kind = prefix.get(manifest["kind"], manifest["kind"].lower())
    namespace = metadata.get("namespace")
    return f"{kind}/{namespace}/{metadata['name']}" if namespace else f"{kind}/{metadata['name']}"


def _step(chance: Random, nodes: list[str], things: list[Manifest]) -> Step:
    at, target = _when(chance), f"node/{chance.choice(nodes)}"
    claims = [each for each in things if each["kind"] == "PersistentVolumeClaim"]
    if claims and chance.random() < 0.15:
        more = {"spec": {"resources": {"requests": {"storage": "8Gi"}}}}
        return Step(at=at, verb="patch", object=_entity(chance.choice(claims)), patch=more)
    if things and chance.random() < 0.6:
        grace = 0 if chance.random() < 0.4 else None
        target = _entity(chance.choice(things))
        return Step(at=at, verb="delete", object=target, grace_seconds=grace)
    verb = chance.choice(["cordon", "uncordon", "evict_pods", "delete"])
    return Step(at=at, verb=verb, object=target)


def _fault(
    chance: Random, nodes: list[str], claims: list[Manifest], volumes: list[Manifest]
) -> list[Step]:
    """One fault that ends by itself, or with a second step."""
    kind = chance.choice(
        ["call", "call", "provision", "write", "slow", "lag"]
        + ["cut", "vanish", "restart", "kubelet", "die", "driver", "missing"]
    )
    # Most happens at the beginning.
    at = chance.randint(0, chance.choice([2_000, 10_000, 90_000])) * MILLISECOND
    end = at + chance.randint(1, 40) * SECOND
    node = chance.choice(nodes)
    if kind == "call":
        calls = ("attach", "detach", "mount_device", "mount", "unmount", "unmount_device")
        return [_inject(at, fail=chance.choice(calls), **_often(chance), **_where(chance, node))]
    if kind == "provision":
        return [_inject(at, fail="provision", **_often(chance), **_where(chance, node))]
    if kind == "write":
        reason = chance.choice(["Conflict", "InternalError"])
        by = chance.choice(WRITERS)
        return [_inject(at, fail="write", by=by, reason=reason, **_often(chance))]
    if kind == "slow":
        by, delay = chance.choice(WRITERS), f"{chance.randint(1, 6000)}ms"
        return [_inject(at, slow=by, delay=delay), _inject(end, slow=by, delay=0)]
    if kind == "lag":
        watched, delay = chance.choice(WATCHED), f"{chance.randint(1, 20)}s"
        return [_inject(at, lag=watched, delay=delay), _inject(end, lag=watched, delay=0)]
    if kind == "cut":
        watched = chance.choice(WATCHED)
        whose = {"of": "scheduler"} if chance.random() < 0.5 else {}
        return [_inject(at, cut=watched, **whose), _inject(end, mend=watched)]
    if kind == "vanish":
        gone = chance.choice([*claims, *volumes] or CLASSES)
        return [_inject(at, vanish=_entity(gone))]
    if kind == "restart":
        return [_inject(at, restart=chance.choice([*RESTARTED, node]))]
    if kind == "die":
        # Some come back before anybody has noticed, some when their pods have been replaced.
        back = at + chance.choice([10 * SECOND, 8 * MINUTE])
        return [_inject(at, die=node), _inject(back, revive=node)]
    if kind == "driver":
        where = _where(chance, node)
        gone = _inject(at, unregister=DRIVER, **where)
        return [gone, _inject(end, register=DRIVER, **where), _inject(at, offline=DRIVER)]
    if kind == "missing":
        return _missing(at, end, chance)
    stopped = Step(at=at, verb="stop_kubelet", object=f"node/{node}")
    started = Step(at=end, verb="start_kubelet", object=f"node/{node}")
    return [stopped, started]


def _missing(at: int, end: int, chance: Random) -> list[Step]:
    """Something that pods need is not there, until it is created, or until the fault is over."""
    kind = chance.choice(("Secret", "ConfigMap"))
    metadata = {"name": "settings", "namespace": "default"}
    made = {"apiVersion": "v1", "kind": kind, "metadata": metadata}
    named = f"{kind.lower()}/default/settings"
    # Not drawn: another draw would make other clusters of the same seeds.
    is_over = at // MILLISECOND % 2 == 0
    ends = _inject(end, present=named) if is_over else Step(at=end, verb="apply", manifest=made)
    return [_inject(at, missing=named), ends]


def _inject(at: int, **fault: Any) -> Step:
    return Step(at=at, verb="fault", patch=fault)


def _often(chance: Random) -> Manifest:
    often: Manifest = {"times": chance.randint(1, 4)}
    if chance.random() < 0.4:
        often["probability"] = chance.choice([0.2, 0.5, 0.9])
    return often


def _where(chance: Random, node: str) -> Manifest:
    return {"node": node} if chance.random() < 0.3 else {}
