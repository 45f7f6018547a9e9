"""What is stuck in the scenarios that stand, as it was found and kept for runs, pages and REST.

It is kept in no language: with the patterns of its sentences and their arguments.
"""

from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from engine.cluster.source import fingerprint
from engine.kernel.stored_sentences import restored, stored
from kscope.runs.models import Run, Triage


def triage_known(run: Run) -> Triage | None:
    """What this version of kscope has found of the run's scenario; None before that."""
    return _of_engine().filter(scenario_id=run.scenario_id, **_version(run)).first()


def document_of(known: Triage) -> dict[str, Any]:
    """What was found, with its sentences."""
    document: dict[str, Any] = restored(known.document)
    return document


def triage_keep(run: Run, document: dict[str, Any], *, is_whole: bool) -> None:
    """Keep what was found; what another version of kscope found is replaced."""
    found = {
        "document": stored(document),
        "is_whole": is_whole,
        "stuck": len(document["groups"]),
        "engine_digest": fingerprint(),
    }
    Triage.objects.update_or_create(scenario_id=run.scenario_id, **_version(run), defaults=found)


def with_stuck(runs: QuerySet[Run]) -> QuerySet[Run]:
    """*runs*, each read with the number of causes that hold anything: see `run_stuck`."""
    same = {name: OuterRef(name) for name in ("scenario_id", "profile", "feature_gates")}
    counts = _of_engine().filter(**same).values("stuck")[:1]
    return runs.annotate(stuck_as_read=Subquery(counts))


def run_stuck(run: Run) -> int | None:
    """How many causes hold anything in the cluster of the run as it was brought; None: not asked."""
    if not run.scenario.as_brought:
        return None
    read_with_it = vars(run)
    if "stuck_as_read" in read_with_it:
        number: int | None = read_with_it["stuck_as_read"]
        return number
    found = triage_known(run)
    return found.stuck if found else None


def _version(run: Run) -> dict[str, Any]:
    return {"profile": run.profile, "feature_gates": run.feature_gates}


def _of_engine() -> QuerySet[Triage]:
    return Triage.objects.filter(engine_digest=fingerprint())
