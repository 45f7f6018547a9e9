"""`manage.py why FILE… KIND NAME`: why an object is in its state, and what would fix it."""

import argparse
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand

from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.asking import explain_as_it_stands
from engine.diagnosis.why import KIND_OF
from engine.input.load_result import LoadResult
from engine.kernel.garbage import collector_paused
from engine.objects.kinds import NAMESPACED
from scheduling.management.intake import add_intake_arguments, tell
from scheduling.management.standing import bad_input, load_files, standing_cluster, write_answer
from scheduling.process_forks import forks_of

# When a scenario is asked that has steps: it has to be played first.
_UNTIL = "60s"


class Command(BaseCommand):
    """Asks about one object: as it stands in the files, or after a scenario was played."""

    help = (
        "Explain why an object is in its state: "
        "manage.py why FILE pod shop/web-3, or FILE claim data, or FILE node n1. "
        "Files without steps are asked as they stand; nothing is played"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """See BaseCommand."""
        parser.add_argument(
            "files", nargs="+", metavar="FILE", help="a file, a folder, an archive, or - for stdin"
        )
        parser.add_argument("kind", help=f"{', '.join(sorted(KIND_OF))}, or any kind in the files")
        parser.add_argument("name", help="NAMESPACE/NAME, or NAME in namespace default")
        parser.add_argument(
            "--until",
            help="play to this instant and ask there; default: the instant of the files, or, for a "
            f"scenario with steps, {_UNTIL}",
        )
        parser.add_argument("--profile", help="the Kubernetes version; default: the scenario's")
        parser.add_argument("--json", action="store_true", help="the answer as JSON")
        add_intake_arguments(parser, watch="newest")

    def handle(self, *args: Any, **options: Any) -> None:
        """See BaseCommand. Raises CommandError for an object that cannot be asked about."""
        if options["until"] is None:
            loaded = load_files(options["files"], options)
            if not (loaded.scenario or {}).get("steps"):
                self._as_it_stands(loaded, options)
                return
        self._played(options)

    def _played(self, options: dict[str, Any]) -> None:
        prefix, name = str(options["kind"]).lower(), str(options["name"])
        if prefix not in KIND_OF:
            loaded = load_files(options["files"], options)
            stands = not (loaded.scenario or {}).get("steps")
            _, name = _asked(Evidence(loaded.everything if stands else ()), prefix, name)
        elif KIND_OF[prefix] in NAMESPACED and "/" not in name:
            name = f"default/{name}"
        words = [*options["files"], "--why", f"{prefix}/{name}"]
        words += ["--until", options["until"] or _UNTIL]
        words += ["--profile", options["profile"]] if options["profile"] else []
        words += ["--json"] if options["json"] else []
        words += [f"--watch={options['watch']}"]
        call_command("simulate", *words, stdout=self.stdout, stderr=self.stderr)

    def _as_it_stands(self, loaded: LoadResult, options: dict[str, Any]) -> None:
        # What is only left out of a run is read here as evidence.
        tell(self, loaded, leaves_out=frozenset(map(str, loaded.left_out)))
        with collector_paused():
            standing = standing_cluster(loaded, options["profile"])
            kind, key = _asked(standing.evidence, str(options["kind"]), str(options["name"]))
            answer = explain_as_it_stands(
                standing.cluster, standing.evidence, kind, key, make_forks=forks_of
            )
        if answer is None:
            raise bad_input(f"there is no {kind} {key} in {', '.join(options['files'])}")
        write_answer(self, answer, as_json=options["json"])


def _asked(evidence: Evidence, word: str, name: str) -> tuple[str, str]:
    """The kind and key that are meant: a word of entity ids, or any kind in the files.

    Raises CommandError for a kind that the files have no object of.
    """
    kind = KIND_OF.get(word.lower()) or evidence.kind_named(word)
    if not kind:
        known = ", ".join(sorted({*KIND_OF, *(each.lower() for each in evidence.kinds)}))
        raise bad_input(f"no explanation for {word!r}; known kinds are {known}")
    like = next(iter(evidence.all(kind)), None)
    has_namespace = like is not None and bool(like["metadata"].get("namespace"))
    if (kind in NAMESPACED or has_namespace) and "/" not in name:
        name = f"default/{name}"
    return kind, name
