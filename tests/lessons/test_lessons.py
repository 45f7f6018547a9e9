"""Each lesson that kscope ships: what it says of its run is so, and its words are explained."""

from pathlib import Path

import pytest

from engine.cluster.checks.lesson_checks import lesson_problems, play_to_end
from engine.input.lessons.files import files_with
from engine.input.lessons.holding import History
from engine.input.load_result import LoadResult
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from engine.scheduler.configuration.scenario_schedulers import check_setup
from kscope.glossary import unknown_terms
from tests.scenarios.played import FOLDER

LESSONS = FOLDER / "lessons"
COURSES = sorted(path for path in LESSONS.iterdir() if path.is_dir())


def load(path: Path) -> LoadResult:
    """A lesson's file, with the scenario that it names."""
    return load_paths(files_with(path, FOLDER), check=check_setup)


# One test for each course: its lessons share their runs.
@pytest.mark.parametrize("course", COURSES, ids=lambda path: path.name)
def test_lessons_are_true_of_their_runs(course: Path) -> None:
    played: dict[tuple[str, str, int], History] = {}

    def play_once(scenario: Scenario) -> History:
        key = (scenario.name, scenario.profile, scenario.seed)
        if key not in played:
            played[key] = play_to_end(scenario)
        return played[key]

    for path in sorted(course.glob("*.yaml")):
        result = load(path)
        assert [str(each) for each in result.problems] == []
        assert result.lessons
        problems = [*unknown_terms(result.lessons)]
        problems += lesson_problems(result, path.stem, play_once)
        assert [str(each) for each in problems] == []


def test_names_of_lessons_are_unique() -> None:
    names = [one.name for path in LESSONS.glob("*/*.yaml") for one in load(path).lessons]
    assert len(names) == len(set(names))


def test_each_step_of_lessons_asserts_something() -> None:
    bare = [
        (one.name, step["title"])
        for path in LESSONS.glob("*/*.yaml")
        for one in load(path).lessons
        for step in one.document["spec"]["steps"]
        if not step.get("assert")
    ]
    assert bare == []
