"""The page that REST exports holds what the resources of the run answer."""

from typing import Any

import orjson
import pytest
from django.test import Client

from engine.input.loader import load_paths
from engine.kernel.view import State, fold
from engine.scheduler.configuration.scenario_schedulers import check_setup
from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.models import Run
from tests.exports.plays import ROOT
from tests.exports.test_page import Parts
from tests.web.exports.test_run_files import exported


@pytest.fixture
def brought(transactional_db: None) -> Run:
    """A run of a cluster that was brought, in which volumes and pods are stuck, after twelve seconds."""
    loaded = load_paths([ROOT / "scenarios" / "sick-cluster.yaml"], check=check_setup)
    scenario = services.scenario_store(name="sick", result=loaded)
    run = services.run_create(scenario=scenario, play=True, speed="max")
    runner.run_drive(run.pk)
    run.refresh_from_db()
    return run


def page_of(client: Client, run: Run, more: str = "") -> Parts:
    return Parts(exported(client, run, f"?format=html{more}").decode())


def asked(client: Client, run: Run, path: str) -> Any:
    answer = client.get(f"/api/v1/runs/{run.pk}/{path}")
    assert answer.status_code == 200, answer.content
    text = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
    return orjson.loads(text)


def only(page: Parts, kind: str) -> Any:
    [(_, value)] = page.recorded(kind)
    return value


def test_events_fold_to_the_state_at_each_event(client: Client, driven: Run) -> None:
    page = page_of(client, driven)
    [(_, state)] = page.recorded("keyframe")
    folded: State = state
    events = [event for _, chunk in page.recorded("events") for event in chunk]
    assert len(events) == driven.head_seq
    for event in events:
        fold(folded, event["changes"] or {})
        if event["seq"] % 7 == 0 or event["seq"] == driven.head_seq:
            assert asked(client, driven, f"state/?seq={event['seq']}")["state"] == folded


def test_bars_are_those_of_the_server(client: Client, driven: Run) -> None:
    heading = only(page_of(client, driven), "heading")
    assert heading["histogram"] == asked(client, driven, "histogram/?buckets=120")


def test_attempts_have_the_evidence_of_the_server(client: Client, driven: Run) -> None:
    page = page_of(client, driven)
    names = ("pod", "number", "seq", "at", "cycle", "result", "node")
    listed = [dict(zip(names, each, strict=True)) for each in only(page, "attempts")]
    items = asked(client, driven, "attempts/?limit=100")["items"]
    assert listed == [{name: each[name] for name in names} for each in reversed(items)]
    held = {int(given["data-attempt"]): value for given, value in page.recorded("evidence")}
    for place, each in enumerate(reversed(items)):
        assert held[place] == asked(client, driven, f"attempts/{each['id']}/")


def test_the_answer_why_is_that_of_the_server(client: Client, driven: Run) -> None:
    whys = only(page_of(client, driven), "whys")
    answer = asked(client, driven, "why/pod/default/giant/")
    assert whys["pod/default/giant"] == {**answer, "run": 0}


def test_paths_are_those_of_the_server(client: Client, driven: Run) -> None:
    paths = only(page_of(client, driven), "paths")
    assert paths.keys() >= {"pod/default/web", "pod/default/giant"}
    for entity, held in paths.items():
        assert held["path"] == asked(client, driven, f"pods/{entity.partition('/')[2]}/path/")


def test_cycles_are_those_of_the_server(client: Client, brought: Run) -> None:
    page = page_of(client, brought)
    cycles = only(page, "heading")["cycles"]
    told = {int(given["data-seq"]): value for given, value in page.recorded("cycle")}
    assert cycles["of"] == len(cycles["held"]) == len(told) > 1
    for seq, number, pod in cycles["held"]:
        path = f"inside/scheduler/?cycle={number}&pod={pod.removeprefix('pod/')}"
        answer = asked(client, brought, path)
        assert told[seq] == {**answer, "run": 0, "fork_seq": None}


def test_the_inside_of_volumes_is_the_servers(client: Client, brought: Run) -> None:
    page = page_of(client, brought)
    objects = only(page, "heading")["insides"]
    told = [value for _, value in page.recorded("inside")]
    assert len(objects) == len(told) > 0
    for entity, value in zip(objects, told, strict=True):
        kind, _, name = entity.partition("/")
        path = f"inside/volumes/?{kind}={name}&seq={brought.head_seq}"
        assert value == {**asked(client, brought, path), "run": 0}


def test_the_looks_are_those_of_the_server(client: Client, brought: Run) -> None:
    looks = only(page_of(client, brought), "looks")
    assert looks["first-look"] == asked(client, brought, "first-look/")
    assert looks["triage"] == asked(client, brought, "triage/")
    assert len(looks["triage"]["groups"]) > 1


def test_a_run_with_steps_has_no_looks(client: Client, driven: Run) -> None:
    page = page_of(client, driven)
    assert only(page, "looks") is None
    assert only(page, "run")["as_brought"] is False


def test_what_is_left_out_is_not_followed(client: Client, driven: Run) -> None:
    page = page_of(client, driven, "&without=inside,why")
    heading = only(page, "heading")
    assert (heading["left_out"], heading["insides"]) == (["inside", "why"], [])
    assert [*page.recorded("cycle"), *page.recorded("inside")] == []
    assert only(page, "looks") is None


def test_the_facts_say_nothing_of_people(client: Client, driven: Run) -> None:
    facts = only(page_of(client, driven), "run")
    assert facts["name"] == driven.name
    assert facts["may_change"] is False
    assert not {"owner", "visibility", "budget", "used", "worker", "created"} & facts.keys()


def test_a_page_ends_at_the_event_named(client: Client, driven: Run) -> None:
    page = page_of(client, driven, "&seq=9&without=why,evidence")
    heading = only(page, "heading")
    assert (heading["head"], heading["left_out"]) == (9, ["evidence", "why"])
    assert (only(page, "whys"), [*page.recorded("evidence")]) == ({}, [])


@pytest.mark.parametrize(
    ("query", "words"),
    [("without=colour", "it must be of inside, evidence, data, why"), ("since=-1", "")],
)
def test_what_a_page_cannot_be_is_refused(
    client: Client, driven: Run, query: str, words: str
) -> None:
    answer = client.get(f"/api/v1/runs/{driven.pk}/export/?format=html&{query}")
    assert answer.status_code == 400
    assert words in answer.json()["detail"]
