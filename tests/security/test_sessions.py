"""Sessions: what the database knows of them, when they begin, and when they end."""

import json
import os
import subprocess
import sys
from datetime import timedelta
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.contrib.sessions.models import Session
from django.test import Client

from kscope.accounts import sessions
from kscope.accounts.sessions import SessionStore, digest_of
from kscope.accounts.sockets import Credential
from tests.security.accounts import PASSWORD, an_account, browser, is_in

pytestmark = pytest.mark.django_db

HOUR = 3600


@pytest.fixture(autouse=True)
def on_a_server(settings: Any) -> None:
    settings.LOGIN_REQUIRED = True


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Moves the clock of sessions: `clock(seconds)` later."""
    from django.contrib.sessions.backends import base
    from django.utils import timezone

    began, passed = timezone.now(), [0.0]

    def now() -> Any:
        return began + timedelta(seconds=passed[0])

    def move(seconds: float) -> None:
        passed[0] += seconds

    monkeypatch.setattr(sessions, "_now", lambda: now().timestamp())
    for module in (sessions, base):
        monkeypatch.setattr(module.timezone, "now", now)
    return move


def key_of(client: Client) -> str:
    return client.cookies["sessionid"].value


def test_the_database_holds_no_key_of_a_session() -> None:
    client = browser(an_account())
    rows = json.dumps(list(Session.objects.values()), default=str)
    assert key_of(client) not in rows
    assert Session.objects.get().session_key == digest_of(key_of(client))


def test_what_the_database_holds_opens_no_session() -> None:
    browser(an_account())
    thief = Client()
    thief.cookies["sessionid"] = Session.objects.get().session_key
    assert not is_in(thief)


def test_a_login_gives_another_session_id() -> None:
    user, client = an_account(), Client()
    store = SessionStore()
    store["chosen"] = "by somebody else"
    store.save()
    client.cookies["sessionid"] = planted = str(store.session_key)
    client.post("/login/", {"username": user.username, "password": PASSWORD})
    assert is_in(client)
    assert key_of(client) != planted
    assert not Session.objects.filter(session_key=digest_of(planted)).exists()


def test_a_logout_ends_the_session_everywhere() -> None:
    client = browser(an_account())
    stolen = Client()
    stolen.cookies["sessionid"] = key = key_of(client)
    assert is_in(stolen)
    client.post("/logout/")
    assert not is_in(stolen)
    visitor = Credential(session=key).visitor()
    assert visitor is not None
    assert visitor.role is None
    assert not Session.objects.exists()


def test_an_idle_session_ends(clock: Any, settings: Any) -> None:
    client = browser(an_account())
    clock(settings.SESSION_COOKIE_AGE - 1)
    assert is_in(client)
    clock(settings.SESSION_COOKIE_AGE - 1)
    assert is_in(client)
    clock(settings.SESSION_COOKIE_AGE + 1)
    assert not is_in(client)


def test_a_session_in_use_ends_as_well(clock: Any, settings: Any) -> None:
    settings.SESSION_MOST_SECONDS = 4 * HOUR
    client = browser(an_account())
    for _ in range(3):
        clock(HOUR)
        assert is_in(client)
    clock(HOUR + 1)
    assert not is_in(client)


def test_a_session_in_use_is_written_seldom(clock: Any) -> None:
    client = browser(an_account())
    before = Session.objects.get().expire_date
    clock(sessions.NOTE_USE_SECONDS - 1)
    is_in(client)
    assert Session.objects.get().expire_date == before
    clock(1)
    is_in(client)
    assert Session.objects.get().expire_date > before


def test_a_login_clears_sessions_that_have_ended(clock: Any, settings: Any) -> None:
    user = an_account()
    browser(user)
    clock(settings.SESSION_MOST_SECONDS + 1)
    browser(user)
    assert Session.objects.count() == 1


def test_async_code_finds_the_same_sessions() -> None:
    store = SessionStore()
    store["a"] = 1
    async_to_sync(store.asave)()
    key = str(store.session_key)
    assert Session.objects.get().session_key == digest_of(key)
    assert async_to_sync(SessionStore(key).aget)("a") == 1
    assert async_to_sync(store.aexists)(key)
    async_to_sync(store.adelete)()
    assert not Session.objects.exists()


def test_cookies_are_kept_from_scripts_and_other_sites() -> None:
    form = {"username": an_account().username, "password": PASSWORD}
    cookie = Client().post("/login/", form).cookies["sessionid"]
    assert cookie["httponly"]
    assert cookie["samesite"] == "Lax"


def test_logins_are_logged_without_what_was_typed(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO", "kscope.accounts.sessions")
    user = an_account()
    client = browser(user)
    client.login(username="a-password-in-the-wrong-field", password="x")
    client.post("/logout/")
    words = [record.getMessage() for record in caplog.records if "accounts" in record.name]
    assert any(text.startswith(f"login of account {user.pk} from") for text in words)
    assert any(text.startswith("login failed from") for text in words)
    assert any(text.startswith(f"logout of account {user.pk} from") for text in words)
    assert "wrong-field" not in " ".join(words)


def test_over_https_cookies_are_of_this_host_alone() -> None:
    program = (
        "from kscope import settings as s;"
        "print(s.SESSION_COOKIE_NAME, s.CSRF_COOKIE_NAME, s.SESSION_COOKIE_SECURE)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "KSCOPE_SECURE": "1"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == ["__Host-sessionid", "__Host-csrftoken", "True"]
