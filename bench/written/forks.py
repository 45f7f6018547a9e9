"""What a fork deep in a run costs, in the request and in the database, and forks of forks.

The baseline copies what the fork reads, as forks did before they were pointers: events, checkpoints,
keyframes and attempts up to its event.
"""

import statistics
import time
from collections.abc import Callable
from random import Random
from typing import Any

from bench.servers import servers, store_run, wait_until_finished
from bench.size import usual
from bench.table import Row
from engine.input.generate import synthetic

NODES = usual(1_000, least=10)
PODS = usual(12_000, least=30)
FORKS = usual(1_000, least=5)
_ASKED = usual(30, least=2)
PATIENCE_S = 1_800.0
_MEASURED = (
    "runs_run",
    "runs_historypart",
    "runs_command",
    "runs_eventchunk",
    "runs_checkpoint",
    "runs_keyframe",
    "runs_viewchunk",
    "runs_removedobject",
    "scheduling_recordedattempt",
)
_COPIED = (
    ("runs_eventchunk", "last_seq"),
    ("runs_checkpoint", "seq"),
    ("runs_keyframe", "seq"),
    ("runs_removedobject", "seq"),
    ("scheduling_recordedattempt", "seq"),
)


def bench(full: bool = False) -> list[Row]:
    """Time and bytes of one fork, and of reads, deletes and digests in a tree of many."""
    with servers() as stack:
        from kscope.runs import services
        from kscope.runs.models import Run

        run = store_run(synthetic(NODES, PODS * (2 if full else 1)))
        worker = stack.start_worker(run, "--again")
        Run.objects.filter(pk=run.pk).update(status=Run.Status.PLAYING)
        try:
            wait_until_finished(run, PATIENCE_S)
        finally:
            worker.stop()
        # Who drives the forks is not what is measured.
        services.registry.enqueue = lambda _: None
        deep = run.head_seq * 3 // 4
        copied_ms, copied_bytes = _copied(run, deep)
        services.run_fork(run=run, seq=deep)
        began = time.process_time()
        took = [_timed(lambda: services.run_fork(run=run, seq=deep)) for _ in range(_ASKED)]
        cpu_ms = (time.process_time() - began) * 1_000 / _ASKED
        least_ms = statistics.median(_timed(_one_statement) for _ in range(_ASKED))
        before = _bytes()
        tree = _grow(run, Random(1))
        grown = (_bytes() - before) / FORKS
        rows = [
            Row(
                name=f"a fork at event {deep:,} of {run.head_seq:,}, in the request",
                figure=statistics.median(took),
                unit="ms",
                baseline=copied_ms,
                against="copying what it reads",
                aim=50,
                at_least=False,
                note=f"{cpu_ms:.0f} ms of CPU; SELECT 1 takes {least_ms:.1f} ms at this load",
            ),
            Row(
                name=f"the same: {FORKS:,} forks of forks, each in the database",
                figure=grown / 1_000,
                unit="kB",
                baseline=copied_bytes / 1_000,
                against="copying what it reads",
                aim=10,
                at_least=False,
                note="before a worker writes the objects that there are",
            ),
        ]
        rows += _reads(run, tree)
        rows.append(_deletes(run, tree))
        return rows


def _timed(what: Callable[[], object]) -> float:
    """In milliseconds."""
    began = time.perf_counter()
    what()
    return (time.perf_counter() - began) * 1_000


def _one_statement() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT 1")


def _copied(run: Any, seq: int) -> tuple[float, int]:
    """What copying takes: milliseconds, and bytes."""
    from django.db import connection, transaction

    def copy() -> None:
        for table, place in _COPIED:
            cursor.execute(f"CREATE TABLE bench_{table} (LIKE {table} INCLUDING ALL)")
            cursor.execute(
                f"INSERT INTO bench_{table} SELECT * FROM {table}"
                f" WHERE run_id = %s AND {place} <= %s",
                [run.pk, seq],
            )
        cursor.execute("CREATE TABLE bench_chunk AS SELECT * FROM runs_viewchunk")

    with transaction.atomic(), connection.cursor() as cursor:
        took = _timed(copy)
        names = [*(f"bench_{table}" for table, _ in _COPIED), "bench_chunk"]
        size = sum(_size(cursor, name) for name in names)
        transaction.set_rollback(True)
    return took, size


def _bytes() -> int:
    from django.db import connection

    with connection.cursor() as cursor:
        return sum(_size(cursor, table) for table in _MEASURED)


def _size(cursor: Any, table: str) -> int:
    cursor.execute("SELECT pg_total_relation_size(%s::regclass)", [table])
    return int(cursor.fetchone()[0])


def _grow(run: Any, random: Random) -> list[Any]:
    """Forks of forks: each of any of those before, at an event that it has."""
    from kscope.runs import services

    tree = [run]
    for _ in range(FORKS):
        parent = random.choice(tree)
        tree.append(services.run_fork(run=parent, seq=random.randint(0, parent.head_seq)))
    return tree


def _reads(run: Any, tree: list[Any]) -> list[Row]:
    """A page of events and a state, of forks beside the run that they read."""
    from kscope.runs.models import RunEvent
    from kscope.runs.selectors import run_newest_events, run_state_texts

    random = Random(2)
    forks = random.sample(tree[1:], min(_ASKED, FORKS))
    seqs = [random.randint(0, fork.head_seq) for fork in forks]

    def page(of: Any, seq: int) -> float:
        return _timed(lambda: run_newest_events(of, seq=seq))

    def state(of: Any, seq: int) -> float:
        return _timed(lambda: run_state_texts(of, seq=seq))

    def listed(of: Any, seq: int) -> float:
        events = RunEvent.objects.filter(run_id=of.pk, seq__lte=seq, kind="PodBound")
        return _timed(lambda: list(events.order_by("-seq")[:50]))

    rows: list[Row] = []
    for name, ask in (("newest events", page), ("events of a kind", listed), ("state", state)):
        pairs = [(ask(fork, seq), ask(run, seq)) for fork, seq in zip(forks, seqs, strict=True)]
        of_forks, of_run = zip(*pairs, strict=True)
        rows.append(
            Row(
                name=f"{name} of a fork, at a random event, median",
                figure=statistics.median(of_forks),
                unit="ms",
                baseline=statistics.median(of_run),
                against="the run that it reads",
            )
        )
    return rows


def _deletes(run: Any, tree: list[Any]) -> Row:
    """The root and half of its forks go; whoever is left has the digest on record."""
    from kscope.operations.backup import histories_checked
    from kscope.runs import services

    took = [_timed(lambda each=each: services.run_delete(run=each)) for each in tree[: FORKS // 2]]
    left = {each.pk for each in tree[FORKS // 2 :]}
    # Other benches write events without digests.
    whole = [each.is_whole for each in histories_checked() if each.run.pk in left]
    assert whole == [True] * len(left), "a fork has lost a part of its history"
    return Row(
        name=f"deleting {len(took):,} parents, the slowest",
        figure=max(took),
        unit="ms",
        baseline=statistics.median(took),
        against="the median",
        note=f"the digests of the {len(whole):,} that are left are those on record",
    )
