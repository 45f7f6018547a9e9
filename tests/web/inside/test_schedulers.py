"""The inside of a scheduling cycle, over HTTP."""

from typing import Any

import pytest
from django.test import Client

from engine.cluster.cluster import Cluster
from kscope.runs.drive.replay import engine_at_seq
from kscope.runs.models import Run, RunEvent
from scheduling.inside import answers

pytestmark = pytest.mark.django_db(transaction=True)


def inside(client: Client, run: Run, query: str, status: int = 200) -> dict[str, Any]:
    answer = client.get(f"/api/v1/runs/{run.pk}/inside/scheduler/?{query}")
    assert answer.status_code == status, answer.content
    return answer.json()


def test_a_cycle_is_told_phase_by_phase(client: Client, driven: Run) -> None:
    answer = inside(client, driven, "pod=default/giant")
    assert [phase["name"] for phase in answer["phases"] if phase["state"] == "done"] == [
        "pop",
        "snapshot",
        "order",
        "pre_filter",
        "filter",
        "post_filter",
    ]
    assert answer["pop"]["scheduling_cycle"] == answer["cycle"]
    (search,) = answer["filter"]["searches"]
    refused = {node["node"]: search["refusals"][node["refusal"]] for node in search["nodes"]}
    assert refused["n1"]["reasons"] == ["Insufficient cpu"]
    assert answer["queue"]["requeued"]["place"] == "unschedulable"


def test_a_bound_pod_is_told_until_its_binding(client: Client, driven: Run) -> None:
    answer = inside(client, driven, "pod=default/late")
    states = {phase["name"]: phase["state"] for phase in answer["phases"]}
    assert (states["assume"], states["permit"], states["bind"]) == (
        "done",
        "nothing to do",
        "done",
    )
    assert answer["host"]["node"] == answer["bind"]["node"] == answer["assume"]["assumed"]["node"]


def test_a_cycle_is_found_by_its_number(client: Client, driven: Run) -> None:
    by_pod = inside(client, driven, "pod=default/web")
    assert inside(client, driven, f"cycle={by_pod['cycle']}") == by_pod


def test_a_later_cycle_is_no_cycle_yet(client: Client, driven: Run) -> None:
    first = RunEvent.objects.filter(run=driven, kind="AttemptStarted").order_by("seq")[0]
    answer = inside(client, driven, f"pod=default/late&seq={first.seq}", 404)
    assert "There is no cycle of pod default/late" in answer["detail"]
    assert inside(client, driven, "cycle=9999", 404)["detail"].startswith("There is no cycle 9999")
    assert "Say which cycle" in inside(client, driven, "", 400)["detail"]


def test_the_caches_of_an_instant_are_told(client: Client, driven: Run) -> None:
    assumed = RunEvent.objects.get(run=driven, object="pod/default/late", kind="PodAssumed").seq
    path = f"/api/v1/runs/{driven.pk}/inside/caches/"
    answer = client.get(f"{path}?seq={assumed}").json()
    (scheduler,) = answer["schedulers"]
    assert scheduler["replicas"] == [{"identity": "default-scheduler", "role": "leader"}]
    assert [pod["pod"] for pod in scheduler["memory"]["pods"]] == ["default/late"]
    head = client.get(path).json()["schedulers"][0]["memory"]
    assert [pod["pod"] for pod in head["queue"]["unschedulable"]] == ["default/giant"]
    assert head["pods"] == []


@pytest.mark.parametrize("pod", ["late", "giant"])
def test_the_recorded_amount_comes_to_what_was_decided(
    client: Client, driven: Run, pod: str
) -> None:
    cycle = inside(client, driven, f"pod=default/{pod}")
    told = what_if(client, driven, cycle["cycle"])
    same = next(each for each in told["supposed"] if each["amount"] == told["asked"])
    if cycle["host"]:
        assert (same["tied"], same["total"]) == (cycle["host"]["tied"], cycle["host"]["total"])
    assert same["fits"] == len(cycle["score"]["nodes"] if cycle["score"] else [])
    if cycle["score"] and cycle["score"]["is_compared"]:
        assert sorted(same["score"]["nodes"], key=str) == sorted(cycle["score"]["nodes"], key=str)


def test_less_would_have_fitted(client: Client, driven: Run) -> None:
    told = what_if(client, driven, inside(client, driven, "pod=default/giant")["cycle"])
    least, most = told["supposed"][0], told["supposed"][-1]
    assert (least["fits"] > 0, most["fits"], most["tied"]) == (True, 0, [])
    assert any(reason.endswith("Insufficient cpu") for reason in most["refused"])
    requests = least["fields"]["containers"][0]["resources"]["requests"]
    assert requests["cpu"] == f"{least['amount']}m"


def test_question_what_if_plays_the_run_once(driven: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    played: list[int] = []

    def engine(run: Run, *, seq: int, **options: Any) -> Cluster:
        played.append(seq)
        return engine_at_seq(run, seq=seq, **options)

    monkeypatch.setattr(answers, "engine_at_seq", engine)
    began = RunEvent.objects.filter(run=driven, kind="AttemptStarted", object="pod/default/late")
    first = began.order_by("seq")[0]
    cycle = int(first.message.split(",")[0].removeprefix("cycle "))
    assert answers.what_if_by_id(driven.pk, cycle, "default/late", "cpu")["cycle"] == cycle
    assert played == [first.seq]


def what_if(client: Client, run: Run, cycle: int) -> dict[str, Any]:
    answer = client.get(f"/api/v1/runs/{run.pk}/inside/what-if/?cycle={cycle}")
    assert answer.status_code == 200, answer.content
    return answer.json()
