"""Small messages through Redis that say "look again". They may be lost; the database counts."""

import logging
import uuid
from collections.abc import AsyncGenerator, Awaitable, Sequence
from contextlib import suppress
from typing import Any, ClassVar, Final, NamedTuple, cast

import orjson
import redis
import redis.asyncio
from django.conf import settings
from psycopg.errors import DiskFull

WAKE = "wake"
ASK = "ask"
HEADS = "head:*"  # the channels of all runs
# A run keeps its place in the line for a worker until its turn, or for this long if the message
# that asks for the turn was lost.
PLACE_SECONDS = 60
# Bytes: where the objects of a slice would make its message longer, they are left out.
LONGEST_MESSAGE = 256 * 1024
log = logging.getLogger(__name__)


class Outcome(NamedTuple):
    """What came of a command: its event, or why it was refused, as "Reason: message".

    `left` is the object of the command as the command left it: the event that wrote it last, the one
    that created it, and the manifest. None where the message does not say it, or it is gone.
    """

    command: int
    is_applied: bool
    reason: str
    seq: int
    left: Sequence[Any] | None = None


def head_channel(run_id: int) -> str:
    """The channel on which the run's new heads are announced."""
    return f"head:{run_id}"


def run_of_head_channel(channel: str) -> int:
    """The run whose new heads are announced on *channel*."""
    return int(channel.removeprefix("head:"))


def publish_head(run_id: int, seq: int) -> None:
    """Let the hubs know that there is more to read, or that the run is not what it was."""
    _publish(head_channel(run_id), str(seq))


def publish_slice(run_id: int, outcomes: Sequence[Outcome]) -> None:
    """Let the hubs know that there is more to read, and clients what came of their commands."""
    text = orjson.dumps([tuple(one) for one in outcomes])
    if len(text) > LONGEST_MESSAGE:
        text = orjson.dumps([tuple(one._replace(left=None)) for one in outcomes])
    _publish(head_channel(run_id), text.decode())


def outcomes_of(text: bytes) -> list[Outcome] | None:
    """What came of commands, from the message of a slice; None from any other message."""
    said = orjson.loads(text)
    return [Outcome(*one) for one in said] if isinstance(said, list) else None


def wake_drivers(run_id: int) -> None:
    """Wake a sleeping driver: the run has a command or another speed."""
    _publish(WAKE, str(run_id))


def place_take(run_id: int) -> bool:
    """Whether the run was not in the line yet: one message for a run is enough.

    Without this check the sweeper would fill the line faster than two workers empty it.
    Raises redis.RedisError.
    """
    client, place = _client(), f"queued:{run_id}"
    if client.set(place, 1, nx=True, ex=PLACE_SECONDS):
        return True
    # The clock of the server was set back since: the place would be kept for as long.
    is_believed = cast("int", client.ttl(place)) <= PLACE_SECONDS
    return not is_believed and bool(client.set(place, 1, ex=PLACE_SECONDS))


def place_leave(run_id: int) -> None:
    """The run's turn has come; from now on it may stand in the line again."""
    try:
        _client().delete(f"queued:{run_id}")
    except redis.RedisError as problem:
        log.warning("run %s keeps its place in the line for a while: %s", run_id, problem)


_FULL = "database-full"
_FULL_SECONDS = 3600


def note_if_full(problem: BaseException | None) -> bool:
    """Whether *problem* is that the database's disk is full; `/readyz` looks at that from then on."""
    if not any(isinstance(one, DiskFull) for one in (problem, getattr(problem, "__cause__", None))):
        return False
    try:
        _client().set(_FULL, 1, ex=_FULL_SECONDS)
    except redis.RedisError as away:
        log.warning("the disk of the database is full: %s", away)
    return True


def was_full() -> bool:
    """Whether the database has refused to write lately. Raises redis.RedisError."""
    return bool(_client().exists(_FULL))


def has_room() -> None:
    """The database writes again. Raises redis.RedisError."""
    _client().delete(_FULL)


class _Listener:
    """Hears what is said on one channel."""

    channel: ClassVar[str]

    def __init__(self) -> None:
        self._pubsub = _client().pubsub(ignore_subscribe_messages=True)
        self._subscribed = False

    def _heard(self, seconds: float) -> Any:
        """The data of the next message, or None after so many seconds. Raises redis.RedisError."""
        if not self._subscribed:
            self._pubsub.subscribe(self.channel)
            self._subscribed = True
        heard = self._pubsub.get_message(timeout=seconds)
        return None if heard is None else heard["data"]


class WakeListener(_Listener):
    """Hears which runs are nudged."""

    channel = WAKE

    def wait(self, seconds: float) -> set[int]:
        """The runs that are nudged; waits up to *seconds* for the first. Raises redis.RedisError."""
        found: set[int] = set()
        nudged = self._heard(seconds)
        while nudged is not None:
            # One look serves all that have come meanwhile.
            found.add(int(nudged))
            nudged = self._heard(0)
        return found

    def close(self) -> None:
        """Give the connection back."""
        self._pubsub.close()


class Ask(NamedTuple):
    """A question about the head of a run: what `aside.Question.request` makes, and its time in seconds.

    The answer is a list of Valkey that is named by the *id*.
    """

    id: str
    run: int
    request: str
    seconds: float


DECLINED = b""
"""What a process says that does not answer."""
TAKEN = b"taken"
"""What it says at once where it will."""
# Whoever has said so begins by then, or others are asked.
_TAKEN_SECONDS = 30.0
# An answer that nobody takes is gone then.
_ANSWER_SECONDS = 120


def ask_decline(ask: Ask) -> None:
    """Say that this process does not answer. Raises redis.RedisError."""
    ask_answer(ask, DECLINED)


def ask_take(ask: Ask) -> None:
    """Say that this process will answer, which may take a moment to begin. Raises redis.RedisError."""
    ask_answer(ask, TAKEN)


def ask_answer(ask: Ask, message: bytes, client: "redis.Redis | None" = None) -> None:
    """Send one message of an answer. Raises redis.RedisError."""
    place = _answer_place(ask.id)
    with (client or _client()).pipeline(transaction=False) as sent:
        sent.rpush(place, message)
        sent.expire(place, _ANSWER_SECONDS)
        sent.execute()


def _answer_place(key: str) -> str:
    return f"answer:{key}"


class AskNews:
    """Tells who asks how it goes, in the middle of whatever else this process sends."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask
        self._own = redis.Redis.from_url(settings.REDIS_URL)

    def say(self, message: bytes) -> None:
        """Send a message; nothing where Valkey is away."""
        with suppress(redis.RedisError):
            ask_answer(self._ask, message, self._own)


class AskListener(_Listener):
    """Hears questions about heads."""

    channel = ASK

    def wait(self, seconds: float) -> list[Ask]:
        """The next question, or none after so many seconds. Raises redis.RedisError."""
        heard = self._heard(seconds)
        return [] if heard is None else [Ask(*orjson.loads(heard))]


class HeadAsker:
    """Asks about heads, for callers that must not block."""

    def __init__(self) -> None:
        self._client = redis.asyncio.Redis.from_url(settings.REDIS_URL)

    async def ask(
        self, run_id: int, request: bytes, seconds: float, patience: float
    ) -> AsyncGenerator[bytes, None]:
        """The messages of the answer, for as long as they are read; none if nobody answers.

        Who answers has to say so within *patience* seconds, and each message to come within *seconds*,
        or TimeoutError is raised. Raises redis.RedisError.
        """
        ask = Ask(uuid.uuid4().hex, run_id, request.decode(), seconds)
        undecided: int = await self._client.publish(ASK, orjson.dumps([*ask]))
        wait, has_begun = patience, False
        while undecided:
            place = _answer_place(ask.id)
            heard: Any = await cast("Awaitable[Any]", self._client.blpop([place], timeout=wait))
            if heard is None:
                if not has_begun:
                    return
                raise TimeoutError
            if heard[1] == DECLINED:
                undecided -= 1
            elif heard[1] == TAKEN:
                wait = _TAKEN_SECONDS
            else:
                has_begun, wait = True, seconds
                yield heard[1]

    async def close(self) -> None:
        """End the connection."""
        await self._client.aclose()


class Waker:
    """Wakes drivers for callers that must not block, such as an event loop."""

    def __init__(self) -> None:
        self._client = redis.asyncio.Redis.from_url(settings.REDIS_URL)

    async def wake_drivers(self, run_id: int) -> None:
        """See the function of this name."""
        try:
            await self._client.publish(WAKE, str(run_id))
        except redis.RedisError as problem:
            log.warning("nudge on %s was not sent: %s", WAKE, problem)

    async def close(self) -> None:
        """End the connection."""
        await self._client.aclose()


def connect_anew() -> object:
    """In a fork: leave the connection to the process that it was forked from. That is to be kept."""
    inherited = _client()
    _CLIENT.clear()
    return inherited


# The client of this process, once there is one.
_CLIENT: Final[dict[str, "redis.Redis"]] = {}


def _client() -> "redis.Redis":
    """The same one for all threads.

    Where two make one at once, the one that is not kept must be nobody's: as it goes, it takes the
    connection of its listener with it, in the middle of a word.
    """
    made = _CLIENT.get("")
    return made or _CLIENT.setdefault("", redis.Redis.from_url(settings.REDIS_URL))


def _publish(channel: str, text: str) -> None:
    try:
        _client().publish(channel, text)
    except redis.RedisError as problem:
        log.warning("nudge on %s was not sent: %s", channel, problem)
