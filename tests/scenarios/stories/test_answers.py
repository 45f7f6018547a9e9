"""What each demo says of itself: what its pages select, and the answer that its run bears out."""

import re

import pytest

from engine.kernel.recorder import Event
from engine.kernel.units import SECOND
from tests.scenarios.played import FOLDER, Played, demo

DEMOS = sorted(path.stem for path in FOLDER.glob("*.yaml"))
# An instant that an answer names: "at 40 s", "until 18.1 s".
_INSTANT = re.compile(r"\b(?:at|[Uu]ntil) (\d+(?:\.(\d+))?) s\b")


def proving(played: Played) -> Event | None:
    """The event that proves the answer."""
    proof = played.scenario.told["proof"]
    return next(
        (
            event
            for event in played.events
            if event.kind == proof["event"]
            and event.object == proof.get("object", event.object)
            and proof.get("message", "") in event.message
        ),
        None,
    )


@pytest.mark.parametrize("name", DEMOS)
def test_demo_has_everything_that_tells_it(name: str) -> None:
    assert demo(name).scenario.told.keys() == {"topic", "tags", "select", "answer", "proof"}


@pytest.mark.parametrize("name", DEMOS)
def test_an_event_proves_the_answer(name: str) -> None:
    assert proving(demo(name)) is not None


@pytest.mark.parametrize("name", DEMOS)
def test_answer_names_the_object_that_is_selected(name: str) -> None:
    told = demo(name).scenario.told
    assert re.search(rf"\b{re.escape(told['select'].split('/')[-1])}\b", told["answer"])


@pytest.mark.parametrize("name", DEMOS)
def test_selected_object_is_there_in_the_end(name: str) -> None:
    assert demo(name).scenario.told["select"] in demo(name).end


@pytest.mark.parametrize("name", DEMOS)
def test_something_happens_at_each_instant_named(name: str) -> None:
    played = demo(name)
    for instant, digits in _INSTANT.findall(played.scenario.told["answer"]):
        known = {f"{event.at / SECOND:.{len(digits)}f}" for event in played.events}
        assert instant in known, f"nothing happens at {instant} s"
