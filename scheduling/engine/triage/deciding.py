"""What the schedulers of a cluster would decide at its instant, without time and without writes."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import orjson

from kscope.sim.objects.objects import ApiObject, Node, Pod
from kscope.sim.objects.pod_resources import ResourceRules
from scheduling.engine.cluster.cluster import Cluster
from scheduling.engine.configuration.profiles import Profile
from scheduling.engine.cycle.algorithm import SchedulingAlgorithm
from scheduling.engine.cycle.decision.result import SCHEDULED, ScheduleResult
from scheduling.engine.cycle.decisions_mode.claim_work import ClaimWork
from scheduling.engine.cycle.decisions_mode.decided_cluster import DecidedCluster
from scheduling.engine.diagnosis.fork import Original
from scheduling.engine.diagnosis.world import World
from scheduling.engine.framework.framework import PodVolumes
from scheduling.engine.framework.handle import Handle
from scheduling.engine.nodes.nominated import Nominated
from scheduling.engine.pods.pod_info import PodInfo


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

    def place(self, pod: Pod) -> str:
        """Place *pod* on the node that it gets; "" for none."""
        algorithm = self._algorithm(pod)
        info = PodInfo(pod, algorithm.profile.resource_rules)
        decided = algorithm.schedule(info, explain=False)
        if decided.result != SCHEDULED or decided.node is None:
            return ""
        in_zone = algorithm.profile.rules.uses_predicates
        self.cluster.place(decided, _plan(algorithm, decided), in_zone=in_zone)
        return decided.node

    def remove(self, pod: Pod) -> PodInfo | None:
        """Take a placed pod off its node; None where it is on none."""
        table = self.cluster.handle.table
        row = table.rows.get(pod.node_name)
        if row is None or pod.key not in table.pods[row]:
            return None
        info = table.remove_pod(row, pod.key)
        table.images.note_change(row)
        return info

    def put(self, pod: Pod) -> None:
        """Put a pod that has a node, in another version, back onto it."""
        table, algorithm = self.cluster.handle.table, self._algorithm(pod)
        row = table.rows[pod.node_name]
        table.add_pod(row, PodInfo(pod, algorithm.profile.resource_rules))
        table.images.note_change(row)

    def put_object(self, obj: ApiObject) -> None:
        """Add or replace a node or an object that plugins look up."""
        if isinstance(obj, Node):
            self.cluster.handle.table.add_node(obj)
        else:
            self.cluster.handle.listers.put(obj)


@dataclass(slots=True)
class Trials:
    """Copies of one `Deciding`, in each of which a change is tried."""

    deciding: Deciding
    _original: Original[Deciding] | None = None

    def placed(
        self,
        prepare: Callable[[Deciding], object] | None,
        changed: Mapping[str, Pod],
        counted: Container[str],
        made: Sequence[Pod] = (),
    ) -> list[str]:
        """Which of the pods *counted* get a node after a change.

        *prepare* makes the change in a copy; *changed* are other versions of pending pods, and
        *made* are new ones. All are decided on in their order. Equal pods are not asked again after the first
        that fits nowhere.
        """
        if self._original is None:
            self._original = Original(self.deciding, shares_pods=True)
        copy = self._original.copy()
        if prepare is not None:
            prepare(copy)
        placed, hopeless = list[str](), set[object]()
        for pod in (*copy.pending, *made):
            wanted = changed.get(pod.key, pod)
            if not copy.serves(wanted) or wanted.scheduling_gates:
                continue
            equal = _equal(wanted)
            if equal is not None and equal in hopeless:
                continue
            if not copy.place(wanted):
                hopeless.add(equal)
            elif pod.key in counted:
                placed.append(pod.key)
        return placed


def _equal(pod: Pod) -> object:
    """What pods have in common that fit the same nodes; None for one that stands for itself."""
    if pod.claim_names or pod.spec.get("resourceClaims"):
        return None
    return orjson.dumps(
        (pod.namespace, dict(pod.labels), dict(pod.spec)), option=orjson.OPT_SORT_KEYS
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
    pending = [each.pod for each in decided.read(objects, profiles[0])]
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
