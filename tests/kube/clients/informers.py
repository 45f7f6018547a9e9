"""Informers: what a client keeps of a collection by listing it once and watching it from there."""

import threading
from typing import Any

from kube.resources import SERVED, Resource
from kube.server.objects.endpoints import KINDS as MADE
from tests.kube.clients.http import AWAY, Http

# Watches end by themselves after this long, so that each informer resumes again and again.
WATCH_SECONDS = 3
GONE = 410


class Informer:
    """The objects of one collection, and every event that should not have come.

    *selects*: whether the server may tell of an object that was not selected, as it may where a
    watch with selectors is resumed.
    """

    def __init__(self, collection: str, query: str = "") -> None:
        self.collection = collection
        self.query = query
        self.selects = bool(query)
        self.objects: dict[str, dict[str, Any]] = {}
        # The newest version that is known; None where all have to be listed.
        self.version: int | None = None
        self.faults: list[str] = []
        self.lists = self.watches = self.events = self.bookmarks = 0

    @property
    def path(self) -> str:
        """What is to be asked next."""
        if self.version is None:
            return f"{self.collection}?{self.query}"
        watch = f"watch=1&allowWatchBookmarks=true&timeoutSeconds={WATCH_SECONDS}"
        return f"{self.collection}?{watch}&resourceVersion={self.version}&{self.query}"

    def replace(self, found: dict[str, Any]) -> None:
        """Take the answer to a list."""
        self.lists += 1
        self.objects = {key_of(one): one for one in found["items"]}
        self.version = version_of(found)

    def take(self, event: dict[str, Any]) -> None:
        """Take an event of a watch."""
        kind, one = event["type"], event["object"]
        if kind == "ERROR":
            assert one["code"] == GONE, one
            self.version = None
            return
        version = version_of(one)
        assert self.version is not None
        if kind == "BOOKMARK":
            self.bookmarks += 1
            self.version = max(self.version, version)
            return
        self.events += 1
        key, text = key_of(one), f"{self.collection}: {kind} {key_of(one)} of event {version}"
        if version <= self.version:
            self.faults.append(f"{text} comes after event {self.version}")
        if kind == "DELETED":
            if self.objects.pop(key, None) is None and not self.selects:
                self.faults.append(f"{text} is of an object that is not there")
        else:
            is_there = key in self.objects
            if (kind == "ADDED" and is_there) or (
                kind == "MODIFIED" and not is_there and not self.selects
            ):
                self.faults.append(f"{text} though it is{' not' * (not is_there)} there")
            self.objects[key] = one
        self.version = version

    def differences(self, found: dict[str, Any]) -> list[str]:
        """Where the objects differ from those of a list.

        Lists forget Events after an hour, of which no watch tells.
        """
        listed = {key_of(one): one for one in found["items"]}
        kept = () if self.collection.endswith("/events") else self.objects
        return [
            f"{self.collection}?{self.query}: {key} {_how(listed.get(key), self.objects.get(key))}"
            for key in sorted({*listed, *kept})
            if listed.get(key) != self.objects.get(key)
        ]


def _how(listed: dict[str, Any] | None, held: dict[str, Any] | None) -> str:
    """How an object of a list differs from what an informer holds."""
    if listed is None or held is None:
        return "is held and not listed" if listed is None else "is listed and not held"
    parts = {part for part in {*listed, *held} if listed.get(part) != held.get(part)}
    versions = [one["metadata"]["resourceVersion"] for one in (listed, held)]
    return f"is listed as of {versions[0]} and held as of {versions[1]}: {sorted(parts)}"


class Follower(threading.Thread):
    """Keeps an informer up to date over HTTP, whatever becomes of the server."""

    def __init__(self, http: Http, informer: Informer) -> None:
        super().__init__(name=f"informer of {informer.collection}", daemon=True)
        self.http = http
        self.informer = informer
        self.over = threading.Event()
        self.interruptions = 0

    def run(self) -> None:
        while not self.over.is_set():
            try:
                self._follow()
            except AWAY:
                self.interruptions += 1
                self.over.wait(0.1)

    def _follow(self) -> None:
        informer = self.informer
        if informer.version is None:
            status, found = self.http.ask("GET", informer.path)
            if status == 200:
                informer.replace(found)
            else:
                assert status >= 500, found
                self.over.wait(0.1)
            return
        informer.watches += 1
        for status, event in self.http.lines(informer.path):
            if status == 200:
                informer.take(event)
            elif status == GONE:
                informer.version = None
            else:
                # Its database may be on its way, but it must say so.
                assert status in (429, 503), event
                self.over.wait(0.1)
            if self.over.is_set():
                return


def collections(*, namespace: str = "") -> dict[str, Resource]:
    """The address of every collection that can be watched.

    Not those that no history has: their versions are of the answer (tests/kube/server/test_endpoints).
    """
    return {
        address_of(resource, namespace): resource
        for resource in SERVED
        if "watch" in resource.verbs and resource.kind not in MADE
    }


def address_of(resource: Resource, namespace: str = "") -> str:
    """The address of a collection: of one namespace, or of all."""
    group = f"/apis/{resource.api_version}" if resource.group else "/api/v1"
    place = f"/namespaces/{namespace}" if namespace and resource.namespaced else ""
    return f"{group}{place}/{resource.plural}"


def key_of(one: dict[str, Any]) -> str:
    metadata = one["metadata"]
    return f"{metadata.get('namespace', '')}/{metadata['name']}"


def version_of(one: dict[str, Any]) -> int:
    return int(one["metadata"]["resourceVersion"])
