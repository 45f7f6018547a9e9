"""Why a pod is pending, over HTTP: the diagnosis, and each offered change sent as a command."""

import json
from collections.abc import Callable

import pytest
from django.test import Client

from kscope.runs.models import Run, RunEvent
from scheduling.selectors import diagnosis, diagnosis_parts_by_id
from tests.web.conftest import drive, driving

pytestmark = pytest.mark.django_db(transaction=True)


def why(client: Client, run: Run, pod: str = "default/giant", query: str = "") -> dict:
    answer = client.get(f"/api/v1/runs/{run.pk}/pods/{pod}/why/{query}")
    assert answer.status_code == 200, answer.json()
    return answer.json()


def test_a_pending_pod_is_diagnosed_at_the_head(client: Client, driven: Run) -> None:
    told = why(client, driven)
    assert (told["run"], told["seq"], told["pod"]) == (driven.pk, driven.head_seq, "default/giant")
    assert told["sentence"].startswith("Fits none of 2 nodes; closest is n2: cpu 1 short.")
    assert told["check"]["short"] == 1000
    assert told["causes"][0]["nodes"] == ["n2", "n1"]
    assert {fix["shown"] for fix in told["fixes"]} == {"fork"}


def test_a_node_is_asked_about_like_a_pod(client: Client, driven: Run) -> None:
    answer = client.get(f"/api/v1/runs/{driven.pk}/why/node/n1/")
    assert (answer.status_code, answer.json()["object"]) == (200, "node/n1")
    assert client.get(f"/api/v1/runs/{driven.pk}/why/node/gone/").status_code == 404
    refused = client.get(f"/api/v1/runs/{driven.pk}/why/secret/default/s/")
    assert refused.status_code == 400
    assert "claim, cronjob, daemonset" in refused.json()["detail"]


def test_an_answer_says_what_is_reached(client: Client, driven: Run) -> None:
    web = client.get(f"/api/v1/runs/{driven.pk}/why/pod/default/web/").json()
    giant = client.get(f"/api/v1/runs/{driven.pk}/why/pod/default/giant/").json()
    assert (web["outcome"], giant["outcome"]) == ("it runs on n1", "")


def test_causes_carry_the_fields_behind_them(client: Client, driven: Run) -> None:
    cause = why(client, driven)["causes"][0]
    assert cause["why"]
    fields = {fact["field"] for fact in cause["because"]}
    assert "spec.containers[0].resources.requests.cpu" in fields


def test_the_past_is_diagnosed_as_it_was(client: Client, driven: Run) -> None:
    seq = RunEvent.objects.filter(run=driven, object="pod/default/late")[0].seq
    told = why(client, driven, query=f"?seq={seq}")
    assert (told["seq"], told["at"]) == (seq, 2_000_000_000)
    assert why(client, driven, "default/late", f"?seq={seq}")["state"] == "unseen"


def test_the_run_is_left_as_it_is(client: Client, driven: Run) -> None:
    before = (driven.head_seq, driven.head_digest, RunEvent.objects.filter(run=driven).count())
    why(client, driven)
    driven.refresh_from_db()
    after = (driven.head_seq, driven.head_digest, RunEvent.objects.filter(run=driven).count())
    assert before == after


def test_an_unknown_object_is_a_404_in_words(client: Client, driven: Run) -> None:
    answer = client.get(f"/api/v1/runs/{driven.pk}/pods/default/nobody/why/")
    assert (answer.status_code, answer.json()["detail"]) == (
        404,
        "There is no pod default/nobody.",
    )
    answer = client.get(f"/api/v1/runs/{driven.pk}/pods/default/giant/why/?seq=999999")
    assert answer.status_code == 404
    assert client.get("/api/v1/runs/999999/pods/default/giant/why/").status_code == 404
    answer = client.get(f"/api/v1/runs/{driven.pk}/pods/default/giant/why/?seq=x")
    assert answer.status_code == 400


@pytest.mark.parametrize("kind", ["requests", "node"])
def test_sending_an_offered_change_places_the_pod(client: Client, driven: Run, kind: str) -> None:
    fix = next(each for each in why(client, driven)["fixes"] if each["kind"] == kind)
    with driving(driven):
        answer = client.post(
            f"/api/v1/runs/{driven.pk}/commands/",
            json.dumps(fix["command"]),
            content_type="application/json",
        )
    assert answer.json()["status"] == "applied"
    Run.objects.filter(pk=driven.pk).update(status=Run.Status.PLAYING)
    drive(driven.pk)
    driven.refresh_from_db()
    bound = RunEvent.objects.get(run=driven, kind="PodBound", object="pod/default/giant")
    assert (bound.changes["pod/default/giant"]["node"], bound.at) == (fix["node"], fix["at"])


def test_a_run_that_never_began_can_be_asked(client: Client, start: Callable[..., Run]) -> None:
    run = start()
    told = client.get(f"/api/v1/runs/{run.pk}/pods/default/giant/why/").json()
    assert told["state"] == "unseen"


def test_the_answer_is_described_for_programs(client: Client) -> None:
    accept = "application/vnd.oai.openapi+json"
    schema = json.loads(client.get("/api/v1/schema/", headers={"Accept": accept}).content)
    path = schema["paths"]["/api/v1/runs/{run_id}/pods/{namespace}/{name}/why/"]
    answer = path["get"]["responses"]["200"]["content"]["application/json"]["schema"]
    assert answer == {"$ref": "#/components/schemas/Diagnosis"}
    assert "fixes" in schema["components"]["schemas"]["Diagnosis"]["properties"]


def test_the_causes_come_before_the_fixes(driven: Run) -> None:
    first, *fixes, last = diagnosis_parts_by_id(driven.pk, "Pod", "default/giant", None)
    whole = diagnosis(driven, "Pod", "default/giant", seq=None)
    assert first["causes"] == whole["causes"]
    assert first["fixes"] == []
    assert [each["fix"] for each in fixes] == whole["fixes"]
    assert last == {name: whole[name] for name in ("outlook", "tried", "conclusion")}
