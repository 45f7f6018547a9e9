"""`manage.py triage FILE…`: what is stuck in a cluster, by cause, and the best change for each."""

import argparse
from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError

from kscope.runs.drive.garbage import uncollected
from kscope.sim.errors import SimError
from kscope.sim.input.load_result import LoadResult
from kscope.sim.input.loader import load_paths
from kscope.sim.input.scenario import Scenario
from scheduling.engine.cluster.cluster import Cluster
from scheduling.engine.configuration.scenario_schedulers import check_setup
from scheduling.engine.triage.triage import triage
from scheduling.engine.versions.registry import DEFAULT, VERSIONS
from scheduling.management.commands.simulate import expand

_BAD_INPUT = 2
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
        parser.add_argument("files", nargs="+", metavar="FILE", help="a file, or a folder of them")
        parser.add_argument("--profile", choices=list(VERSIONS), help="default: the files'")
        parser.add_argument("--json", action="store_true", help="the answer as JSON")
        parser.add_argument("--no-changes", action="store_true", help="causes alone; try no change")

    def handle(self, *args: Any, **options: Any) -> None:
        """See BaseCommand. Raises CommandError for bad input, with exit status 2."""
        with uncollected():
            loaded = _loaded(options["files"])
            found = triage(
                _cluster(loaded, options["profile"]),
                [one.manifest for one in (*loaded.objects, *loaded.kept_aside)],
                tries_changes=not options["no_changes"],
            )
        if options["json"]:
            text = orjson.dumps(found.to_dict(), option=orjson.OPT_INDENT_2).decode() + "\n"
        else:
            text = found.text()
        self.stdout.write(text, ending="")
        if found.groups:
            raise SystemExit(_STUCK)


def _loaded(names: list[str]) -> LoadResult:
    try:
        loaded = load_paths(expand(names), check=check_setup)
    except OSError as error:
        if error.filename is None:
            raise
        raise _bad(f"{error.filename}: {error.strerror}") from error
    if not loaded.ok:
        raise _bad("\n".join(str(problem) for problem in loaded.problems))
    return loaded


def _cluster(loaded: LoadResult, profile: str | None) -> Cluster:
    scenario = Scenario.from_load(loaded, name="triage")
    try:
        return Cluster.create(scenario, profile=profile or scenario.profile or DEFAULT.name)
    except (SimError, ValueError) as refusal:
        raise _bad(str(refusal)) from refusal


def _bad(message: str) -> CommandError:
    return CommandError(message, returncode=_BAD_INPUT)
