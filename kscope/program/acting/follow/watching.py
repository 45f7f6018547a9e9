"""Watches one kind of a cluster for ever: from its list on, again where it breaks off, anew at 410.

Upstream: client-go tools/cache, Reflector.ListAndWatch().
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from threading import Event, Thread
from typing import Any, Final

import orjson

from kscope.program.live.connection import Connection, NotReached, Refusal
from kscope.program.live.kinds import ReadKind
from kscope.program.live.reader import Listed, Manifest, Reader

_GONE: Final = 410
# A server ends watches now and then; each at another time, as upstream asks for it.
_LEAST_SECONDS, _MOST_SECONDS = 240, 480
_FIRST_PAUSE, _LONGEST_PAUSE = 1.0, 30.0
_WHOLE: Final = "application/json;stream=watch,application/json"


@dataclass(frozen=True, slots=True)
class Change:
    """One object as it is now, or that is gone."""

    kind: ReadKind
    manifest: Manifest
    is_gone: bool = False


@dataclass(frozen=True, slots=True)
class Relisted:
    """All objects of a kind, after a watch was lost: what is not among them is gone."""

    listed: Listed


@dataclass(frozen=True, slots=True)
class Lost:
    """A watch that ended, why, and in how many seconds it is read again."""

    kind: ReadKind
    why: str
    seconds: float


News = Change | Relisted | Lost
Hear = Callable[[News], None]


@dataclass(slots=True)
class Watcher:
    """Follows one kind in a thread of its own; *hear* is told what comes."""

    reader: Reader
    versions: Sequence[str]
    listed: Listed
    hear: Hear
    is_over: Event = field(default_factory=Event)

    def start(self) -> None:
        """Begin; the thread ends with the process."""
        name = f"watch of {self.listed.kind.title}"
        Thread(target=self._follow, name=name, daemon=True).start()

    def _follow(self) -> None:
        version, pause = self.listed.version, _FIRST_PAUSE
        while not self.is_over.is_set():
            try:
                for told in self._watch(version):
                    version, pause = told, _FIRST_PAUSE
            except _Gone as gone:
                version = self._again(f"410 {gone}", pause)
            except Refusal as refusal:
                is_gone = refusal.status == _GONE
                why = "410 Gone" if is_gone else f"{refusal.status} {refusal.message}"
                version = self._again(why, pause)
                pause = min(pause * 2, _LONGEST_PAUSE)
            except NotReached as problem:
                version = self._again(str(problem), pause)
                pause = min(pause * 2, _LONGEST_PAUSE)

    def _watch(self, version: str) -> Iterator[str]:
        """Tell of what comes; the version up to which everything was told, each time.

        Raises what breaks it off; a watch that the server, or silence, ends goes on where it was.
        """
        kind, connection = self.listed.kind, self.reader.connection
        seconds = random.randint(_LEAST_SECONDS, _MOST_SECONDS)
        query = {
            "watch": "true",
            "allowWatchBookmarks": "true",
            "resourceVersion": version,
            "timeoutSeconds": str(seconds),
        }
        namespace = self.reader.namespace if self.listed.sight == "namespace" else ""
        path = kind.path(self.listed.api_version.rpartition("/")[2], namespace)
        for event in _events(connection, path, query):
            found: Manifest = event.get("object") or {}
            if event.get("type") == "ERROR":
                raise _of_status(found)
            if event.get("type") != "BOOKMARK":
                self.hear(Change(kind, found, is_gone=event.get("type") == "DELETED"))
            yield str(found["metadata"]["resourceVersion"])

    def _again(self, why: str, pause: float) -> str:
        """List anew after a pause, until that works; the version of the list."""
        while True:
            self.hear(Lost(self.listed.kind, why, pause))
            self.is_over.wait(pause)
            if self.is_over.is_set():
                return ""
            try:
                listed = self.reader.listed(self.listed.kind, self.versions)
            except (Refusal, NotReached) as problem:
                why, pause = str(problem), min(pause * 2, _LONGEST_PAUSE)
                continue
            if listed.is_seen:
                self.listed = listed
                self.hear(Relisted(listed))
                return listed.version
            why, pause = listed.why or "it is not served any more", min(pause * 2, _LONGEST_PAUSE)


class _Gone(Exception):
    """The server has forgotten the version from which a watch was to go on."""


def _of_status(status: Manifest) -> Exception:
    if status.get("code") == _GONE:
        return _Gone(str(status.get("reason") or "Gone"))
    return Refusal(int(status.get("code") or 500), orjson.dumps(status))


def _events(connection: Connection, path: str, query: dict[str, str]) -> Iterator[dict[str, Any]]:
    """The events of one watch, until the server or a broken line ends it."""
    import urllib3

    response = connection.stream(path, query, accept=_WHOLE)
    rest = b""
    try:
        for piece in _pieces(response):
            *lines, rest = (rest + piece).split(b"\n")
            yield from (orjson.loads(line) for line in lines if line.strip())
    except (urllib3.exceptions.HTTPError, OSError):
        # Whatever was told before is known; a watch from there on brings the rest.
        time.sleep(_FIRST_PAUSE / 10)
    finally:
        response.release_conn()
        response.close()


def _pieces(response: Any) -> Iterator[bytes]:
    """What has come, as soon as it has: reading a number of bytes would wait for all of them."""
    if response.chunked:
        yield from response.stream(decode_content=True)
        return
    while piece := response.read1(decode_content=True):
        yield piece
