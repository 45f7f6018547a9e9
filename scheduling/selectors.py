"""Reading scheduling attempts, and asking a run's engine about its pods."""

import threading
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import orjson
from django.utils.translation import gettext

from engine.cluster.cluster import Cluster
from engine.diagnosis.inquiry import last_of
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.report import Diagnosis
from engine.diagnosis.subjects.goals import Goal
from engine.diagnosis.triage.after_play import Observed, observed_after_play, unplayed
from engine.diagnosis.why import ASKED, explain_in_steps
from engine.kernel.garbage import collector_paused
from engine.scheduler.cycle.score_columns import ScoreColumns
from kscope.runs.aside.kept import answer_kept, answered, answered_whole, engine_kept
from kscope.runs.drive.replay import (
    engine_at_head,
    engine_at_seq,
    engine_created,
    replay_refused,
)
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, RunEvent
from kscope.runs.selectors import check_seq
from scheduling.findings.record_checks import NAMES, run_findings
from scheduling.models import SchedulingAttempt
from scheduling.process_forks import forks_of
from scheduling.triages import answer_as_it_stands, evidence_of

# A diagnosis holds a whole engine and its forks in memory, so only one may run at a time.
_diagnosing = threading.Lock()


def attempt_kept(run_id: int, pod: str, seq: int) -> dict[str, Any] | None:
    """The evidence of the newest attempt of "pod/namespace/name" up to event *seq*, if it was kept."""
    attempts = SchedulingAttempt.objects.filter(
        run_id=run_id, pod=pod.removeprefix("pod/"), seq__lte=seq
    )
    attempt = attempts.order_by("-seq").first()
    return None if attempt is None else evidence_kept(attempt)


def attempts_kept(run_id: int, seq: int) -> Iterator[dict[str, Any]]:
    """The attempts of a run up to event *seq* of which the evidence was kept, as run files have them."""
    attempts = SchedulingAttempt.objects.filter(run_id=run_id, seq__lte=seq, evidence__isnull=False)
    for each in attempts.order_by("id").iterator(200):
        yield _with_evidence(each, evidence_kept(each))


def attempts_recorded(run_id: int, seq: int, holds_evidence: bool) -> Iterator[dict[str, Any]]:
    """All attempts up to event *seq* in order, with their evidence where it was kept and is wanted."""
    attempts = SchedulingAttempt.objects.filter(run_id=run_id, seq__lte=seq)
    wanted = attempts if holds_evidence else attempts.defer("evidence")
    for each in wanted.order_by("seq").iterator(200):
        yield _with_evidence(each, evidence_kept(each) if holds_evidence else None)


def _with_evidence(attempt: SchedulingAttempt, evidence: dict[str, Any] | None) -> dict[str, Any]:
    parts = ("pod", "number", "seq", "at", "cycle", "result", "node")
    return {**{name: getattr(attempt, name) for name in parts}, "evidence": evidence}


def evidence_kept(attempt: SchedulingAttempt) -> dict[str, Any] | None:
    """The evidence stored with the attempt; None on a cluster where it is made on demand."""
    if attempt.evidence is None:
        return None
    kept = orjson.loads(zlib.decompress(attempt.evidence))
    # Older versions kept a dict for each node.
    if isinstance(kept["scores"], list):
        kept["scores"] = ScoreColumns(*kept["scores"])
    return _in_full(kept)


def _in_full(evidence: dict[str, Any]) -> dict[str, Any]:
    """The evidence as docs/evidence.md describes it."""
    return {**evidence, "scores": dict(evidence["scores"])}


def attempt_evidence(attempt: SchedulingAttempt) -> dict[str, Any]:
    """The evidence of an attempt that was stored without it.

    The run is replayed from the nearest checkpoint before the attempt, which is made again, this
    time with its evidence kept. Raises ApplicationError when that fails.
    """
    run = Run.objects.select_related("scenario").get(pk=attempt.run_id)
    began = RunEvent.objects.filter(
        run_id=run.pk, object=f"pod/{attempt.pod}", kind="AttemptStarted", seq__lt=attempt.seq
    )
    started = began.order_by("-seq").values_list("seq", flat=True).first()
    # A decision beside that of a client may be made long before it is recorded: docs/kubernetes-api.md.
    for start in (attempt.seq - 1, 0) if started is None else (started - 1,):
        found = _evidence_made_again(run, attempt, start)
        if found is not None:
            return found
    raise ApplicationError(gettext("The attempt could not be computed again."), status=409)


def _evidence_made_again(run: Run, attempt: SchedulingAttempt, start: int) -> dict[str, Any] | None:
    """The evidence by a replay from the nearest checkpoint not after event *start*.

    None if that comes after the decision. Raises ApplicationError.
    """

    def begin(engine: Cluster) -> None:
        for scheduler in engine.schedulers:
            scheduler.state.evidence_of = attempt.pod

    with replay_refused():
        cluster = engine_at_seq(run, seq=attempt.seq, start=start, begin=begin)
    for made in cluster.take().attempts:
        if made.pod == attempt.pod and made.seq == attempt.seq:
            return None if made.evidence is None else _in_full(made.evidence)
    return None


def attempt_evidence_by_id(run_id: int, attempt_id: int) -> dict[str, Any]:
    """See attempt_evidence. An answer that is kept is given again."""
    attempt = SchedulingAttempt.objects.get(run_id=run_id, pk=attempt_id)
    run, question = Run.described().get(pk=run_id), ("evidence", attempt.pk)
    return answered_whole(run, attempt.seq, question, lambda: attempt_evidence(attempt))


def diagnosis_by_id(run_id: int, kind: str, key: str, seq: int | None) -> dict[str, Any]:
    """See diagnosis. An answer that is kept is given again."""
    run = Run.described().get(pk=run_id)

    def make() -> dict[str, Any]:
        if _is_as_brought(run, seq):
            return _answered_as_it_stands(run, kind, key)
        return diagnosis(run, kind, key, seq=seq)

    return answered_whole(run, seq, _why(kind, key), make)


def diagnosis_parts_by_id(
    run_id: int, kind: str, key: str, seq: int | None
) -> Iterator[dict[str, Any]]:
    """The diagnosis as it is found: the causes at once, then each fix, then the rest.

    The first part is the diagnosis without fixes, the next ones are {"fix": …}, the last one has
    what is known only at the end: outlook, tried, conclusion. An answer that is kept is given again.
    """
    run = Run.described().get(pk=run_id)
    make = _parts_as_it_stands if _is_as_brought(run, seq) else partial(_parts, seq=seq)
    question = _why(kind, key, in_parts=True)
    yield from answered(run, seq, question, lambda: make(run, kind, key))


def diagnosis_kept(
    run: Run, kind: str, key: str, seq: int | None, *, in_parts: bool
) -> list[dict[str, Any]] | None:
    """The parts of a diagnosis that is kept, or the whole; None where it has to be computed."""
    return answer_kept(run, seq, _why(kind, key, in_parts=in_parts))


def _why(kind: str, key: str, *, in_parts: bool = False) -> tuple[str, str, str]:
    return "why in parts" if in_parts else "why", kind, key


def _parts(run: Run, kind: str, key: str, *, seq: int | None) -> Iterator[dict[str, Any]]:
    sent, found = 0, None
    for step in _steps(run, kind, key, seq):
        found = step.found
        if sent == 0:
            yield _answer(run, seq, replace(step, found=replace(found, fixes=())))
            sent = 1
        for fix in found.fixes[sent - 1 :]:
            yield {"fix": fix.to_dict()}
            sent += 1
    assert found is not None
    whole = found.to_dict()
    yield {name: whole[name] for name in ("outlook", "tried", "conclusion")}


def _is_as_brought(run: Run, seq: int | None) -> bool:
    """Whether the question is about a cluster as it was brought: nothing was played since."""
    return run.stands and seq in (None, run.head_seq)


def _answered_as_it_stands(run: Run, kind: str, key: str) -> dict[str, Any]:
    with _diagnosing:
        found = answer_as_it_stands(run, kind, key)
    if found is None:
        raise ApplicationError(
            gettext("There is no {kind} {key} in the files of this run.").format(
                kind=kind, key=key
            ),
            status=404,
        )
    return {"run": run.pk, "seq": run.head_seq, "outcome": "", **found.to_dict()}


def _parts_as_it_stands(run: Run, kind: str, key: str) -> Iterator[dict[str, Any]]:
    found = _answered_as_it_stands(run, kind, key)
    yield {**found, "fixes": []}
    yield from ({"fix": each} for each in found["fixes"])
    yield {name: found[name] for name in ("outlook", "tried", "conclusion")}


def diagnosis(run: Run, kind: str, key: str, *, seq: int | None) -> dict[str, Any]:
    """Why an object is as it is after event *seq* (None: now): docs/why-pending.md.

    *kind* is one of `ASKED` and *key* is "namespace/name", or "name" for what has no namespace.

    An engine is brought to that instant, and changes are tried in forks of it: this takes about as
    long as a seek, then a second or two where the cluster is large. Raises ApplicationError when
    the run has no such event or object.
    """
    return _answer(run, seq, last_of(_steps(run, kind, key, seq)))


@dataclass(frozen=True, slots=True)
class _Step:
    """A step of a diagnosis: what is found, its outcome, and what the files said; None for nothing."""

    found: Diagnosis
    outcome: str
    observed: Observed | None


def _steps(run: Run, kind: str, key: str, seq: int | None) -> Iterator[_Step]:
    """The steps of the diagnosis. Raises ApplicationError for an object that is nowhere."""
    if seq is not None:
        check_seq(run, seq, first=1)
    with _diagnosing:
        cluster = engine_kept(run, seq, lambda: _taken(cluster_at(run, seq)))
        with collector_paused():
            evidence = evidence_of(run) if run.scenario.as_brought else Evidence(())
            kind = evidence.kind_named(kind) or kind
            observed = observed_after_play(cluster, evidence, kind, key)
            if kind not in ASKED:
                if observed is None:
                    raise ApplicationError(
                        gettext("There is no {kind} {key}.").format(kind=kind, key=key), status=404
                    )
                yield _Step(unplayed(cluster, kind, key), "", observed)
                return
            outcome = Goal(kind, key).outcome(cluster)
            for found in explain_in_steps(cluster, kind, key, forks_of(cluster)):
                if found.state == "absent" and observed is None:
                    raise ApplicationError(found.sentence, status=404)
                yield _Step(found, outcome, observed)


def _taken(cluster: Cluster) -> Cluster:
    cluster.take()
    return cluster


def _answer(run: Run, seq: int | None, step: _Step) -> dict[str, Any]:
    shown = {"run": run.pk, "seq": run.head_seq if seq is None else seq, "outcome": step.outcome}
    observed = {} if step.observed is None else step.observed.to_dict()
    return {**shown, **step.found.to_dict(), **observed}


def checks_by_id(run_id: int) -> dict[str, Any]:
    """What the checks find in the run at its head: {run, seq, checks: [name], findings: [sentence]}.

    The engine is replayed, and everything recorded is read. Raises ApplicationError when the run
    moves on meanwhile.
    """
    run = Run.objects.select_related("scenario").get(pk=run_id)
    findings = run_findings(run, cluster_at(run, None))
    if Run.objects.values_list("head_seq", flat=True).get(pk=run_id) != run.head_seq:
        raise ApplicationError(
            gettext("The run moved on while it was checked; pause it first."), status=409
        )
    return {"run": run.pk, "seq": run.head_seq, "checks": [*NAMES], "findings": findings}


def cluster_at(run: Run, seq: int | None) -> Cluster:
    """The cluster of *run* after event *seq*, or at its head. Raises ApplicationError."""
    with replay_refused():
        if run.head_seq == 0:
            return engine_created(run)
        if seq is None or seq == run.head_seq:
            return engine_at_head(run)
        return engine_at_seq(run, seq=seq)
