"""`manage.py check_run ID …`: whether the parts of a run agree with each other."""

import argparse
import sys
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run
from scheduling.selectors import checks_by_id


class Command(BaseCommand):
    """Checks runs at their heads; exit status 1 when something does not agree."""

    help = (
        "Check that the parts of a run agree: store, cache, node table, view, rows and events. "
        "Exit status 1 when they do not."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """See BaseCommand."""
        parser.add_argument("run", nargs="+", type=int, help="the number of a run")

    def handle(self, *args: Any, **options: Any) -> None:
        """Print what each run's checks find. Raises CommandError for a run that cannot be checked."""
        found = [self._checked(run_id) for run_id in options["run"]]
        if any(found):
            sys.exit(1)

    def _checked(self, run_id: int) -> list[str]:
        try:
            answer = checks_by_id(run_id)
        except Run.DoesNotExist:
            raise CommandError(f"there is no run {run_id}") from None
        except ApplicationError as problem:
            raise CommandError(f"run {run_id}: {problem}") from problem
        findings: list[str] = answer["findings"]
        where = f"run {run_id}, event {answer['seq']}"
        for finding in findings:
            self.stdout.write(f"{where}: {finding}")
        if not findings:
            self.stdout.write(f"{where}: {len(answer['checks'])} checks found nothing wrong")
        return findings
