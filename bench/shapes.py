"""The clusters that are measured, after upstream's scheduler_perf.

Nodes have 4 cpu, 32Gi and 110 pods, in 3 zones; pods ask for 100m and 500Mi. Upstream:
test/integration/scheduler_perf, config/templates.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from bench.size import usual
from engine.input.scenario import Scenario
from engine.kernel.latency import DEFAULT_LATENCIES, Latency
from engine.kernel.units import HOUR

Manifest = dict[str, Any]

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"
# Of the devices; each node has so many.
DRIVER = "gpu.example.com"
DEVICES = 8

# What the control plane does takes no time; what the nodes do comes long after the measurement.
CONTROL_PLANE = ("watch", "node_watch", "assume_cache", "schedule", "bind", "api_write")
NO_LATENCY: Mapping[str, Latency] = {
    name: Latency("fixed", 0 if name in CONTROL_PLANE else 2 * HOUR) for name in DEFAULT_LATENCIES
}


def node(index: int) -> Manifest:
    """Node *index* of a cluster."""
    name = f"node-{index}"
    resources = {"cpu": "4", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: f"zone-{index % 3}"}},
        "status": {
            "capacity": resources,
            "allocatable": resources,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    }


def pod(
    name: str,
    *,
    cpu: str = "100m",
    memory: str = "500Mi",
    labels: Mapping[str, str] | None = None,
    node: str = "",
    **spec: Any,
) -> Manifest:
    """A pod of one container; *spec* is laid over the rest of its spec."""
    if node:
        spec["nodeName"] = node
    resources = {"requests": {"cpu": cpu, "memory": memory}}
    container = {"name": "pause", "image": "registry.k8s.io/pause:3.9", "resources": resources}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default", "labels": dict(labels or {})},
        "spec": {"containers": [container], **spec},
    }


MakePod = Callable[[str, int], Manifest]


def basic(name: str, _index: int) -> Manifest:
    """The plain pod."""
    return pod(name)


def one_of_fifty(name: str, index: int) -> Manifest:
    """Fifty templates in turn, that differ in what they ask for."""
    return pod(name, cpu=f"{100 + index % 50}m", labels={"app": f"app-{index % 50}"})


def preferred_anti_affinity(name: str, _index: int) -> Manifest:
    """Would rather be alone on its node."""
    term = {"labelSelector": {"matchLabels": {"color": "yellow"}}, "topologyKey": HOSTNAME}
    preferred = [{"weight": 1, "podAffinityTerm": term}]
    rules = {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    return pod(name, labels={"color": "yellow"}, affinity={"podAntiAffinity": rules})


def required_anti_affinity(name: str, _index: int) -> Manifest:
    """Has to be alone on its node."""
    term = {"labelSelector": {"matchLabels": {"color": "green"}}, "topologyKey": HOSTNAME}
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    return pod(name, labels={"color": "green"}, affinity={"podAntiAffinity": rules})


def hard_spread(name: str, _index: int) -> Manifest:
    """Spread over the zones, or not at all."""
    return _spread(name, "DoNotSchedule")


def soft_spread(name: str, _index: int) -> Manifest:
    """Spread over the zones where that is possible."""
    return _spread(name, "ScheduleAnyway")


def _spread(name: str, when: str) -> Manifest:
    constraint = {
        "maxSkew": 5,
        "topologyKey": ZONE,
        "whenUnsatisfiable": when,
        "labelSelector": {"matchLabels": {"color": "blue"}},
    }
    return pod(name, labels={"color": "blue"}, topologySpreadConstraints=[constraint])


def important(name: str, _index: int) -> Manifest:
    """Needs the place of three `unimportant` pods."""
    return pod(name, cpu="3000m", priority=10)


def unimportant(name: str, node_name: str) -> Manifest:
    """One of four that nearly fill a node."""
    return pod(name, cpu="900m", node=node_name, terminationGracePeriodSeconds=0)


def with_claim(name: str, _index: int) -> Manifest:
    """Uses the claim of its own name."""
    source = {"persistentVolumeClaim": {"claimName": name}}
    return pod(name, volumes=[{"name": "data", **source}])


def with_device(name: str, _index: int) -> Manifest:
    """Uses the device of the resource claim of its own name."""
    return pod(name, resourceClaims=[{"name": "gpu", "resourceClaimName": name}])


def device_class() -> Manifest:
    """The class of all devices of one driver."""
    expression = f'device.driver == "{DRIVER}"'
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "gpu"},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }


def device_slice(index: int) -> Manifest:
    """The devices of node *index*."""
    name = f"node-{index}"
    devices = [
        {"name": f"gpu-{place}", "attributes": {"model": {"string": "a"}}}
        for place in range(DEVICES)
    ]
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": name},
        "spec": {
            "driver": DRIVER,
            "nodeName": name,
            "pool": {"name": name, "generation": 1, "resourceSliceCount": 1},
            "devices": devices,
        },
    }


def device_claim(name: str) -> Manifest:
    """A claim for one device."""
    exactly = {"deviceClassName": "gpu", "allocationMode": "ExactCount", "count": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"devices": {"requests": [{"name": "gpu", "exactly": exactly}]}},
    }


def local_class() -> Manifest:
    """A class of local volumes, bound when a pod is scheduled."""
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "local"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }


def local_volume(index: int) -> Manifest:
    """A local volume on node *index*."""
    wanted = {"key": HOSTNAME, "operator": "In", "values": [f"node-{index}"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [wanted]}]}
    return volume(
        f"local-{index}",
        storageClassName="local",
        local={"path": "/mnt/disk"},
        nodeAffinity={"required": terms},
    )


def volume(name: str, gibibytes: int = 10, **spec: Any) -> Manifest:
    """A volume; *spec* is laid over its spec."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "capacity": {"storage": f"{gibibytes}Gi"},
            "accessModes": ["ReadWriteOnce"],
            "persistentVolumeReclaimPolicy": "Retain",
            **spec,
        },
    }


def claim(name: str, gibibytes: int = 10, storage_class: str = "local") -> Manifest:
    """A claim; an empty *storage_class* takes volumes without a class."""
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "resources": {"requests": {"storage": f"{gibibytes}Gi"}},
            "storageClassName": storage_class,
        },
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A workload on a cluster: so many pods to warm up, then so many that are measured.

    `real` are the figures given for kube-scheduler 1.34.1 in process on two cores, without an API
    server: (all nodes examined, its default sampling), in pods/s; `aim` is what we want. `own` makes
    an object for each pod, of the pod's name. `threshold` is what scheduler_perf demands of a like
    shape.
    """

    name: str
    make: MakePod
    aim: float
    real: tuple[str, str] = ("", "")
    nodes: int = usual(5_000, least=30)
    warm_up: int = usual(1_000, least=2)
    pods: int = usual(1_000, least=4)
    own: Callable[[str], Manifest] | None = None
    has_volumes: bool = False
    profile: str = "v1.34"
    threshold: str = ""
    objects: Callable[["Shape"], Iterable[Manifest]] = field(default=lambda _shape: ())

    @property
    def room(self) -> int:
        """For how many of its pods the cluster has room, at least."""
        return self.nodes


def _unimportant_pods(shape: Shape) -> Iterable[Manifest]:
    for index in range(shape.nodes):
        for place in range(4):
            yield unimportant(f"low-{index}-{place}", f"node-{index}")


def _local_volumes(shape: Shape) -> Iterable[Manifest]:
    yield local_class()
    for index in range(shape.room):
        yield local_volume(index)


def _devices(shape: Shape) -> Iterable[Manifest]:
    yield device_class()
    for index in range(shape.nodes):
        yield device_slice(index)


SHAPES = (
    Shape(name="basic", make=basic, aim=20_000, real=("132–226", "1,000–1,536")),
    Shape(name="basic, 50 templates", make=one_of_fifty, aim=12_000),
    Shape(
        name="preferred anti-affinity",
        make=preferred_anti_affinity,
        aim=5_000,
        real=("151–167", "633–721"),
    ),
    Shape(
        name="required anti-affinity",
        make=required_anti_affinity,
        aim=5_000,
        real=("164", "710"),
    ),
    Shape(
        name="topology spread, DoNotSchedule",
        make=hard_spread,
        aim=5_000,
        real=("151–159", "485–746"),
    ),
    Shape(
        name="topology spread, ScheduleAnyway",
        make=soft_spread,
        aim=5_000,
        real=("172", "873"),
    ),
    Shape(
        name="preemption, 3 victims each",
        make=important,
        aim=1_000,
        real=("116", "135"),
        warm_up=5,
        objects=_unimportant_pods,
    ),
    Shape(
        name="local volumes, 500 nodes",
        make=with_claim,
        aim=2_000,
        real=("38", "54"),
        nodes=usual(500, least=30),
        warm_up=usual(100, least=5),
        pods=usual(100, least=4),
        own=claim,
        has_volumes=True,
        objects=_local_volumes,
    ),
    Shape(
        name="a device for each pod, 8 per node",
        make=with_device,
        aim=1_000,
        own=device_claim,
        profile="v1.36",
        threshold="56 pods/s, 500 nodes of 10 devices (SchedulingWithResourceClaimTemplate)",
        objects=_devices,
    ),
)


def scenario(
    name: str, objects: Iterable[Manifest], *, latencies: Mapping[str, Latency] = NO_LATENCY
) -> Scenario:
    """A scenario that lasts long enough for anything."""
    return Scenario(name=name, objects=tuple(objects), latencies=latencies, until=HOUR)
