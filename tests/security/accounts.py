"""Accounts for the tests, and browsers that are logged in with them."""

from django.contrib.auth.models import User
from django.test import Client

from kscope.accounts.access import Role
from kscope.accounts.services import account_create

PASSWORD = "a long enough phrase"
OTHER = "hedge-tuba-orbit-lentil"


def an_account(name: str = "eva", role: Role = Role.EDITOR) -> User:
    """An account with PASSWORD."""
    return account_create(name=name, role=role, password=PASSWORD)[0]


def browser(user: User, password: str = PASSWORD) -> Client:
    """A browser that has logged in with *password*."""
    client = Client()
    # Not by the page, which counts attempts.
    client.login(username=user.username, password=password)
    return client


def is_in(client: Client) -> bool:
    """Whether the browser is logged in."""
    return client.get("/account/").status_code == 200
