"""The language that a visitor chooses: kept in a cookie, and in the account where there is one."""

from typing import Any

import pytest
from django.test import Client

from kscope.accounts.access import Role
from kscope.accounts.models import Account
from kscope.accounts.services import account_create

pytestmark = pytest.mark.django_db

PASSWORD = "a long enough phrase"


@pytest.fixture
def two_languages(settings: Any) -> None:
    settings.LANGUAGES = [("en-gb", "English"), ("de", "Deutsch")]


def choose(client: Client, language: str) -> Any:
    return client.post("/language/", {"language": language, "next": "/glossary/"})


def language_of(client: Client) -> str:
    return client.get("/glossary/").headers["Content-Language"]


def account(name: str) -> Account:
    user, _ = account_create(name=name, role=Role.VIEWER, password=PASSWORD)
    return Account.objects.get(user=user)


@pytest.mark.usefixtures("two_languages")
def test_a_chosen_language_stays_chosen(client: Client) -> None:
    assert language_of(client) == "en-gb"
    assert choose(client, "de").headers["Location"] == "/glossary/"
    assert language_of(client) == "de"


@pytest.mark.usefixtures("two_languages")
def test_the_menu_names_each_language(client: Client) -> None:
    page = client.get("/glossary/").content.decode()
    assert 'value="de" lang="de">Deutsch</button>' in page
    assert 'value="en-gb" lang="en-gb" aria-current="true">English</button>' in page


def test_one_language_alone_has_no_menu(client: Client) -> None:
    assert 'action="/language/"' not in client.get("/glossary/").content.decode()


@pytest.mark.usefixtures("two_languages")
def test_an_account_keeps_its_language(client: Client) -> None:
    eva = account("eva")
    client.force_login(eva.user)
    choose(client, "de")
    eva.refresh_from_db()
    assert eva.language == "de"
    other = Client()
    answer = other.post("/login/", {"username": "eva", "password": PASSWORD})
    assert answer.status_code == 302
    assert language_of(other) == "de"


@pytest.mark.usefixtures("two_languages")
def test_an_unknown_language_changes_nothing(client: Client) -> None:
    eva = account("eva")
    client.force_login(eva.user)
    choose(client, "tlh")
    eva.refresh_from_db()
    assert (eva.language, language_of(client)) == ("", "en-gb")


@pytest.mark.usefixtures("two_languages")
def test_a_language_never_leads_to_another_site(client: Client) -> None:
    answer = client.post("/language/", {"language": "de", "next": "https://elsewhere.example/"})
    assert answer.headers["Location"] == "/"
