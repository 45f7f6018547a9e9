import pickle

import pytest

from engine.cluster.checks.cache import compare
from engine.cluster.checks.ledger import compare_table
from engine.framework.nodes.cache import CacheMove, CachePlace, SchedulerCache
from engine.framework.nodes.cache_rules import CacheError
from engine.framework.nodes.gauges import NodeGauges
from engine.framework.nodes.node_table import CPU, NodeTable
from engine.framework.nodes.table_feed import TableFeed
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.units import SECOND
from engine.objects.objects import Node, Pod
from engine.objects.pods.pod_resources import HostPort
from engine.versions.registry import VERSIONS
from tests.builders.nodes import ZONE
from tests.engine.scheduler_builders import ManualClock, make_node, make_pod

MODERN, CLASSIC = "v1.34", "v1.16"


class Heard:
    """Remembers what listeners and observers of the cache are told."""

    def __init__(self) -> None:
        self.moves: list[tuple[str, str, str, str]] = []
        self.refusals: list[str] = []
        self.nodes: list[str] = []

    def cache_moved(
        self, pod_key: str, move: CacheMove, place_to: CachePlace, node_name: str
    ) -> None:
        self.moves.append((pod_key, move, place_to, node_name))

    def cache_refused(self, pod_key: str, move: CacheMove, reason: str) -> None:
        self.refusals.append(f"{move}: {reason}")

    def node_set(self, node: Node) -> None:
        self.nodes.append(f"set {node.name}")

    def node_removed(self, node_name: str) -> None:
        self.nodes.append(f"removed {node_name}")

    def pod_added(self, node_name: str, pod: PodInfo) -> None:
        self.nodes.append(f"{pod.pod.name} on {node_name}")

    def pod_removed(self, node_name: str, pod: PodInfo) -> None:
        self.nodes.append(f"{pod.pod.name} off {node_name}")


def make_cache(version: str = MODERN) -> tuple[SchedulerCache, ManualClock, Heard]:
    clock, heard = ManualClock(), Heard()
    cache = SchedulerCache(clock, VERSIONS[version].cache, listener=heard, observer=heard)
    return cache, clock, heard


def make_fed_table(
    version: str = MODERN, *, reads_labels: bool = True
) -> tuple[SchedulerCache, NodeTable, TableFeed]:
    table = NodeTable()
    lists_anew = version == CLASSIC
    feed = TableFeed(table, NodeGauges(table), lists_anew=lists_anew, reads_labels=reads_labels)
    cache = SchedulerCache(ManualClock(), VERSIONS[version].cache, observer=feed)
    feed.follow(cache)
    return cache, table, feed


def requested(table: NodeTable, node: str) -> dict[str, int]:
    return table.requested_at(table.rows[node])


def info_of(cache: SchedulerCache, pod: Pod) -> PodInfo:
    return PodInfo(pod, cache.resource_rules)


def test_an_assumed_pod_counts_before_anybody_confirms_it() -> None:
    cache, table, _ = make_fed_table()
    cache.add_node(make_node("n1"))
    pod = info_of(cache, make_pod("a", cpu="500m", memory="1Gi")).assigned_to("n1")
    cache.assume_pod(pod)
    assert cache.is_assumed(pod.key)
    assert requested(table, "n1") == {"cpu": 500, "memory": 2**30, "pods": 1}
    cache.forget_pod(pod)
    assert requested(table, "n1") == {"cpu": 0, "memory": 0, "pods": 0}
    assert cache.place_of(pod.uid) == ""


def _bound_in_zone_a(cache: SchedulerCache, pod: Pod) -> None:
    """Assume *pod* on n1, and confirm it with a label that it did not have."""
    cache.assume_pod(info_of(cache, pod).assigned_to("n1"))
    assert cache.confirm_pod(pod.bound("n1", {}, "2", ((ZONE, "a"),)))


def test_new_labels_alone_leave_kept_answers() -> None:
    cache, table, _ = make_fed_table("v1.36", reads_labels=False)
    cache.add_node(make_node("n1"))
    _bound_in_zone_a(cache, make_pod("a"))
    # The node came, and the pod was assumed.
    assert table.log.end == 2


def test_custom_plugins_see_new_labels() -> None:
    cache, table, _ = make_fed_table("v1.36", reads_labels=True)
    cache.add_node(make_node("n1"))
    _bound_in_zone_a(cache, make_pod("a"))
    assert table.log.end == 3


def test_preemption_looks_again_at_pods_with_new_labels() -> None:
    cache, table, _ = make_fed_table("v1.36", reads_labels=False)
    cache.add_node(make_node("n1"))
    pod = make_pod("a")
    _bound_in_zone_a(cache, pod)
    cache.renew_pod(pod.bound("n1", {}, "2", ((ZONE, "a"),)).with_status({"phase": "Running"}))
    assert table.reordered == {table.rows["n1"]: True}


def test_pods_selecting_by_their_labels_are_parsed_anew() -> None:
    cache, _, _ = make_fed_table("v1.36")
    cache.add_node(make_node("n1"))
    term = {"topologyKey": ZONE, "labelSelector": {}, "matchLabelKeys": [ZONE]}
    rules = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    pod = make_pod("a", spec={"affinity": {"podAntiAffinity": rules}})
    cache.assume_pod(info_of(cache, pod).assigned_to("n1"))
    assert not cache.confirm_pod(pod.bound("n1", {}, "2", ((ZONE, "a"),)))


def test_the_watch_confirms_what_was_assumed() -> None:
    cache, _, heard = make_cache()
    cache.add_node(make_node("n1"))
    pod = info_of(cache, make_pod("a")).assigned_to("n1")
    cache.assume_pod(pod)
    cache.finish_binding(pod)
    cache.add_pod(info_of(cache, make_pod("a", node="n1", version="2")))
    assert [move[1:3] for move in heard.moves] == [
        ("assume", "assumed"),
        ("finish_binding", "assumed"),
        ("confirm", "added"),
    ]
    assert not cache.is_assumed(pod.key)


def test_an_unconfirmed_pod_expires_in_old_versions_only() -> None:
    for version, expires in ((CLASSIC, True), (MODERN, False)):
        cache, clock, _ = make_cache(version)
        cache.add_node(make_node("n1"))
        pod = info_of(cache, make_pod("a")).assigned_to("n1")
        cache.assume_pod(pod)
        assert cache.next_expiry() is None
        cache.finish_binding(pod)
        assert cache.next_expiry() == (31 * SECOND if expires else None)
        clock.now = 30 * SECOND
        assert cache.cleanup_assumed_pods() == []
        clock.now += 1
        assert [info.key for info in cache.cleanup_assumed_pods()] == [pod.key] * expires


def test_illegal_moves_are_refused_and_change_nothing() -> None:
    cache, _, heard = make_cache(CLASSIC)
    cache.add_node(make_node("n1"))
    pod = info_of(cache, make_pod("a", node="n1"))
    cache.add_pod(pod)
    generation = cache.nodes()[0].generation
    for move in (cache.assume_pod, cache.forget_pod, cache.add_pod):
        with pytest.raises(CacheError):
            move(pod)
    assert heard.refusals == [
        "assume: pod a is in the cache, so can't be assumed",
        "forget: pod a wasn't assumed so cannot be forgotten",
        "add: pod a was already in added state",
    ]
    assert (cache.nodes()[0].generation, cache.place_of("a")) == (generation, "added")


def test_pod_said_to_be_elsewhere_breaks_the_cache() -> None:
    cache, _, _ = make_cache(CLASSIC)
    cache.add_node(make_node("n1"))
    cache.add_pod(info_of(cache, make_pod("a", node="n1")))
    with pytest.raises(CacheError) as raised:
        cache.remove_pod(info_of(cache, make_pod("a", node="n2")))
    assert raised.value.fatal


def test_removed_node_stays_as_a_ghost_with_pods() -> None:
    cache, _, heard = make_cache()
    node = make_node("n1")
    cache.add_node(node)
    pod = info_of(cache, make_pod("a", node="n1"))
    cache.add_pod(pod)
    cache.remove_node(node)
    ghost = cache.node("n1")
    assert ghost is not None
    assert ghost.node is None
    cache.remove_pod(pod)
    assert cache.node("n1") is None
    # A table of nodes hears nothing of ghosts.
    assert heard.nodes == ["set n1", "a on n1", "removed n1"]


def test_pods_earlier_than_their_node_are_reported_later() -> None:
    cache, _, heard = make_cache()
    cache.add_pod(info_of(cache, make_pod("early", node="n1")))
    assert heard.nodes == []
    cache.add_node(make_node("n1"))
    assert heard.nodes == ["set n1", "early on n1"]


def test_the_node_that_changed_last_stands_first() -> None:
    cache, _, _ = make_cache()
    for name in ("n1", "n2", "n3"):
        cache.add_node(make_node(name))
    cache.add_pod(info_of(cache, make_pod("a", node="n1")))
    assert [info.name for info in cache.nodes()] == ["n1", "n3", "n2"]


def test_only_changed_rows_are_logged() -> None:
    cache, table, _ = make_fed_table()
    for name in ("n1", "n2", "n3"):
        cache.add_node(make_node(name))
    end = table.log.end
    assert table.log.since(end) == []
    cache.add_pod(info_of(cache, make_pod("a", node="n2")))
    assert table.log.since(end) == [table.rows["n2"]]
    assert [int(table.pod_count[row]) for row in table.active] == [0, 1, 0]


def test_nodes_are_listed_zone_by_zone_in_turn() -> None:
    cache, table, feed = make_fed_table()
    for name, zone in (("a1", "a"), ("a2", "a"), ("b1", "b")):
        cache.add_node(make_node(name, labels={"topology.kubernetes.io/zone": zone}))
    assert table.names(feed.order().tolist()) == ["a1", "b1", "a2"]
    cache.remove_node(make_node("a1", labels={"topology.kubernetes.io/zone": "a"}))
    assert table.names(feed.order().tolist()) == ["a2", "b1"]


def test_snapshot_counts_the_nodes_of_an_image_anew() -> None:
    cache, table, _ = make_fed_table()
    images = [{"names": ["app:v1"], "sizeBytes": 100}]
    cache.add_node(make_node("n1", images=images))
    cache.add_node(make_node("n2", images=images))
    table.images.take_snapshot()
    # v1.16 scores by the number when the node was read, later versions by that of the snapshot.
    row, state = table.rows["n1"], table.images.states["app:v1"]
    assert (state.size, table.images.held[row]["app:v1"]) == (100, 1)
    assert (state.size, state.rows[row]) == (100, 2)


def test_ports_on_every_address_conflict_with_each_address() -> None:
    cache, table, _ = make_fed_table()
    cache.add_node(make_node("n1"))
    ports = [{"containerPort": 80, "hostPort": 80, "hostIP": "10.0.0.1"}]
    pod = make_pod("a", node="n1", spec={"containers": [{"name": "c", "ports": ports}]})
    cache.add_pod(info_of(cache, pod))
    assert table.ports.conflicts([HostPort(ip="0.0.0.0", protocol="TCP", port=80)])
    assert table.ports.conflicts([HostPort(ip="10.0.0.1", protocol="TCP", port=80)])
    assert not table.ports.conflicts([HostPort(ip="10.0.0.2", protocol="TCP", port=80)])
    assert not table.ports.conflicts([HostPort(ip="10.0.0.1", protocol="UDP", port=80)])


def test_the_comparer_finds_each_kind_of_difference() -> None:
    cache, table, _ = make_fed_table()
    node, other = make_node("n1"), make_node("n2")
    pod, lost = make_pod("a", node="n1"), make_pod("lost", node="n1")
    cache.add_node(node)
    cache.add_pod(info_of(cache, pod))
    assert compare(cache, [node], [pod]) == []
    differences = compare(cache, [node, other], [lost])
    subjects = [found.subject for found in differences]
    assert subjects == ["node/n2", "pod/default/a", "pod/default/lost"]
    table.requested[CPU, table.rows["n1"]] += 1
    assert [str(found) for found in compare_table(cache, table)] == [
        "requests of node/n1: the cache has {'cpu': 1, 'memory': 0, 'pods': 1}, "
        "the store {'cpu': 0, 'memory': 0, 'pods': 1}"
    ]


def test_a_pickled_cache_goes_on_where_it_was() -> None:
    cache, table, _ = make_fed_table()
    cache.add_node(make_node("n1"))
    pod = info_of(cache, make_pod("a", cpu="1")).assigned_to("n1")
    cache.assume_pod(pod)
    pickled = pickle.dumps((cache, table))
    copy, table_copy = pickle.loads(pickled)
    copy.forget_pod(pod)
    assert requested(table_copy, "n1")["cpu"] == 0
    assert requested(table, "n1")["cpu"] == 1000
    assert cache.is_assumed(pod.key)


def test_a_node_gives_back_what_it_counted() -> None:
    for version in (CLASSIC, "v1.20", MODERN):
        cache, table, _ = make_fed_table(version)
        cache.add_node(make_node("n1"))
        cache.assume_pod(info_of(cache, make_pod("a", cpu="100m", node="n1")))
        confirmed = info_of(cache, make_pod("a", cpu="150m", node="n1"))
        cache.add_pod(confirmed)
        cache.remove_pod(confirmed)
        assert requested(table, "n1")["cpu"] == 0


def test_update_takes_the_old_version_from_its_place() -> None:
    cache, _, _ = make_cache(CLASSIC)
    for name in ("n1", "n2"):
        cache.add_node(make_node(name))
    here, elsewhere = (info_of(cache, make_pod("a", node=name)) for name in ("n1", "n2"))
    cache.add_pod(here)
    with pytest.raises(CacheError, match="no corresponding pod a in pods of node n2"):
        cache.update_pod(elsewhere, here)


def test_since_1_20_an_update_adds_unknown_nodes() -> None:
    cache, _, _ = make_cache(MODERN)
    node = make_node("n1")
    cache.update_node(node, node)
    assert cache.tree.num_nodes == 1
    cache.remove_node(node)
    assert cache.tree.num_nodes == 0


def test_update_of_an_unadded_node_leaves_the_tree() -> None:
    cache, _, _ = make_cache(CLASSIC)
    node = make_node("n1")
    cache.update_node(node, node)
    assert ([info.name for info in cache.nodes()], cache.tree.num_nodes) == (["n1"], 0)
    with pytest.raises(CacheError, match='node "n1" in group "" was not found'):
        cache.remove_node(node)
