"""`manage.py why FILE KIND NAME`: why an object is in its state, and what would fix it."""

import argparse
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

from kscope.sim.objects.kinds import NAMESPACED
from scheduling.engine.diagnosis.why import KIND_OF


class Command(BaseCommand):
    """Plays a scenario to an instant and asks about one object."""

    help = (
        "Explain why an object is in its state: "
        "manage.py why FILE pod shop/web-3, or FILE claim data, or FILE node n1"
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        """See BaseCommand."""
        parser.add_argument("file", help="manifests or a scenario")
        parser.add_argument("kind", help=", ".join(sorted(KIND_OF)))
        parser.add_argument("name", help="NAMESPACE/NAME, or NAME in namespace default")
        parser.add_argument("--until", default="60s", help="the instant; default: 60s")
        parser.add_argument("--profile", help="the Kubernetes version; default: the scenario's")
        parser.add_argument("--json", action="store_true", help="the answer as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """See BaseCommand. Raises CommandError for a kind that cannot be asked about."""
        prefix, name = str(options["kind"]).lower(), str(options["name"])
        kind = KIND_OF.get(prefix)
        if kind is None:
            known = ", ".join(sorted(KIND_OF))
            raise CommandError(f"no explanation for {prefix!r}; known kinds are {known}")
        if kind in NAMESPACED and "/" not in name:
            name = f"default/{name}"
        words = [options["file"], "--why", f"{prefix}/{name}", "--until", options["until"]]
        words += ["--profile", options["profile"]] if options["profile"] else []
        words += ["--json"] if options["json"] else []
        call_command("simulate", *words, stdout=self.stdout, stderr=self.stderr)
