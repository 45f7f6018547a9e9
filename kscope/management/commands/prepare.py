"""`manage.py prepare`: make a database ready to serve. `up` and docker-compose call it."""

import json
import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError

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
        password = first_admin()
        if options["report"]:
            options["report"].touch(mode=0o600)
            options["report"].write_text(json.dumps({"password": password}))
        elif password:
            self.stdout.write(f"admin account: user admin, password {password} (shown only now)")


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
