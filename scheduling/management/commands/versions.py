"""`manage.py versions`: docs/versions.md, the table of differences between versions."""

from argparse import ArgumentParser
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from engine.versions.shown.differences import markdown


class Command(BaseCommand):
    """Prints the table; --write writes docs/versions.md, --check compares that file with it."""

    help = "The table of differences between the Kubernetes versions: docs/versions.md."
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        """See BaseCommand."""
        parser.add_argument("--write", action="store_true", help="write docs/versions.md")
        parser.add_argument(
            "--check", action="store_true", help="fail if docs/versions.md is stale"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """See BaseCommand."""
        path = settings.BASE_DIR / "docs" / "versions.md"
        if options["write"]:
            path.write_text(markdown())
        elif options["check"]:
            if not path.exists() or path.read_text() != markdown():
                raise CommandError("docs/versions.md is stale: run manage.py versions --write")
        else:
            self.stdout.write(markdown(), ending="")
