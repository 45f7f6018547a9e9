"""Reading scheduling attempts."""

from typing import Any, cast

from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, RunEvent
from kscope.runs.replay import engine_at_seq
from scheduling.engine.cluster import Cluster
from scheduling.models import SchedulingAttempt


def attempt_evidence(attempt: SchedulingAttempt) -> dict[str, Any]:
    """The evidence of an attempt that was stored without it.

    The run is brought back from the nearest checkpoint to just before the attempt and made to take
    it again, this time with everything written down. Raises ApplicationError when that fails.
    """
    run = Run.objects.select_related("scenario").get(pk=attempt.run_id)
    began = RunEvent.objects.filter(
        run_id=run.pk, object=f"pod/{attempt.pod}", kind="AttemptStarted", seq__lt=attempt.seq
    )
    started = began.order_by("-seq").values_list("seq", flat=True).first() or attempt.seq
    cluster = cast("Cluster", engine_at_seq(run, seq=started - 1))
    for scheduler in cluster.schedulers:
        scheduler.keep_evidence = True
    while cluster.seq < attempt.seq and (due := cluster.next_at) is not None:
        cluster.advance(due, max_steps=1)
    for made in cluster.take().attempts:
        if made.pod == attempt.pod and made.seq == attempt.seq and made.evidence is not None:
            return made.evidence
    raise ApplicationError("The attempt could not be made again.", status=409)
