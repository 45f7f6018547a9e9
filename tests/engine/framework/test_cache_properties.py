"""A naive model beside the cache: what each node holds is the sum of the pods that are on it."""

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engine.cluster.checks.cache import compare
from engine.cluster.checks.ledger import compare_table
from engine.framework.nodes.cache import SchedulerCache
from engine.framework.nodes.cache_rules import CacheError
from engine.framework.nodes.gauges import NodeGauges
from engine.framework.nodes.node_table import NodeTable
from engine.framework.nodes.pod_counts import PodMatcher
from engine.framework.nodes.table_feed import TableFeed
from engine.framework.pods.pod_info import AffinityTerm, PodInfo
from engine.kernel.units import SECOND
from engine.objects.objects import Node, Pod
from engine.objects.selectors import LabelSelector
from engine.versions.registry import VERSIONS
from tests.builders.nodes import ZONE
from tests.engine.scheduler_builders import ManualClock, make_node, make_pod

_PODS = st.sampled_from([f"p{number}" for number in range(6)])
_NODES = st.sampled_from(["n1", "n2", "n3", "n4"])
_ZONES = st.sampled_from(["", "a", "b"])
_IN_ZONE_A = PodMatcher(
    (
        AffinityTerm(
            namespaces=frozenset(["default"]),
            selector=LabelSelector.parse({"matchLabels": {ZONE: "a"}}),
            topology_key=ZONE,
            namespace_selector=None,
        ),
    )
)


class PlainFeed:
    """An observer that takes a newer version of a pod as one that leaves and one that comes."""

    def __init__(self, feed: TableFeed) -> None:
        self.feed = feed
        self.node_set, self.node_removed = feed.node_set, feed.node_removed
        self.pod_added, self.pod_removed = feed.pod_added, feed.pod_removed


class CacheMachine(RuleBasedStateMachine):
    """Does what a scheduler and its watches may do to the cache, legal or not."""

    def __init__(self) -> None:
        super().__init__()
        self.clock = ManualClock()
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, tuple[Pod, str]] = {}
        self.versions = 0

    @initialize(version=st.sampled_from(["v1.16", "v1.20", "v1.36"]), replaces=st.booleans())
    def start(self, version: str, replaces: bool) -> None:
        self.replaces = replaces
        self.table = NodeTable()
        feed = self.feed = TableFeed(
            self.table, NodeGauges(self.table), lists_anew=version == "v1.16"
        )
        self.cache = SchedulerCache(
            self.clock, VERSIONS[version].cache, observer=feed if replaces else PlainFeed(feed)
        )
        feed.follow(self.cache)
        self.counter = self.table.pod_counts.counter(_IN_ZONE_A)

    def _pod(self, name: str, node: str, cpu: int) -> Pod:
        self.versions += 1
        affinity = {"affinity": {"podAntiAffinity": {}}} if cpu % 2 else {}
        return make_pod(name, node=node, cpu=f"{cpu}m", version=str(self.versions), spec=affinity)

    def _try(self, move: object, *infos: PodInfo) -> bool:
        """Do the move; a refused one must leave no trace."""
        before = self._held()
        try:
            move(*infos)  # type: ignore[operator]
        except CacheError:
            assert before == self._held()
            return False
        return True

    def _held(self) -> tuple[list[int], list[PodInfo]]:
        generations = [info.generation for info in self.cache.nodes()]
        return generations, [state.info for state in self.cache.pods()]

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
            assert not (self.replaces and self.cache.rules.confirm_replaces_pod)
            return
        self.pods[name] = (pod, "added")
        state = self.cache.pod(pod.uid)
        assert state is not None
        assert state.info.pod is pod

    @rule(name=_PODS, zone=st.sampled_from(["a", "b"]))
    def confirm_with_zone(self, name: str, zone: str) -> None:
        """The API server has given the bound pod the label of its zone."""
        known, place = self.pods.get(name, (None, ""))
        if known is None or place != "assumed" or not self.cache.rules.confirm_replaces_pod:
            return
        self.versions += 1
        pod = known.bound(known.node_name, {}, str(self.versions), ((ZONE, zone),))
        assert self.cache.confirm_pod(pod) == self.replaces
        if not self.replaces:
            self.cache.add_pod(self._info(pod))
        self.pods[name] = (pod, "added")

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
    def list_nodes(self) -> None:
        """A list that is kept has the nodes of one made from nothing.

        But for the order: as upstream, a node that only changes its zone keeps its place.
        """
        listed = self.table.names(self.feed.order().tolist())
        assert sorted(listed) == sorted(self.nodes)
        if self.cache.rules.beta_zones_only:
            assert listed == self.cache.tree.list()

    def _info(self, pod: Pod) -> PodInfo:
        return PodInfo(pod, self.cache.resource_rules)

    @invariant()
    def the_cache_equals_the_store(self) -> None:
        pods = [pod for pod, _ in self.pods.values()]
        assert compare(self.cache, self.nodes.values(), pods) == []
        assert [*compare_table(self.cache, self.table)] == []

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
            pods = self.table.pods[row]
            assert sorted(pods) == sorted(info.key for info in entries[name].pods)
            assert all(pods[info.key] is info for info in entries[name].pods)
            assert self.table.listed(row) == entries[name].pods

    @invariant()
    def pods_are_counted_by_their_labels(self) -> None:
        for name, row in self.table.rows.items():
            pods = self.table.pods[row].values()
            in_zone = [info.pod.labels.get(ZONE) == "a" for info in pods]
            assert self.counter.tally.counts[row] == sum(in_zone), name

    @invariant()
    def generations_fall_along_the_list(self) -> None:
        generations = [info.generation for info in self.cache.nodes()]
        assert generations == sorted(generations, reverse=True)
        assert len(set(generations)) == len(generations)


CacheMachine.TestCase.settings = settings(
    max_examples=60, stateful_step_count=40, deadline=None, derandomize=True
)
TestCache = CacheMachine.TestCase
