"""A sick cluster as `kubectl get -o json` prints it: thousands of pods, some stuck by many causes.

All of it follows from a seed. It has what an export has: statuses, owners, tolerations, tokens,
Events and Leases. What kubelets, drivers and schedulers say is worded as they word it.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from bench.shapes import HOSTNAME, ZONE, Manifest

_NOW, _BEFORE, _LONG_AGO = "2026-11-27T14:18:00Z", "2026-11-27T12:40:00Z", "2026-11-13T17:00:00Z"
_ZONES = ("eu-west-1a", "eu-west-1b", "eu-west-1c")
_GPU = "nvidia.com/gpu"
_GPU_TAINT = {"key": _GPU, "value": "present", "effect": "NoSchedule"}
_LOST_TAINTS = [
    {"key": "node.kubernetes.io/unreachable", "effect": each, "timeAdded": _BEFORE}
    for each in ("NoSchedule", "NoExecute")
]
_DRIVER = "ebs.csi.aws.com"
_TEAMS = 60
_PODS_OF_WORKLOAD = 80
# Of a thousand stuck pods, how many each cause holds, and by how many workloads.
_CAUSES = {
    "memory": (240, 12),
    "gpu-taint": (100, 4),
    "dead-node-volume": (60, 6),
    "apart-by-zone": (60, 6),
    "selector": (60, 4),
    "ports": (20, 2),
    "scheduler": (20, 2),
    "gated": (60, 3),
    "refused-claims": (100, 5),
    "image": (120, 6),
    "secret": (60, 3),
    "terminating": (100, 10),
}


@dataclass(frozen=True, slots=True)
class Size:
    """How many nodes, pods, and pods among them that are stuck."""

    nodes: int
    pods: int
    stuck: int


@dataclass(frozen=True, slots=True)
class _Workload:
    """A Deployment or StatefulSet, and what its pods have beside the usual."""

    name: str
    namespace: str
    cpu: str = "100m"
    memory: str = "256Mi"
    kind: str = "Deployment"
    limits: Manifest = field(default_factory=dict[str, Any])
    spec: Manifest = field(default_factory=dict[str, Any])

    @property
    def labels(self) -> Manifest:
        return {"app": self.name, "team": self.namespace}

    @property
    def set_name(self) -> str:
        """What owns the pods."""
        return f"{self.name}-7d9c5b6f4" if self.kind == "Deployment" else self.name


def sick_cluster(size: Size, seed: int = 0) -> Iterator[Manifest]:
    """Every object of the cluster. The same size and seed give the same objects."""
    return _Sick(size, random.Random(seed)).objects()


class _Sick:
    def __init__(self, size: Size, chance: random.Random) -> None:
        self._size = size
        self._random = chance
        self._number = 0
        gpus = max(size.nodes // 20, 1)
        dead = max(size.nodes // 200, 1)
        names = [f"ip-10-{number >> 8}-{number & 255}" for number in range(size.nodes)]
        self._gpu_nodes, self._dead, self._usual = (
            names[:gpus],
            names[gpus : gpus + dead],
            names[gpus + dead :],
        )

    def objects(self) -> Iterator[Manifest]:
        yield from self._basics()
        for place, name in enumerate((*self._gpu_nodes, *self._dead, *self._usual)):
            yield from self._node(name, _ZONES[place % len(_ZONES)])
        stuck = {cause: self._size.stuck * share // 1000 for cause, (share, _) in _CAUSES.items()}
        yield from self._healthy(self._size.pods - sum(stuck.values()))
        for cause, number in stuck.items():
            yield from self._of_cause(cause, number)
        yield from self._over_quota(max(self._size.stuck // 10, 1))

    # -- what every cluster has ---------------------------------------------------------------------

    def _basics(self) -> Iterator[Manifest]:
        yield self._made("v1", "Namespace", "kube-system", "")
        yield self._made("v1", "Namespace", "kube-node-lease", "")
        for number in range(_TEAMS):
            yield self._made("v1", "Namespace", f"team-{number}", "")
            yield self._made("v1", "ServiceAccount", "default", f"team-{number}")
            yield self._made("v1", "Secret", "tls", f"team-{number}", type="Opaque")
        for name, mode in (("gp3", "WaitForFirstConsumer"), ("gp3-now", "Immediate")):
            yield self._made(
                "storage.k8s.io/v1", "StorageClass", name, "", provisioner=_DRIVER,
                reclaimPolicy="Delete", volumeBindingMode=mode,
            )  # fmt: skip
        spec = {"attachRequired": True, "podInfoOnMount": False}
        yield self._made("storage.k8s.io/v1", "CSIDriver", _DRIVER, "", spec=spec)

    def _node(self, name: str, zone: str) -> Iterator[Manifest]:
        is_gpu, is_dead = name in self._gpu_names, name in self._dead
        resources = {"cpu": "8", "memory": "31Gi", "pods": "110", "ephemeral-storage": "95Gi"}
        if is_gpu:
            resources[_GPU] = "8"
        labels = {
            HOSTNAME: name,
            ZONE: zone,
            "topology.kubernetes.io/region": "eu-west-1",
            "kubernetes.io/os": "linux",
            "kubernetes.io/arch": "amd64",
            "node.kubernetes.io/instance-type": "g6.2xlarge" if is_gpu else "m7i.2xlarge",
            "pool": "gpu" if is_gpu else "general",
        }
        taints = _LOST_TAINTS if is_dead else [_GPU_TAINT] if is_gpu else []
        ready = ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status.")
        if not is_dead:
            ready = ("True", "KubeletReady", "kubelet is posting ready status")
        heard = _BEFORE if is_dead else _NOW
        yield self._made(
            "v1", "Node", name, "", labels=labels,
            spec={"providerID": f"aws:///{zone}/i-{name}", **({"taints": taints} if taints else {})},
            status={
                "capacity": resources,
                "allocatable": resources,
                "conditions": [
                    _condition(kind, "False", _LONG_AGO, f"KubeletHasSufficient{kind[:-8]}")
                    for kind in ("MemoryPressure", "PIDPressure")
                ]
                + [
                    {
                        **_condition("Ready", ready[0], heard if is_dead else _LONG_AGO, ready[1]),
                        "message": ready[2],
                        "lastHeartbeatTime": heard,
                    }
                ],
                "nodeInfo": {"kubeletVersion": "v1.34.1", "operatingSystem": "linux"},
            },
        )  # fmt: skip
        lease = {"holderIdentity": name, "leaseDurationSeconds": 40, "renewTime": heard[:-1]}
        lease["renewTime"] = f"{heard[:-1]}.000000Z"
        yield self._made("coordination.k8s.io/v1", "Lease", name, "kube-node-lease", spec=lease)
        drivers = [{"name": _DRIVER, "nodeID": f"i-{name}", "topologyKeys": [ZONE]}]
        yield self._made("storage.k8s.io/v1", "CSINode", name, "", spec={"drivers": drivers})

    def _healthy(self, number: int) -> Iterator[Manifest]:
        """Pods that fill most of the memory of the usual nodes, and a few with GPUs."""
        with_gpu = min(len(self._gpu_nodes) * 4, number // 20)
        on_dead = len(self._dead)
        usual = number - with_gpu - on_dead
        places = [self._usual[each % len(self._usual)] for each in range(usual)]
        self._random.shuffle(places)
        yield from self._placed("app", places, "3200Mi")
        gpu_places = [self._gpu_nodes[each % len(self._gpu_nodes)] for each in range(with_gpu)]
        yield from self._placed("train", gpu_places, "1Gi", limits={_GPU: "2"})
        yield from self._placed("lost", self._dead, "1Gi")

    def _placed(self, name: str, places: list[str], memory: str, **rest: Any) -> Iterator[Manifest]:
        for begin in range(0, len(places), _PODS_OF_WORKLOAD):
            part = places[begin : begin + _PODS_OF_WORKLOAD]
            number = begin // _PODS_OF_WORKLOAD
            workload = _Workload(
                f"{name}-{number}", f"team-{number % _TEAMS}", memory=memory, **rest
            )
            yield from self._workload(workload, len(part), ready=len(part))
            for place, node in enumerate(part):
                yield self._pod(workload, place, node=node)

    # -- what is stuck ------------------------------------------------------------------------------

    def _of_cause(self, cause: str, number: int) -> Iterator[Manifest]:
        owners = min(_CAUSES[cause][1], max(number, 1))
        for owner in range(owners):
            count = number // owners + (owner < number % owners)
            workload = _Workload(f"{cause}-{owner}", f"team-{(owner * 7) % _TEAMS}")
            if count:
                yield from getattr(self, f"_stuck_{cause.replace('-', '_')}")(
                    workload, count, owner
                )

    def _stuck_memory(self, workload: _Workload, count: int, owner: int) -> Iterator[Manifest]:
        # Some fit an empty node, and some none of the machines at all.
        wanted = replace(workload, memory=("12Gi", "20Gi", "40Gi")[owner % 3])
        yield from self._pending(wanted, count, "Insufficient memory")

    def _stuck_gpu_taint(self, workload: _Workload, count: int, owner: int) -> Iterator[Manifest]:
        yield from self._pending(
            replace(workload, limits={_GPU: "1"}), count, f"Insufficient {_GPU}"
        )

    def _stuck_dead_node_volume(
        self, workload: _Workload, count: int, owner: int
    ) -> Iterator[Manifest]:
        sets = replace(workload, kind="StatefulSet")
        yield from self._workload(sets, count, ready=0)
        for place in range(count):
            where = [
                {"key": HOSTNAME, "operator": "In", "values": [self._dead[owner % len(self._dead)]]}
            ]
            yield from self._claim(sets, place, where)
            yield from self._pending_pod(
                sets,
                place,
                "node(s) didn't match PersistentVolume's node affinity",
                _data(sets, place),
            )

    def _stuck_apart_by_zone(
        self, workload: _Workload, count: int, owner: int
    ) -> Iterator[Manifest]:
        term = {"topologyKey": ZONE, "labelSelector": {"matchLabels": {"app": workload.name}}}
        required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        apart = replace(workload, spec={"affinity": {"podAntiAffinity": required}})
        yield from self._workload(apart, count, ready=0)
        for place in range(count):
            if place < len(_ZONES):
                # One runs in each zone: the nodes of all zones are mixed.
                yield self._pod(apart, place, node=self._of_zone(place))
            else:
                yield from self._pending_pod(
                    apart, place, "node(s) didn't match pod anti-affinity rules"
                )

    def _stuck_selector(self, workload: _Workload, count: int, owner: int) -> Iterator[Manifest]:
        wanted = replace(workload, spec={"nodeSelector": {"pool": f"generall-{owner}"}})
        yield from self._pending(wanted, count, "node(s) didn't match Pod's node affinity/selector")

    def _stuck_ports(self, workload: _Workload, count: int, owner: int) -> Iterator[Manifest]:
        selector = {"node.kubernetes.io/instance-type": "m7i.2xlarge", HOSTNAME: self._usual[owner]}
        wanted = replace(workload, spec={"nodeSelector": selector, "hostPort": 9100 + owner})
        yield from self._workload(wanted, count, ready=1)
        yield self._pod(wanted, 0, node=self._usual[owner])
        for place in range(1, count):
            yield from self._pending_pod(
                wanted, place, "node(s) didn't have free ports for the requested pod ports"
            )

    def _stuck_scheduler(self, workload: _Workload, count: int, owner: int) -> Iterator[Manifest]:
        wanted = replace(workload, spec={"schedulerName": f"batch-scheduler-{owner}"})
        yield from self._workload(wanted, count, ready=0)
        for place in range(count):
            yield self._pod(wanted, place)

    def _stuck_gated(self, workload: _Workload, count: int, owner: int) -> Iterator[Manifest]:
        gate = {"name": f"example.com/approval-{owner}"}
        yield from self._workload(workload, count, ready=0)
        for place in range(count):
            pod = self._pod(replace(workload, spec={"schedulingGates": [gate]}), place)
            said = _condition("PodScheduled", "False", _BEFORE, "SchedulingGated")
            yield {**pod, "status": {**pod["status"], "conditions": [said]}}

    def _stuck_refused_claims(
        self, workload: _Workload, count: int, owner: int
    ) -> Iterator[Manifest]:
        sets = replace(workload, kind="StatefulSet")
        yield from self._workload(sets, count, ready=0)
        message = (
            f'failed to provision volume with StorageClass "gp3-now": rpc error: code = {owner}'
        )
        for place in range(count):
            claim = self._made(
                "v1", "PersistentVolumeClaim", f"data-{sets.name}-{place}", sets.namespace,
                spec=_claim_spec("gp3-now"), status={"phase": "Pending"},
            )  # fmt: skip
            yield claim
            yield self._event(claim, "ProvisioningFailed", message)
            yield from self._pending_pod(
                sets, place, "pod has unbound immediate PersistentVolumeClaims", _data(sets, place)
            )

    def _stuck_image(self, workload: _Workload, count: int, owner: int) -> Iterator[Manifest]:
        message = f'Back-off pulling image "registry.example.com/{workload.name}:1.8.0"'
        yield from self._not_running(workload, count, "ImagePullBackOff", message, "Failed")

    def _stuck_secret(self, workload: _Workload, count: int, owner: int) -> Iterator[Manifest]:
        volume = {"name": "keys", "secret": {"secretName": "keys", "defaultMode": 420}}
        wanted = replace(workload, spec={"volumes": [volume]})
        message = 'MountVolume.SetUp failed for volume "keys" : secret "keys" not found'
        yield from self._not_running(wanted, count, "ContainerCreating", message, "FailedMount")

    def _stuck_terminating(self, workload: _Workload, count: int, owner: int) -> Iterator[Manifest]:
        yield from self._workload(workload, count, ready=0)
        for place in range(count):
            pod = self._pod(workload, place, node=self._dead[(owner + place) % len(self._dead)])
            gone = {"deletionTimestamp": "2026-11-27T12:46:00Z", "deletionGracePeriodSeconds": 30}
            yield {**pod, "metadata": {**pod["metadata"], **gone}}

    def _over_quota(self, missing: int) -> Iterator[Manifest]:
        """ReplicaSets whose pods the API server refuses."""
        hard, used = {"requests.memory": "64Gi"}, {"requests.memory": "63Gi"}
        message = (
            'pods "quota-0-7d9c5b6f4-x" is forbidden: exceeded quota: memory, requested: '
            "requests.memory=2Gi, used: requests.memory=63Gi, limited: requests.memory=64Gi"
        )
        for owner in range(4):
            workload = _Workload(f"quota-{owner}", f"team-{owner}", memory="2Gi")
            yield self._made(
                "v1", "ResourceQuota", "memory", workload.namespace, spec={"hard": hard},
                status={"hard": hard, "used": used},
            )  # fmt: skip
            for each in self._workload(workload, max(missing // 4, 1), ready=0):
                if each["kind"] == "ReplicaSet":
                    failed = _condition("ReplicaFailure", "True", _BEFORE, "FailedCreate")
                    failed["message"] = message
                    each = {**each, "status": {"replicas": 0, "conditions": [failed]}}
                    yield self._event(each, "FailedCreate", f"Error creating: {message}")
                yield each

    # -- parts --------------------------------------------------------------------------------------

    @property
    def _gpu_names(self) -> list[str]:
        return self._gpu_nodes

    def _of_zone(self, zone: int) -> str:
        before = len(self._gpu_nodes) + len(self._dead)
        place = next(
            each for each in range(len(self._usual)) if (before + each) % len(_ZONES) == zone
        )
        return self._usual[place]

    def _pending(self, workload: _Workload, count: int, reason: str) -> Iterator[Manifest]:
        yield from self._workload(workload, count, ready=0)
        for place in range(count):
            yield from self._pending_pod(workload, place, reason)

    def _pending_pod(
        self, workload: _Workload, place: int, reason: str, volume: Manifest | None = None
    ) -> Iterator[Manifest]:
        wanted = workload if volume is None else replace(workload, spec={"volumes": [volume]})
        pod = self._pod(wanted, place)
        message = f"0/{self._size.nodes} nodes are available: {self._size.nodes} {reason}."
        said = {**_condition("PodScheduled", "False", _BEFORE, "Unschedulable"), "message": message}
        pod["status"] = {"phase": "Pending", "qosClass": "Burstable", "conditions": [said]}
        yield pod
        yield self._event(pod, "FailedScheduling", message)

    def _not_running(
        self, workload: _Workload, count: int, reason: str, message: str, event: str
    ) -> Iterator[Manifest]:
        yield from self._workload(workload, count, ready=0)
        for place in range(count):
            pod = self._pod(workload, place, node=self._random.choice(self._usual))
            status = dict(pod["status"])
            waiting = {"reason": reason}
            if reason != "ContainerCreating":
                waiting["message"] = message
            first = {**status["containerStatuses"][0], "ready": False, "started": False}
            status |= {
                "phase": "Pending",
                "startTime": _BEFORE,
                "containerStatuses": [{**first, "state": {"waiting": waiting}}],
            }
            yield {**pod, "status": status}
            yield self._event(pod, event, message)

    def _workload(self, workload: _Workload, count: int, ready: int) -> Iterator[Manifest]:
        """The objects that own the pods."""
        pod = self._pod(workload, 0)
        template = {"metadata": {"labels": workload.labels}, "spec": pod["spec"]}
        spec = {
            "replicas": count,
            "selector": {"matchLabels": workload.labels},
            "template": template,
        }
        status = {"replicas": count, "readyReplicas": ready, "observedGeneration": 1}
        where = workload.namespace
        if workload.kind == "StatefulSet":
            spec["serviceName"] = workload.name
            yield self._made(
                "apps/v1", workload.kind, workload.name, where, spec=spec, status=status
            )
            return
        yield self._made("apps/v1", "Deployment", workload.name, where, spec=spec, status=status)
        owner = _owner("Deployment", workload.name)
        yield self._made(
            "apps/v1", "ReplicaSet", workload.set_name, where, owners=[owner], spec=spec,
            status=status,
        )  # fmt: skip

    def _claim(self, workload: _Workload, place: int, where: list[Manifest]) -> Iterator[Manifest]:
        """A claim and the volume that it is bound to."""
        name = f"data-{workload.name}-{place}"
        volume_name = f"pvc-{workload.namespace}-{name}"
        bound = {**_claim_spec("gp3"), "volumeName": volume_name}
        claim = self._made(
            "v1", "PersistentVolumeClaim", name, workload.namespace, spec=bound,
            annotations={"pv.kubernetes.io/bind-completed": "yes"},
            status={
                "phase": "Bound", "accessModes": bound["accessModes"],
                "capacity": {"storage": "20Gi"},
            },
        )  # fmt: skip
        yield claim
        yield self._made(
            "v1", "PersistentVolume", volume_name, "",
            spec={
                "capacity": {"storage": "20Gi"},
                "accessModes": bound["accessModes"],
                "claimRef": {
                    "kind": "PersistentVolumeClaim", "namespace": workload.namespace, "name": name,
                    "uid": claim["metadata"]["uid"],
                },
                "csi": {"driver": _DRIVER, "volumeHandle": volume_name},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": where}]}},
                "persistentVolumeReclaimPolicy": "Delete",
                "storageClassName": "gp3",
            },
            status={"phase": "Bound"},
        )  # fmt: skip

    def _pod(self, workload: _Workload, place: int, node: str = "") -> Manifest:
        rest = dict(workload.spec)
        port = rest.pop("hostPort", None)
        token = f"kube-api-access-{place:05x}"
        container: Manifest = {
            "name": workload.name,
            "image": f"registry.example.com/{workload.name}:1.8.0",
            "imagePullPolicy": "IfNotPresent",
            "resources": {
                "requests": {"cpu": workload.cpu, "memory": workload.memory, **workload.limits},
                "limits": {"memory": workload.memory, **workload.limits},
            },
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
            "volumeMounts": [
                {
                    "mountPath": "/var/run/secrets/kubernetes.io/serviceaccount",
                    "name": token,
                    "readOnly": True,
                }
            ],
        }
        if port is not None:
            container["ports"] = [{"containerPort": 80, "hostPort": port, "protocol": "TCP"}]
        volumes = [*rest.pop("volumes", ()), _token(token)]
        spec: Manifest = {
            "containers": [container],
            "dnsPolicy": "ClusterFirst",
            "enableServiceLinks": True,
            "preemptionPolicy": "PreemptLowerPriority",
            "priority": 0,
            "restartPolicy": "Always",
            "schedulerName": "default-scheduler",
            "securityContext": {},
            "serviceAccount": "default",
            "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 30,
            "tolerations": [
                {
                    "key": f"node.kubernetes.io/{state}",
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": 300,
                }
                for state in ("not-ready", "unreachable")
            ],
            "volumes": volumes,
            **rest,
        }
        kind = "ReplicaSet" if workload.kind == "Deployment" else workload.kind
        name = f"{workload.set_name}-{place}"
        pod = self._made(
            "v1", "Pod", name, workload.namespace, labels=workload.labels,
            created=_LONG_AGO if node else _BEFORE,
            owners=[_owner(kind, workload.set_name)], spec=spec,
            status={"phase": "Pending", "qosClass": "Burstable"},
        )  # fmt: skip
        if node:
            spec["nodeName"] = node
            pod["status"] = _running(container)
        return pod

    def _event(self, about: Manifest, reason: str, message: str) -> Manifest:
        metadata = about["metadata"]
        return self._made(
            "v1", "Event", f"{metadata['name']}.{self._number:x}", metadata["namespace"],
            involvedObject={
                "apiVersion": about["apiVersion"], "kind": about["kind"],
                "namespace": metadata["namespace"], "name": metadata["name"],
                "uid": metadata["uid"],
            },
            reason=reason, message=message, type="Warning", count=17, firstTimestamp=_BEFORE,
            lastTimestamp="2026-11-27T14:17:20Z", source={"component": "reporter"},
        )  # fmt: skip

    def _made(
        self,
        version: str,
        kind: str,
        name: str,
        namespace: str,
        *,
        created: str = _LONG_AGO,
        owners: list[Manifest] | None = None,
        labels: Manifest | None = None,
        annotations: Manifest | None = None,
        **rest: Any,
    ) -> Manifest:
        """An object with the metadata that the API server gives."""
        self._number += 1
        metadata: Manifest = {
            "name": name,
            "creationTimestamp": created,
            "resourceVersion": str(812_000_000 + self._number),
            "uid": f"{self._number:08x}-0000-4000-8000-{self._number:012x}",
        }
        if namespace:
            metadata["namespace"] = namespace
        for field_name, found in (
            ("labels", labels),
            ("annotations", annotations),
            ("ownerReferences", owners),
        ):
            if found:
                metadata[field_name] = found
        return {"apiVersion": version, "kind": kind, "metadata": metadata, **rest}


def _condition(kind: str, status: str, since: str, reason: str) -> Manifest:
    return {"type": kind, "status": status, "lastTransitionTime": since, "reason": reason}


def _owner(kind: str, name: str) -> Manifest:
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "name": name,
        "uid": f"uid-of-{name}",
        "controller": True,
        "blockOwnerDeletion": True,
    }


def _claim_spec(storage_class: str) -> Manifest:
    return {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "20Gi"}},
        "storageClassName": storage_class,
        "volumeMode": "Filesystem",
    }


def _data(workload: _Workload, place: int) -> Manifest:
    claim = {"claimName": f"data-{workload.name}-{place}"}
    return {"name": "data", "persistentVolumeClaim": claim}


def _token(name: str) -> Manifest:
    """The volume that admission adds for the pod's ServiceAccount."""
    path = {"key": "ca.crt", "path": "ca.crt"}
    sources = [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [path]}},
    ]
    return {"name": name, "projected": {"defaultMode": 420, "sources": sources}}


def _running(container: Manifest) -> Manifest:
    since = "2026-11-13T17:00:06Z"
    return {
        "phase": "Running",
        "qosClass": "Burstable",
        "startTime": since,
        "conditions": [
            {"type": kind, "status": "True", "lastTransitionTime": since, "lastProbeTime": None}
            for kind in ("Initialized", "Ready", "ContainersReady", "PodScheduled")
        ],
        "containerStatuses": [
            {
                "name": container["name"],
                "image": container["image"],
                "imageID": "",
                "ready": True,
                "started": True,
                "restartCount": 0,
                "lastState": {},
                "state": {"running": {"startedAt": since}},
            }
        ],
    }
