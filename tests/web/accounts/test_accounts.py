"""Accounts: logging in, tokens, quotas, rate limits, and what a visitor at the machine may do."""

import io
import json
from importlib import import_module
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.contrib.auth import get_user_model
from django.contrib.auth.models import AnonymousUser, User
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import ProtectedError
from django.test import Client

from kscope.accounts import limits
from kscope.accounts.access import Role, Scope, Visibility, Visitor, role_of, visitor_for
from kscope.accounts.models import Account, Token
from kscope.accounts.services import account_create, account_set_role, token_create
from kscope.env import Rate
from kscope.runs import services
from kscope.runs.models import Run, Scenario

pytestmark = pytest.mark.django_db

PASSWORD = "a long enough phrase"


@pytest.fixture
def on_a_server(settings: Any) -> None:
    """A login is required."""
    settings.LOGIN_REQUIRED = True


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the limits stands still, at the beginning of a window of its own."""
    monkeypatch.setattr(limits, "_now", lambda: 10_000_000_000.0)
    for alias in ("default", "process"):
        limits.caches[alias].clear()


def editor(name: str = "eva") -> User:
    return account_create(name=name, role=Role.EDITOR, password=PASSWORD)[0]


def logged_in(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def post(client: Client, path: str, body: Any, **headers: str) -> Any:
    return client.post(path, json.dumps(body), content_type="application/json", headers=headers)


def a_scenario(**fields: Any) -> Scenario:
    return Scenario.objects.create(**{"name": "s", "digest": "s", "header": {}, **fields})


def upload(client: Client, name: str = "n1") -> Any:
    node = f"apiVersion: v1\nkind: Node\nmetadata: {{name: {name}}}\n"
    return client.post("/api/v1/scenarios/", {"files": SimpleUploadedFile("a.yaml", node.encode())})


# The rule


def test_the_query_finds_exactly_what_may_be_read() -> None:
    owner, other = editor("owner"), editor("other")
    for number, (held_by, visibility) in enumerate(product((owner, None), Visibility.values)):
        a_scenario(digest=str(number), owner=held_by, visibility=visibility)
    visitors = [
        Visitor(user, role, is_local=is_local)
        for user, role in ((None, None), (owner.pk, Role.VIEWER), (other.pk, Role.EDITOR))
        for is_local in (False, True)
    ]
    for visitor in [*visitors, Visitor(other.pk, Role.ADMIN)]:
        found = set(Scenario.objects.filter(visitor.readable()))
        assert found == {each for each in Scenario.objects.all() if visitor.may_read(each)}
        mine = set(Scenario.objects.filter(visitor.owned()))
        assert mine == {each for each in Scenario.objects.all() if visitor.owns(each)}


def test_a_visitor_without_login_acts_as_editor(settings: Any) -> None:
    settings.LOGIN_REQUIRED = False
    visitor = visitor_for(AnonymousUser())
    assert (visitor.may_create, visitor.is_admin) == (True, False)
    assert visitor.may_change(a_scenario())
    assert not visitor.may_read(a_scenario(digest="t", owner=editor()))


def test_no_header_says_where_a_request_is_from(client: Client, on_a_server: None) -> None:
    run = Run.objects.create(scenario=a_scenario(), name="r")
    for header in ("X-Forwarded-For", "X-Real-IP", "Forwarded", "X-Forwarded-Host"):
        answer = client.get(f"/api/v1/runs/{run.pk}/", headers={header: "127.0.0.1"})
        assert answer.status_code == 404


def test_a_new_role_applies_to_the_next_request(on_a_server: None) -> None:
    user = editor()
    client = logged_in(user)
    assert client.get("/scenarios/upload/").status_code == 200
    account_set_role(user=user, role=Role.VIEWER)
    assert client.get("/scenarios/upload/").status_code == 403
    account_set_role(user=user, role=Role.ADMIN)
    assert client.get("/admin/").status_code == 200
    account_set_role(user=user, role=Role.EDITOR)
    assert client.get("/admin/").status_code == 302


def test_the_admin_gives_roles_and_quotas(admin_client: Client) -> None:
    user = editor()
    path = f"/admin/auth/user/{user.pk}/change/"
    form = admin_client.get(path).context["adminform"].form
    fields = {
        "username": "eva",
        "is_active": "on",
        "identities-TOTAL_FORMS": "0",
        "identities-INITIAL_FORMS": "0",
        "account-TOTAL_FORMS": "1",
        "account-INITIAL_FORMS": "1",
        "account-0-id": str(user.account.pk),
        "account-0-user": str(user.pk),
        "account-0-role": "admin",
        "account-0-max_runs": "3",
    }
    answer = admin_client.post(path, fields)
    assert answer.status_code == 302, form.errors
    user = get_user_model().objects.get(pk=user.pk)
    assert (role_of(user), user.is_staff, user.account.max_runs) == (Role.ADMIN, True, 3)


def test_an_account_that_owns_runs_is_not_deleted() -> None:
    user = editor()
    a_scenario(owner=user)
    with pytest.raises(ProtectedError):
        user.delete()


# What was there before


def test_what_was_there_before_accounts_is_shared() -> None:
    demo, own = a_scenario(is_demo=True), a_scenario(digest="t", header={"a": 1})
    run = Run.objects.create(scenario=own, name="r")
    owners = import_module("kscope.runs.migrations.0006_owners")
    with connection.cursor() as cursor:
        # As the column was called then.
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
        cursor.execute("ALTER TABLE runs_scenario RENAME header TO document")
        owners.share_what_exists(apps, SimpleNamespace(connection=connection))
        cursor.execute("ALTER TABLE runs_scenario RENAME document TO header")
    for row in (demo, own, run):
        row.refresh_from_db()
    assert (demo.visibility, own.visibility, run.visibility) == ("public", "shared", "shared")
    assert own.bytes == len('{"a": 1}')


def test_users_who_were_there_before_keep_their_rights() -> None:
    users = get_user_model().objects
    user, boss = users.create_user("old"), users.create_superuser("boss")
    Account.objects.all().delete()
    import_module("kscope.accounts.migrations.0001_initial").give_accounts(apps, None)
    roles = {role_of(users.get(pk=each.pk)) for each in (user, boss)}
    assert roles == {Role.EDITOR, Role.ADMIN}


# Owners


def test_what_one_makes_is_ones_own_and_private(on_a_server: None) -> None:
    user = editor()
    client = logged_in(user)
    scenario = upload(client).json()
    run = post(client, "/api/v1/runs/", {"scenario": scenario["id"]}).json()
    assert (scenario["owner"], scenario["visibility"]) == ("eva", "private")
    assert (run["owner"], run["visibility"]) == ("eva", "private")


def test_each_owner_keeps_a_copy_of_a_file(on_a_server: None) -> None:
    one, other = logged_in(editor("one")), logged_in(editor("other"))
    first, second = upload(one).json(), upload(other).json()
    assert first["id"] != second["id"]
    assert second["owner"] == "other"
    assert upload(one).json()["id"] == first["id"]


def test_an_upload_without_runs_can_be_deleted(on_a_server: None) -> None:
    client = logged_in(editor())
    scenario = upload(client).json()["id"]
    run = post(client, "/api/v1/runs/", {"scenario": scenario}).json()["id"]
    refused = client.delete(f"/api/v1/scenarios/{scenario}/")
    assert (refused.status_code, "1 run was made from it" in refused.json()["detail"]) == (
        409,
        True,
    )
    client.delete(f"/api/v1/runs/{run}/")
    assert client.delete(f"/api/v1/scenarios/{scenario}/").status_code == 204


def test_the_list_groups_runs_by_owner(on_a_server: None) -> None:
    eva, tom = editor(), editor("tom")
    scenario = a_scenario(visibility="shared", owner=tom)
    Run.objects.create(scenario=scenario, name="of-eva", owner=eva)
    Run.objects.create(scenario=scenario, name="of-tom", owner=tom, visibility="shared")
    client = logged_in(eva)
    for whose, shown in (
        ("mine", {"of-eva"}),
        ("others", {"of-tom"}),
        ("all", {"of-eva", "of-tom"}),
    ):
        context = client.get(f"/runs/?whose={whose}").context
        assert {run.name for run, _ in context["rows"]} == shown


def test_the_list_tells_of_no_hidden_fork(on_a_server: None) -> None:
    eva, tom = editor(), editor("tom")
    scenario = a_scenario(visibility="shared", owner=tom)
    parent = Run.objects.create(scenario=scenario, owner=tom, visibility="shared")
    Run.objects.create(scenario=scenario, owner=tom, parent=parent, forked_at=0)
    for user, tells in ((eva, False), (tom, True)):
        rows = logged_in(user).get("/runs/").context["rows"]
        assert [run.has_forks for run, _ in rows if run == parent] == [tells]


# Logging in


def test_one_logs_in_and_out_again(client: Client, on_a_server: None) -> None:
    editor()
    answer = client.post("/login/", {"username": "eva", "password": PASSWORD, "next": "/account/"})
    assert answer.headers["Location"] == "/account/"
    assert "Log out" in client.get("/account/").content.decode()
    client.post("/logout/")
    assert client.get("/account/").status_code == 302


def test_a_login_leads_to_no_other_site(client: Client, on_a_server: None) -> None:
    editor()
    form = {"username": "eva", "password": PASSWORD, "next": "https://example.org/"}
    assert client.post("/login/", form).headers["Location"] == "/"


def test_too_many_wrong_passwords_have_to_wait(
    client: Client, on_a_server: None, settings: Any, slow_clock: None
) -> None:
    editor()
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "login": Rate(3, 60)}
    for _ in range(3):
        assert client.post("/login/", {"username": "eva", "password": "x"}).status_code == 200
    answer = client.post("/login/", {"username": "Eva", "password": PASSWORD})
    assert (answer.status_code, answer.headers["Retry-After"]) == (429, "20")
    assert "Too many attempts" in answer.content.decode()
    assert client.post("/login/", {"username": "tom", "password": "x"}).status_code == 200


def test_an_address_that_guesses_tokens_has_to_wait(
    client: Client, on_a_server: None, settings: Any, slow_clock: None
) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "login": Rate(2, 60)}
    wrong = {"Authorization": "Token kscope_wrong"}
    answers = [client.get("/api/v1/runs/", headers=wrong).status_code for _ in range(3)]
    assert answers == [401, 401, 429]


# Tokens


def test_a_token_is_shown_once_and_stored_hashed(on_a_server: None) -> None:
    client = logged_in(editor())
    page = client.post("/account/", {"name": "ci", "scope": "write", "days": "30"})
    text = page.context["new_token"]
    assert text.startswith("kscope_")
    assert text in page.content.decode()
    assert text not in client.get("/account/").content.decode()
    assert all(text not in str(value) for value in Token.objects.values_list().get())


def test_a_revoked_token_is_refused(client: Client, on_a_server: None) -> None:
    user = editor()
    headers = {"Authorization": f"Token {token_create(user=user, name='ci')[1]}"}
    assert client.get("/api/v1/runs/", headers=headers).status_code == 200
    logged_in(user).post("/account/tokens/revoke/", {"name": "ci"})
    assert client.get("/api/v1/runs/", headers=headers).status_code == 401


def test_tokens_of_a_deactivated_account_are_refused(client: Client, on_a_server: None) -> None:
    user = editor()
    headers = {"Authorization": f"Token {token_create(user=user, name='ci')[1]}"}
    call_command("account", "deactivate", "eva")
    assert client.get("/api/v1/runs/", headers=headers).status_code == 401


@pytest.mark.parametrize("words", ["Token", "Token a b", "Token \xff", "Token é", "Token ' OR 1=1"])
def test_a_header_without_token_is_refused_in_words(
    client: Client, on_a_server: None, words: str
) -> None:
    answer = client.get("/api/v1/runs/", headers={"Authorization": words})
    assert answer.status_code == 401
    assert answer.json()["detail"]


def test_one_cannot_revoke_the_token_of_another(on_a_server: None) -> None:
    token_create(user=editor("tom"), name="ci")
    logged_in(editor()).post("/account/tokens/revoke/", {"name": "ci"})
    assert Token.objects.filter(name="ci").exists()


# Commands


def called(*words: str) -> str:
    out = io.StringIO()
    call_command(*words, stdout=out)
    return out.getvalue()


def test_accounts_are_made_and_listed_by_a_command(client: Client) -> None:
    text = called("account", "create", "ann", "--role", "editor")
    password = text.split("password ")[1].split()[0]
    assert client.login(username="ann", password=password)
    called("account", "role", "ann", "admin")
    assert "ann\tadmin" in called("account", "list")
    with pytest.raises(CommandError, match="account ann already"):
        called("account", "create", "ann")


def test_a_command_makes_lists_and_revokes_tokens(client: Client) -> None:
    editor()
    text = called("token", "create", "eva", "ci", "--scope", "write").strip()
    headers = {"Authorization": f"Token {text}"}
    assert client.get("/api/v1/runs/", headers=headers).status_code == 200
    assert "ci\twrite\tuntil " in called("token", "list", "eva")
    called("token", "revoke", "eva", "ci")
    assert client.get("/api/v1/runs/", headers=headers).status_code == 401


# Rate limits and quotas


def test_one_request_too_many_gets_a_retry_time(
    client: Client, on_a_server: None, settings: Any, slow_clock: None
) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "anonymous_read": Rate(2, 60)}
    assert [client.get("/api/v1/runs/").status_code for _ in range(3)] == [200, 200, 429]
    answer = client.get("/api/v1/runs/")
    assert answer.headers["Retry-After"] == "20"
    assert "throttled" in answer.json()["detail"]
    # Somebody else is not held up by it.
    assert logged_in(editor()).get("/api/v1/runs/").status_code == 200


def test_without_redis_each_process_counts_for_itself(
    client: Client, on_a_server: None, settings: Any, slow_clock: None
) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "anonymous_read": Rate(2, 60)}
    settings.CACHES = {
        **settings.CACHES,
        "default": {**settings.CACHES["default"], "LOCATION": "unix:///nowhere/valkey.sock"},
    }
    assert [client.get("/api/v1/runs/").status_code for _ in range(3)] == [200, 200, 429]


def test_a_quota_names_the_limit(on_a_server: None, settings: Any) -> None:
    user = editor()
    client = logged_in(user)
    settings.QUOTAS = {**settings.QUOTAS, "uploads": 1, "runs": 2}
    scenario = upload(client).json()["id"]
    refused = upload(client, "n2")
    assert refused.status_code == 403
    answer = refused.json()
    assert answer["detail"].startswith(
        "Your account keeps 1 uploads; it may keep 1. Delete one first. The oldest without a run: "
    )
    assert [one["id"] for one in answer["could_go"]] == [scenario]
    assert (answer["quota"], answer["used"], answer["limit"]) == ("uploads", 1, 1)
    for wanted in (201, 201, 403):
        assert post(client, "/api/v1/runs/", {"scenario": scenario}).status_code == wanted
    run = Run.objects.filter(owner=user).first()
    assert run is not None
    assert post(client, f"/api/v1/runs/{run.pk}/fork/", {}).json()["quota"] == "runs"


def test_files_without_room_for_a_run_are_kept(on_a_server: None, settings: Any) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "runs": 0}
    files = [SimpleUploadedFile("mine.yaml", b"apiVersion: v1\nkind: Node\nmetadata: {name: n1}\n")]
    page = logged_in(editor()).post("/scenarios/upload/", {"files": files}).content.decode()
    assert "mine is kept, but no run of it was made." in page
    assert "Start run" in page
    assert Scenario.objects.get().name == "mine"


def test_bytes_of_uploads_count(on_a_server: None, settings: Any) -> None:
    settings.QUOTAS = {**settings.QUOTAS, "upload_bytes": 10}
    answer = upload(logged_in(editor()))
    assert (answer.status_code, answer.json()["quota"]) == (403, "upload_bytes")
    assert not Scenario.objects.exists()


def test_only_so_many_runs_play_at_once(on_a_server: None, settings: Any) -> None:
    user = editor()
    settings.QUOTAS = {**settings.QUOTAS, "playing": 1}
    user.account.max_playing = 2
    user.account.save()
    scenario = a_scenario(owner=user)
    runs = [services.run_create(scenario=scenario, owner_id=user.pk) for _ in range(3)]
    client = logged_in(user)
    played = [
        post(client, f"/api/v1/runs/{run.pk}/transport/", {"action": "play"}).status_code
        for run in runs
    ]
    assert played == [200, 200, 403]
    post(client, f"/api/v1/runs/{runs[0].pk}/transport/", {"action": "pause"})
    answer = post(client, f"/api/v1/runs/{runs[2].pk}/transport/", {"action": "play"})
    assert answer.status_code == 200


def test_the_account_page_shows_what_is_used(on_a_server: None) -> None:
    user = editor()
    a_scenario(owner=user, bytes=2048)
    page = logged_in(user).get("/account/").content.decode()
    assert "2.0" in page
    usage = {each.quota: each.used for each in logged_in(user).get("/account/").context["usage"]}
    assert usage == {"uploads": 1, "upload_bytes": 2048, "runs": 0, "playing": 0}


# At the machine


def test_another_sites_page_cannot_write_without_a_session(client: Client) -> None:
    scenario = a_scenario()
    body = {"scenario": scenario.pk}
    for origin in ("https://example.org", "http://localhost:9", "null"):
        assert post(client, "/api/v1/runs/", body, Origin=origin).status_code == 403
    assert upload_from(client, "https://example.org") == 403
    assert post(client, "/api/v1/runs/", body, Origin="http://testserver").status_code == 201


def upload_from(client: Client, origin: str) -> int:
    files = {"files": SimpleUploadedFile("a.yaml", b"kind: Node")}
    return client.post("/api/v1/scenarios/", files, headers={"Origin": origin}).status_code


def test_a_foreign_name_that_points_here_is_refused(client: Client) -> None:
    assert client.get("/api/v1/runs/", headers={"Host": "evil.example"}).status_code == 400


def test_a_read_token_limits_even_a_local_visitor(client: Client) -> None:
    scenario = a_scenario()
    headers = {
        "Authorization": f"Token {token_create(user=editor(), name='r', scope=Scope.READ)[1]}"
    }
    answer = post(client, "/api/v1/runs/", {"scenario": scenario.pk}, **headers)
    assert (answer.status_code, answer.json()["detail"]) == (403, "This token may only read.")
