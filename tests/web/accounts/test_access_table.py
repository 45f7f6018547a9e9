"""Every address, method and socket, tried as every role on runs of every visibility.

The addresses come from the resolver: one that is not in RULES fails, so whoever adds an address says
who may use it. What a rule allows is written out here once more, apart from the code that decides.
"""

import copy
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from itertools import zip_longest
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.db import connections, transaction
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.utils import timezone

from kscope.accounts.access import Role, Scope
from kscope.accounts.models import Token
from kscope.accounts.services import account_create, token_create
from kscope.env import Rate
from kscope.runs import aside, services
from kscope.runs.models import Lesson, Run, Scenario, Story
from kscope.runs.stream import watching
from kscope.runs.stream.consumers import NO_SUCH_RUN
from kscope.runs.stream.routing import websocket_urlpatterns
from scheduling.models import RecordedAttempt
from tests.waiting import HANG_SECONDS
from tests.web.drive.test_stream import opened

METHODS = ("GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE")
VISIBILITIES = ("private", "shared", "public")
SESSIONS = ("nobody", "viewer", "editor", "owner", "admin")
TOKENS = ("read token", "write token", "expired token")

# Whose session or token reads a run, which belongs to "owner"; both tokens are the owner's.
READERS = {
    "private": {"owner", "admin", "read token", "write token"},
    "shared": {"viewer", "editor", "owner", "admin", "read token", "write token"},
    "public": {"nobody", "viewer", "editor", "owner", "admin", "read token", "write token"},
}
CHANGERS = {"owner", "admin", "write token"}
EDITORS = {"editor", "owner", "admin", "write token"}
ACCOUNTS = {"viewer", "editor", "owner", "admin"}
EVERYBODY = {*SESSIONS, "read token", "write token"}


class Rule:
    """Which methods an address takes, and who may use each."""

    def __init__(self, **methods: str) -> None:
        self.methods = methods

    @property
    def looks_at_the_run(self) -> bool:
        """Whether it matters whose run it is, and who may see it."""
        return not {"readers", "changers", "forkers"}.isdisjoint(self.methods.values())

    def allows(self, method: str, role: str, visibility: str, *, is_api: bool) -> bool:
        """Whether the request is served."""
        who = self.methods[method]
        if not is_api and role in TOKENS:
            role = "nobody"  # pages know sessions only
        if role == "expired token":
            return False
        if who == "readers":
            return role in READERS[visibility]
        if who == "changers":
            return role in CHANGERS
        if who == "forkers":
            return role in READERS[visibility] & EDITORS
        groups = {"everybody": EVERYBODY, "editors": EDITORS, "accounts": ACCOUNTS, "nobody": set()}
        return role in groups.get(who, {"admin"})


PAGE = Rule(GET="readers")
READ = Rule(GET="readers")
OPEN = Rule(GET="everybody")

RULES = {
    # Pages.
    "favicon.ico": OPEN,
    "versions/": OPEN,
    "healthz": OPEN,
    "readyz": OPEN,
    "metrics": Rule(GET="admins"),
    "operations/": Rule(GET="admins"),
    "": OPEN,
    "runs/": OPEN,
    "stories/": OPEN,
    "stories/<slug:slug>/": PAGE,
    "stories/<slug:slug>/replay/": PAGE,
    "glossary/": OPEN,
    "glossary/explanations/": OPEN,
    "words/<str:language>/<str:digest>.js": OPEN,
    "lessons/": OPEN,
    "lessons/<slug:slug>/": PAGE,
    "concepts/": OPEN,
    "concepts/<slug:anchor>/": OPEN,
    "login/": Rule(GET="everybody", POST="everybody"),
    # There is no provider here.
    "login/oidc/": Rule(GET="nobody"),
    "login/oidc/back/": Rule(GET="nobody"),
    "logout/": Rule(POST="everybody"),
    "language/": Rule(POST="everybody"),
    "account/": Rule(GET="accounts", POST="accounts"),
    "account/password/": Rule(GET="accounts", POST="accounts"),
    "account/tokens/revoke/": Rule(POST="accounts"),
    "runs/<int:run_id>/": PAGE,
    "runs/<int:run_id>/first-look/": PAGE,
    "runs/<int:run_id>/start-again/": Rule(POST="forkers"),
    "runs/<int:run_id>/triage/": PAGE,
    "runs/<int:run_id>/film/": PAGE,
    "runs/<int:run_id>/inside/scheduler/": PAGE,
    "runs/<int:run_id>/inside/volumes/": PAGE,
    "runs/<int:run_id>/machines/": PAGE,
    "runs/<int:run_id>/pods/": PAGE,
    "runs/<int:run_id>/pods/<str:namespace>/<str:name>/": PAGE,
    "runs/<int:run_id>/volumes/": PAGE,
    "runs/<int:run_id>/nodes/": PAGE,
    "runs/<int:run_id>/nodes/<str:name>/": PAGE,
    "runs/<int:run_id>/objects/<path:entity>/": PAGE,
    "runs/<int:run_id>/edit/": Rule(GET="forkers"),
    "runs/<int:run_id>/configuration/": PAGE,
    "runs/<int:run_id>/timeline/": PAGE,
    "runs/<int:run_id>/compare/": PAGE,
    "runs/<int:run_id>/connect/": PAGE,
    "runs/<int:run_id>/kubeconfig/": PAGE,
    "runs/<int:run_id>/agreement/": PAGE,
    "scenarios/upload/": Rule(GET="editors", POST="editors"),
    "scenarios/<int:scenario_id>/start/": Rule(GET="forkers", POST="forkers"),
    "scenarios/<int:scenario_id>/change/": Rule(POST="changers"),
    # The API.
    "api/v1/schema/": OPEN,
    "api/docs/": OPEN,
    "api/v1/runs/": Rule(GET="everybody", POST="forkers"),
    "api/v1/runs/<int:run_id>/": Rule(GET="readers", PATCH="changers", DELETE="changers"),
    "api/v1/operations/": Rule(GET="admins"),
    "api/v1/runs/<int:run_id>/budget/": Rule(PATCH="changers"),
    "api/v1/runs/<int:run_id>/kept/": Rule(PUT="changers"),
    "api/v1/runs/<int:run_id>/transport/": Rule(POST="changers"),
    "api/v1/runs/<int:run_id>/fork/": Rule(POST="forkers"),
    "api/v1/runs/<int:run_id>/state/": READ,
    "api/v1/runs/<int:run_id>/compare/": READ,
    "api/v1/runs/<int:run_id>/events/": READ,
    "api/v1/runs/<int:run_id>/events/export/": READ,
    "api/v1/runs/<int:run_id>/counters/": READ,
    "api/v1/runs/<int:run_id>/objects/": READ,
    "api/v1/runs/<int:run_id>/diff/": READ,
    "api/v1/runs/<int:run_id>/wait/": READ,
    "api/v1/scenarios/<int:scenario_id>/download/": READ,
    # There is nothing.
    "api/v1/<path:rest>": Rule(GET="nobody"),
    "api/v1/runs/<int:run_id>/histogram/": READ,
    "api/v1/runs/<int:run_id>/objects/<path:entity>/": READ,
    "api/v1/runs/<int:run_id>/commands/": Rule(GET="readers", POST="changers"),
    "api/v1/runs/<int:run_id>/attempts/": READ,
    "api/v1/runs/<int:run_id>/shadow-decisions/": READ,
    "api/v1/runs/<int:run_id>/shadow-writes/": READ,
    "api/v1/runs/<int:run_id>/attempts/<int:attempt_id>/": READ,
    "api/v1/runs/<int:run_id>/nodes/<str:name>/drain/": READ,
    "api/v1/runs/<int:run_id>/checks/": READ,
    "api/v1/runs/<int:run_id>/inside/scheduler/": READ,
    "api/v1/runs/<int:run_id>/inside/caches/": READ,
    "api/v1/runs/<int:run_id>/inside/what-if/": READ,
    "api/v1/runs/<int:run_id>/inside/volumes/": READ,
    "api/v1/runs/<int:run_id>/first-look/": READ,
    "api/v1/runs/<int:run_id>/triage/": READ,
    "api/v1/runs/<int:run_id>/timeline/": READ,
    "api/v1/runs/<int:run_id>/pods/<str:namespace>/<str:name>/why/": READ,
    "api/v1/runs/<int:run_id>/pods/<str:namespace>/<str:name>/path/": READ,
    "api/v1/runs/<int:run_id>/pods/<str:namespace>/<str:name>/path/trials/": READ,
    "api/v1/runs/<int:run_id>/why/<path:entity>/": READ,
    "api/v1/runs/<int:run_id>/claims/<str:namespace>/<str:name>/candidates/": READ,
    "api/v1/runs/<int:run_id>/volumes/<str:name>/claimants/": READ,
    "api/v1/lessons/": OPEN,
    "api/v1/lessons/<slug:slug>/": READ,
    "api/v1/runs/<int:run_id>/edits/": Rule(POST="forkers"),
    "api/v1/runs/<int:run_id>/schema/": READ,
    "api/v1/faults/": OPEN,
    "api/v1/scenarios/": Rule(GET="everybody", POST="editors"),
    "api/v1/scenarios/<int:scenario_id>/": Rule(GET="readers", PATCH="changers", DELETE="changers"),
    "api/v1/runs/<int:run_id>/drawing/": READ,
    "api/v1/runs/<int:run_id>/rows/<str:kind>/": READ,
    "api/v1/runs/<int:run_id>/export/": READ,
}
# Parameters without which a request gets no further.
QUERIES = {
    "api/v1/runs/<int:run_id>/compare/": "?with=RUN",
    "api/v1/runs/<int:run_id>/diff/": "?from=0&to=0",
    "api/v1/runs/<int:run_id>/objects/": "?kind=Pod",
    "api/v1/runs/<int:run_id>/inside/what-if/": "?cycle=1",
    "api/v1/runs/<int:run_id>/wait/": "?seconds=0",
}
# Bodies that a serializer takes, where one is needed to get as far as the rule.
BODIES: dict[str, Any] = {
    "api/v1/runs/<int:run_id>/": {"visibility": "shared"},
    "api/v1/runs/<int:run_id>/budget/": {"events": 1000},
    "api/v1/runs/<int:run_id>/kept/": {"kept": True},
    "api/v1/runs/<int:run_id>/transport/": {"action": "pause"},
    "api/v1/runs/<int:run_id>/commands/": {"verb": "cordon", "object": "node/n1"},
    "api/v1/runs/<int:run_id>/fork/": {},
    "api/v1/runs/<int:run_id>/edits/": {"text": ""},
    "api/v1/scenarios/<int:scenario_id>/": {"visibility": "shared"},
}
LESSON = {
    "metadata": {"name": "told"},
    "spec": {
        "course": "c",
        "title": "t",
        "teaches": "t",
        "steps": [{"title": "s", "at": {"seq": 1}, "text": ["x"]}],
    },
}
# Numbers that nothing else in an answer has.
HIDDEN, MISSING = 770_077, 987_654
# Django's own pages below the admin that are asked without being logged in.
ADMIN_OPEN = {"admin/login/", "admin/jsi18n/"}
DENIED = (401, 403, 404)

pytestmark = pytest.mark.django_db


def routes(patterns: Any = None, prefix: str = "") -> Iterator[str]:
    """Every address that the resolver knows, as it is written in urls.py."""
    for each in get_resolver().url_patterns if patterns is None else patterns:
        route = prefix + str(each.pattern)
        if isinstance(each, URLResolver):
            yield from routes(each.url_patterns, route)
        elif isinstance(each, URLPattern):
            yield route


@pytest.fixture(autouse=True)
def login_is_required(settings: Any) -> None:
    """As on a server that others reach, without the limits of such."""
    settings.LOGIN_REQUIRED = True
    settings.RATE_LIMITS = dict.fromkeys(settings.RATE_LIMITS, Rate(10**6, 60))


class World:
    """A run of an owner, and clients of every role."""

    def __init__(self) -> None:
        self.users: dict[str, User] = {}
        for name, role in (
            ("viewer", Role.VIEWER),
            ("editor", Role.EDITOR),
            ("owner", Role.EDITOR),
            ("admin", Role.ADMIN),
        ):
            self.users[name] = account_create(name=name, role=role)[0]
        owner = self.users["owner"]
        self.scenario = Scenario.objects.create(name="s", digest="s", header={}, owner=owner)
        Lesson.objects.create(
            scenario=self.scenario, slug="told", document=LESSON, file="a.yaml", number=1, line=1
        )
        demo = Scenario.objects.create(
            name="d", digest="d", header={"name": "told"}, owner=owner, is_demo=True
        )
        Story.objects.create(scenario=demo, slug="told", end=1, events=1)
        self.run = Run.objects.create(pk=HIDDEN, scenario=self.scenario, name="r", owner=owner)
        self.attempt = RecordedAttempt.objects.create(
            run=self.run, pod="a/b", number=1, seq=0, at=0, cycle=0, result="bound", evidence=b""
        )
        self.tokens = {
            "read token": token_create(user=owner, name="r", scope=Scope.READ)[1],
            "write token": token_create(user=owner, name="w", scope=Scope.WRITE)[1],
            "expired token": token_create(user=owner, name="x", scope=Scope.WRITE)[1],
        }
        past = timezone.now() - timedelta(days=1)
        Token.objects.filter(name="x").update(expiry=past)

    def client(self, role: str, **options: Any) -> Client:
        """A client with the session or the token of the role."""
        options.setdefault("raise_request_exception", False)
        if role in TOKENS:
            header = f"Token {self.tokens[role]}"
            return Client(headers={"Authorization": header}, **options)
        client = Client(**options)
        if role in self.users:
            client.force_login(self.users[role])
        return client

    def show(self, visibility: str) -> None:
        """Change who may see the run and its scenario."""
        Run.objects.update(visibility=visibility)
        Scenario.objects.update(visibility=visibility)

    def address(self, route: str) -> str:
        """An address of the route, about the run."""
        query = QUERIES.get(route, "")
        for part, value in (
            ("<int:run_id>", self.run.pk),
            ("<int:scenario_id>", self.scenario.pk),
            ("<int:attempt_id>", self.attempt.pk),
            ("<str:namespace>", "a"),
            ("<str:name>", "b"),
            ("<str:kind>", "pods"),
            ("<path:entity>", "pod/a/b"),
            ("<slug:slug>", "told"),
            ("<str:language>", "en-gb"),
            ("<str:digest>", "0123456789ab"),
            ("<slug:anchor>", "moverequestcycle"),
            ("<path:rest>", "nothing/"),
        ):
            route = route.replace(part, str(value))
        return f"/{route}{query}".replace("RUN", str(self.run.pk))


@pytest.fixture(autouse=True)
def contract() -> None:
    """What is answered is made up here."""


@pytest.fixture
def world(db: Any, monkeypatch: pytest.MonkeyPatch) -> World:
    """Whoever gets past the rule gets an answer at once: engines are not what is tried here."""

    async def ask(question: aside.Question, asker: str) -> bytes:
        return b"{}"

    monkeypatch.setattr(aside, "ask", ask)
    monkeypatch.setattr(
        "kscope.runs.web.api.history.object_now", lambda run, entity: {"kind": "Pod"}
    )
    monkeypatch.setattr("scheduling.api.evidence_kept", lambda attempt: {})
    monkeypatch.setattr("scheduling.api.drain_preview", lambda run, node: {})
    monkeypatch.setattr("scheduling.api.pod_path", lambda run, pod, seq: {})
    monkeypatch.setattr("kscope.operations.views.readiness", lambda parts: {"ready": True})
    for name in ("run_wait_for_goal", "command_wait"):
        monkeypatch.setattr(services, name, lambda **one: next(iter(one.values())))
    return World()


def status(world: World, client: Client, route: str, method: str) -> int:
    """The status of the answer; what the request changed is undone."""
    body = BODIES.get(route, {"scenario": world.scenario.pk})
    cookies = copy.deepcopy(client.cookies)
    with transaction.atomic():
        answer = client.generic(
            method, world.address(route), json.dumps(body), content_type="application/json"
        )
        transaction.set_rollback(True)
    client.cookies = cookies
    if answer.status_code == 302 and answer.headers["Location"].startswith("/login/"):
        return 401
    return answer.status_code


def test_every_address_states_its_rule() -> None:
    unruled = [route for route in routes() if route not in RULES and not route.startswith("admin/")]
    assert unruled == []
    assert set(RULES) <= set(routes())


@pytest.mark.parametrize("role", [*SESSIONS, *TOKENS])
def test_every_role_may_what_the_table_says(world: World, role: str) -> None:
    client = world.client(role)
    wrong: list[str] = []
    for visibility in VISIBILITIES:
        world.show(visibility)
        for route, rule in RULES.items():
            if visibility != VISIBILITIES[0] and not rule.looks_at_the_run:
                continue
            for method in rule.methods:
                got = status(world, client, route, method)
                is_api = route.startswith("api/") and route != "api/docs/"
                wanted = rule.allows(method, role, visibility, is_api=is_api)
                if wanted == (got in DENIED) or got >= 500:
                    wrong.append(f"{visibility} {method} {route}: {got}")
    assert wrong == []


@pytest.mark.parametrize("role", ["nobody", "owner", "write token"])
def test_methods_outside_the_table_are_refused(world: World, role: str) -> None:
    client = world.client(role)
    world.show("public")
    answered = [
        f"{method} {route}: {got}"
        for route, rule in RULES.items()
        for method in METHODS
        if method not in (*rule.methods, "OPTIONS", "HEAD")
        and (got := status(world, client, route, method)) not in (*DENIED, 405)
    ]
    assert answered == []


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS"])
def test_head_and_options_reveal_no_hidden_run(world: World, method: str) -> None:
    client = world.client("editor")
    world.show("private")
    hidden = world.run.pk
    for route, rule in RULES.items():
        if "<int:run_id>" not in route or "readers" not in rule.methods.values():
            continue
        of_hidden = client.generic(method, world.address(route))
        of_none = client.generic(method, world.address(route).replace(str(hidden), "987654", 1))
        assert of_hidden.status_code == of_none.status_code, route


@pytest.mark.parametrize("role", ["nobody", "viewer", "editor"])
def test_no_method_tells_hidden_runs_from_missing(world: World, role: str) -> None:
    client = world.client(role)
    world.show("private")
    client.get("/login/")  # its cookies are there from now on
    different: list[str] = []
    for route in RULES:
        if "<int:run_id>" not in route:
            continue
        for method in METHODS:
            answers = [answered(client, world.address(route), method, run) for run in RUNS]
            pairs = zip_longest(*answers)
            different += [f"{method} {route}: {a} {b}" for a, b in pairs if a != b][:1]
    assert different == []


RUNS = (HIDDEN, MISSING)
TELLING = ("Content-Type", "Allow", "Location", "ETag", "WWW-Authenticate", "Content-Language")
_OF_ONE_REQUEST = re.compile(rb'nonce="[^"]*"|csrf[^>]*')


def answered(client: Client, address: str, method: str, run: int) -> list[Any]:
    """What comes back for that run, which is called N in it: line by line."""
    asked = address.replace(str(HIDDEN), str(run))
    body = json.dumps({"scenario": 1, "seq": 1})
    answer: Any = client.generic(method, asked, body, content_type="application/json")
    content = b"".join(answer) if answer.streaming else answer.content
    lines = _OF_ONE_REQUEST.sub(b"", content).replace(b"%d" % run, b"N").splitlines()
    headers = [answer.headers.get(name, "").replace(str(run), "N") for name in TELLING]
    return [answer.status_code, *headers, *lines]


def test_a_hidden_run_answers_like_a_missing_one(world: World) -> None:
    client = world.client("editor")
    world.show("private")
    hidden = client.get(f"/api/v1/runs/{world.run.pk}/")
    assert hidden.status_code == client.get("/api/v1/runs/987654/").status_code == 404
    assert hidden.json()["detail"] == f"There is no run {world.run.pk}."


@pytest.mark.parametrize("role", SESSIONS)
def test_the_admin_is_for_admins(world: World, role: str) -> None:
    client = world.client(role)
    wrong: list[str] = []
    for route in routes():
        if not route.startswith("admin/") or route in ADMIN_OPEN or route.endswith("$"):
            continue
        address = "/" + route.replace("<path:object_id>", "1").replace("<path:url>", "x")
        address = address.replace("<int:content_type_id>", "1").replace("<id>", "1")
        if address == "/admin/logout/":
            continue
        got = client.get(address).status_code
        is_served = got in (200, 301, 302, 404, 403, 405) and role == "admin"
        is_sent_to_login = got == 302 and role != "admin"
        if not is_served and not is_sent_to_login:
            wrong.append(f"{route}: {got}")
    assert wrong == []


@pytest.mark.parametrize("role", [*SESSIONS, *TOKENS])
def test_lists_show_what_may_be_seen(world: World, role: str) -> None:
    client = world.client(role)
    for visibility in VISIBILITIES:
        world.show(visibility)
        may = role in READERS[visibility]
        runs = client.get("/api/v1/runs/").json().get("items", [])
        scenarios = client.get("/api/v1/scenarios/").json().get("items", [])
        assert (bool(runs), bool(scenarios)) == (may, may)
        if role not in TOKENS:
            assert (f"/runs/{world.run.pk}/" in client.get("/runs/").content.decode()) == may


@pytest.mark.parametrize("role", ["viewer", "editor", "owner", "admin"])
def test_a_session_cannot_write_without_its_csrf_token(world: World, role: str) -> None:
    world.show("public")
    client = world.client(role, enforce_csrf_checks=True)
    for route, rule in RULES.items():
        for method in set(rule.methods) - {"GET"}:
            assert status(world, client, route, method) in (401, 403), (method, route)


def test_a_token_writes_without_a_csrf_token(world: World) -> None:
    client = world.client("write token", enforce_csrf_checks=True)
    assert status(world, client, "api/v1/runs/<int:run_id>/transport/", "POST") == 200
    world.show("private")
    assert status(world, client, "api/v1/runs/<int:run_id>/fork/", "POST") == 201


def test_both_runs_of_a_comparison_must_be_seen(world: World) -> None:
    other = Run.objects.create(scenario=world.scenario, name="other", owner=world.users["admin"])
    client = world.client("owner")
    assert client.get(f"/api/v1/runs/{world.run.pk}/compare/?with={other.pk}").status_code == 404
    assert client.get(f"/runs/{world.run.pk}/compare/").context["others"] == []
    Run.objects.filter(pk=other.pk).update(visibility="shared")
    assert client.get(f"/api/v1/runs/{world.run.pk}/compare/?with={other.pk}").status_code == 200


@pytest.mark.django_db(transaction=True)
async def test_every_role_opens_the_sockets_it_may(world_of_sockets: World) -> None:
    world = world_of_sockets
    # Whatever else is asked for gets 404.
    assert [str(each.pattern) for each in websocket_urlpatterns] == ["ws/runs/<int:run_id>/", ""]
    for visibility in VISIBILITIES:
        await sync_to_async(world.show)(visibility)
        watching._known.clear()
        for role in (*SESSIONS, *TOKENS):
            headers = await sync_to_async(socket_headers)(world, role)
            got = await first_answer(world.run.pk, headers)
            wanted = "snapshot" if role in READERS[visibility] else NO_SUCH_RUN
            assert got == wanted, (visibility, role)


@pytest.fixture
def world_of_sockets(transactional_db: Any) -> Iterator[World]:
    """The same world, committed, for the threads that answer sockets."""
    yield World()
    watching._known.clear()


def socket_headers(world: World, role: str) -> list[tuple[bytes, bytes]]:
    """The headers that a client of the role opens a socket with."""
    if role in TOKENS:
        return [(b"authorization", f"Token {world.tokens[role]}".encode())]
    cookies = world.client(role).cookies
    if "sessionid" not in cookies:
        return []
    return [(b"cookie", f"sessionid={cookies['sessionid'].value}".encode())]


async def first_answer(run_id: int, headers: list[tuple[bytes, bytes]]) -> Any:
    """The type of the first message, or the code with which the socket is closed; then leave."""
    socket = opened(run_id, headers=headers)
    await socket.send_input({"type": "websocket.connect"})
    assert (await socket.receive_output(timeout=HANG_SECONDS))["type"] == "websocket.accept"
    # What a client says gives it nothing more.
    await socket.send_input({"type": "websocket.receive", "text": '{"action": "play"}'})
    try:
        answer = await socket.receive_output(timeout=HANG_SECONDS)
        return answer["code"] if "code" in answer else json.loads(answer["text"])["type"]
    finally:
        await socket.send_input({"type": "websocket.disconnect", "code": 1000})
        await socket.wait(timeout=HANG_SECONDS)
        await sync_to_async(connections.close_all)()
