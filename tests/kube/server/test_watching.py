"""Watches: a client that lists, watches and resumes has what the run has."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.test import override_settings

from kscope.accounts.services import account_create, account_set_role, token_create
from kscope.runs.models import Run
from kscope.runs.services import run_fork
from kube.server.watches import feed
from tests.kube.server.client import MERGE, Kube
from tests.kube.server.faults import Faults
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
SEEN_END = "k8s.io/initial-events-end"

Cache = dict[str, str]


def followed(cache: Cache, event: dict[str, Any]) -> None:
    """What an informer does with an event."""
    metadata = event["object"]["metadata"]
    if event["type"] == "DELETED":
        del cache[metadata["name"]]
        return
    assert (event["type"] == "MODIFIED") == (metadata["name"] in cache), event["type"]
    cache[metadata["name"]] = metadata["resourceVersion"]


async def listed(kube: Kube, query: str = "", path: str = PODS) -> Cache:
    found = (await kube.get(f"{path}{query}")).json["items"]
    return {one["metadata"]["name"]: one["metadata"]["resourceVersion"] for one in found}


async def until_equal(
    cache: Cache, wanted: Cache, events: AsyncIterator[dict[str, Any]]
) -> list[str]:
    """Follow *events* until the cache is as wanted; returns the versions that came."""
    versions: list[str] = []
    while cache != wanted:
        event = await anext(events)
        if event["type"] != "BOOKMARK":
            followed(cache, event)
            versions.append(event["object"]["metadata"]["resourceVersion"])
    return versions


async def breaks_until(kube: Kube, path: str, seq: int, before: Cache, after: Cache) -> int:
    """Watch from event *seq* on, and again from each event that comes; how often that was."""
    version, breaks = str(seq), 0
    while version:
        cache = dict(before)
        async with kube.watching(f"{path}?watch=1&resourceVersion={version}") as events:
            version = ""
            while cache != after:
                event = await anext(events)
                followed(cache, event)
                if not version:  # the next watch begins after this event
                    version, following = event["object"]["metadata"]["resourceVersion"], dict(cache)
        before, breaks = following if version else before, breaks + 1
    return breaks


async def test_watch_reports_all_events_of_a_playing_run(
    kube_of: Callable[..., Kube], start: Callable[..., Run]
) -> None:
    run = await sync_to_async(start)(play=True, speed="max")
    kube = kube_of(run)
    async with kube.watching(f"{PODS}?watch=true&resourceVersion=0") as events:
        with driving(run):
            cache: Cache = {}
            for _ in range(100):
                followed(cache, await anext(events))
                if set(cache) == {"giant", "late", "web"}:
                    break
        await until_equal(cache, await listed(kube), events)


async def test_a_watch_goes_on_from_any_version(kube: Kube, driven: Run) -> None:
    wanted = await listed(kube)
    for version in range(1, driven.head_seq, 3):
        past = Kube(driven.pk, str(version))
        cache = await listed(past)
        async with kube.watching(f"{PODS}?watch=1&resourceVersion={version}") as events:
            versions = await until_equal(cache, wanted, events)
        await past.close()
        assert versions == sorted(set(versions), key=int)


async def test_removed_object_is_reported_with_its_last_version(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    kube = kube_of(driven)
    cache = await listed(kube)
    path = f"{PODS}?watch=1&resourceVersion={driven.head_seq}"
    with driving(driven):
        await kube.ask("DELETE", f"{PODS}/giant", {"gracePeriodSeconds": 0})
        async with kube.watching(path) as events:
            event = await anext(events)
            assert (event["type"], event["object"]["metadata"]["name"]) == ("DELETED", "giant")
            followed(cache, event)
    assert cache == await listed(kube)


async def test_object_that_is_selected_no_more_is_deleted(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    kube = kube_of(driven)
    labelled, other = {"metadata": {"labels": {"a": "b"}}}, {"metadata": {"labels": {"a": "c"}}}
    with driving(driven):
        path = f"{PODS}?watch=1&labelSelector=a=b&resourceVersion={driven.head_seq}"
        async with kube.watching(path) as events:
            # What changed before its first look, a watch may have known before.
            await kube.ask("PATCH", f"{PODS}/web", labelled, content_type=MERGE)
            await anext(events)
            await kube.ask("PATCH", f"{PODS}/giant", labelled, content_type=MERGE)
            assert (await anext(events))["type"] == "ADDED"
            await kube.ask("PATCH", f"{PODS}/giant", other, content_type=MERGE)
            assert (await anext(events))["type"] == "DELETED"


async def test_object_selected_once_and_removed_since_is_deleted(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    kube = kube_of(driven)
    labelled, other = {"metadata": {"labels": {"a": "b"}}}, {"metadata": {"labels": {"a": "c"}}}
    with driving(driven):
        found = await kube.ask("PATCH", f"{PODS}/giant", labelled, content_type=MERGE)
        await kube.ask("PATCH", f"{PODS}/giant", other, content_type=MERGE)
        await kube.ask("DELETE", f"{PODS}/giant", {"gracePeriodSeconds": 0})
    version = found.json["metadata"]["resourceVersion"]
    path = f"{PODS}?watch=1&labelSelector=a=b&resourceVersion={version}"
    async with kube.watching(path) as events:
        deleted = await anext(events)
    assert (deleted["type"], deleted["object"]["metadata"]["name"]) == ("DELETED", "giant")


async def test_object_removed_after_a_known_change_was_there(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    kube = kube_of(driven)
    path = f"{PODS}?watch=1&fieldSelector=metadata.name=giant"
    async with kube.watching(f"{path}&resourceVersion={driven.head_seq}") as others:
        with driving(driven):
            labelled = {"metadata": {"labels": {"a": "b"}}}
            await kube.ask("PATCH", f"{PODS}/giant", labelled, content_type=MERGE)
            await anext(others)
            version = (await kube.get(PODS)).json["metadata"]["resourceVersion"]
            annotated = {"metadata": {"annotations": {"c": "d"}}}
            await kube.ask("PATCH", f"{PODS}/giant", annotated, content_type=MERGE)
            await anext(others)
            await kube.ask("DELETE", f"{PODS}/giant", {"gracePeriodSeconds": 0})
            await anext(others)
        selected = f"{PODS}?watch=1&labelSelector=a=b&resourceVersion={version}"
        async with kube.watching(selected) as events:
            assert [(await anext(events))["type"] for _ in range(2)] == ["MODIFIED", "DELETED"]


async def test_the_end_of_the_initial_events_is_marked(kube: Kube) -> None:
    query = "?watch=1&sendInitialEvents=true&allowWatchBookmarks=true"
    async with kube.watching(f"{PODS}{query}&resourceVersionMatch=NotOlderThan") as events:
        seen = [await anext(events) for _ in range(4)]
    assert [one["type"] for one in seen] == ["ADDED", "ADDED", "ADDED", "BOOKMARK"]
    assert seen[-1]["object"]["metadata"]["annotations"] == {SEEN_END: "true"}


async def test_a_watch_ends_when_its_time_is_up(kube: Kube) -> None:
    async with kube.watching(f"{PODS}?watch=1&timeoutSeconds=1&resourceVersion=0") as events:
        assert len([event async for event in events]) == 3


async def test_a_watch_of_events_shows_what_is_said(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    kube = kube_of(driven)
    with driving(driven):
        path = f"/apis/events.k8s.io/v1/events?watch=1&resourceVersion={driven.head_seq}"
        async with kube.watching(path) as events:
            pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
            await kube.ask("POST", PODS, pod)
            event = await anext(events)
    assert (event["type"], event["object"]["reason"]) == ("ADDED", "Scheduled")
    assert event["object"]["regarding"]["name"] == "p"


async def test_a_far_version_has_to_list_again(kube: Kube, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kube.server.application.FAR_BEHIND", 5)
    answer = await kube.get(f"{PODS}?watch=1&resourceVersion=1")
    assert (answer.status, answer.json["reason"]) == (410, "Expired")


@override_settings(LOGIN_REQUIRED=True)
async def test_a_watch_ends_when_the_run_is_hidden(kube: Kube, driven: Run) -> None:
    owner, _ = await sync_to_async(account_create)(name="owner", role="editor")
    runs = Run.objects.filter(pk=driven.pk)
    await runs.aupdate(owner=owner, visibility="public")
    async with kube.watching(f"{PODS}?watch=1&resourceVersion=0") as events:
        assert (await anext(events))["type"] == "ADDED"
        await runs.aupdate(visibility="private")
        assert [event async for event in events]  # until the server ends it


@override_settings(LOGIN_REQUIRED=True)
async def test_a_watch_ends_when_its_account_may_less(kube: Kube, driven: Run) -> None:
    """Though it still reads the run: an admin was shown what an editor is not."""

    def admin_of_a_shared_run() -> tuple[User, str]:
        owner, admin = (account_create(name=role, role=role)[0] for role in ("editor", "admin"))
        Run.objects.filter(pk=driven.pk).update(owner=owner, visibility="shared")
        return admin, token_create(user=admin, name="t")[1]

    admin, token = await sync_to_async(admin_of_a_shared_run)()
    path = f"{PODS}?watch=1&resourceVersion=0"
    async with kube.reading(path, authorization=f"Bearer {token}") as lines:
        assert await anext(lines)
        await sync_to_async(account_set_role)(user=admin, role="editor")
        assert [line async for line in lines]  # until the server ends it


async def test_watch_that_meets_a_deletion_is_refused(
    kube: Kube, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def nowhere(*_: Any) -> None:
        """What the database says once the run, which was found, is deleted."""

    monkeypatch.setattr(feed, "head_of", nowhere)
    answer = await kube.get(f"{PODS}?watch=1")
    assert (answer.status, answer.json["message"]) == (404, "the run was deleted meanwhile")


async def test_a_watch_goes_on_in_small_ranges(
    kube: Kube, driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kube.server.watches.feed.MOST_EVENTS", 3)
    wanted = await listed(kube)
    cache: Cache = {}
    async with kube.watching(f"{PODS}?watch=1&resourceVersion=1") as events:
        versions = await until_equal(cache, wanted, events)
    assert versions == sorted(set(versions), key=int)


async def test_what_came_and_went_is_reported_twice(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    kube = kube_of(driven)
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    path = f"{PODS}?watch=1&fieldSelector=metadata.name=p"
    with driving(driven):
        await kube.ask("POST", PODS, pod)
        await kube.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
    async with kube.watching(f"{path}&resourceVersion={driven.head_seq}") as events:
        added, deleted = await anext(events), await anext(events)
    assert (added["type"], deleted["type"]) == ("ADDED", "DELETED")
    version = added["object"]["metadata"]["resourceVersion"]
    async with kube.watching(f"{path}&resourceVersion={version}") as events:
        assert await anext(events) == deleted


async def test_a_watch_may_break_off_after_any_event(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    kube = kube_of(driven)
    before = await listed(kube)
    spec = {"containers": [{"name": "c", "image": "i"}]}
    with driving(driven):
        for name in ("p", "q"):
            await kube.ask("POST", PODS, {"metadata": {"name": name}, "spec": spec})
        for name in ("q", "p"):
            labelled = {"metadata": {"labels": {"a": "b"}}}
            await kube.ask("PATCH", f"{PODS}/{name}", labelled, content_type=MERGE)
    assert await breaks_until(kube, PODS, driven.head_seq, before, await listed(kube)) >= 4


async def test_watch_of_events_may_end_after_any_event(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    kube, path = kube_of(driven), "/api/v1/namespaces/default/events"
    before = await listed(kube, path=path)
    about = {"kind": "Pod", "namespace": "default", "name": "web"}
    with driving(driven):
        for number, reason in enumerate(("First", "Second", "First")):
            said = {"metadata": {"name": f"e{number}"}, "involvedObject": about, "reason": reason}
            assert (await kube.ask("POST", path, said)).status == 201
    after = await listed(kube, path=path)
    assert await breaks_until(kube, path, driven.head_seq, before, after) >= 3


async def test_fork_continues_the_versions_of_its_parent(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    kube = kube_of(driven)
    cache = await listed(kube)
    fork = kube_of(await sync_to_async(run_fork)(run=driven))
    with driving(await Run.objects.aget(parent=driven)):
        pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
        assert (await fork.ask("POST", PODS, pod)).status == 201
        async with fork.watching(f"{PODS}?watch=1&resourceVersion={driven.head_seq}") as events:
            await until_equal(cache, await listed(fork), events)
    assert set(cache) == {"giant", "late", "p", "web"}


@pytest.mark.parametrize(
    ("path", "about"),
    [("/api/v1/events", "involvedObject"), ("/apis/events.k8s.io/v1/events", "regarding")],
)
async def test_events_of_both_groups_are_watched_alike(
    kube: Kube, driven: Run, path: str, about: str
) -> None:
    listed_events = (await kube.get(path)).json["items"]
    wanted = {one["metadata"]["name"]: one for one in listed_events}
    found: dict[str, Any] = {}
    async with kube.watching(f"{path}?watch=1&resourceVersion=1") as events:
        while found != wanted:
            one = (await anext(events))["object"]
            found[one["metadata"]["name"]] = one
    assert {one[about]["kind"] for one in found.values()} == {"Node", "Pod"}


async def test_reused_name_is_reported_in_order(
    kube_of: Callable[..., Kube], driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kube.server.watches.feed.MOST_EVENTS", 1)
    kube = kube_of(driven)
    cache = await listed(kube)
    pod = {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    with driving(driven):
        for _ in range(2):
            await kube.ask("POST", PODS, pod)
            await kube.ask("DELETE", f"{PODS}/p", {"gracePeriodSeconds": 0})
        await kube.ask("POST", PODS, pod)
    async with kube.watching(f"{PODS}?watch=1&resourceVersion={driven.head_seq}") as events:
        versions = await until_equal(cache, await listed(kube), events)
    assert versions == sorted(set(versions), key=int)


async def written(kube: Kube, value: str, name: str = "c") -> dict[str, Any]:
    """The answer to a write of a ConfigMap: a creation, or a patch of what is there."""
    one = {"metadata": {"name": name}, "data": {"value": value}}
    answer = await kube.ask("POST", CONFIG_MAPS, one)
    if answer.status == 409:
        answer = await kube.ask("PATCH", f"{CONFIG_MAPS}/{name}", one, content_type=MERGE)
    assert answer.status in (200, 201)
    return answer.json


async def test_each_version_is_reported_as_it_was_written(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    """Also from the first look at what happened long ago, in which an object was written often."""
    kube = kube_of(driven)
    with driving(driven):
        answers = [await written(kube, "1"), await written(kube, "1", "other")]
        answers += [await written(kube, "2"), await written(kube, "3")]
        await kube.ask("DELETE", f"{CONFIG_MAPS}/c")
        answers += [await written(kube, "4"), await written(kube, "5")]
    path = f"{CONFIG_MAPS}?watch=1&resourceVersion={driven.head_seq}"
    async with kube.watching(path) as events:
        told = [await anext(events) for _ in range(len(answers) + 1)]
    kinds = ["ADDED", "ADDED", "MODIFIED", "MODIFIED", "DELETED", "ADDED", "MODIFIED"]
    assert [one["type"] for one in told] == kinds
    assert [one["object"] for one in told if one["type"] != "DELETED"] == answers


async def test_watch_of_a_fork_reports_earlier_writes(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    kube = kube_of(driven)
    with driving(driven):
        answers = [await written(kube, value) for value in "123"]
    fork = kube_of(await sync_to_async(run_fork)(run=driven))
    with driving(await Run.objects.aget(parent=driven)):
        await written(fork, "4")
    path = f"{CONFIG_MAPS}?watch=1&resourceVersion={driven.head_seq}"
    async with fork.watching(path) as events:
        told = [await anext(events) for _ in range(3)]
    values = [one["object"]["data"]["value"] for one in told]
    assert values == [one["data"]["value"] for one in answers]


async def test_writes_of_one_instant_are_told_singly(live_kube: Kube) -> None:
    versions = [await written(live_kube, str(value)) for value in range(5)]
    await live_kube.ask("DELETE", f"{CONFIG_MAPS}/c")
    since = versions[0]["metadata"]["resourceVersion"]
    path = f"{CONFIG_MAPS}?watch=1&resourceVersion={since}&fieldSelector=metadata.name=c"
    async with live_kube.watching(path) as events:
        found = [await anext(events) for _ in range(5)]
    assert [one["type"] for one in found] == ["MODIFIED"] * 4 + ["DELETED"]
    assert [one["object"]["data"]["value"] for one in found[:4]] == ["1", "2", "3", "4"]


ROWS = "AND starts_with(key, %s)"


@pytest.mark.parametrize("kind", ["pods", "endpoints"])
async def test_watch_ends_with_the_status_of_an_error(
    kube: Kube, faults: Faults, kind: str, caplog: Any
) -> None:
    """The objects cannot be read once the watch is let in: it is too late for another answer."""
    faults.lose(ROWS, done=False)
    path = f"/api/v1/namespaces/default/{kind}?watch=1"
    async with kube.watching(path) as events:
        told = [event async for event in events]
    assert [(one["type"], one["object"]["code"]) for one in told] == [("ERROR", 503)]
    status = told[0]["object"]
    assert (status["kind"], status["reason"]) == ("Status", "ServiceUnavailable")
    assert not [one for one in caplog.records if one.exc_info]
