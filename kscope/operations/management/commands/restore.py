"""`manage.py restore FILE`: fill the database from a backup, and check what came back."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from kscope.operations.backup import BackupError, backup_restore, histories_checked


class Command(BaseCommand):
    """Restores, migrates, and computes the digest of every history again."""

    help = "Fill the database from a backup; it must hold no runs."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)
        parser.add_argument(
            "--replace", action="store_true", help="even if the database holds runs: they are lost"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Restore, and name each run whose digest is wrong. Raises CommandError if there is one."""
        try:
            backup_restore(options["file"], replace=options["replace"])
        except (BackupError, DatabaseError) as problem:
            raise CommandError(str(problem)) from problem
        checked = list(histories_checked())
        broken = [each.run for each in checked if not each.is_whole]
        for run in broken:
            self.stderr.write(f"run {run.pk} {run.name}: its events do not have its digest")
        whole = len(checked) - len(broken)
        self.stdout.write(f"{len(checked):,} runs restored, {whole:,} with the digest on record.")
        if broken:
            raise CommandError(f"{len(broken)} runs are not as they were saved.")
