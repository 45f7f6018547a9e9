"""Broken requests, forms and frames of sockets are answered, and leave nothing half-saved."""

import asyncio
import json
from collections.abc import Callable
from itertools import islice
from random import Random
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from asgiref.testing import ApplicationCommunicator
from channels.routing import URLRouter
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.models import Command, Run, Scenario
from kscope.runs.stream.routing import websocket_urlpatterns
from scheduling.models import Node, Pod
from tests.fuzz import samples
from tests.fuzz.limits import Tally, numbers_of
from tests.web.admin.pages import FormReader, opened

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("runs_here")]

TEXTS = (
    *("", "0", "1", "-1", "5", "9" * 18, "9" * 40, "1e9", "NaN", "\ud800", "é", "x" * 3_000, "%00"),
    *("null", "true", "asc", "desc", "json", "ndjson", "csv", "yaml", "pod/default/web", "node/n1"),
    *("a,b,,c", "'; DROP TABLE", "*", "/", "..", "٣", "²", "all", "<script>", "\r\nX: y", "[]"),
)
NAMES = (
    *("seq", "at", "with", "with_seq", "after", "before", "limit", "kind", "object", "changes"),
    *("component", "from", "to", "text", "order", "format", "buckets", "pod", "node", "runs", "q"),
    *("continue", "search", "state", "sort", "count", "around", "namespace", "history", "verdict"),
    *("p", "o", "all", "e", "run__id__exact", "_changelist_filters", "unschedulable__exact"),
)


class Site:
    """The site as a client sees it, with a run of its own, and what must not change by a refusal."""

    def __init__(self, run: Run, admin: Client) -> None:
        self.run = run
        self.admin = admin
        self.client = Client(raise_request_exception=True)
        self.paths = sorted(_paths(get_resolver().url_patterns, ""))

    def path(self, chance: Random) -> str:
        """The address of a page or of a resource; mostly of something that is there."""
        path = chance.choice(self.paths)
        for kind, name in (("int", "run_id"), ("int", "scenario_id"), ("int", "attempt_id")):
            there = self.run.scenario_id if name == "scenario_id" else self.run.pk
            number = there if chance.random() < 0.8 else chance.choice((0, 10**9, 2**63, 10**30))
            path = path.replace(f"<{kind}:{name}>", str(number))
        known = {"namespace": "default", "name": "web", "entity": "pod/default/web"}
        for name, value in known.items():
            text = value if chance.random() < 0.7 else _text(chance) or "x"
            path = path.replace(f"<str:{name}>", text.replace("/", "%2F"))
            path = path.replace(f"<path:{name}>", text)
        return "/" + path.replace("<path:object_id>", str(chance.choice((1, self.run.pk, "x"))))

    def counts(self) -> tuple[int, ...]:
        """How many rows there are of what a request may make."""
        return Scenario.objects.count(), Run.objects.count(), Command.objects.count()


def _paths(patterns: list[Any], prefix: str) -> list[str]:
    """The addresses of the resolver, so that a new one is tried as well."""
    found: list[str] = []
    for each in patterns:
        route = prefix + str(each.pattern)
        if isinstance(each, URLResolver):
            found += _paths(each.url_patterns, route)
        elif isinstance(each, URLPattern) and "^" not in route and "logout" not in route:
            found.append(route)
    return found


def _text(chance: Random) -> str:
    """A text as a client can send it."""
    return chance.choice(TEXTS).encode("utf-8", "replace").decode()


def _query(chance: Random) -> dict[str, str]:
    return {chance.choice(NAMES): _text(chance) for _ in range(chance.randint(0, 3))}


def _checked(answer: Any, path: str) -> bool:
    """Whether the answer is a good one; an error comes with words."""
    # Without a worker, /readyz is right to say 503.
    is_honest = path == "/readyz" and answer.status_code == 503
    assert answer.status_code < 500 or is_honest, f"{answer.status_code} of {path}"
    if answer.streaming:
        _drained(answer)
    elif answer.status_code >= 400 and path.startswith("/api/") and answer.status_code != 404:
        assert answer.content
    return answer.status_code < 400


def _drained(answer: Any) -> None:
    if answer.is_async:

        async def all_of_it() -> None:
            async for _ in answer.streaming_content:
                pass

        async_to_sync(all_of_it)()
    else:
        for _ in islice(answer.streaming_content, 1_000):
            pass


def _queries(site: Site, chance: Random) -> bool:
    path = site.path(chance)
    client = site.admin if path.startswith("/admin/") else site.client
    before = site.counts()
    answer = client.get(path, _query(chance), follow=False)
    assert site.counts() == before
    return _checked(answer, path)


_BODIES: dict[str, dict[str, Any]] = {
    "runs/": {"scenario": 1, "profile": "v1.34", "seed": 1, "tie_break": "name", "play": False},
    "transport/": {"action": "step", "unit": "event", "speed": "max", "until_pod": ""},
    "fork/": {"seq": 3, "name": "fork", "profile": "", "seed": 4, "play": False},
}


def _bodies(site: Site, chance: Random) -> bool:
    """JSON for everything that is not a command."""
    place = chance.choice([*_BODIES])
    path = f"/api/v1/{place}" if place == "runs/" else f"/api/v1/runs/{site.run.pk}/{place}"
    body: Any = dict(_BODIES[place])
    if place == "runs/":
        body["scenario"] = site.run.scenario_id
    for _ in range(chance.randint(0, 2)):
        body[chance.choice([*body])] = chance.choice(samples.HOSTILE)
    text = json.dumps(body).encode()
    if chance.random() < 0.2:
        text = samples.broken_bytes(text, chance)
    kind = chance.choice(("application/json",) * 8 + ("text/plain", "x", "multipart/form-data"))
    before = site.counts()
    answer = site.client.generic("POST", path, text, content_type=kind)
    made = _checked(answer, path)
    if not made:
        assert site.counts() == before
    if made and path != f"/api/v1/runs/{site.run.pk}/transport/":
        Run.objects.exclude(pk=site.run.pk).delete()
    return made


def _commands(site: Site, chance: Random) -> bool:
    """Commands on their whole way: request, table, engine, tables."""
    rows = [*Pod.objects.filter(run=site.run), *Node.objects.filter(run=site.run)]
    held = [{"id": row.entity, **row.manifest} for row in rows]
    body = samples.command(chance, held) if held else {"verb": "cordon", "object": "node/n1"}
    path = f"/api/v1/runs/{site.run.pk}/commands/"
    answer = site.client.generic("POST", path, json.dumps(body), content_type="application/json")
    made = _checked(answer, path)
    site.run.refresh_from_db()
    assert site.run.status != Run.Status.FAILED, site.run.error
    return made


def _uploads(site: Site, chance: Random) -> bool:
    files, choices = [samples.some_bytes(chance) for _ in range(chance.randint(1, 3))], {}
    if chance.random() < 0.5:  # any format, archives, choices at an import
        *file, choices = samples.small_input(chance)
        files = [tuple(file)]
    given = [SimpleUploadedFile(name, data) for name, data in files]
    sent = {each: text.encode("utf-8", "replace").decode() for each, text in choices.items()}
    path = chance.choice(("/api/v1/scenarios/", "/scenarios/upload/"))
    before = site.counts()
    answer = site.client.post(path, {"files": given, "name": _text(chance), **sent})
    made = _checked(answer, path)
    if not made:
        assert site.counts() == before
    # A page begins a run of what it has taken.
    Run.objects.exclude(pk=site.run.pk).delete()
    Scenario.objects.exclude(pk=site.run.scenario_id).delete()
    return made


def _forms(site: Site, chance: Random) -> bool:
    """The admin's forms, with nonsense in their fields."""
    node = Node.objects.filter(run=site.run).first()
    assert node is not None
    path, query = f"/admin/scheduling/node/{node.pk}/change/", ""
    form = opened(site.admin, node)
    if chance.random() < 0.3:
        path, query = "/admin/scheduling/pod/add/", f"?run={site.run.pk}"
        form = FormReader(site.admin.get(path + query).content.decode()).fields
    for _ in range(chance.randint(1, 2)):
        nonsense = chance.choice((*TEXTS, json.dumps(chance.choice(samples.HOSTILE))))
        form[chance.choice([*form])] = nonsense.encode("utf-8", "replace").decode()
    answer = site.admin.post(path + query, form)
    site.run.refresh_from_db()
    assert site.run.status != Run.Status.FAILED, site.run.error
    return _checked(answer, path)


def _sockets(site: Site, chance: Random) -> bool:
    """A socket with a query and frames of nonsense; it answers or closes, and raises nothing."""
    run = site.run.pk if chance.random() < 0.8 else chance.choice((0, 2**40, 2**63, 10**30))
    name, value = chance.choice(("after", "events", "x")), chance.choice(TEXTS)
    query = f"{name}={value}".encode("utf-8", "replace")
    if chance.random() < 0.3:
        query = samples.broken_bytes(query, chance)
    frames = [chance.choice((*samples.HOSTILE, b"\xff", b"")) for _ in range(chance.randint(0, 3))]

    async def spoken() -> bool:
        scope = {
            "type": "websocket",
            "path": f"/ws/runs/{run}/",
            "query_string": query,
            "headers": [],
            "subprotocols": [],
        }
        socket = ApplicationCommunicator(URLRouter(websocket_urlpatterns), scope)
        await socket.send_input({"type": "websocket.connect"})
        first = await socket.receive_output(10)
        for frame in frames:
            message = {"bytes": frame} if isinstance(frame, bytes) else {"text": json.dumps(frame)}
            await socket.send_input({"type": "websocket.receive", **message})
        await asyncio.sleep(0)
        await socket.send_input({"type": "websocket.disconnect", "code": 1000})
        await socket.wait(10)
        return first["type"] == "websocket.accept"

    return async_to_sync(spoken)()


KINDS: dict[str, Callable[[Site, Random], bool]] = {
    "queries": _queries,
    "bodies": _bodies,
    "rest-commands": _commands,
    "uploads": _uploads,
    "forms": _forms,
    "sockets": _sockets,
}


@pytest.fixture
def site(driven: Run, admin_client: Client, monkeypatch: pytest.MonkeyPatch) -> Site:
    """The site with a run that the test drives itself, when a command has come."""

    def wait(*, command: Command) -> Command:
        runner.run_drive(command.run_id)
        command.refresh_from_db()
        return command

    monkeypatch.setattr(services, "command_wait", wait)
    monkeypatch.setattr(services, "run_wait_for_goal", lambda run: run)
    return Site(driven, admin_client)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", KINDS)
def test_broken_requests_are_answered(kind: str, site: Site) -> None:
    tally = Tally(kind)
    for number in numbers_of(kind):
        chance = Random(f"{kind} {number}")
        tally.watch(number, lambda chance=chance: KINDS[kind](site, chance))
    print(tally)
    assert not tally.findings, "\n".join([str(tally), *tally.findings.values()])
