"""Answers about an instant that stands are kept, and the engine that was asked stays as it is."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from django.http import StreamingHttpResponse
from django.test import Client
from django.utils import translation

from engine.cluster.cluster import Cluster
from kscope.runs import aside, services
from kscope.runs.aside import kept
from kscope.runs.drive import runner
from kscope.runs.languages.reader import said
from kscope.runs.models import KeptAnswer, Run
from scheduling import selectors
from scheduling.selectors import diagnosis_by_id, diagnosis_parts_by_id

pytestmark = pytest.mark.django_db(transaction=True)
GIANT = "Pod", "default/giant"


@pytest.fixture
def engines(monkeypatch: pytest.MonkeyPatch) -> list[Cluster]:
    """The engines that are made for questions, from none on."""
    monkeypatch.setattr(kept, "_engine", None)
    made: list[Cluster] = []
    cluster_at = selectors.cluster_at

    def noted(run: Run, seq: int | None) -> Cluster:
        made.append(cluster_at(run, seq))
        return made[-1]

    monkeypatch.setattr(selectors, "cluster_at", noted)
    return made


def parts(run: Run, seq: int | None = None) -> list[dict[str, Any]]:
    """The answer as a reader gets it."""
    return json.loads(json.dumps(said(list(diagnosis_parts_by_id(run.pk, *GIANT, seq)))))


def test_the_second_answer_needs_no_engine(driven: Run, engines: list[Cluster]) -> None:
    first = parts(driven)
    kept._engine = None
    assert parts(driven) == first
    assert len(engines) == 1


def test_a_kept_answer_is_given_to_all_readers(
    client: Client, driven: Run, engines: list[Cluster]
) -> None:
    path = f"/api/v1/runs/{driven.pk}/pods/default/giant/why/"
    english = client.get(path, headers={"Accept-Language": "en"}).json()
    with translation.override("en"):
        assert client.get(path, headers={"Accept-Language": "en"}).json() == english
    kept_one = KeptAnswer.objects.get(run=driven)
    assert kept_one.seq == driven.head_seq
    assert english["sentence"]
    assert len(engines) == 1


def test_kept_answer_asks_no_engine_process(
    client: Client, driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = f"/api/v1/runs/{driven.pk}/pods/default/giant/why/"
    first, lines = client.get(path).json(), parts(driven)
    monkeypatch.setattr(aside, "ask", None)
    assert client.get(path).json() == first
    again = cast("StreamingHttpResponse", client.get(f"{path}?parts=1"))
    assert [json.loads(line) for line in asyncio.run(_sent(again))] == lines


async def _sent(response: StreamingHttpResponse) -> list[bytes]:
    return [line async for line in cast("AsyncIterator[bytes]", response.streaming_content)]


def test_another_question_finds_the_engine_as_it_was(driven: Run, engines: list[Cluster]) -> None:
    first = parts(driven)
    before = engines[0].digest(), engines[0].steps, engines[0].now, engines[0].seq
    node = diagnosis_by_id(driven.pk, "Node", "n1", None)
    KeptAnswer.objects.all().delete()
    assert parts(driven) == first
    assert diagnosis_by_id(driven.pk, "Node", "n1", None) == node
    assert len(engines) == 1
    assert (engines[0].digest(), engines[0].steps, engines[0].now, engines[0].seq) == before


def test_an_engine_plays_on_as_if_never_asked(driven: Run, engines: list[Cluster]) -> None:
    seq = driven.head_seq // 2
    engine = selectors.cluster_at(driven, seq)
    engine.take()
    untouched = Cluster.restore(engine.checkpoint())
    parts(driven, seq)
    asked = Cluster.restore(engines[-1].checkpoint())
    for cluster in (untouched, asked):
        cluster.advance(driven.head_at)
        cluster.take()
    assert (asked.seq, asked.digest()) == (untouched.seq, untouched.digest())


def test_a_run_that_went_on_is_asked_anew(driven: Run, engines: list[Cluster]) -> None:
    before = diagnosis_by_id(driven.pk, "Node", "n1", None)
    services.command_submit(run=driven, body={"verb": "cordon", "object": "node/n1"})
    runner.run_drive(driven.pk)
    after = diagnosis_by_id(driven.pk, "Node", "n1", None)
    assert after["seq"] > before["seq"]
    assert after["causes"] != before["causes"]
    assert len(engines) == 2


def test_the_past_and_the_head_are_asked_apart(driven: Run, engines: list[Cluster]) -> None:
    head, past = parts(driven), parts(driven, driven.head_seq - 5)
    assert past[0]["seq"] == driven.head_seq - 5
    assert (parts(driven), parts(driven, driven.head_seq - 5)) == (head, past)
    assert len(engines) == 2


def test_a_refusal_is_not_kept(client: Client, driven: Run) -> None:
    for _ in range(2):
        answer = client.get(f"/api/v1/runs/{driven.pk}/pods/default/nobody/why/")
        assert answer.status_code == 404
    assert not KeptAnswer.objects.exists()


def test_only_the_newest_answers_are_kept(driven: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST", 3)
    for seq in range(driven.head_seq - 5, driven.head_seq):
        parts(driven, seq)
    kept_seqs = KeptAnswer.objects.filter(run=driven).order_by("seq").values_list("seq", flat=True)
    assert list(kept_seqs) == list(range(driven.head_seq - 3, driven.head_seq))
