"""The candidate volumes of a claim, over HTTP: at any event, as the objects were then."""

from pathlib import Path

import pytest
from django.test import Client

from engine.input.loader import load_files
from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.models import Run, RunEvent

pytestmark = pytest.mark.django_db(transaction=True)

FOLDER = Path(__file__).parents[3] / "scenarios"


def played(name: str) -> Run:
    path = FOLDER / f"{name}.yaml"
    read = load_files([(path.name, path.read_bytes())])
    scenario = services.scenario_store(name=name, result=read)
    run = services.run_create(scenario=scenario, play=True, speed="max")
    runner.run_drive(run.pk)
    run.refresh_from_db()
    return run


def asked(client: Client, run: Run, claim: str, query: str = "") -> dict:
    answer = client.get(f"/api/v1/runs/{run.pk}/claims/{claim}/candidates/{query}")
    assert answer.status_code == 200, answer.json()
    return answer.json()


def verdicts(told: dict) -> dict[str, str]:
    return {row["volume"]: row["verdict"] for row in told["candidates"]}


def test_candidates_are_right_between_writes_of_one_sync(
    client: Client,
) -> None:
    run = played("smallest-fit")
    bound = RunEvent.objects.get(run=run, kind="VolumePreBound", object="volume/pv-5g")
    before = asked(client, run, "default/claim-2g-a", f"?seq={bound.seq - 1}")
    assert (before["chosen"], before["seq"], before["at"]) == ("pv-5g", bound.seq - 1, 10**9)
    assert verdicts(before) == {
        "pv-5g": "chosen",
        "pv-10g": "fits",
        "pv-3g-rwx": "fits",
        "pv-1g": "size",
        "pv-2g-other": "class",
    }
    assert before["candidates"][0]["phase"] == "Available"
    half = asked(client, run, "default/claim-2g-a", f"?seq={bound.seq + 1}")
    assert (half["candidates"][0]["phase"], half["candidates"][0]["prebound"]) == ("Bound", True)
    now = asked(client, run, "default/claim-2g-c")
    assert (now["chosen"], now["seq"]) == ("pv-3g-rwx", run.head_seq)
    assert verdicts(now)["pv-5g"] == "claimed"


def test_the_scheduler_gets_a_node_and_its_answer(client: Client) -> None:
    run = played("local-volumes")
    for claim in ("default/data-db-0", "default/data-db-1", "default/data-db-2"):
        made = RunEvent.objects.get(run=run, kind="VolumePreBound", data__claim=claim)
        pod = f"pod/{made.data['pod']}"
        assumed = RunEvent.objects.get(run=run, kind="PodAssumed", object=pod)
        node = assumed.changes[pod]["assumed"]
        told = asked(client, run, claim, f"?seq={made.seq - 1}&node={node}")
        assert (told["asker"], told["node"]) == ("scheduler", node)
        assert f"volume/{told['chosen']}" == made.object


def test_volume_shows_which_claims_it_fits(client: Client) -> None:
    run = played("smallest-fit")
    seq = RunEvent.objects.get(run=run, kind="ClaimCreated", object="claim/default/claim-2g-b").seq
    address = f"/api/v1/runs/{run.pk}/volumes/{{}}/claimants/?seq={seq}"
    told = client.get(address.format("pv-3g-rwx")).json()
    assert [(row["claim"], row["verdict"]) for row in told["claimants"]] == [
        ("default/claim-2g-b", "fits")
    ]
    assert (told["claims"], told["at"]) == (1, 3 * 10**9)
    assert client.get(address.format("nothing")).status_code == 404


def test_an_unknown_object_is_a_404_in_words(client: Client) -> None:
    run = played("smallest-fit")
    for path, message in (
        (
            "default/nothing/candidates/",
            f"There is no claim default/nothing at event {run.head_seq}.",
        ),
        (
            "default/claim-2g-a/candidates/?seq=3",
            "There is no claim default/claim-2g-a at event 3.",
        ),
        (
            "default/claim-2g-a/candidates/?node=n9",
            f"There is no node n9 at event {run.head_seq}.",
        ),
        (
            "default/claim-2g-a/candidates/?seq=9999",
            f"seq is 9999; the run has events 1 to {run.head_seq}",
        ),
    ):
        answer = client.get(f"/api/v1/runs/{run.pk}/claims/{path}")
        assert (answer.status_code, answer.json()["detail"]) == (404, message)
    assert client.get("/api/v1/runs/987654/claims/a/b/candidates/").status_code == 404
