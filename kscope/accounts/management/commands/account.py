"""`manage.py account`: make accounts, change their role and password, list them."""

from argparse import ArgumentParser
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from kscope.accounts import services
from kscope.accounts.access import Role, role_of


class Command(BaseCommand):
    help = "Create accounts, change their role and password, deactivate and list them."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the subcommands."""
        actions = parser.add_subparsers(dest="action", required=True)
        create = actions.add_parser("create", help="create an account; prints its password")
        create.add_argument("name")
        create.add_argument("--role", choices=Role.values, default=Role.VIEWER)
        role = actions.add_parser("role", help="change the role of an account")
        role.add_argument("name")
        role.add_argument("role", choices=Role.values)
        password = actions.add_parser(
            "password", help="give an account a new password, and print it; its sessions end"
        )
        password.add_argument("name")
        for action, words in (
            ("deactivate", "refuse its password, sessions and tokens"),
            ("activate", "accept them again"),
        ):
            actions.add_parser(action, help=words).add_argument("name")
        actions.add_parser("list", help="list all accounts")

    def handle(self, *args: Any, action: str, **options: Any) -> None:
        """Run the subcommand *action*."""
        if action == "list":
            for user in User.objects.select_related("account").order_by("username"):
                state = "" if user.is_active else "\tdeactivated"
                self.stdout.write(f"{user.username}\t{role_of(user)}{state}")
            return
        name = options["name"]
        if action == "create":
            if User.objects.filter(username=name).exists():
                raise CommandError(f"There is an account {name} already.")
            _, password = services.account_create(name=name, role=options["role"])
            self.stdout.write(f"account {name}, password {password} (shown only now)")
            return
        user = found_user(name)
        if action == "role":
            services.account_set_role(user=user, role=options["role"])
        elif action == "password":
            password = services.password_set(user=user)
            self.stdout.write(f"account {name}, password {password} (shown only now)")
        else:
            user.is_active = action == "activate"
            user.save(update_fields=["is_active"])


def found_user(name: str) -> User:
    """The user of this name. Raises CommandError."""
    try:
        return User.objects.get(username=name)
    except User.DoesNotExist:
        raise CommandError(f"There is no account {name}.") from None
