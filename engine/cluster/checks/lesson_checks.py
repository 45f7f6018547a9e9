"""The run that a lesson speaks of, played to its end, and what the lesson says wrongly of it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from engine.cluster.cluster import Cluster
from engine.input.lessons.holding import History, faults_of
from engine.input.lessons.lesson import Lesson, LessonRun
from engine.input.load_result import LoadResult, Problem
from engine.input.scenario import Scenario


def run_of(scenario: Scenario, run: LessonRun) -> Scenario:
    """*scenario* with the profile and the seed that a lesson asks for."""
    seed = scenario.seed if run.seed is None else run.seed
    return replace(scenario, profile=run.profile or scenario.profile, seed=seed)


def play_to_end(scenario: Scenario) -> History:
    """The history of *scenario* until its time is over.

    Raises what Cluster.create raises for a scenario that cannot be played.
    """
    cluster = Cluster.create(scenario, profile=scenario.profile, seed=scenario.seed)
    cluster.advance(scenario.until)
    taken = cluster.take()
    attempts = {one.seq: one.evidence for one in taken.attempts if one.evidence is not None}
    return History(taken.events, attempts)


def lesson_problems(
    result: LoadResult, name: str, play: Callable[[Scenario], History] = play_to_end
) -> Iterator[Problem]:
    """What the lessons of *result* say that their runs do not show; a run is played once.

    Raises what *play* raises.
    """
    scenario = Scenario.from_load(result, name=name)
    played: dict[LessonRun, History] = {}
    for loaded in result.lessons:
        lesson = Lesson.from_document(loaded.document)
        history = played.get(lesson.run)
        if history is None:
            history = played[lesson.run] = play(run_of(scenario, lesson.run))
        for fault in faults_of(lesson, history):
            yield loaded.problem(fault.path, fault.value, fault.message)
