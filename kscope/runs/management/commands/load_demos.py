"""Load the demos of scenarios/ and the lessons of scenarios/lessons/; what is there, unchanged, stays as it is."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from engine.input.lessons.files import files_with
from engine.input.load_result import LoadResult
from engine.input.loader import load_files
from engine.scheduler.configuration.scenario_schedulers import check_setup
from kscope.runs import services
from kscope.runs.models import Lesson, Scenario

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
        """Store each file; demos whose file is gone stop being demos, and lessons are deleted."""
        demos: dict[str, Scenario] = {}
        for path in sorted((settings.BASE_DIR / "scenarios").glob("*.yaml")):
            result = _loaded([path])
            scenario = services.scenario_store(
                name=path.stem, result=result, is_demo=True, position=_position(path)
            )
            demos[path.stem] = scenario
        kept = [each.pk for each in demos.values()]
        Scenario.objects.filter(is_demo=True).exclude(pk__in=kept).update(is_demo=False)
        _load_lessons(demos)


def _load_lessons(demos: Mapping[str, Scenario]) -> None:
    """Store the lessons about *demos*, by the stem of their files, and those with their own scenario."""
    slugs: list[str] = []
    folder, scenarios = settings.BASE_DIR / "scenarios" / "lessons", settings.BASE_DIR / "scenarios"
    for path in sorted(folder.glob("*/*.yaml")):
        files = files_with(path, scenarios)
        result = _loaded(files)
        if len(files) > 1:
            scenario = demos[files[0].stem]
        else:
            scenario = services.scenario_store(name=path.stem, result=result, is_of_lessons=True)
        services.lessons_keep(scenario=scenario, loaded=result.lessons, position=len(slugs))
        slugs += [one.name for one in result.lessons]
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
