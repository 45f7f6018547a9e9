"""Clients that write, read and watch a few ConfigMaps, each of which is a register."""

import threading
import time
from dataclasses import replace
from random import Random
from typing import Any

from tests.chaos.history import checks
from tests.chaos.history.link import AWAY, MERGE, Link
from tests.chaos.history.record import (
    ABSENT,
    OK,
    OPEN,
    Change,
    Following,
    History,
    Listing,
)
from tests.waiting import wait_for

ALL = "/api/v1/namespaces/default/configmaps"
# Every namespace has this one besides.
FURNITURE = "kube-root-ca.crt"
CLIENTS, WATCHERS = 4, 2
# Few objects at a time, so that clients meet; new ones now and then, so that an order is soon found.
NAMES, OPERATIONS_OF_A_NAME = 2, 60
_KINDS = ("create", "create", "update", "update", "patch", "get", "get", "delete", "list")
_GONE = 410


class Registers:
    """Starts its clients when it is made; `faults` ends them, and judges what they saw."""

    def __init__(self, link: Link, seed: int) -> None:
        self.link = link
        self.history = History()
        self._over = threading.Event()
        self._clients = [_Client(self, Random(f"{seed} {n}")) for n in range(CLIENTS)]
        self._watchers = [_Watcher(self, n % 2 == 1) for n in range(WATCHERS)]
        for one in (*self._clients, *self._watchers):
            one.start()

    @property
    def is_over(self) -> bool:
        """Whether clients are to end."""
        return self._over.is_set()

    def pause(self, seconds: float) -> None:
        """Wait, unless it is over."""
        self._over.wait(seconds)

    def rest(self) -> None:
        """End the clients that write; the watches go on until the `faults` are asked for."""
        self._over.set()
        for one in self._clients:
            one.join()

    def end(self) -> None:
        """End the clients that write, and write a last object, by which watches know the end."""
        self.rest()
        one = self.history.begin("create", "last", "v-last")
        body = {"metadata": {"name": one.name}, "data": {"value": one.value}}
        found: list[int] = []

        def is_written() -> bool:
            answer = self.link.obey("POST", ALL, body, Idempotency_Key=f"{self.link.run}-last")
            if answer.status == 201:
                found.append(_version(answer.body))
            return bool(found)

        wait_for(is_written, "the last object is not written", every=0.1)
        self.history.last = self.history.end(one, OK, found[0]).version

    def look_into_fork(self, link: Link) -> None:
        """Watch a fork of the run, made after its `end`, from versions that were known before."""
        # A run that has not begun is at version 0, from which a watch may begin anywhere.
        listings = [one for one in self.history.listings if one.version]
        # A worker brings it there.
        wait_for(lambda: self.listed(link).version >= self.history.last, "a fork stands still")
        self.history.note(self.listed(link))
        for listing in (listings[0], listings[len(listings) // 2], listings[-1]):
            following = Following(listing, upto=listing.version)
            self.history.followings.append(following)

            def is_told(following: Following = following) -> bool:
                query = f"watch=1&timeoutSeconds=2&resourceVersion={following.upto}"
                for status, event in link.lines(f"{ALL}?{query}"):
                    if status != 200 or event["type"] == "ERROR":
                        return False
                    _take(following, event)
                    if following.upto >= self.history.last:
                        break
                return following.upto >= self.history.last

            wait_for(is_told, "a fork does not tell of the last object", every=0.05)

    def faults(self) -> list[str]:
        """Everything that was wrong. The server must be well by now, and no write under way."""
        self.history.final = self.listed()

        def are_there() -> bool:
            return all(
                one.following is not None and one.following.upto >= self.history.last
                for one in self._watchers
            )

        wait_for(are_there, "a watch is not told of the last object", every=0.05)
        for one in self._watchers:
            one.over.set()
        for one in self._watchers:
            one.join()
        broken = [text for one in (*self._clients, *self._watchers) for text in one.broken]
        return broken + checks.faults(self.history)

    def listed(self, link: Link | None = None) -> Listing:
        """A list of the run, or of the one that *link* leads to, once there is one."""
        found: list[Listing] = []

        def is_listed() -> bool:
            began = time.monotonic()
            answer = (link or self.link).ask("GET", ALL)
            if answer.status == 200:
                found.append(_listing(answer.body, began))
            return bool(found)

        wait_for(is_listed, "no list comes", every=0.1)
        return found[0]


def _listing(body: Any, began: float) -> Listing:
    registers = [one for one in body["items"] if one["metadata"]["name"] != FURNITURE]
    objects = {one["metadata"]["name"]: _read(one) for one in registers}
    return Listing(_version(body), objects, began, time.monotonic())


def _read(one: Any) -> tuple[str, int]:
    return (one.get("data") or {}).get("value", ""), _version(one)


def _version(one: Any) -> int:
    return int(one["metadata"]["resourceVersion"])


class _Loop(threading.Thread):
    """A thread that notes what it breaks at."""

    def __init__(self, name: str) -> None:
        super().__init__(name=name, daemon=True)
        self.broken: list[str] = []

    def run(self) -> None:
        try:
            self.work()
        except Exception as problem:  # noqa: BLE001  # a client that ends early proves nothing
            self.broken.append(f"{self.name}: {problem!r}")

    def work(self) -> None:
        raise NotImplementedError


class _Client(_Loop):
    def __init__(self, registers: Registers, chance: Random) -> None:
        super().__init__("client of registers")
        self._registers = registers
        self._history = registers.history
        self._link = registers.link
        self._chance = chance
        self._versions: dict[str, int] = {}
        """Of objects as it knows them, for updates."""

    def work(self) -> None:
        while not self._registers.is_over:
            kind = self._chance.choice(_KINDS)
            if kind == "list":
                self._list()
            else:
                self._operate(kind)
            self._registers.pause(self._chance.random() * 0.05)

    def _drawn_name(self) -> str:
        count = len(self._history.operations)
        generation = count // (NAMES * OPERATIONS_OF_A_NAME)
        return f"register-{generation}-{self._chance.randrange(NAMES)}"

    def _list(self) -> None:
        began = time.monotonic()
        answer = self._link.ask("GET", ALL)
        if answer.status == 200:
            self._history.note(_listing(answer.body, began))

    def _operate(self, kind: Any) -> None:
        name = self._drawn_name()
        if kind == "update" and name not in self._versions:
            kind = "get"
        one = self._history.begin(kind, name)
        value = f"v{one.number}" if one.is_write else ""
        expect = self._versions.get(name, 0) if kind == "update" else 0
        answer = self._ask(kind, name, value, expect)
        if not answer.is_sent:
            return
        one = replace(one, value=value, expect=expect)
        if kind == "get" and (answer.is_open or answer.retry_after is not None):
            return
        if answer.is_open:
            self._history.end(one, OPEN)
        elif answer.status >= 300:
            self._history.end(one, answer.reason)
        elif kind == "delete":
            self._history.end(one, OK)
        else:
            seen, version = _read(answer.body)
            self._versions[name] = version
            if one.is_write and seen != one.value:
                self.broken.append(f"{one} is answered with {seen} at {version}")
            self._history.end(one, OK, version, seen)
        if answer.reason == ABSENT or kind == "delete":
            self._versions.pop(name, None)

    def _ask(self, kind: str, name: str, value: str, expect: int) -> Any:
        place, body = f"{ALL}/{name}", {"metadata": {"name": name}, "data": {"value": value}}
        match kind:
            case "create":
                return self._link.ask("POST", ALL, body)
            case "update":
                body["metadata"]["resourceVersion"] = str(expect)
                return self._link.ask("PUT", place, body)
            case "patch":
                return self._link.ask(
                    "PATCH", place, {"data": {"value": value}}, Content_Type=MERGE
                )
            case "delete":
                return self._link.ask("DELETE", place)
            case _:
                return self._link.ask("GET", place)


class _Watcher(_Loop):
    """Lists once, and watches from there, however often it is cut off; others list again each time."""

    def __init__(self, registers: Registers, lists_again: bool) -> None:
        super().__init__("watcher of registers")
        self._registers = registers
        self._lists_again = lists_again
        self.over = threading.Event()
        self.following: Following | None = None

    def work(self) -> None:
        while not self.over.is_set():
            if self.following is None:
                self._begin()
            else:
                self._follow(self.following)

    def _begin(self) -> None:
        began = time.monotonic()
        answer = self._registers.link.ask("GET", ALL)
        # A run that has not begun is at version 0, from which a watch may begin anywhere.
        if answer.status != 200 or not _version(answer.body):
            self.over.wait(0.05)
            return
        listing = self._registers.history.note(_listing(answer.body, began))
        self.following = Following(listing, upto=listing.version)
        self._registers.history.followings.append(self.following)

    def _follow(self, following: Following) -> None:
        query = (
            f"watch=1&allowWatchBookmarks=true&timeoutSeconds=2&resourceVersion={following.upto}"
        )
        try:
            for status, event in self._registers.link.lines(f"{ALL}?{query}"):
                is_gone = status == _GONE or event.get("object", {}).get("code") == _GONE
                if status != 200 or event["type"] == "ERROR":
                    if is_gone:
                        self.following = None
                    self.over.wait(0.05)
                    return
                _take(following, event)
                if self.over.is_set():
                    return
        except AWAY:
            self.over.wait(0.05)
        if self._lists_again and not self._registers.is_over:
            self.following = None


def _take(following: Following, event: Any) -> None:
    one = event["object"]
    version = _version(one)
    if event["type"] != "BOOKMARK" and one["metadata"]["name"] != FURNITURE:
        value, _ = _read(one)
        following.changes.append(Change(event["type"], one["metadata"]["name"], value, version))
    following.upto = max(following.upto, version)
