"""Writes that happen once although they are sent twice: what `Idempotency-Key` asks for.

A key belongs to an account, or to an address without one, and to one request: method, path and
body. It is kept for ten minutes, together with the answer, which a repetition is given.

    taken ──what is to be done is stored──▶ promised ──it is done──▶ answered

A step is stored in the transaction of what it is about, so that it is there after a crash exactly
where that is. Each raises the key's version, and is taken only by who knows the one before: who
repeats a write whose first server is gone takes the key over, and what that one may still do is
refused. The header follows draft-ietf-httpapi-idempotency-key-header.
"""

import re
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import orjson
import psycopg
from django.utils.crypto import salted_hmac
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy

HEADER = "Idempotency-Key"
MINUTES = 10
# Of one account or address at a time.
MOST_KEYS = 10_000
LONGEST_KEY = 255
REUSED = gettext_lazy(
    "This Idempotency-Key was sent with another request; a new write needs a new key."
)
OPEN = gettext_lazy(
    "The first request with this Idempotency-Key is still being processed; send it again later."
)
FULL = format_lazy(
    gettext_lazy("More than {most} keys were sent within {minutes} minutes; try again later."),
    most=f"{MOST_KEYS:,}",
    minutes=MINUTES,
)
MALFORMED = format_lazy(
    gettext_lazy(
        "Idempotency-Key must be 1 to {longest} visible ASCII characters, or such in quotes."
    ),
    longest=LONGEST_KEY,
)
# As a client may send one: in the quotes of a structured field, or without.
PATTERN = rf'^("[ -~]{{1,{LONGEST_KEY}}}"|[!#-~]{{1,{LONGEST_KEY}}})$'
_SYNTAX = re.compile(PATTERN[1:-1])
_PURPOSE = "kscope: bodies of writes"

# Takes a key that nobody has, or one that is too old.
TAKE = f"""
INSERT INTO runs_writekey
    (owner, key, method, path, digest, version, commands, headers, created)
SELECT %(owner)s, %(key)s, %(method)s, %(path)s, %(digest)s, 0, '[]', '{{}}', clock_timestamp()
WHERE (SELECT count(*) FROM runs_writekey WHERE owner = %(owner)s) < {MOST_KEYS}
ON CONFLICT (owner, key) DO UPDATE SET
    method = EXCLUDED.method, path = EXCLUDED.path, digest = EXCLUDED.digest,
    version = runs_writekey.version + 1, commands = '[]', promise = NULL,
    status = NULL, headers = '{{}}', body = NULL, created = EXCLUDED.created
WHERE runs_writekey.created < clock_timestamp() - interval '{MINUTES} minutes'
RETURNING id, version
"""
READ = """
SELECT id, version, method, path, digest, commands::text, promise::text, status, headers::text, body
FROM runs_writekey WHERE owner = %(owner)s AND key = %(key)s
"""
PROMISE = """
UPDATE runs_writekey SET version = version + 1, promise = %(promise)s, commands = %(commands)s
WHERE id = %(id)s AND version = %(version)s
"""
TAKE_OVER = """
UPDATE runs_writekey SET version = version + 1, promise = NULL, commands = '[]'
WHERE id = %(id)s AND version = %(version)s AND status IS NULL RETURNING version
"""
ANSWER = """
UPDATE runs_writekey SET status = %(status)s, headers = %(headers)s, body = %(body)s
WHERE id = %(id)s AND version = %(version)s AND status IS NULL
"""
# Nothing was stored, so that the same request may come again as a first one.
GIVE_BACK = "DELETE FROM runs_writekey WHERE id = %(id)s AND version = %(version)s"
FORGET = f"""
DELETE FROM runs_writekey WHERE created < clock_timestamp() - interval '{MINUTES} minutes'
"""


class TakenOver(Exception):
    """Another request with the same key goes on in the place of this one."""


@dataclass(frozen=True, slots=True)
class AskedOnce:
    """A request with a key. *owner* is the account or address that it comes from."""

    owner: str
    key: str
    method: str
    path: str
    digest: str

    @property
    def columns(self) -> dict[str, str]:
        """For TAKE and READ."""
        names = ("owner", "key", "method", "path", "digest")
        return {name: getattr(self, name) for name in names}


@dataclass(slots=True)
class Held:
    """A key whose write is this request's to do, at the version that it knows."""

    id: int
    version: int

    @property
    def place(self) -> dict[str, Any]:
        """For statements that take a step."""
        return {"id": self.id, "version": self.version}

    @property
    def name(self) -> str:
        """Of its row: what is sealed for this one is opened at no other."""
        return f"key {self.id}"


@dataclass(frozen=True, slots=True)
class KeptAnswer:
    """What a repetition is given."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def columns(self) -> dict[str, Any]:
        """For ANSWER."""
        headers = orjson.dumps(dict(self.headers)).decode()
        return {"status": self.status, "headers": headers, "body": zlib.compress(self.body)}

    @property
    def is_final(self) -> bool:
        """Whether it is the answer for good: what is refused for the time being may be asked again."""
        return self.status < 500 and self.status != 429


@dataclass(frozen=True, slots=True)
class KnownKey:
    """A key as it is stored."""

    held: Held
    commands: list[int]
    promise: dict[str, Any] | None
    answer: KeptAnswer | None
    is_same: bool
    """Whether it was sent with the same request."""

    @classmethod
    def of(cls, row: tuple[Any, ...], asked: AskedOnce) -> "KnownKey":
        """From a row of READ."""
        key, version, method, path, digest, commands, promise, status, headers, body = row
        answer = None
        if status is not None:
            answer = KeptAnswer(status, orjson.loads(headers), zlib.decompress(body))
        return cls(
            Held(key, version),
            orjson.loads(commands),
            orjson.loads(promise) if promise else None,
            answer,
            (method, path, digest) == (asked.method, asked.path, asked.digest),
        )


def key_in(header: str) -> str | None:
    """The key that a header holds, with or without the quotes of a structured field; None for none."""
    if not _SYNTAX.fullmatch(header):
        return None
    return header[1:-1] if header.startswith('"') else header


def digest_of(*parts: bytes) -> str:
    """Of what makes a body the same: its type, and its bytes.

    It takes the key of the installation: a body may hold what nobody should be able to guess from a
    database, such as the data of a Secret.
    """
    text = b"".join(len(part).to_bytes(8) + part for part in parts)
    return salted_hmac(_PURPOSE, text, algorithm="sha256").hexdigest()


def is_undone(problem: BaseException | None) -> bool:
    """Whether the database itself says that a statement failed, so that nothing of it is stored.

    A connection that is lost, or ended by the database (FATAL), leaves that open.
    """
    return isinstance(problem, psycopg.Error) and problem.diag.severity_nonlocalized == "ERROR"
