"""The provider that the environment names. Standard library only, because settings import it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from kscope.env import BadSetting, env_list, env_str

ROLES = ("viewer", "editor", "admin")  # the higher, the later
_USUAL_ROLES = [f"{role}={role}" for role in ROLES]
_LOOPBACK = ("127.0.0.1", "::1", "localhost")


class ProviderError(Exception):
    """The provider did not answer as it should, or its answer is not to be believed."""


@dataclass(frozen=True, slots=True)
class ProviderOptions:
    """One provider, and what its claims mean."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    scope: str
    name_claim: str
    """The claim that a new account is named after."""
    role_claim: str
    """The claim that gives the role, a text or a list of texts; "" if admins give it."""
    roles: tuple[tuple[str, str], ...]
    """Values of that claim, each with the role that it gives."""


def provider_of(env: Mapping[str, str]) -> ProviderOptions | None:
    """What the variables say; None without KSCOPE_OIDC_ISSUER. Raises BadSetting."""
    issuer = env_str(env, "KSCOPE_OIDC_ISSUER")
    if not issuer:
        return None
    parts = urlsplit(issuer)
    is_safe = parts.scheme == "https" or (parts.scheme == "http" and parts.hostname in _LOOPBACK)
    if not is_safe or not parts.hostname or parts.query or parts.fragment:
        raise BadSetting(f"KSCOPE_OIDC_ISSUER is {issuer!r}; write an https:// address")
    client_id = env_str(env, "KSCOPE_OIDC_CLIENT_ID")
    if not client_id:
        raise BadSetting("KSCOPE_OIDC_ISSUER is set; set KSCOPE_OIDC_CLIENT_ID as well")
    return ProviderOptions(
        issuer=issuer,
        client_id=client_id,
        client_secret=env_str(env, "KSCOPE_OIDC_CLIENT_SECRET"),
        scope=_scope(env),
        name_claim=env_str(env, "KSCOPE_OIDC_NAME_CLAIM", "preferred_username"),
        role_claim=env_str(env, "KSCOPE_OIDC_ROLE_CLAIM"),
        roles=_roles(env),
    )


def _scope(env: Mapping[str, str]) -> str:
    scope = env_str(env, "KSCOPE_OIDC_SCOPES", "openid profile")
    if "openid" not in scope.split():
        raise BadSetting(f"KSCOPE_OIDC_SCOPES is {scope!r}; one of the words must be openid")
    return scope


def _roles(env: Mapping[str, str]) -> tuple[tuple[str, str], ...]:
    pairs = env_list(env, "KSCOPE_OIDC_ROLES", _USUAL_ROLES)
    roles: list[tuple[str, str]] = []
    for pair in pairs:
        # A group may have a "=" in its name, as in LDAP; a role has none.
        value, _, role = pair.rpartition("=")
        if not value or role not in ROLES:
            raise BadSetting(
                f"KSCOPE_OIDC_ROLES has {pair!r}; write VALUE=ROLE, where ROLE is one of "
                f"{', '.join(ROLES)}"
            )
        roles.append((value, role))
    return tuple(roles)
