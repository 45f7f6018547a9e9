"""Carries a plan out: several lists at a time, and a picture of the cluster of what they hold."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from typing import Any, Final

from kscope.program.live.connection import Connection, NotReached, Refusal, not_reached
from kscope.program.live.kinds import AUTOSCALER_STATUS
from kscope.program.live.plans import Wish
from kscope.program.live.reader import Listed, Manifest, Reader, Served
from kscope.program.speech.errors import ProgramError, Status

# A request is mostly waiting; more at once would be a burden to a small API server.
_AT_ONCE: Final = 6
_UNAUTHORIZED: Final = 401
_TIME: Final = "%Y-%m-%dT%H:%M:%SZ"

Tell = Callable[[int, int, int], None]


@dataclass(frozen=True, slots=True)
class Picture:
    """What was read, until when, in how many seconds, as which version of the server."""

    lists: tuple[Listed, ...]
    server_version: str
    read_at: str
    seconds: float

    @property
    def objects(self) -> int:
        """How many objects were read."""
        return sum(len(each.items) for each in self.lists)


@dataclass(slots=True)
class Cluster:
    """A cluster that can be read; what it serves is asked once."""

    reader: Reader
    _served: Served | None = None

    @property
    def connection(self) -> Connection:
        """How it is reached."""
        return self.reader.connection

    @property
    def served(self) -> Served:
        """What there is to ask for. Raises ProgramError where it does not answer."""
        if self._served is None:
            with told(self.connection):
                self._served = self.reader.served()
        return self._served

    def picture(self, plan: Sequence[Wish], tell: Tell, *, is_probe: bool = False) -> Picture:
        """Read a plan; *tell* hears how many lists of how many are there, and how many objects.

        With *is_probe* one object of each list is asked for, which shows whether it may be read. Raises ProgramError where the cluster does not answer.
        """
        began = time.monotonic()
        served = self.served
        with told(self.connection):
            version = self.reader.server_version()
            if is_probe:
                self.reader = replace(self.reader, page=1, is_probe=True)
            lists = tuple(self._lists(plan, served, tell))
        return Picture(
            lists=tuple(map(self._with_autoscaler, lists)),
            server_version=version,
            read_at=time.strftime(_TIME, time.gmtime()),
            seconds=time.monotonic() - began,
        )

    def _lists(self, plan: Sequence[Wish], served: Served, tell: Tell) -> Iterator[Listed]:
        """In the order of the plan."""
        with ThreadPoolExecutor(_AT_ONCE) as pool:
            futures = [pool.submit(self._list, wish, served) for wish in plan]
            objects = 0
            try:
                for number, future in enumerate(as_completed(futures), 1):
                    objects += len(future.result().items)
                    tell(number, len(futures), objects)
            except BaseException:
                self.connection.close()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
            yield from (future.result() for future in futures)

    def _list(self, wish: Wish, served: Served) -> Listed:
        try:
            return self.reader.listed(
                wish.kind,
                served.versions_of(wish.kind),
                namespace=wish.namespace,
                fields=wish.fields,
            )
        except Refusal as refusal:
            if refusal.status == _UNAUTHORIZED:
                raise
            # One kind that the server cannot give leaves the others.
            return Listed(wish.kind, "none", why=refusal.message)

    def _with_autoscaler(self, listed: Listed) -> Listed:
        """ConfigMaps, with the one whole in which an autoscaler says what it does."""
        names = [_key(each) for each in listed.items]
        if listed.kind.kind != "ConfigMap" or AUTOSCALER_STATUS not in names:
            return listed
        try:
            with told(self.connection):
                found = self.reader.one(listed.kind, "v1", *AUTOSCALER_STATUS)
        except ProgramError:
            return listed
        if found is None:
            return listed
        place = names.index(AUTOSCALER_STATUS)
        found["metadata"].pop("managedFields", None)
        return replace(listed, items=[*listed.items[:place], found, *listed.items[place + 1 :]])


def _key(manifest: Manifest) -> tuple[str, str]:
    metadata = manifest["metadata"]
    return str(metadata.get("namespace") or ""), str(metadata["name"])


class told:
    """What a cluster refuses, or that it does not answer, as ProgramError."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def __enter__(self) -> None:
        return None

    def __exit__(self, _: Any, problem: BaseException | None, __: Any) -> None:
        context = self._connection.context
        if isinstance(problem, NotReached):
            raise not_reached(context, str(problem), self._connection.timeout_seconds) from problem
        if isinstance(problem, Refusal):
            raise refused(context.name, problem) from problem


def refused(context: str, refusal: Refusal) -> ProgramError:
    """The error for an answer that is none."""
    if refusal.status == _UNAUTHORIZED:
        return ProgramError(
            f"the API server of context {context} does not know you: 401 Unauthorized",
            helps=[f"kubectl --context {context} auth whoami"],
            status=Status.UNSEEN,
        )
    return ProgramError(
        f"the API server of context {context} refuses: {refusal.message} ({refusal.status})",
        status=Status.UNSEEN,
    )
