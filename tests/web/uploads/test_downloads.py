"""A scenario that is downloaded and uploaded again is the same one."""

from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from engine.input.loader import load_files
from kscope.runs import services
from kscope.runs.models import Scenario
from tests.engine.input.formats.test_written import NODE, VERSION

pytestmark = pytest.mark.django_db(transaction=True)


def version_of(client: Client, scenario: Scenario) -> Any:
    """Which version the first look at a run of the scenario proposes, and why."""
    run = services.run_create(scenario=scenario)
    answer = client.get(f"/api/v1/runs/{run.pk}/first-look/")
    assert answer.status_code == 200, answer.content
    return answer.json()["version"]


@pytest.mark.parametrize("form", ["yaml", "json"])
def test_a_download_proposes_the_same_version(client: Client, form: str) -> None:
    loaded = load_files([("node.yaml", NODE), ("version.json", VERSION)])
    scenario = services.scenario_store(name="told", result=loaded)
    answer = client.get(f"/api/v1/scenarios/{scenario.pk}/download/?format={form}")
    assert answer.status_code == 200
    text = b"".join(answer.streaming_content) if answer.streaming else answer.content  # type: ignore[attr-defined]
    again = SimpleUploadedFile(f"again.{form}", text)
    made = client.post("/api/v1/scenarios/", {"files": [again]})
    assert made.status_code == 201, made.content
    found = Scenario.objects.get(pk=made.json()["id"])
    assert found.header["served"] == scenario.header["served"] == "v1.34.2"
    told = version_of(client, scenario)
    assert told["because"] == (
        "The API server said that it is v1.34.2: that the scheduler is of the same is a guess."
    )
    assert version_of(client, found) == told
