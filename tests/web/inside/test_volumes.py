"""The inside of what looks after volumes, over HTTP."""

from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from engine.input.loader import load_paths
from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.models import Run, RunEvent

pytestmark = pytest.mark.django_db(transaction=True)
DEMO = Path(__file__).parents[3] / "scenarios" / "wrong-fs-type.yaml"


@pytest.fixture
def mounting(transactional_db: Any) -> Run:
    """A run of a disk that will not mount, played to its end."""
    scenario = services.scenario_store(name="mounting", result=load_paths([DEMO]))
    run = services.run_create(scenario=scenario, play=True, speed="max")
    runner.run_drive(run.pk)
    run.refresh_from_db()
    return run


def inside(client: Client, run: Run, query: str, status: int = 200) -> dict[str, Any]:
    answer = client.get(f"/api/v1/runs/{run.pk}/inside/volumes/?{query}")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_the_steps_of_a_claim_are_told(client: Client, mounting: Run) -> None:
    answer = inside(client, mounting, "claim=default/reports")
    assert (answer["run"], answer["from_seq"], answer["claims"]) == (
        mounting.pk,
        0,
        ["default/reports"],
    )
    parts = {step["part"] for step in answer["steps"]}
    assert parts == {"pv", "attach", "kubelet"}
    # The clock of the page stands at the time of the step, if there is an event at that time.
    times = dict(RunEvent.objects.filter(run=mounting).values_list("seq", "at"))
    for step in answer["steps"]:
        assert times[step["seq"]] == step["at"] or step["at"] not in times.values()
    early = inside(client, mounting, f"claim=default/reports&seq={answer['steps'][0]['seq']}")
    assert [step["id"] for step in early["steps"]] == [answer["steps"][0]["id"]]


def test_the_kubelet_of_a_node_is_told(client: Client, mounting: Run) -> None:
    answer = inside(client, mounting, "node=node-1")
    seen = {pod["pod"] for step in answer["steps"] if step["tick"] for pod in step["tick"]["pods"]}
    assert {"default/web", "default/api", "default/reports"} <= seen


def test_one_object_has_to_be_named(client: Client, mounting: Run) -> None:
    assert "Say what to look at" in inside(client, mounting, "", 400)["detail"]
    assert "Say what to look at" in inside(client, mounting, "claim=a/b&node=c", 400)["detail"]
    missing = inside(client, mounting, "claim=default/nobody", 404)["detail"]
    assert missing == f"There is no claim/default/nobody up to event {mounting.head_seq}."


def test_the_page_and_its_tab_are_there(client: Client, mounting: Run) -> None:
    text = client.get(f"/runs/{mounting.pk}/inside/volumes/?claim=default/reports").content.decode()
    assert 'id="inside"' in text
    tab = f'href="/runs/{mounting.pk}/inside/scheduler/?claim=default/reports" aria-current="page"'
    assert tab in text
