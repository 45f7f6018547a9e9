"""Rate limits: how often an account or an address may do something.

Uses are counted in Redis, in windows of fixed length. Without Redis each process counts for itself.
"""

import hashlib
import logging
import math
import time
from typing import Any

import redis
from asgiref.sync import sync_to_async
from django.conf import settings
from django.core.cache import caches
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle

from kscope.accounts.access import Visitor, visitor_of
from kscope.env import Rate

_MOST_BATCHES = 10_000
log = logging.getLogger(__name__)


def take(name: str, who: str, uses: int = 1) -> int:
    """Count *uses* of the limit *name* by *who*. Returns the seconds to wait; 0 if it is allowed."""
    rate, key, wait = _window(name, who)
    return 0 if _count(key, rate.seconds, uses) <= rate.number else wait


def foresee(name: str, who: str) -> int:
    """The seconds that *who* would have to wait, as `take` would return them; counts nothing."""
    rate, key, wait = _window(name, who)
    return 0 if _counted(key) < rate.number else wait


def _window(name: str, who: str) -> tuple[Rate, str, int]:
    """The rate, the key under which uses are counted now, and the seconds until the next one."""
    rate: Rate = settings.RATE_LIMITS[name]
    now = _now()
    window = int(now // rate.seconds)
    digest = hashlib.sha256(f"{who}\0{window}".encode()).hexdigest()
    wait = max(1, math.ceil((window + 1) * rate.seconds - now))
    return rate, f"limit:{name}:{digest}", wait


def request_limit(request: Any, visitor: Visitor) -> int:
    """Count a request. Returns the seconds to wait; 0 if it is allowed."""
    kind = "read" if request.method in SAFE_METHODS else "write"
    if visitor.role is None:
        kind = f"anonymous_{kind}"
    return take(kind, visitor_key(visitor, address_of(request)))


def visitor_key(visitor: Visitor, address: str) -> str:
    """The name under which a visitor's uses are counted: the account, else the address."""
    return f"address {address}" if visitor.account_id is None else f"account {visitor.account_id}"


def address_of(request: Any) -> str:
    """The address of the client, as the server knows it."""
    return request.META.get("REMOTE_ADDR") or "unknown"


class Batches:
    """The same limits for clients that ask very often: each question to Redis is about a hundredth.

    The rest of a hundredth is lost when its window ends, so that a little less may be allowed.
    """

    def __init__(self) -> None:
        self._left: dict[tuple[str, str], int] = {}

    async def take(self, name: str, who: str) -> int:
        """See `take`."""
        rate, key, _ = _window(name, who)
        left = self._left.get((name, key), 0)
        if left:
            self._left[name, key] = left - 1
            return 0
        uses = max(1, rate.number // 100)
        wait = await sync_to_async(take)(name, who, uses)
        if not wait:
            if len(self._left) >= _MOST_BATCHES:
                self._left.clear()
            self._left[name, key] = self._left.get((name, key), 0) + uses - 1
        return wait


class RequestThrottle(BaseThrottle):
    """Counts every REST request; the answer to one too many is 429 with Retry-After."""

    def allow_request(self, request: Request, view: Any) -> bool:
        """See rest_framework."""
        self._wait = request_limit(request, visitor_of(request))
        return not self._wait

    def wait(self) -> float:
        """See rest_framework."""
        return self._wait


def _now() -> float:
    return time.time()


def _count(key: str, seconds: int, uses: int) -> int:
    try:
        return _count_in("default", key, seconds, uses)
    except redis.RedisError as problem:
        log.warning("rate limits are counted in this process alone: %s", problem)
        return _count_in("process", key, seconds, uses)


def _counted(key: str) -> int:
    try:
        return int(caches["default"].get(key, 0))
    except redis.RedisError:
        return int(caches["process"].get(key, 0))


def _count_in(alias: str, key: str, seconds: int, uses: int) -> int:
    cache = caches[alias]
    if cache.add(key, uses, timeout=seconds * 2):
        return uses
    try:
        return int(cache.incr(key, uses))
    except ValueError:  # The key expired in between.
        return uses


def upload_limit(visitor: Visitor) -> int:
    """How many bytes the files of an upload of *visitor* may have together."""
    has_more = visitor.is_admin or visitor.is_local
    return settings.UPLOAD_MAX_ADMIN_BYTES if has_more else settings.UPLOAD_MAX_BYTES


def most_of_all() -> int:
    """The same for the visitor who may send most."""
    return max(settings.UPLOAD_MAX_ADMIN_BYTES, settings.UPLOAD_MAX_BYTES)
