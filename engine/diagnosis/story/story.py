"""A run as a gallery shows it, made of what it recorded."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from engine.cluster.cluster import Cluster
from engine.diagnosis.story.reasons import reasons_of
from engine.diagnosis.story.replay import replay_of
from engine.diagnosis.story.thumbnail import drawing_of
from engine.diagnosis.trace.trace import Trace
from engine.input.scenario import Scenario
from engine.kernel.recorder import Event
from engine.scheduler.cycle.attempt import SchedulingAttempt


@dataclass(frozen=True, slots=True)
class Story:
    """`end` is the virtual time of its last event, `events` how many there are.

    `drawing` is an SVG, `reasons` are what Kubernetes Events said, `replay` is the run in motion.
    """

    end: int
    events: int
    drawing: str
    reasons: tuple[str, ...]
    replay: dict[str, Any]


def story_played(scenario: Scenario, *, profile: str) -> Story:
    """The story of *scenario*, played to its end as a run of it would be."""
    cluster = Cluster.create(scenario, profile=profile, seed=scenario.seed, tie_break="random")
    cluster.advance(scenario.until)
    taken = cluster.take()
    return story_of(taken.events, taken.attempts)


def story_of(events: Sequence[Event], attempts: Sequence[SchedulingAttempt]) -> Story:
    """The story that these events and attempts of a run tell."""
    trace = Trace()
    for event in events:
        is_event = bool(event.data and event.data.get("event"))
        trace.take(event.at, event.kind, event.object, event.component, is_event, event.changes)
    return Story(
        end=events[-1].at,
        events=len(events),
        drawing=drawing_of(trace, events),
        reasons=tuple(reasons_of(events)),
        replay=replay_of(trace, events, attempts),
    )
