"""Read settings from the environment; refuse what cannot be understood.

Every function takes a mapping so that it can be tried without touching the process.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from secrets import token_urlsafe
from urllib.parse import SplitResult, parse_qsl, quote, unquote, urlsplit

TRUE = ("1", "true", "yes", "on")
FALSE = ("0", "false", "no", "off")
SECRET_KEY_FILE = "secret-key"


class BadSetting(ValueError):
    """A variable is set to something that it cannot mean."""


def env_str(env: Mapping[str, str], name: str, default: str = "") -> str:
    """The variable without surrounding space; *default* when unset or empty."""
    return env.get(name, "").strip() or default


def env_bool(env: Mapping[str, str], name: str, default: bool) -> bool:
    """True for 1/true/yes/on, False for 0/false/no/off; anything else is refused."""
    text = env_str(env, name).lower()
    if not text:
        return default
    if text in TRUE:
        return True
    if text in FALSE:
        return False
    raise BadSetting(f"{name} is {env[name]!r}; write one of {', '.join(TRUE + FALSE)}")


def env_int(
    env: Mapping[str, str], name: str, default: int, *, lowest: int = 0, highest: int = 2**31 - 1
) -> int:
    """A whole number from *lowest* to *highest*."""
    text = env_str(env, name)
    if not text:
        return default
    try:
        number = int(text)
    except ValueError:
        raise BadSetting(f"{name} is {env[name]!r}; write a whole number") from None
    if not lowest <= number <= highest:
        raise BadSetting(f"{name} is {number}; it must lie between {lowest} and {highest}")
    return number


@dataclass(frozen=True, slots=True)
class Rate:
    """At most *number* uses in *seconds*."""

    number: int
    seconds: int


_UNITS = {"s": 1, "min": 60, "h": 3600}
_RATE = re.compile(r"([0-9]{1,9})/([0-9]{0,4})(s|min|h)")


def env_rate(env: Mapping[str, str], name: str, default: str) -> Rate:
    """A number of uses and the time they are for: 600/min, 10/5min, 5000/h."""
    text = env_str(env, name, default)
    found = _RATE.fullmatch(text)
    if not found or found[2] and not int(found[2]):
        raise BadSetting(f"{name} is {text!r}; write a rate such as 600/min, 10/5min or 5000/h")
    return Rate(int(found[1]), int(found[2] or 1) * _UNITS[found[3]])


def env_list(env: Mapping[str, str], name: str, default: list[str]) -> list[str]:
    """Comma-separated words; empty ones are dropped."""
    words = [word.strip() for word in env_str(env, name).split(",")]
    return [word for word in words if word] or default


def env_choice(env: Mapping[str, str], name: str, default: str, choices: tuple[str, ...]) -> str:
    """One of *choices*."""
    word = env_str(env, name, default)
    if word not in choices:
        raise BadSetting(f"{name} is {word!r}; write one of {', '.join(choices)}")
    return word


def postgres_database(url: str, name: str = "DATABASE_URL") -> dict[str, object]:
    """Django's database entry for a `postgresql://` address.

    A socket directory is given as `?host=/dir`; other query arguments become connection options.
    """
    parts = _split(url, name, ("postgresql", "postgres"))
    options = dict(parse_qsl(parts.query, strict_parsing=bool(parts.query)))
    database = unquote(parts.path.removeprefix("/"))
    if not database:
        raise BadSetting(f"{name} names no database; write postgresql://host/NAME")
    # Popped whether used or not: psycopg refuses an option given twice.
    query_host = options.pop("host", "")
    query_port = options.pop("port", "")
    query_user = options.pop("user", "")
    query_password = options.pop("password", "")
    return {
        "ENGINE": "kscope.failures.postgresql",
        "NAME": database,
        "USER": unquote(parts.username or "") or query_user,
        "PASSWORD": unquote(parts.password or "") or query_password,
        "HOST": unquote(parts.hostname or "") or query_host,
        "PORT": str(parts.port or "") or query_port,
        "OPTIONS": options,
    }


def celery_broker(url: str, name: str = "REDIS_URL") -> str:
    """The same Redis server as Celery spells it: a socket is `redis+socket://`, not `unix://`."""
    parts = _split(url, name, ("redis", "rediss", "unix"))
    if parts.scheme != "unix":
        return url
    database = dict(parse_qsl(parts.query)).get("db", "0")
    path = quote(unquote(parts.path))
    return f"redis+socket://{path}?virtual_host={database}"


def secret_key(env: Mapping[str, str], data: Path) -> tuple[str, bool]:
    """The signing key and whether it lasts.

    KSCOPE_SECRET_KEY, else the one that `up` keeps in the data directory, else a random one for
    this process: commands and tests need no lasting key, and no known key is ever used.
    """
    given = env_str(env, "KSCOPE_SECRET_KEY")
    if given:
        return given, True
    try:
        return (data / SECRET_KEY_FILE).read_text().strip(), True
    except OSError:
        return token_urlsafe(48), False


def _split(url: str, name: str, schemes: tuple[str, ...]) -> SplitResult:
    parts = urlsplit(url)
    if parts.scheme not in schemes:
        wanted = ", ".join(f"{scheme}://" for scheme in schemes)
        raise BadSetting(f"{name} starts with {parts.scheme or url!r}; write one of {wanted}")
    return parts
