"""What the schedulers of a cluster would decide at its instant, without time and without writes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Container, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import orjson

from engine.cluster.cluster import Cluster
from engine.diagnosis.world import Undo, World
from engine.framework.explaining.manifests import REQUIRED
from engine.framework.framework import PodVolumes, SpreadsByDefault
from engine.framework.handle import Handle
from engine.framework.nodes.listers import Listers
from engine.framework.nodes.nominated import Nominated
from engine.framework.pods.pod_info import PodInfo
from engine.objects.manifest_parts import items, section
from engine.objects.objects import (
    ApiObject,
    Manifest,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
)
from engine.objects.pods.pod_resources import ResourceRules
from engine.objects.pods.resource_claims import RESOURCE_CLAIM
from engine.scheduler.configuration.profiles import Profile
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import SCHEDULED, ScheduleResult
from engine.scheduler.cycle.decisions_mode.claim_work import ClaimWork
from engine.scheduler.cycle.decisions_mode.decided_cluster import DecidedCluster


@dataclass(slots=True)
class Deciding:
    """Nodes, pods and volumes as the API server has them, and the schedulers that decide on them.

    Pods are placed at once, volumes bound at once.
    """

    cluster: DecidedCluster
    algorithms: Mapping[str, SchedulingAlgorithm]
    # The pods without a node, the more important first.
    pending: list[Pod]
    # The node of each pod that was placed here and has none in the cluster, by its key.
    foreseen: dict[str, str] = field(default_factory=dict[str, str])
    # During a trial, what takes it back, and the rows that it changed; None for many more.
    _undo: Undo | None = None
    _touched: dict[int, None] | None = None

    @property
    def rules(self) -> ResourceRules:
        """How the requests of pods are counted in this version."""
        return next(iter(self.algorithms.values())).profile.resource_rules

    def serves(self, pod: Pod) -> bool:
        """Whether some scheduler has the name that *pod* asks for."""
        return pod.scheduler_name in self.algorithms

    def world(self, pod: Pod) -> World:
        """The view of the scheduler that serves *pod*, for its refusals and for changes."""
        return World.over(self._algorithm(pod), pod)

    def _algorithm(self, pod: Pod) -> SchedulingAlgorithm:
        return self.algorithms.get(pod.scheduler_name) or next(iter(self.algorithms.values()))

    @property
    def has_own_plugins(self) -> bool:
        """Whether some profile has plugins that are not Kubernetes' own."""
        return any(each.profile.custom_plugins for each in self.algorithms.values())

    def follows(self, pod: Pod) -> bool:
        """Whether *pod* may find a place by that of another: by affinity, or by spreading."""
        affinity = section(pod.spec, "affinity", "podAffinity")
        if affinity.get(REQUIRED) or pod.spec.get("topologySpreadConstraints"):
            return True
        algorithm = self._algorithm(pod)
        info = PodInfo(pod, algorithm.profile.resource_rules)
        return any(
            plugin.hard_by_default(info)
            for plugin in algorithm.framework.plugins.by_name.values()
            if isinstance(plugin, SpreadsByDefault)
        )

    def is_by_itself(self, pod: Pod, users: Mapping[str, int]) -> bool:
        """Whether all that *pod* uses besides a node is settled and used by no other pending pod."""
        if pod.spec.get("resourceClaims"):
            return False
        listers = self.cluster.handle.listers
        keys = [f"{pod.namespace}/{name}" for name in pod.claim_names]
        claims = [listers.claim(key) for key in keys]
        is_bound = all(claim is not None and claim.volume_name for claim in claims)
        return is_bound and all(users[key] == 1 for key in keys)

    def fits(self, pod: Pod) -> bool:
        """Whether *pod* fits some node."""
        algorithm, handle = self._algorithm(pod), self.cluster.handle
        start, info = handle.next_start, PodInfo(pod, algorithm.profile.resource_rules)
        decided = algorithm.schedule(info, explain=False)
        handle.next_start = start
        return decided.result == SCHEDULED

    def may_fit_now(self, pod: Pod) -> bool:
        """Whether a pod that fitted nowhere before the trial may fit what was changed by it."""
        if self._touched is None:
            return True
        if not self._touched:
            return False
        algorithm = self._algorithm(pod)
        info = PodInfo(pod, algorithm.profile.resource_rules)
        rows = np.array(list(self._touched), np.int64)
        search = algorithm.framework.find_feasible(info, rows, algorithm.nominated)
        return len(search.feasible) > 0

    def place(self, pod: Pod) -> str:
        """Place *pod* on the node that it gets; "" for none."""
        algorithm = self._algorithm(pod)
        info = PodInfo(pod, algorithm.profile.resource_rules)
        decided = algorithm.schedule(info, explain=False)
        if decided.result != SCHEDULED or decided.node is None:
            return ""
        in_zone = algorithm.profile.rules.uses_predicates
        self._later(self.cluster.displace, info, decided.row)
        self.cluster.place(decided, _plan(algorithm, decided), in_zone=in_zone)
        return decided.node

    def remove(self, pod: Pod) -> PodInfo | None:
        """Take a placed pod off its node; None where it is on none."""
        table = self.cluster.handle.table
        row = table.rows.get(pod.node_name)
        if row is None or pod.key not in table.pods[row]:
            return None
        # A rule that keeps other pods away may reach beyond the node.
        self._touched = None
        self._later(table.reorder_pods, row, list(table.pods[row]))
        info = table.remove_pod(row, pod.key)
        self._later(table.add_pod, row, info)
        table.images.note_change(row)
        return info

    def put(self, pod: Pod) -> None:
        """Put a pod that has a node, in another version, back onto it."""
        table, algorithm = self.cluster.handle.table, self._algorithm(pod)
        row = table.rows[pod.node_name]
        table.add_pod(row, PodInfo(pod, algorithm.profile.resource_rules))
        self._later(table.remove_pod, row, pod.key)
        table.images.note_change(row)

    def put_node(self, node: Node) -> None:
        """Add or replace a node."""
        table = self.cluster.handle.table
        row = table.rows.get(node.name)
        if row is None:
            self._later(table.remove_node, node.name)
        else:
            self._later(table.add_node, table.node(row))
        row = table.add_node(node)
        if self._touched is not None:
            self._touched[row] = None

    def _later(self, method: Callable[..., object], *args: object) -> None:
        """What takes the next step back, while a trial lasts."""
        if self._undo is not None:
            self._undo.later(method, *args)

    @contextmanager
    def trial(self) -> Generator[None]:
        """Changes made meanwhile are taken back at its end.

        Claims, volumes and devices may be written wherever a pod is placed, so they are compared.
        """
        handle = self.cluster.handle
        counters = handle.next_start, handle.hosts_chosen
        before = {kind: dict(handle.listers.live(kind)) for kind in _WRITTEN}
        self._undo = undo = Undo()
        self._touched = {}
        try:
            yield
        finally:
            self._undo = None
            undo.run()
            for kind, objects in before.items():
                _restore(handle.listers, kind, objects)
            handle.next_start, handle.hosts_chosen = counters


# What the placing of a pod may write besides the pod.
_WRITTEN: Final = (PersistentVolumeClaim.KIND, PersistentVolume.KIND, RESOURCE_CLAIM)


def _restore(listers: Listers, kind: str, before: Mapping[str, ApiObject]) -> None:
    now = listers.live(kind)
    for key in [key for key in now if key not in before]:
        listers.remove(kind, key)
    for obj in [obj for key, obj in before.items() if now.get(key) is not obj]:
        listers.put(obj)


@dataclass(slots=True)
class Trials:
    """Changes tried on one `Deciding`, each of which is taken back."""

    deciding: Deciding
    # What pending pods have in common with others, by key.
    _equal: dict[str, object] = field(default_factory=dict[str, object])
    # The pending pods that fit nowhere as things are, and that no pod which is placed can help.
    _idle: frozenset[str] | None = None

    def placed(
        self,
        prepare: Callable[[], object] | None,
        changed: Mapping[str, Pod],
        counted: Container[str],
        made: Sequence[Pod] = (),
    ) -> list[str]:
        """Which of the pods *counted* get a node after a change.

        *prepare* makes the change in `deciding`; *changed* are other versions of pending pods, and
        *made* are new ones. All are decided on in their order. Equal pods are not asked again after
        the first that fits nowhere, unless one that was placed since may have made them a place.
        """
        deciding = self.deciding
        if self._idle is None:
            self._idle = frozenset(self._idle_ones())
        placed, hopeless, number = list[str](), dict[object, int](), 0
        with deciding.trial():
            if prepare is not None:
                prepare()
            for pod in (*deciding.pending, *made):
                wanted = changed.get(pod.key, pod)
                if not deciding.serves(wanted) or wanted.scheduling_gates:
                    continue
                equal = self._equal_to(wanted, pod)
                since = number if deciding.follows(wanted) else 0
                if equal is not None and hopeless.get(equal, -1) >= since:
                    continue
                is_idle = wanted is pod and pod.key in self._idle
                if (is_idle and not deciding.may_fit_now(pod)) or not deciding.place(wanted):
                    hopeless[equal] = number
                    continue
                number += 1
                if pod.key in counted:
                    placed.append(pod.key)
        return placed

    def _idle_ones(self) -> Iterator[str]:
        """See `_idle`: what others take can only make it worse for them."""
        deciding = self.deciding
        if deciding.has_own_plugins:
            return
        users = Counter(
            f"{pod.namespace}/{name}" for pod in deciding.pending for name in pod.claim_names
        )
        known: dict[object, bool] = {}
        for pod in deciding.pending:
            if not deciding.serves(pod) or pod.scheduling_gates or deciding.follows(pod):
                continue
            equal = self._equal_to(pod, pod)
            if equal is None and not deciding.is_by_itself(pod, users):
                continue
            fits = known.get(equal) if equal is not None else None
            if fits is None:
                fits = known[equal] = deciding.fits(pod)
            if not fits:
                yield pod.key

    def _equal_to(self, wanted: Pod, pod: Pod) -> object:
        if wanted is not pod:
            return _equal(wanted)
        if pod.key not in self._equal:
            self._equal[pod.key] = _equal(pod)
        return self._equal[pod.key]


def _equal(pod: Pod) -> object:
    """What pods have in common that fit the same nodes; None for one that stands for itself."""
    if pod.claim_names or pod.spec.get("resourceClaims"):
        return None
    parts = (pod.namespace, dict(pod.labels), scheduling_spec(pod))
    return orjson.dumps(parts, option=orjson.OPT_SORT_KEYS)


def scheduling_spec(pod: Pod) -> Manifest:
    """The part of a spec that decisions depend on, claims apart.

    Each pod has a name of its own for the volume with its token, and other things that differ from
    pod to pod of one template and that no scheduler looks at.
    """
    spec: Manifest = {name: part for name, part in pod.spec.items() if name not in _PER_POD}
    for name in ("initContainers", "containers"):
        if name in spec:
            spec[name] = [
                {field: each[field] for field in _OF_CONTAINERS if field in each}
                for each in spec[name]
            ]
    others = [each for each in items(pod.spec, "volumes") if not _UNSEEN & each.keys()]
    return {**spec, "volumes": others} if others else spec


_PER_POD: Final = frozenset(("volumes", "hostname", "subdomain"))
_OF_CONTAINERS: Final = ("name", "image", "ports", "resources", "restartPolicy")
# Volumes that are made wherever the pod runs, and claims, which are looked at by themselves.
_UNSEEN: Final = frozenset(
    ("configMap", "downwardAPI", "emptyDir", "hostPath", "projected", "secret")
    + ("persistentVolumeClaim",)
)


def deciding_on(cluster: Cluster) -> Deciding:
    """What the schedulers of *cluster* see of its objects as they are stored now."""
    handle = Handle()
    nominated = Nominated(handle.table)
    profiles = [_everywhere(each) for each in _profiles(cluster)]
    algorithms = {
        each.name: SchedulingAlgorithm(each, handle, nominated=nominated) for each in profiles
    }
    decided = DecidedCluster(handle)
    first = algorithms[profiles[0].name]
    if first.devices is not None:
        decided.claims = ClaimWork(first.devices, handle.listers)
    store = cluster.store
    objects = [obj for kind in _nodes_first(store.kinds()) for obj in store.objects(kind)]
    known = cluster.scheduler.state.handle.table.pods
    parsed = {key: info for pods in known for key, info in pods.items()}
    pending = [each.pod for each in decided.read(objects, profiles[0], parsed)]
    pending = [pod for pod in pending if not pod.deletion_timestamp]
    return Deciding(decided, algorithms, sorted(pending, key=_turn))


def _profiles(cluster: Cluster) -> list[Profile]:
    return [
        algorithm.profile
        for scheduler in cluster.schedulers
        for name in sorted(scheduler.names)
        if (algorithm := scheduler.algorithm_for(name)) is not None
    ]


def _everywhere(profile: Profile) -> Profile:
    """*profile*, which looks at every node."""
    return replace(profile, percentage=100)


def _nodes_first(kinds: Iterable[str]) -> list[str]:
    return sorted(kinds, key=_is_not_node)


def _is_not_node(kind: str) -> bool:
    return kind != Node.KIND


def _turn(pod: Pod) -> tuple[int, str]:
    return -pod.priority, pod.creation_timestamp


def _plan(algorithm: SchedulingAlgorithm, decided: ScheduleResult) -> PodVolumes:
    binding = algorithm.framework.volume_binding
    if decided.search is None or binding is None or decided.row < 0:
        return PodVolumes()
    return binding.plan(decided.search.state, decided.row)
