"""Informers of everything that a run serves, and their comparison with lists and pages."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from tests.kube.clients.http import Http
from tests.kube.clients.informers import Follower, Informer, collections
from tests.kube.clients.pages import shown_by_pages, shown_by_the_api
from tests.waiting import wait_for

SELECTIONS = (
    "labelSelector=tier=a",
    "labelSelector=tier%20notin%20(a)",
    "fieldSelector=spec.nodeName=n1",
    "fieldSelector=status.phase=Running",
)


@contextmanager
def following(http: Http) -> Iterator[list[Follower]]:
    """Informers of everything that can be watched, and of pods by selectors."""
    informers = [Informer(path) for path in collections()]
    informers += [Informer("/api/v1/namespaces/default/pods", one) for one in SELECTIONS]
    followers = [Follower(http, informer) for informer in informers]
    for one in followers:
        one.start()
    try:
        yield followers
    finally:
        for one in followers:
            one.over.set()
        for one in followers:
            one.join()


def settle(http: Http, followers: list[Follower]) -> None:
    """Wait until each informer has what a list has; the run must stand still, or soon."""
    for one in followers:
        informer = one.informer

        def differences(informer: Informer = informer) -> list[str]:
            return informer.differences(http.get(f"{informer.collection}?{informer.query}"))

        wait_for(lambda check=differences: not check(), lambda check=differences: str(check()))


def check_pages(http: Http, followers: list[Follower]) -> None:
    """What the informers hold is what the pages show at the same event."""
    found: dict[str, Any] = {}
    for one in followers:
        resource = collections().get(one.informer.collection)
        if resource is not None and resource.kind not in ("Event", "Namespace"):
            found |= shown_by_the_api(resource.kind, list(one.informer.objects.values()))
    page = http.page.get("/state/")
    assert page["seq"] == int(http.get("/api/v1/nodes")["metadata"]["resourceVersion"])
    assert found == shown_by_pages(page["state"])


def faults(followers: list[Follower]) -> list[str]:
    """What none of the informers should have been told."""
    return [fault for one in followers for fault in one.informer.faults]
