"""Informers: a cache that follows a watch is what the run holds."""

import threading
from collections.abc import Callable

from kube.clusters import Cluster
from tests.kube.clients.following import check_pages, faults, following, settle
from tests.kube.clients.http import MERGE, Http
from tests.kube.clients.informers import Informer
from tests.kube.clients.storm import CLUSTER, Storm
from tests.waiting import HANG_SECONDS


def test_informers_hold_what_pages_show(kscope_cluster: Callable[..., Cluster]) -> None:
    running = kscope_cluster(CLUSTER)
    http = Http.of(running.kubeconfig)
    storm = Storm(http, seed=1)
    with following(http) as followers:
        for _ in range(6):
            storm.blow(writes=15)
            running.advance(seconds=7)
            settle(http, followers)
            check_pages(http, followers)
    assert faults(followers) == []


def test_watches_leave_room_for_writes(kscope_cluster: Callable[..., Cluster]) -> None:
    running = kscope_cluster(CLUSTER)
    http = Http.of(running.kubeconfig)
    begun = threading.Semaphore(0)

    def watch() -> None:
        for _ in http.lines("/api/v1/nodes?watch=1&resourceVersion=0"):
            begun.release()

    watches = [threading.Thread(target=watch) for _ in range(30)]
    for one in watches:
        one.start()
    for _ in watches:
        assert begun.acquire(timeout=HANG_SECONDS)
    # More watches than requests are served at once.
    status, _ = http.ask("PATCH", "/api/v1/nodes/n1", {"spec": {"unschedulable": True}}, MERGE)
    assert status == 200
    running.stop()
    for one in watches:
        one.join()


def test_informer_lists_again_when_it_is_reported_to() -> None:
    informer = Informer("/api/v1/pods")
    informer.replace({"items": [], "metadata": {"resourceVersion": "7"}})
    informer.take({"type": "ERROR", "object": {"code": 410, "metadata": {}}})
    assert informer.path == "/api/v1/pods?"


def test_an_informer_notes_what_comes_twice() -> None:
    informer = Informer("/api/v1/pods")
    informer.replace({"items": [], "metadata": {"resourceVersion": "7"}})
    metadata = {"name": "a", "namespace": "default", "resourceVersion": "8"}
    for _ in range(2):
        informer.take({"type": "ADDED", "object": {"metadata": metadata}})
    assert len(informer.faults) == 2
