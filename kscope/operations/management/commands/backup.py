"""`manage.py backup FILE`: save the whole database."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError

from kscope.operations.backup import BackupError, backup_write
from kscope.runs.models import Run


class Command(BaseCommand):
    """Saves accounts, scenarios and runs with all they recorded, as of one moment."""

    help = "Save the whole database to a file; kscope may go on meanwhile."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument("--force", action="store_true", help="overwrite the file")

    def handle(self, *args: Any, **options: Any) -> None:
        """Write the file, and print the number of runs and its size."""
        file: Path = options["file"]
        if file.exists() and not options["force"]:
            raise CommandError(f"{file} exists; choose another name or say --force")
        if not file.absolute().parent.is_dir():
            raise CommandError(f"{file.absolute().parent} is not a directory")
        try:
            runs = Run.objects.count()
            size = backup_write(file)
        except OperationalError as away:
            raise CommandError(
                f"The database does not answer: {away}\nStart kscope, or set DATABASE_URL."
            ) from away
        except (BackupError, OSError) as problem:
            raise CommandError(str(problem)) from problem
        self.stdout.write(f"{file}: {runs:,} runs, {size / 1024 / 1024:,.1f} MiB")
