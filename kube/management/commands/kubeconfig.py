"""`manage.py kubeconfig`: print how kubectl finds a run, now or at an instant of its past."""

from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from kscope.runs.served.runs import run_exists
from kube.addresses import moment_of
from kube.kubeconfig import kubeconfig_text


class Command(BaseCommand):
    help = "Print a kubeconfig for the Kubernetes API of a run."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the arguments."""
        parser.add_argument("run", type=int, help="its number")
        parser.add_argument(
            "--at", default="", help="an instant of its past: 5m30s, or an event, 812"
        )
        parser.add_argument("--origin", default="http://localhost:8000", help="where kscope is")
        parser.add_argument("--token", default="", help="where a login is required")

    def handle(self, *args: Any, run: int, at: str, origin: str, token: str, **_: Any) -> None:
        """Print it."""
        if not run_exists(run):
            raise CommandError(f"There is no run {run}.")
        if at and moment_of(at) is None:
            raise CommandError(f"{at!r} names no instant; use a time (5m30s) or an event (812).")
        self.stdout.write(kubeconfig_text(origin, run, instant=at, token=token), ending="")
