"""`manage.py compact`: delete and thin out what is old, or say what would go."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import connection

from kscope.operations.retention import (
    Plan,
    Policy,
    policy_of_settings,
    retention_apply,
    retention_plan,
    tables_to_vacuum,
)

MIB = 1024 * 1024


class Command(BaseCommand):
    """Applies the retention policy of the options, else that of the settings."""

    help = (
        "Delete and thin out what is old. Without options the settings KSCOPE_DELETE_RUNS_DAYS, "
        "KSCOPE_THIN_RUNS_DAYS and KSCOPE_DROP_EVIDENCE_DAYS say what; by default nothing goes."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--dry-run", action="store_true", help="only say what would go")
        parser.add_argument("--delete-runs-days", type=int, metavar="DAYS")
        parser.add_argument("--thin-runs-days", type=int, metavar="DAYS")
        parser.add_argument("--drop-evidence-days", type=int, metavar="DAYS")
        parser.add_argument(
            "--vacuum", action="store_true", help="give the room of deleted rows back to the tables"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Apply the policy, or only plan it (--dry-run); then vacuum, or print what could be."""
        policy = _policy(options)
        if policy.is_empty and not options["vacuum"]:
            self.stdout.write("Nothing to do: no age was given, and none is set.")
        else:
            plan = (retention_plan if options["dry_run"] else retention_apply)(policy)
            self._say(plan, "would be" if options["dry_run"] else "were")
        loose = tables_to_vacuum()
        for table, dead, live in loose:
            if options["vacuum"] and not options["dry_run"]:
                with connection.cursor() as cursor:
                    cursor.execute(f"VACUUM (ANALYZE) {connection.ops.quote_name(table)}")
                self.stdout.write(f"{table}: the room of {dead:,} deleted rows can be used again")
            else:
                self.stdout.write(
                    f"{table}: {dead:,} deleted rows beside {live:,}; `manage.py compact --vacuum` "
                    "makes their room usable at once, PostgreSQL does so by itself later"
                )

    def _say(self, plan: Plan, verb: str) -> None:
        for title, items, unit in (
            (f"Runs that {verb} deleted", plan.deleted, "events"),
            (f"Runs whose checkpoints {verb} thinned out", plan.thinned, "checkpoints"),
            (f"Runs whose evidence {verb} dropped", plan.emptied, "attempts"),
        ):
            self.stdout.write(f"{title}: {len(items)}")
            for item in items:
                size = item.size / MIB
                self.stdout.write(
                    f"  #{item.run} {item.name}: {item.count:,} {unit}, {size:,.1f} MiB"
                )
        self.stdout.write(f"{plan.size / MIB:,.1f} MiB {verb} freed in all.")


def _policy(options: dict[str, Any]) -> Policy:
    names = ("delete_runs_days", "thin_runs_days", "drop_evidence_days")
    given = {name: options[name] for name in names if options[name] is not None}
    for name, days in given.items():
        if days < 0:
            raise CommandError(f"--{name.replace('_', '-')} is {days}; it must not be below 0")
    return Policy(**given) if given else policy_of_settings()
