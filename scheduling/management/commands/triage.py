"""`manage.py triage FILE…`: what is stuck in a cluster, by cause, and the best change for each."""

import argparse
from typing import Any

from django.core.management.base import BaseCommand

from engine.diagnosis.triage.triage import triage
from engine.kernel.garbage import collector_paused
from engine.versions.registry import VERSIONS
from scheduling.management.intake import add_intake_arguments, tell
from scheduling.management.standing import load_files, standing_cluster, write_answer

_STUCK = 1


class Command(BaseCommand):
    """Groups what is stuck by cause; nothing is played."""

    help = (
        "Say what is stuck in a cluster (kubectl get … -o yaml), by cause, and what would let it go "
        "on. The exit status is 1 if anything is stuck."
    )
    requires_system_checks: list[str] = []
    requires_migrations_checks = False

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """See BaseCommand."""
        parser.add_argument(
            "files", nargs="+", metavar="FILE", help="a file, a folder, an archive, or - for stdin"
        )
        parser.add_argument("--profile", choices=list(VERSIONS), help="default: the files'")
        parser.add_argument("--json", action="store_true", help="the answer as JSON")
        parser.add_argument("--no-changes", action="store_true", help="causes alone; try no change")
        add_intake_arguments(parser, watch="newest")

    def handle(self, *args: Any, **options: Any) -> None:
        """See BaseCommand. Raises CommandError for bad input, with exit status 2."""
        loaded = load_files(options["files"], options)
        tell(self, loaded, leaves_out=frozenset(map(str, loaded.left_out)), asks=False)
        with collector_paused():
            standing = standing_cluster(loaded, options["profile"])
            tries = not options["no_changes"]
            found = triage(standing.cluster, standing.evidence, tries_changes=tries)
        write_answer(self, found, as_json=options["json"])
        if found.groups:
            raise SystemExit(_STUCK)
