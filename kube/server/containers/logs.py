"""What containers have printed, by their script.

Upstream: pkg/kubelet/kubelet_pods.go, validateContainerLogStatus(); pkg/kubelet/kuberuntime/logs.
"""

import asyncio
import re
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

from starlette.responses import PlainTextResponse, Response, StreamingResponse

from engine.kernel.units import SECOND, nanoseconds_of, timestamp
from engine.objects.objects import Manifest
from engine.objects.scripts.output import FillingAt, Printed, printed_lines
from engine.objects.scripts.script import Script
from kube.resources import PODS
from kube.server.containers.found import FoundContainer, container_named, time_of
from kube.server.containers.seen import Seen
from kube.status import ApiError, bad_request, invalid

# A pod about which no entry says anything.
_SIMULATION: Final = "This is a simulation: containers run no processes.\n"
_INTEGER: Final = re.compile(r"[+-]?\d{1,18}")
_LOOK_AGAIN: Final = 1.0  # seconds


@dataclass(frozen=True, slots=True)
class LogOptions:
    """The parameters of a request. Upstream: core/v1, PodLogOptions."""

    container: str = ""
    follow: bool = False
    previous: bool = False
    timestamps: bool = False
    since_seconds: int | None = None
    since: int | None = None
    tail: int | None = None
    limit: int | None = None

    @classmethod
    def of(cls, query: Mapping[str, str], name: str) -> "LogOptions":
        """Those of the pod *name*. Raises ApiError. Upstream: ValidatePodLogOptions()."""
        options = cls(
            query.get("container", ""),
            _flag(query, "follow"),
            _flag(query, "previous"),
            _flag(query, "timestamps"),
            _integer(query, "sinceSeconds"),
            _time(query),
            _integer(query, "tailLines"),
            _integer(query, "limitBytes"),
        )
        faults = [
            ("FieldValueInvalid", f"Invalid value: {value}: must be greater than {least}", field)
            for field, value, lowest, least in (
                ("tailLines", options.tail, 0, "or equal to 0"),
                ("sinceSeconds", options.since_seconds, 1, "0"),
                ("limitBytes", options.limit, 1, "0"),
            )
            if value is not None and value < lowest
        ]
        if faults:
            raise invalid(PODS, name, faults, "PodLogOptions")
        return options


def _flag(query: Mapping[str, str], name: str) -> bool:
    # Upstream: runtime/conversion.go, Convert_Slice_string_To_bool().
    return name in query and query[name].lower() not in ("false", "0")


def _integer(query: Mapping[str, str], name: str) -> int | None:
    text = query.get(name)
    if not text:
        return None
    if not _INTEGER.fullmatch(text):
        raise bad_request(f'strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


def _time(query: Mapping[str, str]) -> int | None:
    text = query.get("sinceTime")
    if not text:
        return None
    try:
        return nanoseconds_of(text)
    except ValueError:
        raise bad_request(f'parsing time "{text}" as RFC 3339') from None


@dataclass(frozen=True, slots=True)
class Logged:
    """The run of a container that is asked for: from when to when, in ns since EPOCH, and its script."""

    script: Script
    filling_at: FillingAt
    started: int
    # None: it runs still.
    ended: int | None


# Looks at the pod again; None once it is gone.
Look = Callable[[], Awaitable[Seen | None]]


def asks_to_follow(query: Mapping[str, str]) -> bool:
    """Whether a client wants to hear how the log goes on."""
    return _flag(query, "follow")


async def log_answer(
    seen: Seen, query: Mapping[str, str], scenario: Sequence[Script], look: Look | None
) -> Response:
    """The log of a container; *look* is for a client that follows it. Raises ApiError."""
    options = LogOptions.of(query, seen.pod.name)
    found = container_named(seen.pod, options.container, scenario)
    if found.script is None:
        return PlainTextResponse(_SIMULATION)
    if not seen.pod.node_name:
        # Upstream: an empty location gives an empty log.
        return PlainTextResponse("")
    logged = _logged(found, seen, previous=options.previous)
    since = _since(options, seen.clock)
    lines: Iterable[Printed] = _until_now(logged, since, seen.clock)
    if options.tail is not None:
        lines = deque(lines, options.tail)
    text = _text(lines, options)
    if not options.follow or options.previous or look is None or logged.ended is not None:
        return PlainTextResponse(text)
    follows = _followed(text, seen, found.name, options, scenario, look)
    headers = {"X-Accel-Buffering": "no"}
    return StreamingResponse(follows, headers=headers, media_type="text/plain")


def _logged(found: FoundContainer, seen: Seen, *, previous: bool) -> Logged:
    state, told = found.state
    last = (found.status.get("lastState") or {}).get("terminated")
    where = f'container "{found.name}" in pod "{seen.pod.name}"'
    if previous:
        if not last:
            raise bad_request(f"previous terminated {where} not found")
        return _run_of(found, seen, last, is_over=True)
    if state == "running":
        return _run_of(found, seen, told, is_over=False)
    ended = told if state == "terminated" else last
    if ended:
        return _run_of(found, seen, ended, is_over=True)
    raise bad_request(f"{where} is waiting to start: {told.get('reason') or 'ContainerCreating'}")


def _run_of(found: FoundContainer, seen: Seen, state: Manifest, *, is_over: bool) -> Logged:
    """The run of a container that *state*, a part of its status, tells of."""
    assert found.script is not None, "no entry is about the pod"
    started = time_of(state, "startedAt")
    filling_at = seen.filling_since(found, started)
    return Logged(
        found.script, filling_at, started, time_of(state, "finishedAt") if is_over else None
    )


def _since(options: LogOptions, clock: int) -> int:
    if options.since_seconds is not None:
        return clock - options.since_seconds * SECOND
    return options.since or 0


def _until_now(logged: Logged, since: int, clock: int) -> Iterable[Printed]:
    """The lines so far. What is printed in the second of its end is there."""
    until = clock + 1 if logged.ended is None else logged.ended + 1
    until = min(until, clock + 1)
    return printed_lines(logged.script, logged.started, since, until, logged.filling_at)


def _text(lines: Iterable[Printed], options: LogOptions) -> str:
    text = "".join(
        f"{_stamp(line.at)} {line.text}\n" if options.timestamps else f"{line.text}\n"
        for line in lines
    )
    if options.limit is None:
        return text
    return text.encode()[: options.limit].decode(errors="ignore")


def _stamp(clock: int) -> str:
    """RFC 3339 with nine digits. Upstream: kubelet/types, RFC3339NanoFixed."""
    return f"{timestamp(clock).removesuffix('Z')}.{clock % SECOND:09d}Z"


async def _followed(
    begun: str, seen: Seen, name: str, options: LogOptions, scenario: Sequence[Script], look: Look
) -> AsyncIterator[bytes]:
    """The log as it goes on, until the container ends or its pod is gone."""
    yield begun.encode()
    clock = seen.clock
    while True:
        await asyncio.sleep(_LOOK_AGAIN)
        now = await look()
        if now is None:
            return
        logged: Logged | None = None
        with suppress(ApiError):
            found = container_named(now.pod, name, scenario)
            logged = _logged(found, now, previous=False)
        if logged is None:
            return
        text = _text(_until_now(logged, clock + 1, now.clock), options)
        if text:
            yield text.encode()
        if logged.ended is not None:
            return
        clock = now.clock
