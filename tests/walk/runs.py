"""The runs that the walk looks at, by the API: every demo, played to its end."""

import json
import random
from dataclasses import dataclass
from functools import cache
from typing import Any

from playwright.sync_api import APIRequestContext

from tests.waiting import wait_for
from tests.walk.truth import State


@dataclass(frozen=True, slots=True)
class Walked:
    """A finished run of a demo."""

    id: int
    demo: str
    head: int
    """The seq of its newest event."""
    as_brought: bool
    """Whether it was brought as a cluster, which has a first look and a triage."""


def demos(api: APIRequestContext) -> dict[str, int]:
    """The demo scenarios: title → id, in the order of their ids."""
    listed = api.get("/api/v1/scenarios/").json()["items"]
    found = {each["name"]: each["id"] for each in listed if each["is_demo"]}
    return dict(sorted(found.items(), key=lambda pair: pair[1]))


def play(api: APIRequestContext, demo: str, scenario: int) -> Walked:
    """Play a demo to its end."""
    made = api.post("/api/v1/runs/", data={"scenario": scenario, "play": True, "speed": "max"})
    assert made.ok, made.text()
    address = f"/api/v1/runs/{made.json()['id']}/"
    wait_for(lambda: api.get(address).json()["status"] == "finished")
    run: dict[str, Any] = api.get(address).json()
    return Walked(run["id"], demo, run["head"], bool(run.get("as_brought")))


class History:
    """The events of a run, and its states at those that the walk visits; each is read once."""

    def __init__(self, api: APIRequestContext, run: Walked) -> None:
        self.api = api
        self.run = run
        self.state = cache(self._read)
        self.later_names = cache(self._later_names)
        self.events = cache(self._read_events)
        self._faults = cache(self._read_faults)

    def _read(self, seq: int) -> tuple[int, State]:
        """(virtual time in nanoseconds, entities) at event *seq*."""
        answer = self.api.get(f"/api/v1/runs/{self.run.id}/state/?seq={seq}").json()
        return answer["at"], answer["state"]

    def _read_events(self) -> list[dict[str, Any]]:
        """All events of the run, the first first."""
        answer = self.api.get(f"/api/v1/runs/{self.run.id}/events/export/?format=ndjson&order=asc")
        return [json.loads(line) for line in answer.text().splitlines()]

    def _read_faults(self, seq: int) -> str:
        """What was asked of the faults that were injected up to event *seq*, which pages list.

        The text with which one is to answer may name an object that comes later.
        """
        query = f"kind=FaultInjected&before={seq + 1}&limit=500"
        return self.api.get(f"/api/v1/runs/{self.run.id}/events/?{query}").text()

    def instants(self, many: int, seed: str) -> tuple[int, ...]:
        """Random events of the run, the newest among them."""
        dice = random.Random(seed)
        others = dice.sample(range(self.run.head), min(many - 1, self.run.head))
        found = [*others, self.run.head]
        dice.shuffle(found)
        return tuple(found)

    def _later_names(self, seq: int) -> list[str]:
        """Names of pods, claims, volumes and nodes that nothing up to event *seq* speaks of.

        A page may tell of what was deleted, and is made again later.
        """
        _, now = self.state(seq)
        past = [each for each in self.events() if each["seq"] <= seq]
        said = "\n".join([json.dumps(now), self._faults(seq), *map(json.dumps, past)])
        later = {
            name_of(each["object"])
            for each in self.events()[len(past) :]
            if each["object"].partition("/")[0] in ("pod", "claim", "volume", "node")
        }
        return sorted(name for name in later if name not in said)


def name_of(key: str) -> str:
    """The last part of the id of an object: "web-3" of "pod/shop/web-3"."""
    return key.rpartition("/")[2]
