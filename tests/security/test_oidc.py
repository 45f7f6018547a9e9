"""Logging in with an account of a provider, which signs its tokens as a real one does."""

from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.contrib.auth.models import User
from django.test import Client

from kscope.accounts import limits
from kscope.accounts.access import Role, role_of
from kscope.accounts.models import Identity
from kscope.accounts.oidc.options import provider_of
from kscope.accounts.services import account_set_role
from kscope.accounts.web.oidc import _provider_with
from kscope.env import BadSetting
from tests.security.accounts import an_account, is_in
from tests.security.provider import (
    CLIENT_ID,
    CLIENT_SECRET,
    Provider,
    challenge_of,
    key_named,
    serving,
)
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.django_db

ENVIRONMENT = {
    "KSCOPE_OIDC_CLIENT_ID": CLIENT_ID,
    "KSCOPE_OIDC_CLIENT_SECRET": CLIENT_SECRET,
}


@pytest.fixture(autouse=True)
def many_attempts(monkeypatch: pytest.MonkeyPatch) -> None:
    """All tests come from one address."""
    monkeypatch.setattr(limits, "take", lambda name, who: 0)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr("kscope.accounts.oidc.provider.SECONDS", HANG_SECONDS)


@pytest.fixture
def provider(settings: Any) -> Iterator[Provider]:
    settings.LOGIN_REQUIRED = True
    _provider_with.cache_clear()  # A port may come again.
    with serving(Provider()) as served:
        use(settings, served)
        yield served


def use(settings: Any, provider: Provider, **more: str) -> None:
    settings.OIDC = provider_of({"KSCOPE_OIDC_ISSUER": provider.issuer, **ENVIRONMENT, **more})


def begun(client: Client, wanted: str = "/account/") -> str:
    """Where the browser is sent for a login."""
    answer = client.get("/login/oidc/", {"next": wanted})
    assert answer.status_code == 302, answer.content
    return answer.headers["Location"]


def log_in(provider: Provider, client: Client, wanted: str = "/account/") -> Any:
    """The answer to the browser that comes back."""
    return client.get(provider.log_in(begun(client, wanted)))


def test_an_account_of_the_provider_logs_in(provider: Provider) -> None:
    client = Client()
    answer = log_in(provider, client)
    assert answer.headers["Location"] == "/account/"
    user = User.objects.get()
    assert (user.username, role_of(user), user.has_usable_password()) == ("eva", Role.VIEWER, False)
    assert is_in(client)
    log_in(provider, Client())
    assert User.objects.count() == 1


def test_the_request_has_state_nonce_and_challenge(provider: Provider) -> None:
    asked = parse_qs(urlsplit(begun(Client())).query)
    assert asked["response_type"] == ["code"]
    assert asked["code_challenge_method"] == ["S256"]
    assert all(len(asked[name][0]) >= 20 for name in ("state", "nonce", "code_challenge"))
    assert asked["redirect_uri"] == ["http://testserver/login/oidc/back/"]
    again = parse_qs(urlsplit(begun(Client())).query)
    assert all(asked[name] != again[name] for name in ("state", "nonce", "code_challenge"))


def test_an_equal_name_takes_over_no_account(provider: Provider) -> None:
    before = an_account("Eva", Role.ADMIN)
    client = Client()
    log_in(provider, client)
    assert client.get("/account/").context["user"].username == "eva-2"
    before.refresh_from_db()
    assert not before.identities.exists()
    assert User.objects.get(username="eva-2").account.role == Role.VIEWER


def test_another_subject_is_another_account(provider: Provider) -> None:
    log_in(provider, Client())
    provider.claims = {"sub": "another"}
    log_in(provider, Client())
    assert set(User.objects.values_list("username", flat=True)) == {"eva", "eva-2"}


def test_the_subject_of_another_issuer_is_another_account(provider: Provider) -> None:
    Identity.objects.create(user=an_account("tom"), issuer="https://x", subject="248289761001")
    client = Client()
    log_in(provider, client)
    assert client.get("/account/").context["user"].username == "eva"


def test_an_admin_links_an_account_that_was_there(provider: Provider) -> None:
    user = an_account("evelyn")
    Identity.objects.create(user=user, issuer=provider.issuer, subject="248289761001")
    client = Client()
    log_in(provider, client)
    assert client.get("/account/").context["user"] == user


def test_a_login_gives_another_session_id(provider: Provider) -> None:
    client = Client()
    back = provider.log_in(begun(client))
    before = client.cookies["sessionid"].value
    client.get(back)
    assert client.cookies["sessionid"].value != before
    left = list(client.session.keys())
    assert not any(name.startswith(("_state", "oidc")) for name in left)


def refused(provider: Provider, client: Client | None = None) -> bool:
    """Whether the login is refused, and leaves no account behind."""
    client = client or Client()
    answer = log_in(provider, client)
    return (
        answer.status_code == 403
        and b"The login with the provider failed" in answer.content
        and not is_in(client)
        and not User.objects.exists()
    )


@pytest.mark.parametrize(
    "claims",
    [
        {"nonce": "of another login"},
        {"nonce": None},
        {"aud": "another client"},
        {"aud": None},
        {"iss": "https://evil.example"},
        {"sub": None},
        {"exp": None},
        {"exp": 1_700_000_000},
        {"iat": 9_999_999_999},
    ],
    ids=str,
)
def test_a_token_that_says_something_else_is_refused(provider: Provider, claims: Any) -> None:
    provider.claims = claims
    assert refused(provider)


def test_a_token_of_another_key_is_refused(provider: Provider) -> None:
    provider.signing_key = key_named("one", other=True)
    assert refused(provider)


def test_an_unsigned_token_is_refused(provider: Provider) -> None:
    provider.header = {"alg": "none"}
    assert refused(provider)


def test_token_signed_with_a_shared_secret_is_refused(provider: Provider) -> None:
    provider.header = {"alg": "HS256", "kid": "one"}
    assert refused(provider)


def test_an_answer_without_id_token_is_refused(provider: Provider) -> None:
    provider.sends_id_token = False
    assert refused(provider)


def test_a_provider_that_calls_itself_otherwise_is_refused(provider: Provider) -> None:
    provider.metadata = {"issuer": "https://evil.example"}
    assert Client().get("/login/oidc/").status_code == 403


def test_keys_that_were_changed_are_read_anew(provider: Provider) -> None:
    log_in(provider, Client())
    provider.key = provider.signing_key = key_named("two")
    provider.header = {"alg": "RS256", "kid": "two"}
    client = Client()
    log_in(provider, client)
    assert is_in(client)


def test_another_browser_cannot_finish_a_login(provider: Provider) -> None:
    back = provider.log_in(begun(Client()))
    thief = Client()
    begun(thief)
    assert thief.get(back).status_code == 403
    assert not User.objects.exists()


def test_a_login_is_finished_once(provider: Provider) -> None:
    client = Client()
    back = provider.log_in(begun(client))
    client.get(back)
    client.post("/logout/")
    assert client.get(back).status_code == 403
    assert not is_in(client)


def test_code_is_of_no_use_without_its_verifier(provider: Provider) -> None:
    client = Client()
    address = begun(client)
    back = provider.log_in(
        address.replace("code_challenge=", f"code_challenge={challenge_of('x')}&x=")
    )
    assert client.get(back).status_code == 403
    assert provider.refused == "wrong verifier"


def test_a_deactivated_account_stays_out(provider: Provider) -> None:
    log_in(provider, Client())
    User.objects.update(is_active=False)
    client = Client()
    assert log_in(provider, client).status_code == 403
    assert not is_in(client)


def test_a_login_leads_to_no_other_site(provider: Provider) -> None:
    answer = log_in(provider, Client(), "https://evil.example/")
    assert answer.headers["Location"] == "/"


def test_a_provider_that_is_away_is_said_so(settings: Any) -> None:
    settings.LOGIN_REQUIRED = True
    with serving(Provider()) as gone:
        use(settings, gone)
    assert Client().get("/login/oidc/").status_code == 403


# Roles


@pytest.mark.parametrize(
    ("groups", "role"),
    [("ops", Role.ADMIN), (["staff", "dev"], Role.EDITOR), (["dev", "ops"], Role.ADMIN)],
)
def test_a_claim_gives_the_role_at_each_login(
    provider: Provider, settings: Any, groups: Any, role: Role
) -> None:
    roles = "all=viewer,dev=editor,ops=admin"
    use(settings, provider, KSCOPE_OIDC_ROLE_CLAIM="groups", KSCOPE_OIDC_ROLES=roles)
    provider.claims = {"groups": groups}
    log_in(provider, Client())
    user = User.objects.get()
    assert role_of(user) == role
    provider.claims = {"groups": ["all"]}
    log_in(provider, Client())
    assert role_of(User.objects.get()) == Role.VIEWER


@pytest.mark.parametrize("groups", [None, [], ["guests"], [1, None], {"ops": 1}], ids=str)
def test_who_has_no_role_gets_no_account(provider: Provider, settings: Any, groups: Any) -> None:
    use(settings, provider, KSCOPE_OIDC_ROLE_CLAIM="groups")
    provider.claims = {"groups": groups}
    answer = log_in(provider, Client())
    assert (answer.status_code, b"has no role in kscope" in answer.content) == (403, True)
    assert not User.objects.exists()


def test_without_a_claim_admins_give_the_role(provider: Provider) -> None:
    log_in(provider, Client())
    account_set_role(user=User.objects.get(), role=Role.EDITOR)
    log_in(provider, Client())
    assert role_of(User.objects.get()) == Role.EDITOR


# Settings


def test_it_is_off_without_an_issuer(client: Client, settings: Any) -> None:
    assert provider_of(ENVIRONMENT) is None
    assert settings.OIDC is None
    assert client.get("/login/oidc/").status_code == 404
    assert b"organization" not in client.get("/login/").content


def test_the_login_page_offers_it(client: Client, provider: Provider) -> None:
    assert b'href="/login/oidc/?next=/runs/7/"' in client.get("/login/?next=/runs/7/").content


@pytest.mark.parametrize(
    ("variables", "named"),
    [
        ({"KSCOPE_OIDC_ISSUER": "http://idp.example"}, "KSCOPE_OIDC_ISSUER"),
        ({"KSCOPE_OIDC_ISSUER": "idp.example"}, "KSCOPE_OIDC_ISSUER"),
        ({"KSCOPE_OIDC_CLIENT_ID": ""}, "KSCOPE_OIDC_CLIENT_ID"),
        ({"KSCOPE_OIDC_SCOPES": "profile"}, "KSCOPE_OIDC_SCOPES"),
        ({"KSCOPE_OIDC_ROLES": "dev=root"}, "KSCOPE_OIDC_ROLES has 'dev=root'"),
        ({"KSCOPE_OIDC_ROLES": "admin"}, "KSCOPE_OIDC_ROLES has 'admin'"),
    ],
)
def test_a_setting_that_means_nothing_is_refused(variables: dict[str, str], named: str) -> None:
    with pytest.raises(BadSetting, match=named):
        provider_of({"KSCOPE_OIDC_ISSUER": "https://idp.example", **ENVIRONMENT, **variables})


def test_the_secret_of_the_client_is_not_shown() -> None:
    options = provider_of({"KSCOPE_OIDC_ISSUER": "https://idp.example", **ENVIRONMENT})
    assert CLIENT_SECRET not in repr(options)
