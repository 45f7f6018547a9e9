"""`manage.py token`: make, list and revoke tokens of an account."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kscope.accounts import services
from kscope.accounts.access import Scope
from kscope.accounts.management.commands.account import found_user
from kscope.accounts.models import Token


class Command(BaseCommand):
    help = "Create, list and revoke tokens of an account."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the subcommands."""
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="create a token; prints it, once")
        create.add_argument("account")
        create.add_argument("name")
        create.add_argument("--scope", choices=Scope.values, default=Scope.READ)
        create.add_argument("--days", type=int, default=90, help="0 for one that never expires")
        revoke = actions.add_parser("revoke", help="make a token invalid from now on")
        revoke.add_argument("account")
        revoke.add_argument("name")
        actions.add_parser("list", help="list the tokens of an account").add_argument("account")

    def handle(self, *args: Any, action: str, account: str, **options: Any) -> None:
        """Run the subcommand *action*."""
        user = found_user(account)
        tokens = Token.objects.filter(user=user)
        if action == "list":
            for token in tokens:
                until = f"until {token.expiry:%Y-%m-%d}" if token.expiry else "without expiry"
                self.stdout.write(f"{token.name}\t{token.scope}\t{until}")
            return
        named = tokens.filter(name=options["name"])
        if action == "revoke":
            if not named.delete()[0]:
                raise CommandError(f"{account} has no token {options['name']}.")
            return
        if named.exists():
            raise CommandError(f"{account} has a token {options['name']} already.")
        _, text = services.token_create(
            user=user, name=options["name"], scope=options["scope"], days=options["days"] or None
        )
        self.stdout.write(text)
