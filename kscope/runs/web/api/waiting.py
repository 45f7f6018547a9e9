"""Waiting for a run: a request that is answered once the run is where the client wants it."""

import asyncio
import time

import orjson
from asgiref.sync import sync_to_async
from django.db import close_old_connections, connection
from django.utils.translation import gettext
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request

from kscope.runs import selectors
from kscope.runs.access import found_run
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run
from kscope.runs.web.answers import JSON, EngineView, LateAnswer, refused
from kscope.runs.web.contract.queries import query, whole
from kscope.runs.web.contract.schema import RUN

USUAL_SECONDS, MOST_SECONDS = 30, 60
# Between two looks at the run.
LOOK_SECONDS = 0.25


class WaitAnswer(LateAnswer):
    """The run as soon as it has event *seq*, or rests, or after so many *seconds*."""

    def __init__(self, run: Run, seq: int | None, seconds: int) -> None:
        super().__init__(content_type=JSON)
        self._run = run
        self._seq = seq
        self._ends = time.monotonic() + seconds

    async def fill(self, asker: str) -> None:
        """See LateAnswer."""
        run: Run | None = self._run
        while run is not None and not self._is_there(run) and time.monotonic() < self._ends:
            await asyncio.sleep(LOOK_SECONDS)
            run = await sync_to_async(_looked)(run.pk)
        if run is None:
            gone = gettext("Run {number} was deleted.").format(number=self._run.pk)
            refusal = refused(ApplicationError(gone, status=404))
            self.content, self.status_code = refusal.content, refusal.status_code
            self.headers["Content-Type"] = refusal.headers["Content-Type"]
            return
        shown = await sync_to_async(selectors.run_dict)(run)
        self.content = orjson.dumps(shown)

    def _is_there(self, run: Run) -> bool:
        reached = self._seq is not None and run.head_seq >= self._seq
        return reached or _rests(run)


def _looked(run_id: int) -> Run | None:
    """The run as it is now. Whoever waits holds no connection to the database meanwhile."""
    run = Run.described().filter(pk=run_id).first()
    if not connection.in_atomic_block:  # as it is around a test
        close_old_connections()
    return run


def _rests(run: Run) -> bool:
    """Whether nothing will happen in the run before somebody asks for it."""
    is_brought = run.is_started and run.goal_at is None
    still = run.status != Run.Status.PLAYING and not run.steps_wanted
    return run.status == Run.Status.FAILED or (still and is_brought)


class RunWait(EngineView):
    """The run, once it is where the client wants it."""

    @extend_schema(
        operation_id="runs_wait",
        parameters=[
            query(
                "WaitQuery",
                {
                    "seq": whole("until the run has this event; when absent, until it rests"),
                    "seconds": whole(
                        f"at most so long; default: {USUAL_SECONDS}", most=MOST_SECONDS
                    ),
                },
            )
        ],
        responses=RUN,
    )
    def get(self, request: Request, run_id: int) -> WaitAnswer:
        """Answers when it has that event, when it neither plays nor steps, or when the time is up."""
        seconds = self.asked["seconds"]
        wanted = USUAL_SECONDS if seconds is None else seconds
        return WaitAnswer(found_run(request, run_id), self.asked["seq"], wanted)
