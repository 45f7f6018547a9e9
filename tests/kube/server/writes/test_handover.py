"""Which failed writes a client may send again by itself: those of which nothing is stored."""

import asyncio
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from asgiref.sync import sync_to_async

from kscope.runs import services
from kscope.runs.errors import ApplicationError
from kscope.runs.models import ClientLease, Command, Run
from kube.server.handover import Handover, NotStored, run_deleted
from kube.server.writes import engine_line
from kube.status import ApiError, eviction_refused, too_many_requests
from tests.kube.server.client import JSON, JSON_PATCH, MERGE, Kube
from tests.kube.server.faults import Faults
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

NAMESPACE = "/api/v1/namespaces/default"
POD = {"spec": {"containers": [{"name": "c", "image": "app:1"}]}}
LABELS = {"metadata": {"labels": {"a": "b"}}}
APPLY = "application/apply-patch+yaml"
EVENT = {
    "metadata": {"name": "e"},
    "involvedObject": {"kind": "Pod", "namespace": "default", "name": "web"},
    "reason": "Seen",
    "message": "by me",
}
DEPLOYMENT = {
    "metadata": {"name": "app"},
    "spec": {
        "replicas": 0,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {**LABELS, **POD},
    },
}
APPS = "/apis/apps/v1/namespaces/default/deployments"
LEASES = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
CONFIG = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}}
# Each way to write: method, path, body, type of the body.
WRITES: dict[str, tuple[str, str, Any, str]] = {
    "create": ("POST", f"{NAMESPACE}/pods", {**POD, "metadata": {"name": "mine"}}, JSON),
    "generate": ("POST", f"{NAMESPACE}/pods", {**POD, "metadata": {"generateName": "m-"}}, JSON),
    "merge patch": ("PATCH", f"{NAMESPACE}/pods/web", LABELS, MERGE),
    "json patch": (
        "PATCH",
        f"{NAMESPACE}/pods/web",
        [{"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}],
        JSON_PATCH,
    ),
    "apply": ("PATCH", f"{NAMESPACE}/configmaps/new?fieldManager=me", CONFIG, APPLY),
    "status": ("PATCH", f"{NAMESPACE}/pods/web/status", {"status": {"message": "hi"}}, MERGE),
    "scale": ("PATCH", f"{APPS}/app/scale", {"spec": {"replicas": 2}}, MERGE),
    "delete": ("DELETE", f"{NAMESPACE}/pods/web", None, JSON),
    "delete all": ("DELETE", f"{NAMESPACE}/pods", None, JSON),
    "evict": ("POST", f"{NAMESPACE}/pods/late/eviction", {"metadata": {"name": "late"}}, JSON),
    "bind": ("POST", f"{NAMESPACE}/pods/giant/binding", {"target": {"name": "n1"}}, JSON),
    "note": ("POST", f"{NAMESPACE}/events", EVENT, JSON),
}
STORE = "INSERT INTO runs_command"
OUTCOME = "FROM runs_command WHERE id = ANY"


@pytest.fixture
async def kube(kube_of: Callable[..., Kube], driven: Run) -> Kube:
    """A client of a run with a workload, which nobody drives."""
    with driving(driven):
        made = kube_of(driven)
        assert (await made.ask("POST", APPS, DEPLOYMENT)).status == 201
    return made


def commands() -> int:
    return Command.objects.exclude(verb="create", object="deployment/default/app").count()


async def told(kube: Kube, write: str) -> tuple[int, bool, int]:
    """The status, whether there is a time to try again, and how many commands are stored."""
    method, path, body, content_type = WRITES[write]
    answer = await kube.ask(method, path, body, content_type=content_type)
    details = answer.json.get("details", {})
    assert ("retryAfterSeconds" in details) == ("retry-after" in answer.headers)
    stored = await sync_to_async(commands)()
    return answer.status, "retry-after" in answer.headers, stored


async def test_nothing_stored_may_be_sent_again(
    kube: Kube,
    faults: Faults,
) -> None:
    faults.refuse(STORE)
    found = {write: await told(kube, write) for write in WRITES}
    assert found == dict.fromkeys(WRITES, (503, True, 0))
    faults.is_away = True
    assert [await told(kube, write) for write in ("create", "delete all")] == [(503, True, 0)] * 2


async def test_a_statement_that_is_lost_may_be_done(
    kube: Kube,
    faults: Faults,
) -> None:
    for done in (False, True):
        faults.lose(STORE, done=done)
        found = {write: (await told(kube, write))[:2] for write in WRITES}
        assert found == dict.fromkeys(WRITES, (504, False))
    # One of each, and for the collection one for each of its two or more pods.
    assert await sync_to_async(commands)() > len(WRITES)


async def test_write_that_the_engine_left_unanswered_is_open(
    kube: Kube, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine_line, "WAIT_SECONDS", 0.05)
    found = {write: (await told(kube, write))[:2] for write in WRITES}
    assert found == dict.fromkeys(WRITES, (504, False))


async def test_database_lost_during_a_write_leaves_it_open(
    kube: Kube,
    faults: Faults,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_line, "WAIT_SECONDS", 0.3)
    monkeypatch.setattr(engine_line, "LOOK_SECONDS", 0.01)
    faults.lose(OUTCOME, done=False)
    assert await told(kube, "create") == (504, False, 1)


async def test_done_write_with_an_unreadable_object_is_open(
    kube: Kube,
    faults: Faults,
    driven: Run,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("kscope.runs.nudges.LONGEST_MESSAGE", 0)
    faults.lose("SELECT written_seq", done=False)
    with driving(driven):
        assert await told(kube, "create") == (504, False, 1)


async def test_write_whose_run_is_deleted_learns_it(kube: Kube, driven: Run) -> None:
    method, path, body, content_type = WRITES["create"]
    asked = asyncio.create_task(kube.ask(method, path, body, content_type=content_type))
    while not await sync_to_async(commands)():
        await asyncio.sleep(0.01)
    await sync_to_async(services.run_delete)(run=driven)
    answer = await asked
    assert (answer.status, answer.json["kind"]) == (404, "Status")
    assert (answer.json["reason"], answer.json["message"]) == ("NotFound", run_deleted().message)


async def test_a_lease_is_stored_or_open(
    kube: Kube,
    faults: Faults,
) -> None:
    lease = {"metadata": {"name": "mine"}, "spec": {}}
    faults.refuse("INSERT INTO runs_clientlease")
    refused = await kube.ask("POST", LEASES, lease)
    assert (refused.status, "retry-after" in refused.headers) == (503, True)
    faults.lose("INSERT INTO runs_clientlease", done=True)
    faults.problem = OSError("gone")
    lost = await kube.ask("POST", LEASES, lease)
    assert (lost.status, "retry-after" in lost.headers) == (504, False)
    assert await sync_to_async(ClientLease.objects.count)() == 1


async def test_commands_that_wait_for_others_are_taken_back(
    kube: Kube,
    faults: Faults,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(engine_line, "WAIT_SECONDS", 0.05)

    def nobody_sends(task: Any, work: Any) -> Any:
        return task

    monkeypatch.setattr(engine_line, "_going_on", nobody_sends)
    assert await told(kube, "create") == (503, True, 0)


# Each way to fail: what is answered while nothing is stored, and what once something may be.
FAILURES: dict[str, tuple[Exception, tuple[int, bool], tuple[int, bool]]] = {
    "no place": (ApplicationError("busy", status=503, retry_after=2), (503, True), (504, False)),
    "too many": (too_many_requests("many"), (429, True), (504, False)),
    "budget": (
        eviction_refused("Cannot evict. The budget is still being processed by the server."),
        (429, True),
        (504, False),
    ),
    "database": (OSError("away"), (503, True), (504, False)),
    "deleted run": (psycopg.errors.ForeignKeyViolation(), (404, False), (404, False)),
    "mistake": (KeyError("what"), (500, False), (500, False)),
    "conflict": (ApiError(409, "Conflict", "no"), (409, False), (409, False)),
}


@pytest.mark.parametrize("failure", FAILURES)
def test_each_failure_is_known_by_what_is_stored(failure: str) -> None:
    problem, before, after = FAILURES[failure]
    for is_open, wanted in ((False, before), (True, after)):
        error = Handover("a request", is_open).refusal(problem)
        assert (error.code, "Retry-After" in error.headers) == wanted


def test_a_refused_command_leaves_earlier_ones_stored() -> None:
    handover = Handover("a request")

    def refuse() -> None:
        with handover.command():
            raise NotStored from KeyError("no")

    with pytest.raises(KeyError):
        refuse()
    assert not handover.is_open
    with handover.command():
        pass
    with pytest.raises(KeyError):
        refuse()
    assert handover.is_open
