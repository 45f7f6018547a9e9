"""What an engine process keeps of its work: the engine that it asked last, and what it answered.

An engine stays in the memory of the process; who asks it leaves it as it is, and tries changes in
forks. Answers are kept in the database: about an instant that stands, the second is at once, for
whoever asks, in whichever process, and in any language.
"""

import gc
import hashlib
import json
import zlib
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

import orjson

from engine.cluster.cluster import Cluster
from engine.cluster.source import fingerprint, package_digest
from engine.kernel.stored_sentences import restored, stored
from kscope.runs.models import KeptAnswer, Run

MOST = 200
"""So many answers of a run are kept; the oldest go first."""
_PACKAGES = ("kscope", "scheduling", "volumes")
Parts = Iterable[dict[str, Any]]
_Instant = tuple[object, ...]

# The engine that was asked last, and where of which history it stands.
_engine: tuple[_Instant, Cluster] | None = None


def engine_kept(run: Run, seq: int | None, make: Callable[[], Cluster]) -> Cluster:
    """The engine of *run* after event *seq*, None for its head; made unless it is kept.

    It is not to be changed. It is kept without what garbage collection would look through each time.
    """
    global _engine
    wanted = _instant(run, seq)
    if _engine is not None and _engine[0] == wanted:
        return _engine[1]
    if _engine is not None:
        _engine = None
        gc.unfreeze()
        gc.collect()
    made = make()
    gc.freeze()
    _engine = wanted, made
    return made


def engine_given(run: Run, engine: Cluster) -> bool:
    """Keep the *engine*, which another process had, for questions about the head of *run*.

    Whether it stands there; else it is not kept.
    """
    global _engine
    stands = (engine.seq, engine.now, engine.digest()) == (
        *(run.head_seq, run.head_at),
        run.head_digest,
    )
    if stands:
        _engine = _instant(run, None), engine
    return stands


def answered(
    run: Run, seq: int | None, question: Iterable[object], make: Callable[[], Parts]
) -> Iterator[dict[str, Any]]:
    """The parts of the answer to *question* about *run* after event *seq*: kept ones, or as they are made.

    They are kept once all are known. Raises what *make* raises; then nothing is kept. About what a
    fork reads of an ancestor, the ancestor's answers are given as well.
    """
    known = answer_kept(run, seq, question)
    if known is not None:
        yield from known
        return
    parts: list[Any] = []
    for part in make():
        parts.append(stored(part))
        yield part
    _keep(run, run.head_seq if seq is None else seq, _digest(run, seq, question), parts)


def answer_kept(
    run: Run, seq: int | None, question: Iterable[object]
) -> list[dict[str, Any]] | None:
    """The parts of an answer as in `answered`, if it is kept: no engine is needed for it."""
    whose = (run.pk, _writer(run, seq)[0])
    digest = _digest(run, seq, question)
    known = KeptAnswer.objects.filter(run_id__in=whose, question=digest).first()
    if known is None:
        return None
    parts: list[dict[str, Any]] = restored(json.loads(zlib.decompress(known.parts)))
    return [{**part, "run": run.pk} if "run" in part else part for part in parts]


def answered_whole(
    run: Run, seq: int | None, question: Iterable[object], make: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """As `answered`, of an answer that is no more than one part."""
    [answer] = answered(run, seq, question, lambda: [make()])
    return answer


def _keep(run: Run, seq: int, digest: str, parts: list[Any]) -> None:
    if not Run.objects.filter(pk=run.pk).exists():  # deleted meanwhile
        return
    text = zlib.compress(_json(parts), 1)
    KeptAnswer.objects.bulk_create(
        [KeptAnswer(run_id=run.pk, seq=seq, question=digest, parts=text)], ignore_conflicts=True
    )
    own = KeptAnswer.objects.filter(run_id=run.pk).order_by("-pk")
    if (oldest := own.values_list("pk", flat=True)[MOST : MOST + 1].first()) is not None:
        own.filter(pk__lte=oldest).delete()


def _json(parts: list[Any]) -> bytes:
    try:
        return orjson.dumps(parts)
    except TypeError:  # an integer of more than 64 bits, which a manifest may hold
        return json.dumps(parts).encode()


def _digest(run: Run, seq: int | None, question: Iterable[object]) -> str:
    """What an answer is kept by: the question, where the run stands, and all that computes it."""
    code = (fingerprint(), *map(package_digest, _PACKAGES))
    text = repr((tuple(question), _instant(run, seq), code))
    return hashlib.sha256(text.encode()).hexdigest()


def _instant(run: Run, seq: int | None) -> _Instant:
    """Where of which history an engine stands. Its head may be a later moment of the same event."""
    if seq is None or seq == run.head_seq:
        place = (run.head_seq, run.head_at, run.head_steps, run.head_commands, run.head_digest)
        return run.pk, run.created, "head", *place
    return *_writer(run, seq), "event", seq, run.cannot_continue_after


def _writer(run: Run, seq: int | None) -> tuple[int, datetime]:
    """The run that wrote event *seq* of the history of *run*, and when it was made."""
    if seq is not None and seq <= run.borrowed_seq:
        part = run.parts.filter(after__lt=seq, upto__gte=seq).first()
        if part is not None:
            return part.source, part.created
    return run.pk, run.created
