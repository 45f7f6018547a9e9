"""A naive model beside the cache: what each node holds is the sum of the pods that are on it."""

from operator import itemgetter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from kscope.sim.kernel.units import SECOND
from kscope.sim.objects.objects import Node, Pod
from scheduling.engine.nodes.cache import CACHE_RULES, CacheError, SchedulerCache
from scheduling.engine.nodes.comparer import compare
from scheduling.engine.nodes.node_info import NodeInfo
from scheduling.engine.nodes.snapshot import Snapshot
from scheduling.engine.pods.pod_info import PodInfo
from tests.scheduling_engine.builders import ManualClock, make_node, make_pod

_PODS = st.sampled_from([f"p{number}" for number in range(6)])
_NODES = st.sampled_from(["n1", "n2", "n3", "n4"])
_ZONES = st.sampled_from(["", "a", "b"])


class Table:
    """A table that only follows what the cache tells its observer."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[str, PodInfo]] = {}

    def node_set(self, node: Node) -> None:
        self.rows.setdefault(node.name, {})

    def node_removed(self, node_name: str) -> None:
        del self.rows[node_name]

    def pod_added(self, node_name: str, pod: PodInfo) -> None:
        assert pod.uid not in self.rows[node_name]
        self.rows[node_name][pod.uid] = pod

    def pod_removed(self, node_name: str, pod: PodInfo) -> None:
        assert self.rows[node_name].pop(pod.uid) is pod


class ReplacingTable(Table):
    """A table that takes newer versions of a pod as they come."""

    def pod_replaced(self, node_name: str, old: Pod, new: PodInfo) -> None:
        known = self.rows[node_name][old.uid]
        assert known is new or known.pod is old
        assert known.resources == new.resources
        self.rows[node_name][old.uid] = new


def _by_name(infos: list[NodeInfo]) -> list[tuple[str, int, dict[str, int], list[PodInfo]]]:
    return sorted(((i.name, i.generation, i.requested(), i.pods) for i in infos), key=itemgetter(0))


class CacheMachine(RuleBasedStateMachine):
    """Does what a scheduler and its watches may do to the cache, legal or not."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, tuple[Pod, str]] = {}
        self.snapshot = Snapshot()
        self.versions = 0

    @initialize(version=st.sampled_from(["v1.16", "v1.20", "v1.34"]), replaces=st.booleans())
    def start(self, version: str, replaces: bool) -> None:
        self.table = ReplacingTable() if replaces else Table()
        self.cache = SchedulerCache(self.clock, CACHE_RULES[version], observer=self.table)

    def _pod(self, name: str, node: str, cpu: int) -> Pod:
        self.versions += 1
        affinity = {"affinity": {"podAntiAffinity": {}}} if cpu % 2 else {}
        return make_pod(name, node=node, cpu=f"{cpu}m", version=str(self.versions), spec=affinity)

    def _try(self, move: object, *infos: PodInfo) -> bool:
        """Do the move; a refused one must leave no trace."""
        before = (self.cache.generation, [s.info for s in self.cache.pods()])
        try:
            move(*infos)  # type: ignore[operator]
        except CacheError:
            assert before == (self.cache.generation, [s.info for s in self.cache.pods()])
            return False
        return True

    @rule(name=_PODS, node=_NODES, cpu=st.integers(0, 5))
    def assume(self, name: str, node: str, cpu: int) -> None:
        pod = self._pod(name, node, cpu)
        allowed = name not in self.pods
        assert self._try(self.cache.assume_pod, self._info(pod)) == allowed
        if allowed:
            self.pods[name] = (pod, "assumed")

    @rule(name=_PODS)
    def finish_binding(self, name: str) -> None:
        pod, _ = self.pods.get(name, (self._pod(name, "n1", 1), ""))
        self.cache.finish_binding(self._info(pod))

    @rule(name=_PODS, node=_NODES)
    def forget(self, name: str, node: str) -> None:
        pod, place = self.pods.get(name, (None, ""))
        allowed = pod is not None and place == "assumed" and pod.node_name == node
        told = pod if allowed and pod is not None else self._pod(name, node, 1)
        assert self._try(self.cache.forget_pod, self._info(told)) == allowed
        if allowed:
            del self.pods[name]

    @rule(name=_PODS, node=_NODES, cpu=st.integers(0, 5), same=st.booleans())
    def add(self, name: str, node: str, cpu: int, same: bool) -> None:
        known, place = self.pods.get(name, (None, ""))
        pod = self._pod(name, node, cpu)
        if same and known is not None:
            pod = known.with_metadata(resourceVersion=str(self.versions))
        elif known is not None and known.node_name == pod.node_name:
            # Between assume and confirm nothing but the node changes.
            return
        allowed = place != "added"
        assert self._try(self.cache.add_pod, self._info(pod)) == allowed
        if allowed:
            self.pods[name] = (pod, "added")

    @rule(name=_PODS)
    def renew(self, name: str) -> None:
        """A newer version comes in which nothing has changed that counts."""
        known, place = self.pods.get(name, (None, ""))
        if known is None:
            return
        self.versions += 1
        pod = known.with_metadata(resourceVersion=str(self.versions))
        if place == "added":
            self.cache.renew_pod(pod)
        elif not self.cache.confirm_pod(pod):
            in_place = isinstance(self.table, ReplacingTable)
            assert not (in_place and self.cache.rules.confirm_replaces_pod)
            return
        self.pods[name] = (pod, "added")
        state = self.cache.pod(pod.uid)
        assert state is not None
        assert state.info.pod is pod

    @rule(name=_PODS, cpu=st.integers(0, 5))
    def update(self, name: str, cpu: int) -> None:
        known, place = self.pods.get(name, (None, ""))
        pod = self._pod(name, known.node_name if known else "n1", cpu)
        old = self._info(known or pod)
        assert self._try(self.cache.update_pod, old, self._info(pod)) == (place == "added")
        if place == "added":
            self.pods[name] = (pod, "added")

    @rule(name=_PODS)
    def remove(self, name: str) -> None:
        known, place = self.pods.get(name, (self._pod(name, "n1", 1), ""))
        allowed = place == "added" or (place == "assumed" and self.cache.rules.removes_assumed)
        assert self._try(self.cache.remove_pod, self._info(known)) == allowed
        if allowed:
            del self.pods[name]

    @rule(seconds=st.sampled_from([1, 29, 31]))
    def time_passes(self, seconds: int) -> None:
        due = self.cache.next_expiry()
        self.clock.now += seconds * SECOND
        expired = self.cache.cleanup_assumed_pods()
        assert bool(expired) == (due is not None and due <= self.clock.now)
        for info in expired:
            assert self.pods.pop(info.pod.name)[1] == "assumed"

    @rule(name=_NODES, zone=_ZONES)
    def set_node(self, name: str, zone: str) -> None:
        labels = {"failure-domain.beta.kubernetes.io/zone": zone} if zone else {}
        node = make_node(name, labels=labels)
        if name in self.nodes:
            self.cache.update_node(node)
        else:
            self.cache.add_node(node)
        self.nodes[name] = node

    @rule(name=_NODES)
    def remove_node(self, name: str) -> None:
        node = self.nodes.pop(name, None)
        if node is not None:
            self.cache.remove_node(node)

    @rule()
    def take_snapshot(self) -> None:
        """The incremental snapshot equals one made from nothing.

        But for the order: as upstream, a node that only changes its zone keeps its place.
        """
        self.snapshot.update(self.cache)
        if not self.cache.rules.snapshot_lists:
            return
        fresh = Snapshot()
        fresh.update(self.cache)
        for ours, theirs in (
            (self.snapshot.node_list, fresh.node_list),
            (self.snapshot.have_affinity, fresh.have_affinity),
            (self.snapshot.have_anti_affinity, fresh.have_anti_affinity),
        ):
            assert _by_name(ours) == _by_name(theirs)
        assert sorted(info.name for info in self.snapshot.node_list) == sorted(self.nodes)

    def _info(self, pod: Pod) -> PodInfo:
        return PodInfo(pod, self.cache.resource_rules)

    @invariant()
    def the_cache_equals_the_store(self) -> None:
        assert (
            compare(self.cache, self.nodes.values(), [pod for pod, _ in self.pods.values()]) == []
        )

    @invariant()
    def each_pod_is_where_the_model_has_it(self) -> None:
        states = {state.info.uid: state for state in self.cache.pods()}
        assert states.keys() == self.pods.keys()
        for name, (pod, place) in self.pods.items():
            assert self.cache.place_of(name) == place
            assert self.cache.is_assumed(pod.key) == (place == "assumed")
            assert states[name].info.node_name == pod.node_name

    @invariant()
    def the_table_is_in_step(self) -> None:
        entries = {info.name: info for info in self.cache.nodes() if info.node is not None}
        assert self.table.rows.keys() == entries.keys()
        for name, row in self.table.rows.items():
            assert sorted(row) == sorted(info.uid for info in entries[name].pods)
            assert all(row[info.uid] is info for info in entries[name].pods)

    @invariant()
    def generations_fall_along_the_list(self) -> None:
        generations = [info.generation for info in self.cache.nodes()]
        assert generations == sorted(generations, reverse=True)
        assert len(set(generations)) == len(generations)


CacheMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, derandomize=True
)
TestCache = CacheMachine.TestCase
