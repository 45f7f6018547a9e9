"""Events that clients write are kept under their names, changed, deleted and watched."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kscope.runs.models import Run
from tests.kube.server.client import MERGE, STRATEGIC, Kube
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

CORE = "/api/v1/namespaces/default/events"
NEWER = "/apis/events.k8s.io/v1/namespaces/default/events"
EVENT: dict[str, Any] = {
    "metadata": {"name": "test", "labels": {"testevent": "a"}},
    "involvedObject": {"namespace": "default"},
    "message": "This is a test",
    "reason": "Test",
    "type": "Normal",
    "source": {"component": "mine"},
    "count": 1,
}


@pytest.fixture
async def kube(kube_of: Callable[..., Kube], driven: Run) -> AsyncIterator[Kube]:
    """A client of a run that a worker looks after meanwhile."""
    with driving(driven):
        yield kube_of(driven)


async def test_an_event_is_kept_as_it_came(kube: Kube) -> None:
    made = await kube.ask("POST", CORE, EVENT)
    assert made.status == 201
    metadata = made.json["metadata"]
    assert metadata["uid"]
    assert metadata["creationTimestamp"]
    found = await kube.get(f"{CORE}/test")
    assert (found.status, found.json) == (200, made.json)
    assert (await kube.get(f"{CORE}?labelSelector=testevent%3Da")).names == ["test"]
    assert (await kube.get("/api/v1/events?labelSelector=testevent%3Da")).names == ["test"]
    again = await kube.ask("POST", CORE, EVENT)
    assert (again.status, again.json["reason"]) == (409, "AlreadyExists")


async def test_an_event_can_be_changed_and_deleted(kube: Kube) -> None:
    await kube.ask("POST", CORE, EVENT)
    patch = {"message": "another", "metadata": {"labels": {"b": "c"}}}
    patched = await kube.ask("PATCH", f"{CORE}/test", patch, content_type=STRATEGIC)
    assert (patched.json["message"], patched.json["metadata"]["labels"]["b"]) == ("another", "c")
    whole = {**patched.json, "count": 7}
    assert (await kube.ask("PUT", f"{CORE}/test", whole)).status == 200
    stale = await kube.ask("PUT", f"{CORE}/test", whole)
    assert (stale.status, stale.json["reason"]) == (409, "Conflict")
    found = (await kube.get(f"{CORE}/test")).json
    assert (found["count"], found["metadata"]["uid"]) == (7, patched.json["metadata"]["uid"])
    assert (await kube.ask("DELETE", f"{CORE}/test")).status == 200
    assert (await kube.get(f"{CORE}/test")).status == 404
    assert (await kube.ask("DELETE", f"{CORE}/test")).status == 404


async def test_both_groups_show_the_same_events(kube: Kube) -> None:
    newer = {
        "metadata": {"name": "series"},
        "regarding": {"kind": "Pod", "name": "web", "namespace": "default"},
        "note": "once more",
        "reason": "Again",
        "action": "Do",
        "type": "Normal",
        "eventTime": "2026-01-01T00:00:00.000000Z",
        "reportingController": "mine",
        "reportingInstance": "mine-0",
        "series": {"count": 2, "lastObservedTime": "2026-01-01T00:00:01.000000Z"},
    }
    assert (await kube.ask("POST", NEWER, newer)).status == 201
    core = (await kube.get(f"{CORE}/series")).json
    assert (core["message"], core["action"]) == ("once more", "Do")
    assert core["involvedObject"]["name"] == "web"
    patch = {"series": {"count": 3}}
    await kube.ask("PATCH", f"{NEWER}/series", patch, content_type=MERGE)
    shown = (await kube.get(f"{NEWER}/series")).json
    assert (shown["series"]["count"], shown["note"]) == (3, "once more")


async def test_a_collection_of_events_can_be_deleted(kube: Kube) -> None:
    for name in ("a", "b"):
        await kube.ask("POST", CORE, {**EVENT, "metadata": {**EVENT["metadata"], "name": name}})
    assert (await kube.ask("DELETE", f"{CORE}?labelSelector=testevent%3Da")).status == 200
    assert (await kube.get(f"{CORE}?labelSelector=testevent%3Da")).names == []
    # Those of the run itself are there still, and can be deleted, too.
    [first] = (await kube.get(f"{CORE}?fieldSelector=involvedObject.name=web")).names
    assert (await kube.ask("DELETE", f"{CORE}/{first}")).status == 200
    assert first not in (await kube.get(CORE)).names


async def test_a_watch_tells_what_becomes_of_an_event(kube: Kube) -> None:
    version = (await kube.get(CORE)).json["metadata"]["resourceVersion"]
    path = f"{CORE}?watch=1&resourceVersion={version}&labelSelector=testevent%3Da"
    async with kube.watching(path) as events:
        await kube.ask("POST", CORE, EVENT)
        told = await anext(events)
        assert (told["type"], told["object"]["metadata"]["name"]) == ("ADDED", "test")
        await kube.ask("PATCH", f"{CORE}/test", {"count": 2}, content_type=MERGE)
        told = await anext(events)
        assert (told["type"], told["object"]["count"]) == ("MODIFIED", 2)
        await kube.ask("DELETE", f"{CORE}/test")
        assert (await anext(events))["type"] == "DELETED"


async def test_an_event_belongs_where_its_object_is(kube: Kube) -> None:
    other = {**EVENT, "involvedObject": {"kind": "Pod", "name": "web", "namespace": "other"}}
    refused = await kube.ask("POST", CORE, other)
    assert (refused.status, refused.json["details"]["causes"][0]["field"]) == (
        422,
        "involvedObject.namespace",
    )
