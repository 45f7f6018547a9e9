"""Each concept is seen where docs/concepts.md says that it is."""

import html
import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import pytest
from django.test import Client

from engine.input.loader import load_paths
from kscope.concepts.table import Concept, Fact, Seen, sections
from kscope.concepts.views import seq_of
from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.models import Run, RunEvent

pytestmark = pytest.mark.django_db(transaction=True)
DEMOS = Path(__file__).parents[3] / "scenarios"
CONCEPTS = [concept for section in sections() for concept in section.concepts]
RUNS = sorted({(one.seen.demo, one.seen.version) for one in CONCEPTS if one.seen})
_PART = re.compile(r"(?P<name>[^.\[\]]+)|\[(?P<place>-?\d+)\]|\[(?P<key>\w+)=(?P<is>[^\]]+)\]")


@pytest.fixture
def play(transactional_db: Any) -> Callable[[str, str], Run]:
    """Plays a demo under a version to its end."""

    def _play(demo: str, version: str) -> Run:
        result = load_paths([DEMOS / f"{demo}.yaml"])
        scenario = services.scenario_store(name=demo, result=result)
        run = services.run_create(scenario=scenario, profile=version, play=True, speed="max")
        runner.run_drive(run.pk)
        run.refresh_from_db()
        return run

    return _play


@pytest.mark.parametrize(("demo", "version"), RUNS)
def test_concepts_are_seen_where_their_table_says(
    client: Client, play: Callable[[str, str], Run], demo: str, version: str
) -> None:
    run = play(demo, version)
    here = [
        one for one in CONCEPTS if one.seen and (one.seen.demo, one.seen.version) == (demo, version)
    ]
    assert [wrong for concept in here for wrong in wrong_facts(client, run, concept)] == []


def wrong_facts(client: Client, run: Run, concept: Concept) -> Iterator[str]:
    """What REST says otherwise, and pages that there are not."""
    seen = concept.seen
    assert seen is not None
    page = client.get(f"/runs/{run.pk}/{seen.page}")
    if page.status_code != 200:
        yield f"{concept.name}: {seen.page} answers {page.status_code}"
    for fact in seen.facts:
        found = value_of(answer_of(client, run, seen, fact.answer), fact.path)
        if not agrees(found, fact):
            yield f"{concept.name}: {fact.answer} {fact.path} is {found!r}"


def event_of(run: Run, seen: Seen) -> RunEvent | None:
    return RunEvent.objects.get(run=run, seq=seq_of(run, seen.after)) if seen.after else None


def answer_of(client: Client, run: Run, seen: Seen, answer: str) -> Any:
    """The JSON of the REST address that *answer* stands for."""
    event = event_of(run, seen)
    query = {key: values[0] for key, values in parse_qs(urlsplit(seen.page).query).items()}
    asked = {key: query[key] for key in ("cycle", "pod", "claim", "node") if key in query}
    if event is None:
        path, more = {"cycle": "inside/scheduler/", "volumes": "inside/volumes/"}[answer], asked
    else:
        at = {"seq": event.seq}
        path, more = {
            "event": ("events/", {"after": event.seq - 1, "limit": 1}),
            "caches": ("inside/caches/", at),
            "object": (f"objects/{event.object}/", at),
            "why": (f"why/{event.object}/", at),
            "state": ("state/", at),
        }[answer]
    told = json_of(client, f"/api/v1/runs/{run.pk}/{path}?{urlencode(more)}")
    if answer == "event":
        return told["items"][0]
    return told["state"] if answer == "state" else told


@cache
def json_of(client: Client, address: str) -> Any:
    """The answer; many facts are of the same one."""
    answer = client.get(address)
    assert answer.status_code == 200, (address, answer.content)
    return answer.json()


def value_of(told: Any, path: str) -> Any:
    """What is at *path*: names, [places] and [key=value]."""
    for part in _PART.finditer(path):
        if part["name"] is not None:
            told = told[part["name"]]
        elif part["place"] is not None:
            told = told[int(part["place"])]
        else:
            told = next(one for one in told if one[part["key"]] == part["is"])
    return told


def agrees(found: Any, fact: Fact) -> bool:
    """Whether *found* is what the table says."""
    if fact.sign == "~":
        return fact.value in found
    if fact.sign == ">":
        return found > int(fact.value)
    return found == fact.value if isinstance(found, str) else found == json.loads(fact.value)


def test_every_concept_has_a_place_or_reason() -> None:
    assert len(CONCEPTS) == 70
    assert len({one.anchor for one in CONCEPTS}) == 70
    for one in CONCEPTS:
        assert one.meaning.endswith(".")
        assert (one.seen is None) == one.why.endswith(".")
        assert one.seen is None or one.seen.facts


def test_a_concept_leads_to_its_instant(client: Client, transactional_db: Any) -> None:
    result = load_paths([DEMOS / "new-leader.yaml"])
    services.scenario_store(name="new-leader", result=result, is_demo=True)
    (concept,) = (one for one in CONCEPTS if one.seen and one.seen.demo == "new-leader")
    address = f"/concepts/{concept.anchor}/"
    assert f'href="{address}"' in client.get("/concepts/").content.decode()
    assert "is being played" in client.get(address).content.decode()
    run = Run.objects.get()
    runner.run_drive(run.pk)
    event = RunEvent.objects.get(run=run, kind="PodCreated", object="pod/default/late")
    assert client.get(address).headers["Location"] == f"/runs/{run.pk}/machines/?seq={event.seq}"


def test_what_no_run_shows_leads_nowhere(client: Client, transactional_db: Any) -> None:
    assert client.get("/concepts/nothing/").status_code == 404
    hidden = next(one for one in CONCEPTS if one.seen is None)
    assert client.get(f"/concepts/{hidden.anchor}/").status_code == 404
    assert hidden.why in html.unescape(client.get("/concepts/").content.decode())
