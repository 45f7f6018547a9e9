"""The home page, the gallery of stories, and what they are kept from."""

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from engine.input.loader import load_paths
from kscope.accounts.access import Visitor
from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.models import Run, Scenario, Story
from kscope.runs.selectors import run_dict
from kscope.runs.stories.gallery import cards, found, topics
from kscope.runs.stories.keeping import story_keep
from kscope.runs.web.views import first_page

pytestmark = pytest.mark.django_db
DEMOS = Path(__file__).parents[3] / "scenarios"
NAMES = ("fits-nowhere", "half-bound", "wrong-fs-type", "every-predicate")
EVERYBODY = Visitor()
TAINTED = (
    "Warning  FailedScheduling  3m (x12 over 9m)  default-scheduler  0/9 nodes are available: "
    "4 Insufficient cpu, 5 node(s) had untolerated taint(s). preemption: 0/9 nodes are "
    "available: 9 Preemption is not helpful for scheduling."
)
MOUNT = (
    'MountVolume.MountDevice failed for volume "pvc-77" : rpc error: code = Internal desc = mount '
    "failed: exit status 32: wrong fs type, bad superblock on /dev/nvme3n1"
)


def keep(name: str) -> Scenario:
    """The demo of that name, with its story."""
    result = load_paths([DEMOS / f"{name}.yaml"])
    scenario = services.scenario_store(name=name, result=result, is_demo=True)
    story_keep(scenario)
    return scenario


@pytest.fixture
def demos() -> dict[str, Scenario]:
    return {name: keep(name) for name in NAMES}


def page(client: Client, address: str) -> str:
    answer = client.get(address)
    assert answer.status_code == 200, address
    return answer.content.decode()


def slugs(text: str) -> list[str]:
    return [card.slug for card in found(cards(EVERYBODY), text)]


# Keeping


def test_a_demo_is_played_once_for_each_engine(demos: dict[str, Scenario]) -> None:
    kept = Story.objects.get(slug="fits-nowhere")
    assert (kept.end, kept.events) == (45_000_000_000, 36)
    Story.objects.update(drawing="as it was")
    story_keep(demos["fits-nowhere"])
    kept.refresh_from_db()
    assert kept.drawing == "as it was"
    Story.objects.update(engine_digest="another engine")
    story_keep(demos["fits-nowhere"])
    kept.refresh_from_db()
    assert kept.drawing.startswith("<svg")


# Finding


def test_words_find_titles_questions_tags_and_reasons(demos: dict[str, Scenario]) -> None:
    assert slugs("half-finished") == ["half-bound"]
    assert slugs("superblock") == ["wrong-fs-type"]
    assert slugs("alwayscheckallpredicates") == ["every-predicate"]
    assert slugs("nothing of this") == []
    assert len(slugs("  ")) == len(NAMES)


def test_a_pasted_message_finds_what_explains_it(demos: dict[str, Scenario]) -> None:
    assert slugs(TAINTED)[0] == "fits-nowhere"
    assert "half-bound" not in slugs(TAINTED)
    assert slugs(MOUNT)[0] == "wrong-fs-type"


def test_the_gallery_is_searched_and_sorted(client: Client, demos: dict[str, Scenario]) -> None:
    whole = page(client, "/stories/")
    assert all(f'href="/stories/{name}/"' in whole for name in NAMES)
    assert topics(cards(EVERYBODY)) == {"Filters": 2, "Binding": 1, "Mount": 1}
    some = page(client, "/stories/?topic=Binding")
    assert "half-bound" in some
    assert 'href="/stories/fits-nowhere/"' not in some
    none = page(client, "/stories/?q=nothing+of+this")
    assert "No story matches." in none
    assert 'href="/scenarios/upload/"' in none


def test_text_that_was_searched_for_is_escaped(client: Client) -> None:
    text = page(client, '/stories/?q="><script>x')
    assert "<script>x" not in text
    assert 'value="&quot;&gt;&lt;script&gt;x"' in text


# Home


def test_home_leads_through_three_doors(client: Client, demos: dict[str, Scenario]) -> None:
    text = page(client, "/")
    for door in ("Bring a cluster", "Watch a story", "Take a lesson"):
        assert f">{door}</a></h2>" in text
    assert "4 small clusters, each with one question." in text
    replays = re.findall(r'data-replay="([^"]+)"', text)
    assert replays == ["/stories/wrong-fs-type/replay/"]
    told = client.get(replays[0]).json()
    assert {pod[0] for pod in told["pods"]} == {"default/reports", "default/web", "default/api"}


def test_home_shows_own_runs_and_what_is_wrong(client: Client, demos: dict[str, Scenario]) -> None:
    for number in range(7):
        Run.objects.create(scenario=demos["half-bound"], name=f"run-{number}")
    Run.objects.update(stop_reason="It has used up its budget.")
    text = page(client, "/")
    assert "7, newest first" in text
    assert "run-6" in text
    assert "run-1<" not in text
    assert "It has used up its budget." in text


def test_home_without_demos_and_runs_stands(client: Client) -> None:
    text = page(client, "/")
    assert "data-replay" not in text
    assert "No run yet." in text


def test_the_old_addresses_of_lists_lead_on(client: Client) -> None:
    assert client.get("/?whose=mine").headers["Location"] == "/runs/?whose=mine"
    assert (
        client.get("/?runs=all&whose=others").headers["Location"] == "/runs/?runs=all&whose=others"
    )


# Watching


@pytest.mark.django_db(transaction=True)
def test_a_story_opens_its_recorded_run(client: Client) -> None:
    keep("half-bound")
    waiting = client.get("/stories/half-bound/")
    assert "is being played" in waiting.content.decode()
    run = Run.objects.get()
    assert (run.is_of_lessons, run.speed) == (True, "max")
    runner.run_drive(run.pk)
    opened = client.get("/stories/half-bound/")
    assert opened.headers["Location"] == f"/runs/{run.pk}/volumes/?claim=shop/orders"
    place = client.get("/stories/half-bound/?pod=shop/orders-0&seq=41")
    assert place.headers["Location"] == f"/runs/{run.pk}/pods/shop/orders-0/?seq=41"
    elsewhere = client.get("/stories/half-bound/?pod=//evil.example&seq=x")
    assert elsewhere.headers["Location"] == f"/runs/{run.pk}/volumes/?claim=shop/orders"
    assert Run.objects.count() == 1
    assert client.get("/stories/nowhere/").status_code == 404


@pytest.mark.parametrize(
    ("select", "address"),
    [
        ("", "/runs/{run}/"),
        ("pod/default/web", "/runs/{run}/"),
        ("claim/default/data", "/runs/{run}/volumes/?claim=default/data"),
        ("volume/disk", "/runs/{run}/volumes/?volume=disk"),
        ("node/n1", "/runs/{run}/nodes/n1/"),
    ],
)
def test_a_run_opens_where_its_object_stands(select: str, address: str) -> None:
    told = {"select": select} if select else {}
    scenario = Scenario.objects.create(name="s", digest="s", header={}, told=told)
    run = Run.objects.create(scenario=scenario, name="r")
    assert first_page(run) == address.format(run=run.pk)


# The answer


def test_a_run_as_told_has_its_answer(demos: dict[str, Scenario]) -> None:
    run = services.run_create(scenario=demos["half-bound"])
    told = run_dict(run)
    assert told["select"] == "claim/shop/orders"
    assert told["answer"].startswith("The third of the four writes is missing")
    assert told["proof"]["event"] == "ClaimBindCompleted"


@pytest.mark.parametrize(
    "other",
    [{"profile": "v1.36"}, {"seed": 7}, {"external_scheduler": True}, {"configuration": {}}],
)
def test_another_run_of_the_scenario_has_none(
    demos: dict[str, Scenario], other: dict[str, Any]
) -> None:
    run = services.run_create(scenario=demos["half-bound"])
    for name, value in other.items():
        setattr(run, name, value)
    if "configuration" in other:
        run.configuration = {"kind": "Policy"}
    told = run_dict(run)
    assert (told["answer"], told["proof"]) == ("", None)
    assert told["select"] == "claim/shop/orders"


def test_a_run_that_was_changed_has_no_answer(demos: dict[str, Scenario]) -> None:
    run = services.run_create(scenario=demos["half-bound"])
    run.head_commands = 1
    assert run_dict(run)["answer"] == ""


def test_a_fork_has_no_answer(demos: dict[str, Scenario]) -> None:
    run = services.run_create(scenario=demos["half-bound"])
    run.forked_seq = 3
    assert run_dict(run)["answer"] == ""
