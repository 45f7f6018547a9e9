"""Lessons by REST and as pages: kept with their scenario, told of a run that is made once."""

from typing import Any

import pytest
from django.core.management import call_command
from django.test import Client

from engine.input.lessons.lesson import Lesson as Told
from engine.input.loader import load_files
from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.management.commands import load_demos
from kscope.runs.models import Command, Lesson, Run, Scenario
from tests.engine.input.test_lesson_documents import LESSON, SCENARIO

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def lesson() -> Lesson:
    """A lesson that was uploaded with its scenario."""
    files = [("small.yaml", (SCENARIO + LESSON).encode())]
    services.scenario_store(name="small", result=load_files(files))
    return Lesson.objects.get()


def run_of(client: Client, lesson: Lesson) -> dict[str, Any]:
    """The lesson by REST, once its page was opened."""
    assert client.get(f"/lessons/{lesson.slug}/").status_code == 200
    return client.get(f"/api/v1/lessons/{lesson.slug}/").json()


def test_upload_keeps_the_lesson_of_its_files(client: Client, lesson: Lesson) -> None:
    (listed,) = client.get("/api/v1/lessons/").json()["items"]
    assert listed["slug"] == f"first-{lesson.scenario_id}"
    assert (listed["course"], listed["title"]) == ("A course", "A lesson")
    assert (listed["steps"], listed["questions"], listed["is_shipped"]) == (1, 1, False)
    assert listed["minutes"] == 1
    page = client.get("/lessons/").content.decode()
    assert f'href="/lessons/{lesson.slug}/"' in page


def test_lesson_can_be_read_before_its_run(client: Client, lesson: Lesson) -> None:
    told = client.get(f"/api/v1/lessons/{lesson.slug}/").json()
    assert (told["run"], told["moments"], told["problems"]) == (None, None, None)
    (paragraph,) = told["told"][0]["text"]
    assert [piece["kind"] for piece in paragraph] == [
        *("text", "moment", "text", "object", "text", "object", "text")
    ]


@pytest.mark.usefixtures("runs_here")
def test_finished_run_tells_where_moments_are(client: Client, lesson: Lesson) -> None:
    run = run_of(client, lesson)["run"]
    runner.run_drive(run)
    told = client.get(f"/api/v1/lessons/{lesson.slug}/").json()
    assert told["run"] == run
    assert told["problems"] == []
    event = client.get(f"/api/v1/runs/{run}/events/?kind=PodAssumed").json()["items"][0]
    assert told["moments"] == {"assumed": {"seq": event["seq"], "at": event["at"]}}


@pytest.mark.usefixtures("runs_here")
def test_run_of_a_lesson_is_made_once(client: Client, lesson: Lesson) -> None:
    assert run_of(client, lesson)["run"] == run_of(client, lesson)["run"]
    assert Run.objects.count() == 1
    assert client.get("/api/v1/runs/").json()["items"] == []


@pytest.mark.usefixtures("runs_here")
def test_run_that_somebody_changed_is_replaced(client: Client, lesson: Lesson) -> None:
    first = run_of(client, lesson)["run"]
    runner.run_drive(first)
    body = {"verb": "cordon", "object": "node/n1"}
    services.command_submit(run=Run.objects.get(pk=first), body=body)
    runner.run_drive(first)
    assert Command.objects.get().status == Command.Status.APPLIED
    assert run_of(client, lesson)["run"] != first


@pytest.mark.usefixtures("runs_here")
def test_lesson_says_what_its_run_does_not_show(client: Client, lesson: Lesson) -> None:
    lesson.document["spec"]["moments"]["assumed"]["event"] = "PodEvicted"
    lesson.save()
    runner.run_drive(run_of(client, lesson)["run"])
    told = client.get(f"/api/v1/lessons/{lesson.slug}/").json()
    assert told["problems"] == [
        "small.yaml, document 4, line 24, spec.moments.assumed: the run has no such instant: "
        "event PodEvicted of pod/default/web"
    ]


def test_lessons_of_kscope_are_loaded_with_the_demos(client: Client) -> None:
    call_command("load_demos")
    lessons = client.get("/api/v1/lessons/").json()["items"]
    assert lessons[0]["slug"] == "a-disk-that-cannot-move"
    assert all(each["is_shipped"] for each in lessons)
    demos = Scenario.objects.filter(is_demo=True).count()
    listed = client.get("/api/v1/scenarios/").json()["items"]
    assert len(listed) == demos


def test_loading_reads_each_file_of_a_demo_once(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[str] = []

    def load(files: list[tuple[str, bytes]], **options: Any) -> Any:
        read.extend(name for name, _ in files)
        return load_files(files, **options)

    monkeypatch.setattr(load_demos, "load_files", load)
    call_command("load_demos")
    assert len(read) == len(set(read)) > 40
    # A demo is told of its own file alone.
    demo = Scenario.objects.get(header__name="local-volumes")
    assert [file["name"] for file in demo.report["files"]] == ["local-volumes.yaml"]
    places = Lesson.objects.order_by("position").values_list("position", flat=True)
    assert list(places) == list(range(len(places)))


def test_page_of_a_lesson_reads_its_document_once(
    client: Client, lesson: Lesson, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []
    whole = Told.from_document

    def from_document(raw: dict[str, Any]) -> Told:
        read.append(raw["metadata"]["name"])
        return whole(raw)

    monkeypatch.setattr(Told, "from_document", from_document)
    assert client.get(f"/lessons/{lesson.slug}/").status_code == 200
    assert read == ["first"]


def test_address_of_no_lesson_is_not_found(client: Client) -> None:
    assert client.get("/lessons/nothing/").status_code == 404
    assert client.get("/api/v1/lessons/nothing/").status_code == 404
