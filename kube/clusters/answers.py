"""What the service process answers: it makes clusters, moves their time, and deletes them."""

import time
from collections.abc import Callable, Sequence
from typing import Any

from django.db import transaction

from engine.input.loader import load_files
from engine.scheduler.configuration.scenario_schedulers import check_setup
from kscope.runs import services
from kscope.runs.app_registry import registry
from kscope.runs.errors import ApplicationError
from kscope.runs.languages.reader import said
from kscope.runs.models import Run
from kube.clusters.drivers import Drivers
from kube.kubeconfig import kubeconfig_text

# The time of a cluster does not end, unlike that of a scenario.
FAR = 1 << 61
_LOOK_SECONDS = 0.004
_STATES = (Run.Status.FINISHED, Run.Status.PAUSED, Run.Status.FAILED)


class Answers:
    """Runs that stand still at an instant until they are moved to the next one."""

    def __init__(self, origin: str) -> None:
        """kscope is served at *origin*."""
        self._origin = origin

    def create(self, files: Sequence[tuple[str, str]], options: dict[str, Any]) -> dict[str, Any]:
        """A run of the files at its first instant. Raises ApplicationError for their problems."""
        content = [(name, text.encode()) for name, text in files]
        loaded = load_files(content, check=check_setup)
        loaded.scenario = {**(loaded.scenario or {}), "until": FAR}
        scenario = services.scenario_store(name="cluster", result=loaded)
        run = services.run_create(scenario=scenario, **options)
        self.move(run.pk, 0)
        return {"run": run.pk, "kubeconfig": kubeconfig_text(self._origin, run.pk)}

    def look(self, run: int) -> dict[str, Any]:
        """Where the run stands, and its page."""
        found = Run.objects.only("head_at", "head_seq").get(pk=run)
        page = f"{self._origin}/runs/{run}/"
        return {"at": found.head_at, "seq": found.head_seq, "page": page}

    def move(self, run: int, until: int) -> dict[str, Any]:
        """Bring the run to virtual time *until*, and pause it there."""
        Run.objects.filter(pk=run).update(until=until)
        while True:
            found = Run.objects.get(pk=run)
            services.run_transport(run=found, action="play", speed=Run.Speed.MAX)
            self._wait(run)
            found = Run.objects.get(pk=run)
            if found.head_at >= until and self._stand(run):
                return self.look(run)
            if found.status == Run.Status.FAILED or found.stopped_by:
                raise ApplicationError(said(found.error or found.stop_reason))

    def play(self, run: int, speed: str) -> dict[str, Any]:
        """Let its time go on at this speed."""
        Run.objects.filter(pk=run).update(until=FAR)
        services.run_transport(run=Run.objects.get(pk=run), action="play", speed=speed)
        return {}

    def pause(self, run: int) -> dict[str, Any]:
        """Let its time stand still."""
        services.run_transport(run=Run.objects.get(pk=run), action="pause")
        return {}

    def delete(self, run: int) -> dict[str, Any]:
        """Delete the run, and its scenario where no other run is of it."""
        with transaction.atomic():
            found = Run.objects.select_related("scenario").filter(pk=run).first()
            if found is not None:
                services.run_delete(run=found)
                if not found.scenario.runs.exists():
                    found.scenario.delete()
        return {}

    def _wait(self, run: int) -> None:
        """Return once it does not play any more."""
        status = Run.objects.filter(pk=run).values_list("status", flat=True)
        while status.get() not in _STATES:
            time.sleep(_LOOK_SECONDS)

    def _stand(self, run: int) -> bool:
        """Pause a run that has come to its end; a command would otherwise play it again."""
        paused = Run.objects.filter(pk=run, status=Run.Status.FINISHED)
        return bool(paused.update(status=Run.Status.PAUSED))


def answers(origin: str) -> dict[str, Callable[..., dict[str, Any]]]:
    """What may be asked, by name; kscope is served at *origin*."""
    found = Answers(origin)
    registry.enqueue = Drivers().enqueue
    asked = (found.create, found.look, found.move, found.play, found.pause, found.delete)
    return {one.__name__: one for one in asked}
