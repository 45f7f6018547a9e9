"""Load the demos of scenarios/ and the lessons of scenarios/lessons/; what is there, unchanged, stays as it is."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from engine.input.lessons.files import files_with
from engine.input.load_result import LoadedLesson, LoadResult
from engine.input.loader import load_files
from engine.scheduler.configuration.scenario_schedulers import check_setup
from kscope.runs import services
from kscope.runs.models import Lesson, Scenario
from kscope.runs.stories.keeping import story_keep

ORDER = (
    "checkout-surge",
    "sick-cluster",
    "zone-mismatch",
    "zone-mismatch-unchecked",
    "local-volumes",
    "smallest-fit",
    "fits-nowhere",
)


class Command(BaseCommand):
    help = "Load the demo scenarios and the lessons."

    def handle(self, *args: Any, **options: Any) -> None:
        """Store each file, and play it once; demos whose file is gone stop being demos, and lessons are deleted."""
        folder = settings.BASE_DIR / "scenarios"
        lessons = sorted((folder / "lessons").glob("*/*.yaml"))
        told: dict[Path, list[Path]] = {path: [] for path in sorted(folder.glob("*.yaml"))}
        for path in lessons:
            # The file of its scenario comes before it; a lesson with its own scenario is alone.
            told.setdefault(files_with(path, folder)[0], []).append(path)
        kept = {path: _kept(path, files) for path, files in told.items()}
        demos = [one.scenario.pk for one in kept.values() if one.scenario.is_demo]
        Scenario.objects.filter(is_demo=True).exclude(pk__in=demos).update(is_demo=False)
        _keep_lessons(lessons, kept.values())


@dataclass(frozen=True, slots=True)
class _Kept:
    """A scenario, and the lessons about it by their files."""

    scenario: Scenario
    lessons: dict[Path, list[LoadedLesson]]


def _kept(path: Path, lessons: list[Path]) -> _Kept:
    """Store the scenario in the file *path*, which is read once, together with its *lessons*."""
    result = _loaded(list(dict.fromkeys([path, *lessons])))
    # A demo is what its own file says: who looks at it knows nothing of lessons.
    own = replace(result, files={path.name: result.files[path.name]})
    if path in lessons:
        scenario = services.scenario_store(name=path.stem, result=own, is_of_lessons=True)
    else:
        scenario = services.scenario_store(
            name=path.stem, result=own, is_demo=True, position=_position(path)
        )
        story_keep(scenario)
    found = {
        each: [one for one in result.lessons if one.origin.file == each.name] for each in lessons
    }
    return _Kept(scenario, found)


def _keep_lessons(paths: Iterable[Path], kept: Iterable[_Kept]) -> None:
    """Store the lessons in the order of *paths*; those that are gone are deleted."""
    of_file = {
        path: (each.scenario, lessons) for each in kept for path, lessons in each.lessons.items()
    }
    slugs: list[str] = []
    for path in paths:
        scenario, loaded = of_file[path]
        services.lessons_keep(scenario=scenario, loaded=loaded, position=len(slugs))
        slugs += [one.name for one in loaded]
    Lesson.objects.filter(is_shipped=True).exclude(slug__in=slugs).delete()
    # What older lessons spoke of, if nobody has made a run of it.
    Scenario.objects.filter(is_of_lessons=True, lessons=None, runs=None).delete()


def _loaded(paths: list[Path]) -> LoadResult:
    files = [(path.name, path.read_bytes()) for path in paths]
    result = load_files(files, check=check_setup)
    if not result.ok:
        raise CommandError("\n".join(str(problem) for problem in result.problems))
    return result


def _position(path: Path) -> int:
    return ORDER.index(path.stem) if path.stem in ORDER else len(ORDER)
