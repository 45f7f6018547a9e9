"""An illegal move of the cache is on the record; only a corrupted cache ends the run."""

from engine.api_server.store.watches import WatchEvent
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.recorder import Event
from engine.kernel.units import SECOND
from engine.objects.objects import Pod, from_manifest
from tests.builders import node, node_of, played, pod, scene
from tests.engine.scheduler.queue.queue_contents import place_of


def _cluster() -> Cluster:
    return played(Cluster.create(scene(node("n1"), node("n2"), pod("web", nodeName="n1"))))


def _refused(cluster: Cluster) -> list[Event]:
    return [event for event in cluster.take().events if event.kind == "CacheMoveRefused"]


def test_removing_an_unknown_node_is_recorded() -> None:
    cluster = _cluster()
    unknown = from_manifest(node("n9"))
    cluster.scheduler.watches.observe_node(WatchEvent("DELETED", unknown, unknown))
    (event,) = _refused(cluster)
    assert (event.object, event.message) == ("node/n9", "node n9 is not found")
    assert event.data == {"move": "remove_node", "fatal": False}


def test_the_run_goes_on_after_a_refused_move() -> None:
    cluster = _cluster()
    unknown = from_manifest(node("n9"))
    cluster.scheduler.watches.observe_node(WatchEvent("DELETED", unknown, unknown))
    cluster.apply(Command(verb="create", manifest=pod("next")))
    played(cluster)
    assert cluster.failure == ""
    assert node_of(cluster, "next")


def test_a_pod_added_twice_is_recorded() -> None:
    cluster = _cluster()
    web = cluster.store.get("Pod", "default/web")
    assert isinstance(web, Pod)
    cluster.scheduler.watches.pod_assigned(None, web)
    (event,) = _refused(cluster)
    assert event.data == {"move": "add", "fatal": False}
    assert event.message.endswith("was already in added state")


def test_cached_pod_cannot_be_assumed_again() -> None:
    cluster = Cluster.create(scene(node("n1"), pod("web")))
    scheduler = cluster.scheduler
    while scheduler.queue.in_flight("default/web") is None:
        cluster.advance(cluster.now + SECOND, stop="event")
    info = PodInfo(scheduler.state.known["default/web"], scheduler.state.rules)
    scheduler.cache.add_pod(info.assigned_to("n1"))
    played(cluster, 1)
    (event,) = _refused(cluster)
    assert event.data == {"move": "assume", "fatal": False}
    assert place_of(scheduler.queue, "default/web") == "backoff"


def test_pod_that_changes_its_node_ends_the_run() -> None:
    cluster = _cluster()
    cluster.store.patch("Pod", "default/web", {"spec": {"nodeName": "n2"}}, by="test")
    before = cluster.now
    played(cluster)
    (event,) = _refused(cluster)
    assert event.data == {"move": "update", "fatal": True}
    assert "Schedulercache is corrupted" in cluster.failure
    assert "pod/default/web" in cluster.failure
    steps = cluster.steps
    played(cluster)
    assert (cluster.steps, cluster.now) == (steps, event.at)
    assert event.at >= before
