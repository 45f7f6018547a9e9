"""`manage.py prepare`: make a database ready to serve. `up` and docker-compose call it."""

import json
import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import transaction

from kscope.accounts.access import Role
from kscope.accounts.models import Account
from kscope.accounts.services import account_create


class Command(BaseCommand):
    """Migrate, load the demo scenarios, make the first admin. Safe to repeat."""

    help = "Migrate, load the demo scenarios and make the first admin account."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--report", type=Path, help="write the new password here, as JSON")

    def handle(self, *args: Any, **options: Any) -> None:
        """Migrate, load the demos, make the admin; then report or print the new password."""
        call_command("migrate", interactive=False, verbosity=options["verbosity"])
        call_command("load_demos")
        if options["report"]:
            first_admin_reported(options["report"])
        elif password := first_admin():
            self.stdout.write(f"admin account: user admin, password {password} (shown only now)")


def first_admin_reported(report: Path) -> None:
    """Like `first_admin`; writes the password to *report*, which stays until its reader deletes it.

    It is written before the account is there for good: whenever this, or the reader, is interrupted,
    the next call makes the account with another password or leaves the one that was never shown.
    """
    with transaction.atomic():
        password = first_admin()
        if not password and _is_unread(report):
            return
        report.touch(mode=0o600)
        report.write_text(json.dumps({"password": password}))


def _is_unread(report: Path) -> bool:
    """Whether *report* holds the password with which the first admin can log in."""
    try:
        password = json.loads(report.read_text())["password"]
    except (OSError, ValueError):  # There is none, or it was cut short.
        return False
    admin = User.objects.filter(username="admin").first()
    return bool(password) and admin is not None and admin.check_password(password)


def first_admin() -> str:
    """Make the account `admin` if no account has that role; returns its password, else "".

    KSCOPE_ADMIN_PASSWORD sets the password; otherwise it is random. Raises CommandError for one
    against the rules.
    """
    if Account.objects.filter(role=Role.ADMIN).exists():
        return ""
    given = os.environ.get("KSCOPE_ADMIN_PASSWORD", "")
    try:
        return account_create(name="admin", role=Role.ADMIN, password=given)[1]
    except ValidationError as problem:
        raise CommandError(f"KSCOPE_ADMIN_PASSWORD: {' '.join(problem.messages)}") from None
