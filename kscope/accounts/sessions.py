"""Sessions of browsers: kept as digests, ended when idle, and ended for good after a time.

The database has the digest of a session's key. Only the browser has the key itself, so that a
database that leaked opens no session.

    login ── used at least every SESSION_COOKIE_AGE ──▶ … ── SESSION_MOST_SECONDS after the login ──▶ ended
"""

import hashlib
import logging
import time
from typing import Any

from django.conf import settings
from django.contrib.auth.signals import user_logged_in, user_logged_out, user_login_failed
from django.contrib.sessions.backends import db
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

# The column of Django's table has 40 characters; a key has 165 random bits.
_DIGEST_BYTES = 20
_BEGAN, _USED = "began", "used"
# A session that is used is written so often, and not at every request.
NOTE_USE_SECONDS = 60
log = logging.getLogger(__name__)


class SessionStore(db.SessionStore):
    """Django's store in the database, under the digest of the key."""

    def get_session_cookie_age(self) -> int:
        """Seconds until the session ends if it is not used; see SessionBase."""
        left = float(self.get(_BEGAN, _now())) + settings.SESSION_MOST_SECONDS - _now()
        return max(0, min(settings.SESSION_COOKIE_AGE, int(left)))

    def begin(self) -> None:
        """Note that somebody logged in: from now on the session has an end."""
        self[_BEGAN] = self[_USED] = _now()

    def note_use(self) -> None:
        """Put off the end of a session that is used, if that was not done just now."""
        if _BEGAN in self and _now() - self.get(_USED, 0) >= NOTE_USE_SECONDS:
            self[_USED] = _now()

    def exists(self, session_key: str) -> bool:
        """See Django's store."""
        return super().exists(digest_of(session_key))

    async def aexists(self, session_key: str) -> bool:
        """See Django's store."""
        return await super().aexists(digest_of(session_key))

    def delete(self, session_key: str | None = None) -> None:
        """See Django's store."""
        key = session_key or self.session_key
        if key is not None:
            super().delete(digest_of(key))

    async def adelete(self, session_key: str | None = None) -> None:
        """See Django's store."""
        key = session_key or self.session_key
        if key is not None:
            await super().adelete(digest_of(key))

    def create_model_instance(self, data: dict[str, Any]) -> Any:
        """See Django's store."""
        return self._kept(super().create_model_instance(data))

    async def acreate_model_instance(self, data: dict[str, Any]) -> Any:
        """See Django's store."""
        return self._kept(await super().acreate_model_instance(data))

    def _kept(self, row: Any) -> Any:
        row.session_key = digest_of(row.session_key)
        return row

    def _get_session_from_db(self) -> Any:
        found = self._rows().first()
        if found is None:
            self._session_key = None
        return found

    async def _aget_session_from_db(self) -> Any:
        found = await self._rows().afirst()
        if found is None:
            self._session_key = None
        return found

    def _rows(self) -> Any:
        key = digest_of(self.session_key or "")
        return self.model.objects.filter(session_key=key, expire_date__gt=timezone.now())


class UsedSessionMiddleware(SessionMiddleware):
    """Django's middleware, which also puts off the end of sessions that are used."""

    def process_response(self, request: HttpRequest, response: HttpResponse) -> HttpResponse:
        """See Django's middleware."""
        session: Any = getattr(request, "session", None)
        if session is not None and session.accessed:
            session.note_use()
        return super().process_response(request, response)


def digest_of(key: str) -> str:
    """What the database has of a session's key."""
    return hashlib.blake2s(key.encode(), digest_size=_DIGEST_BYTES).hexdigest()


def begin_session(user: Any, request: HttpRequest | None = None, **_: Any) -> None:
    """After a login: the session begins, and the rows of those that have ended go."""
    log.info("login of account %s from %s", user.pk, _address(request))
    session: Any = getattr(request, "session", None)
    if session is not None:
        session.begin()
        session.clear_expired()


def listen() -> None:
    """Have every login, by whatever way, begin a session, and note logins, failed ones and logouts."""
    user_logged_in.connect(begin_session, dispatch_uid="begin-session")
    user_login_failed.connect(_note_failure, dispatch_uid="login-failed")
    user_logged_out.connect(_note_logout, dispatch_uid="logout")


def _note_failure(request: HttpRequest | None = None, **_: Any) -> None:
    # Without the name: people write their password into the wrong field.
    log.warning("login failed from %s", _address(request))


def _note_logout(user: Any, request: HttpRequest | None = None, **_: Any) -> None:
    log.info("logout of account %s from %s", getattr(user, "pk", None), _address(request))


def _address(request: HttpRequest | None) -> str:
    return request.META.get("REMOTE_ADDR") or "unknown" if request is not None else "unknown"


def _now() -> float:
    return time.time()
