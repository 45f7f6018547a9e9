"""`manage.py createsuperuser`: refused, because Django's own can be made to take any password."""

from typing import Any

from django.contrib.auth.management.commands import createsuperuser
from django.core.management.base import CommandError


class Command(createsuperuser.Command):
    """Names the command to use instead."""

    help = "Not used: see `manage.py account create --role admin`."

    def handle(self, *args: Any, **options: Any) -> None:
        """Refuse."""
        raise CommandError("Use `manage.py account create NAME --role admin`.")
