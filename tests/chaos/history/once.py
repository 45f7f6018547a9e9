"""Clients that write pods without a name of their own, and count what came of each write.

A pod with `generateName` is there as often as it was created. Each write marks its pods, so that
they are found: one write that was acknowledged is there once, one that nobody answered at most
once; and one with an `Idempotency-Key`, sent again until it is answered, once.
"""

import threading
from collections import Counter
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.chaos.history.link import Answer, Link
from tests.waiting import wait_for

PODS = "/api/v1/namespaces/default/pods"
MARK = "write"
# One client for each; who waits for answers is slower.
WAYS = ("answered", "answered", "answered", "abandoned", "keyed")
_PAUSE_SECONDS = {"answered": 0.02, "abandoned": 0.3, "keyed": 0.1}


@dataclass(slots=True)
class Tally:
    """The marks of writes, by what their clients were told."""

    acknowledged: list[str] = field(default_factory=list[str])
    unanswered: list[str] = field(default_factory=list[str])
    keyed: list[str] = field(default_factory=list[str])
    """With a key, and acknowledged in the end."""
    refused: list[str] = field(default_factory=list[str])

    def __str__(self) -> str:
        return (
            f"{len(self.acknowledged)} acknowledged, {len(self.unanswered)} unanswered, "
            f"{len(self.keyed)} with keys, {len(self.refused)} refused"
        )

    def add(self, other: "Tally") -> None:
        """Count those of another one, too."""
        self.acknowledged += other.acknowledged
        self.unanswered += other.unanswered
        self.keyed += other.keyed
        self.refused += other.refused

    def faults(self, pods: Counter[str]) -> list[str]:
        """Where the pods of a write are more, or fewer, than they may be."""
        wrong: list[str] = []
        for what, marks, allowed in (
            ("acknowledged", self.acknowledged, (1,)),
            ("unanswered", self.unanswered, (0, 1)),
            ("keyed", self.keyed, (1,)),
            ("refused", self.refused, (0,)),
        ):
            wrong += [
                f"{what} write {mark} is there {pods[mark]} times"
                for mark in marks
                if pods[mark] not in allowed
            ]
        return wrong


class Writers:
    """Starts its clients when it is made; `faults` ends them, and counts."""

    def __init__(self, link: Link, seed: int) -> None:
        self.link = link
        self.tally = Tally()
        self._lock = threading.Lock()
        self._over = threading.Event()
        self._threads = [
            threading.Thread(
                target=self._work, args=[way, number, Random(f"{seed} {number}")], daemon=True
            )
            for number, way in enumerate(WAYS)
        ]
        for thread in self._threads:
            thread.start()

    def rest(self) -> None:
        """End the clients."""
        self._over.set()
        for thread in self._threads:
            thread.join()

    def faults(self) -> list[str]:
        """Everything that was wrong. The server must be well by now, and no write under way."""
        self.rest()
        found: list[Counter[str]] = []

        def are_listed() -> bool:
            answer = self.link.ask("GET", f"{PODS}?labelSelector={MARK}")
            if answer.status == 200:
                marks = (one["metadata"]["labels"][MARK] for one in answer.body["items"])
                found.append(Counter(marks))
            return bool(found)

        wait_for(are_listed, "the pods are not listed", every=0.1)
        return self.tally.faults(found[0])

    def _work(self, way: str, client: int, chance: Random) -> None:
        number = 0
        while not self._over.is_set():
            number += 1
            self._write(way, f"{way}-{client}-{number}", chance)
            self._over.wait(chance.random() * _PAUSE_SECONDS[way])

    def _write(self, way: str, mark: str, chance: Random) -> None:
        body = {
            "metadata": {"generateName": f"{way}-", "labels": {MARK: mark}},
            "spec": {
                "schedulerName": "nobody",
                "containers": [{"name": "main", "image": "app:1"}],
            },
        }
        if way == "abandoned":
            if self.link.abandon("POST", PODS, body, chance.random() * 0.03):
                self._note(self.tally.unanswered, mark)
        elif way == "keyed":
            self._note(self.tally.keyed, mark)
            self._insist(body, mark, chance)
        else:
            self._take(self.link.obey("POST", PODS, body), mark)

    def _take(self, answer: Answer, mark: str) -> None:
        if answer.is_open:
            self._note(self.tally.unanswered, mark)
        elif answer.status == 201:
            self._note(self.tally.acknowledged, mark)
        elif answer.is_sent:
            self._note(self.tally.refused, mark)

    def _insist(self, body: Any, mark: str, chance: Random) -> None:
        """Send it, often without waiting for the answer, until it is answered."""
        key = {"Idempotency_Key": f"{self.link.run}-{mark}"}
        if chance.random() < 0.5:
            self.link.abandon("POST", PODS, body, chance.random() * 0.03, **key)
        last: Answer | None = None

        def is_done() -> bool:
            nonlocal last
            last = self.link.obey("POST", PODS, body, **key)
            return last.status == 201

        wait_for(is_done, lambda: f"write {mark} is not answered, but: {last}", every=0.1)

    def _note(self, marks: list[str], mark: str) -> None:
        with self._lock:
            marks.append(mark)
