"""`manage.py check_lessons`: play the runs of lessons, and say what their text claims wrongly."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand

from engine.cluster.checks.lesson_checks import lesson_problems
from engine.input.lessons.files import files_with
from engine.input.load_result import LoadResult, Problem
from engine.input.loader import load_paths
from engine.kernel.errors import SimError
from engine.objects.documents import DocumentError
from engine.scheduler.configuration.scenario_schedulers import check_setup
from kscope.glossary import unknown_terms
from scheduling.management.standing import bad_input, expand


class Command(BaseCommand):
    """Checks the lessons of files, each file with the scenario that it has or names."""

    help = "Play the runs of lessons, and check each instant, object and fact that they speak of."
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: ArgumentParser) -> None:
        """See docs/lessons.md."""
        parser.add_argument("files", nargs="+", metavar="FILE", help="a file, or a folder of them")

    def handle(self, *args: Any, **options: Any) -> None:
        """What is wrong is reported with file, document, line and field; the exit status is 2."""
        problems: list[Problem] = []
        count = 0
        for path in expand(options["files"]):
            result = load_paths(_files(path), check=check_setup)
            problems += result.problems or _untrue(result, path)
            count += len(result.lessons)
        if problems:
            raise bad_input("\n".join(str(problem) for problem in problems))
        self.stdout.write(f"Lessons that are true of their runs: {count}")


def _files(path: Path) -> list[Path]:
    try:
        return files_with(path, Path(settings.BASE_DIR, "scenarios"))
    except DocumentError as error:
        raise bad_input(f"{path}: line {error.line}: {error.why}") from error


def _untrue(result: LoadResult, path: Path) -> list[Problem]:
    try:
        return [*unknown_terms(result.lessons), *lesson_problems(result, path.stem)]
    except (SimError, ValueError) as refusal:
        raise bad_input(f"{path}: {refusal}") from refusal
