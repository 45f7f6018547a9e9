"""`Account.role` decides; `is_staff` opens the admin site, `is_superuser` gives Django's permissions there."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from kscope.accounts.access import Role, role_of, visitor_for
from kscope.accounts.services import account_set_role
from tests.security.accounts import an_account, browser

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def on_a_server(settings: Any) -> None:
    settings.LOGIN_REQUIRED = True


@pytest.mark.parametrize("role", list(Role))
def test_admins_alone_have_both_flags(role: Role) -> None:
    user = an_account(role=role)
    user.refresh_from_db()
    assert {user.is_staff, user.is_superuser} == {role == Role.ADMIN}
    assert (browser(user).get("/admin/").status_code == 200) == (role == Role.ADMIN)


@pytest.mark.parametrize("flag", ["is_staff", "is_superuser"])
def test_a_flag_alone_gives_no_role(flag: str) -> None:
    user = an_account()
    # Past the model, as a script or a restored row might.
    User.objects.filter(pk=user.pk).update(**{flag: True})
    user = User.objects.get(pk=user.pk)
    assert role_of(user) == Role.EDITOR
    assert not visitor_for(user).is_admin
    client = browser(user)
    for address in ("/admin/", "/operations/", "/api/v1/operations/", "/metrics"):
        assert client.get(address).status_code in (302, 401, 403, 404), address


def test_flags_set_by_hand_are_corrected() -> None:
    user = an_account()
    user.is_staff = user.is_superuser = True
    user.save()
    user.refresh_from_db()
    assert (user.is_staff, user.is_superuser) == (False, False)


def test_without_staff_flag_admins_lack_the_admin_site() -> None:
    user = an_account(role=Role.ADMIN)
    User.objects.filter(pk=user.pk).update(is_staff=False)
    client = browser(user)
    assert client.get("/admin/").status_code == 302
    assert client.get("/api/v1/operations/").status_code == 200


def test_former_admin_loses_the_flags() -> None:
    user = an_account(role=Role.ADMIN)
    account_set_role(user=user, role=Role.VIEWER)
    user.refresh_from_db()
    assert (user.is_staff, user.is_superuser) == (False, False)
