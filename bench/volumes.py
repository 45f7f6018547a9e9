"""Volumes: matching, binding by the PV controller, provisioning, and what the kubelets have mounted.

Times are CPU times, and garbage is collected as seldom as the worker does it (kscope/runs/drive/driver.py).
"""

import gc
import json
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from typing import Any, cast

from bench.shapes import Manifest, claim, node, pod, scenario, volume
from bench.size import usual
from bench.table import Row, cpu_seconds, median, most_mib
from engine.api_server.store.store import ObjectStore
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.cluster.storage_actors import VolumeActors
from engine.kernel.garbage import collector_paused
from engine.kernel.latency import DEFAULT_LATENCIES, Latencies, Latency
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.rng import Streams
from engine.kernel.units import HOUR, MINUTE, SECOND
from engine.kubelet.volume_manager.actual_state import VolumeMountState
from engine.objects.objects import PersistentVolume, PersistentVolumeClaim, Pod, from_manifest
from engine.objects.phases import protected, settled
from engine.storage.matching.index import VolumeIndex
from engine.storage.matching.rules import find_matching_volume
from engine.versions.registry import VERSIONS

VOLUMES = usual(10_000, least=20)
ASKED = usual(2_000, least=5)
SCANNED = usual(20, least=2)
PROVISIONED = usual(3_000, least=10)

NODES = usual(5_000, least=10)
PODS_ON_NODE = 2
CHANGED = usual(200, least=4)
# Upstream's kubelet runs its populator and its reconciler every 100 ms.
LOOPS_AN_HOUR = 2 * 10 * 3600

NO_LATENCY: Mapping[str, Latency] = {name: Latency("fixed", 0) for name in DEFAULT_LATENCIES}


def bench(full: bool = False) -> list[Row]:
    """Matching, binding, provisioning, kubelets. Everything is in full size already."""
    return [_matching(), *_binding(), _provisioning(), *_kubelets()]


def _matching() -> Row:
    """The claims ask for what random volumes have, so that the search ends anywhere in the order."""
    chance = Random(1)
    volumes = [
        cast("PersistentVolume", from_manifest(_available(f"pv-{i}", chance.randint(1, 500))))
        for i in range(VOLUMES)
    ]
    claims = [
        cast("PersistentVolumeClaim", from_manifest(claim(f"c-{i}", chance.randint(1, 500), "")))
        for i in range(4 * ASKED)
    ]
    index = VolumeIndex(volumes)
    for each in claims[:5]:
        found = index.find_best_match_for_claim(each, delay_binding=False)
        looked_for = find_matching_volume(each, volumes)
        # Among volumes of one size the index takes the smaller name, the loop the earlier one.
        assert _size(found) == _size(looked_for)
    # What a claim asks for is read once, so every round has claims of its own.
    rounds = [claims[turn * ASKED : (turn + 1) * ASKED] for turn in (1, 2, 3)]
    found_s = median(cpu_seconds(_Search(index, asking).run) for asking in rounds)
    scanned_s = cpu_seconds(lambda: [find_matching_volume(c, volumes) for c in claims[:SCANNED]])
    return Row(
        name=f"matching a claim among {VOLUMES:,} volumes",
        figure=found_s / ASKED * 1e6,
        unit="µs",
        baseline=scanned_s / SCANNED * 1e6,
        against="upstream's loop over all",
        aim=100,
        at_least=False,
    )


class _Search:
    """The search for the best match of each of some claims."""

    def __init__(self, index: VolumeIndex, claims: Sequence[PersistentVolumeClaim]) -> None:
        self._index, self._claims = index, claims

    def run(self) -> None:
        """Search for all."""
        for each in self._claims:
            self._index.find_best_match_for_claim(each, delay_binding=False)


def _size(found: PersistentVolume | None) -> int:
    return found.capacity_bytes if found else 0


def _available(name: str, gibibytes: int) -> Manifest:
    return {**volume(name, gibibytes), "status": {"phase": "Available"}}


def _binding() -> list[Row]:
    """From the first watch event to the last claim bound, every write of the binding included."""
    name = f"PV controller, {VOLUMES:,} claims on {VOLUMES:,} volumes"
    return [
        _claims_a_second(name, VOLUMES, _static, _bind_alone, aim=5_000),
        _claims_a_second("  the same in a whole cluster", VOLUMES, _static, _bind_all),
    ]


def _provisioning() -> Row:
    """Claims of a CSI class, bound at once: annotation, provisioner, volume, binding."""
    return _claims_a_second(
        f"provisioning, {PROVISIONED:,} claims", PROVISIONED, _dynamic, _bind_all
    )


def _claims_a_second(
    name: str,
    count: int,
    objects: Callable[[int], list[Manifest]],
    bind: Callable[[list[Manifest]], float],
    aim: float | None = None,
) -> Row:
    few = count // 10
    slow = few / bind(objects(few))
    fast = median(count / bind(objects(count)) for _ in range(3))
    return Row(
        name=name,
        figure=fast,
        unit="claims/s",
        baseline=slow,
        against=f"the same with {few:,}",
        aim=aim,
        note="storage components alone: no scheduler, no workloads; no latency; events in memory"
        if bind is _bind_alone
        else "every component hears of every step; no latency; events in memory",
    )


def _static(count: int) -> list[Manifest]:
    chance = Random(2)
    sizes = [chance.randint(1, 500) for _ in range(count)]
    objects = [volume(f"pv-{i}", size) for i, size in enumerate(sizes)]
    return objects + [claim(f"claim-{i}", size, "") for i, size in enumerate(sizes)]


def _dynamic(count: int) -> list[Manifest]:
    made = {"provisioner": "csi.example.com", "volumeBindingMode": "Immediate"}
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass"}
    storage_class = {**kind, "metadata": {"name": "disk"}, **made}
    return [storage_class, *(claim(f"claim-{i}", 1 + i % 9, "disk") for i in range(count))]


def _bind_all(objects: list[Manifest]) -> float:
    """In a whole cluster, where the scheduler and all controllers hear of every step."""
    cluster = Cluster.create(scenario("claims", objects, latencies=NO_LATENCY))
    took = cpu_seconds(lambda: cluster.advance(MINUTE))
    _assert_bound(cluster.store)
    return took


def _bind_alone(objects: list[Manifest]) -> float:
    """With the components of storage alone: the PV controller and its neighbours."""
    loop = EventLoop()
    recorder, streams = Recorder(loop), Streams(0)
    store = ObjectStore(loop, recorder)
    for raw in objects:
        store.create(protected(settled(from_manifest(raw))), by="scenario")
    VolumeActors(
        loop=loop,
        store=store,
        recorder=recorder,
        latencies=Latencies(NO_LATENCY, streams),
        version=VERSIONS["v1.34"],
    )
    took = cpu_seconds(lambda: loop.run(MINUTE))
    _assert_bound(store)
    return took


def _assert_bound(store: ObjectStore) -> None:
    waiting = [c.key for c in store.objects("PersistentVolumeClaim") if not _is_bound(c)]
    assert not waiting, f"{len(waiting)} claims wait, the first is {waiting[0]}"


def _is_bound(obj: object) -> bool:
    return isinstance(obj, PersistentVolumeClaim) and obj.phase == "Bound"


# Kubelets


def _kubelets() -> list[Row]:
    """Each size in a process of its own, so that memory is its own too."""
    few, many = _in_a_process(NODES // 10), _in_a_process(NODES)
    mounts = many["mounts"]
    tenth = f"{NODES // 10:,} nodes"
    return [
        Row(
            name=f"kubelets, {mounts:,.0f} volumes on {NODES:,} nodes: a mount",
            figure=many["mount_us"],
            unit="µs",
            baseline=few["mount_us"],
            against=tenth,
            note=f"from the pods' creation until all run, {many['mount_s']:.0f} s in all; of the "
            f"{PODS_ON_NODE * len(_SOURCES)} volumes of a node {PODS_ON_NODE} are attached",
        ),
        Row(
            name="  in a quiet hour",
            figure=many["quiet"],
            unit="callbacks",
            baseline=NODES * LOOPS_AN_HOUR,
            against="upstream's 100 ms loops",
            aim=0,
            at_least=False,
        ),
        Row(
            name="  a pod more, with a volume of each kind",
            figure=many["add_us"],
            unit="µs",
            baseline=few["add_us"],
            against=tenth,
        ),
        Row(
            name="  a pod less, all its volumes unmounted",
            figure=many["remove_us"],
            unit="µs",
            baseline=few["remove_us"],
            against=tenth,
        ),
        Row(
            name="  memory of a mounted volume",
            figure=(many["mib"] - many["empty_mib"]) / mounts * 1024,
            unit="KiB",
            baseline=(few["mib"] - few["empty_mib"]) / few["mounts"] * 1024,
            against=tenth,
            note=f"pods, claims and volumes included; {many['mib']:,.0f} MiB were the most in all, "
            "with every event still in memory",
        ),
    ]


def _in_a_process(nodes: int) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-m", "bench.volumes", str(nodes)],
        stdout=subprocess.PIPE,
        cwd=Path(__file__).resolve().parent.parent,
        check=True,
    )
    measured: dict[str, float] = json.loads(done.stdout)
    return measured


# What a pod mounts: a disk that is attached to its node, and what lies on the node itself.
_SOURCES: tuple[tuple[str, Manifest], ...] = (
    ("disk", {}),
    ("scratch", {"emptyDir": {}}),
    ("cache", {"emptyDir": {"medium": "Memory"}}),
    ("settings", {"configMap": {"name": "settings"}}),
    ("token", {"projected": {"sources": [{"serviceAccountToken": {"path": "token"}}]}}),
)


def _pod_with_volumes(name: str, node_name: str) -> Manifest:
    disk = {"persistentVolumeClaim": {"claimName": name}}
    volumes = [{"name": each, **(source or disk)} for each, source in _SOURCES]
    made = pod(name, node=node_name, volumes=volumes)
    mounts = [{"name": each, "mountPath": f"/{each}"} for each, _ in _SOURCES]
    made["spec"]["containers"][0]["volumeMounts"] = mounts
    return made


def _bound_disk(name: str) -> Iterator[Manifest]:
    """A volume and the claim of that name, bound to each other."""
    disk = volume(f"pv-{name}", csi={"driver": "csi.example.com", "volumeHandle": name})
    ref = {"kind": "PersistentVolumeClaim", "namespace": "default", "name": name}
    disk["spec"]["claimRef"] = {**ref, "uid": f"uid-{name}"}
    yield {**disk, "status": {"phase": "Bound"}}
    asking = claim(name, storage_class="")
    asking["metadata"]["uid"] = f"uid-{name}"
    asking["metadata"]["annotations"] = {"pv.kubernetes.io/bind-completed": "yes"}
    asking["spec"]["volumeName"] = f"pv-{name}"
    status = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "10Gi"}}
    yield {**asking, "status": {"phase": "Bound", **status}}


class _Machines:
    """A cluster whose pods are put on their nodes by hand, every latency at zero."""

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes
        self.pods = [f"pod-{index}" for index in range(nodes * PODS_ON_NODE)]
        self.more = [f"more-{index}" for index in range(CHANGED)]
        objects: list[Manifest] = [node(index) for index in range(nodes)]
        for name in (*self.pods, *self.more):
            objects.extend(_bound_disk(name))
        self.cluster = Cluster.create(
            scenario("kubelets", objects, latencies=NO_LATENCY), tie_break="name"
        )
        self.rest(MINUTE)

    def rest(self, duration: int) -> None:
        """Let *duration* pass."""
        self.cluster.advance(self.cluster.now + duration)

    def take(self) -> None:
        """Let go of the events."""
        self.cluster.take()
        gc.collect()

    def add(self, names: Sequence[str]) -> float:
        """Create pods, spread over the nodes; the seconds until all of them run."""
        for place, name in enumerate(names):
            self._do(verb="create", manifest=_pod_with_volumes(name, f"node-{place % self.nodes}"))
        took = cpu_seconds(lambda: self.rest(10 * SECOND))
        for name in names:
            found = self.cluster.store.get("Pod", f"default/{name}")
            assert isinstance(found, Pod)
            assert found.phase == "Running", found.raw.get("status")
        return took

    def remove(self, names: Sequence[str]) -> float:
        """Delete pods; the seconds until they are gone and nothing of theirs is mounted."""
        for name in names:
            self._do(verb="delete", object=f"pod/default/{name}", grace_seconds=1)
        took = cpu_seconds(lambda: self.rest(10 * SECOND))
        for name in names:
            assert self.cluster.store.find("Pod", f"default/{name}") is None, name
        return took

    @property
    def mounted(self) -> int:
        """How many mounts there are."""
        managers = self.cluster.volumes.kubelets.volumes.nodes.values()
        attached = [v for manager in managers for v in manager.actual.get_attached_volumes()]
        pods = [pod for volume in attached for pod in volume.pods.values()]
        return sum(pod.state is VolumeMountState.MOUNTED for pod in pods)

    def _do(self, **command: Any) -> None:
        outcome = self.cluster.apply(Command(**command))
        assert outcome.applied, outcome.reason


def _measure(nodes: int) -> dict[str, float]:
    empty_mib = most_mib()
    machines = _Machines(nodes)
    cluster = machines.cluster
    gc.collect()
    with collector_paused():
        machines.take()
        mount_s = machines.add(machines.pods)
        mounts = machines.mounted
        assert mounts == len(machines.pods) * len(_SOURCES), mounts
        mib = most_mib()
        machines.take()
        steps = cluster.steps
        machines.rest(HOUR)
        quiet = cluster.steps - steps
        add_s = machines.add(machines.more)
        remove_s = machines.remove(machines.more)
    assert machines.mounted == mounts
    return {
        "mounts": mounts,
        "mount_s": mount_s,
        "mount_us": mount_s / mounts * 1e6,
        "quiet": quiet,
        "add_us": add_s / CHANGED * 1e6,
        "remove_us": remove_s / CHANGED * 1e6,
        "mib": mib,
        "empty_mib": empty_mib,
    }


if __name__ == "__main__":
    print(json.dumps(_measure(int(sys.argv[1]))))
