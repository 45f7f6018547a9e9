"""The process beside the web process: answers, refusals, mistakes, and how it ends."""

import os
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from kscope.runs import aside, past
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, RunEvent

pytestmark = pytest.mark.django_db(transaction=True)
CALL = aside.call


@pytest.fixture(autouse=True)
def beside(nothing_aside: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """The real thing again, ended after the test so that it lets go of the database."""
    monkeypatch.setattr(aside, "call", CALL)
    yield
    aside.close()


def refuse(message: str) -> None:
    raise ApplicationError(message, {"head": 7}, 409)


def process_id() -> int:
    return os.getpid()


def break_down() -> None:
    raise KeyError("what is this")


def test_an_object_of_the_past_is_computed_in_another_process(
    driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(past, "_stretches", {})
    bound = RunEvent.objects.get(run=driven, object="pod/default/late", kind="PodBound").seq
    assert past.object_at(driven, "pod/default/late", seq=bound)["spec"]["nodeName"]
    assert "nodeName" not in past.object_at(driven, "pod/default/late", seq=bound - 1)["spec"]
    assert past._stretches == {}
    assert aside.call(process_id) != os.getpid()


def test_a_refusal_is_told_with_its_words() -> None:
    with pytest.raises(ApplicationError) as told:
        aside.call(refuse, message="not so")
    assert (told.value.message, told.value.extra, told.value.status) == ("not so", {"head": 7}, 409)


def test_a_mistake_is_told_with_its_traceback_and_the_next_call_works() -> None:
    with pytest.raises(RuntimeError, match="what is this"):
        aside.call(break_down)
    assert aside.call(process_id)


def test_a_process_that_was_killed_is_replaced() -> None:
    first = aside.call(process_id)
    os.kill(first, signal.SIGKILL)
    assert aside.call(process_id) not in (first, os.getpid())


def test_what_takes_too_long_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aside, "PATIENCE_SECONDS", 0.0)
    with pytest.raises(ApplicationError, match="too long"):
        aside.call(process_id)
    assert aside._child is None


def test_it_ends_with_its_parent() -> None:
    aside.call(process_id)
    child: Any = aside._child
    child.stdin.close()
    assert child.wait(5) == 0
