"""The rules of passwords hold at every door, and a new password ends what the old one opened."""

import io
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.test import Client

from kscope.accounts import limits
from kscope.accounts.access import Role
from kscope.accounts.models import Token
from kscope.accounts.services import account_create, password_set, token_create
from kscope.management.commands.prepare import first_admin
from tests.security.accounts import OTHER, PASSWORD, an_account, browser, is_in

pytestmark = pytest.mark.django_db

REFUSED = {
    "short": "hedge-tuba!",
    "leaked": "1qaz2wsx3edc",
    "leaked and lengthened": "password123456",
    "a row of keys": "qwertyuiop[]",
    "a word again and again": "scopescopescope",
    "a word of ours": "kubernetes2026",
    "the name of the account": "eva.martinez.1",
}


@pytest.fixture(autouse=True)
def on_a_server(settings: Any) -> None:
    settings.LOGIN_REQUIRED = True


@pytest.fixture
def slow_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """The clock of the limits stands still, at the beginning of a window of its own."""
    monkeypatch.setattr(limits, "_now", lambda: 20_000_000_100.0)
    for alias in ("default", "process"):
        limits.caches[alias].clear()


def change(client: Client, old: str, new: str) -> Any:
    form = {"old_password": old, "new_password1": new, "new_password2": new}
    return client.post("/account/password/", form)


def by_the_page(user: User, password: str) -> None:
    answer = change(browser(user), PASSWORD, password)
    if answer.status_code != 302:
        raise ValidationError(answer.context["form"].errors["new_password2"])


def by_the_admin(user: User, password: str) -> None:
    admin = browser(an_account("boss", Role.ADMIN))
    form = {"password1": password, "password2": password, "usable_password": "true"}
    answer = admin.post(f"/admin/auth/user/{user.pk}/password/", form)
    if answer.status_code != 302:
        raise ValidationError(answer.context["form"].errors["password2"])


def by_changepassword(user: User, password: str) -> None:
    from django.contrib.auth.management.commands import changepassword

    command = changepassword.Command(stdout=io.StringIO(), stderr=io.StringIO())
    command._get_pass = lambda *_: password  # type: ignore[method-assign]
    try:
        call_command(command, user.username)
    except CommandError as problem:
        raise ValidationError(str(problem)) from None


def by_the_service(user: User, password: str) -> None:
    password_set(user=user, password=password)


DOORS = (by_the_page, by_the_admin, by_changepassword, by_the_service)


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_every_door_refuses_bad_passwords(door: Any) -> None:
    user = an_account("eva.martinez")
    for why, password in REFUSED.items():
        with pytest.raises(ValidationError):
            door(user, password)
        user.refresh_from_db()
        assert user.check_password(PASSWORD), why
        User.objects.filter(username="boss").delete()


@pytest.mark.parametrize("door", DOORS, ids=lambda door: door.__name__)
def test_every_door_ends_sessions_and_tokens(door: Any) -> None:
    user = an_account()
    other = browser(user)
    _, text = token_create(user=user, name="ci")
    door(user, OTHER)
    assert not is_in(other)
    assert not Token.objects.filter(user=user).exists()
    answer = Client().get("/api/v1/runs/", headers={"Authorization": f"Token {text}"})
    assert answer.status_code == 401
    assert is_in(browser(user, OTHER))


def test_a_new_account_gets_no_bad_password() -> None:
    for password in REFUSED.values():
        with pytest.raises(ValidationError):
            account_create(name="eva.martinez", password=password)
    assert not User.objects.exists()


def test_admin_makes_no_account_with_a_bad_password() -> None:
    admin = browser(an_account("boss", Role.ADMIN))
    form = {"username": "new", "password1": "1qaz2wsx3edc", "password2": "1qaz2wsx3edc"}
    assert admin.post("/admin/auth/user/add/", form).status_code == 200
    assert not User.objects.filter(username="new").exists()


def test_the_first_admin_gets_no_bad_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KSCOPE_ADMIN_PASSWORD", "secret")
    with pytest.raises(CommandError, match="KSCOPE_ADMIN_PASSWORD: This password is too short"):
        first_admin()
    monkeypatch.delenv("KSCOPE_ADMIN_PASSWORD")
    assert is_in(browser(User(username="admin"), first_admin()))


def test_django_makes_no_superuser_past_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", "secret")
    with pytest.raises(CommandError, match="account create NAME --role admin"):
        call_command("createsuperuser", "--noinput")


def test_ones_own_session_goes_on_after_a_change() -> None:
    client = browser(an_account())
    assert change(client, PASSWORD, OTHER).status_code == 302
    assert is_in(client)


def test_the_old_password_is_asked_for() -> None:
    user = an_account()
    assert change(browser(user), "not it at all", OTHER).status_code == 200
    user.refresh_from_db()
    assert user.check_password(PASSWORD)


def test_the_old_password_is_guessed_ten_times(slow_clock: None) -> None:
    user = an_account()
    client = browser(user)
    answers = [change(client, f"guess {number}", OTHER).status_code for number in range(11)]
    assert answers == [200] * 10 + [429]
    # Neither the right one, nor another way in, helps on.
    answer = change(client, PASSWORD, OTHER)
    assert (answer.status_code, int(answer.headers["Retry-After"]) > 0) == (429, True)
    assert change(browser(user), PASSWORD, OTHER).status_code == 429


def test_admin_site_has_no_second_door_for_guesses() -> None:
    admin = browser(an_account("boss", Role.ADMIN))
    form = {"old_password": "guess", "new_password1": OTHER, "new_password2": OTHER}
    answer = admin.post("/admin/password_change/", form)
    assert answer.headers["Location"] == "/account/password/"


def test_a_very_long_password_is_judged_at_once() -> None:
    user = an_account()
    password_set(user=user, password=OTHER * 50)
    assert is_in(browser(user, OTHER * 50))
