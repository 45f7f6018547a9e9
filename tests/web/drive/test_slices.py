"""What one transaction writes of a run: a slice where it belongs, and nothing anywhere else."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection

from engine.api_server.store.write_record import Written
from engine.cluster.cluster import Slice
from engine.input.budget import Stop
from engine.kernel.recorder import EventRow
from kscope.runs.app_registry import registry
from kscope.runs.drive import slices
from kscope.runs.drive.checkpoints import Saved
from kscope.runs.drive.slices import Commit, Head, LostLease, slice_commit, slice_packed
from kscope.runs.drive.tables.run_table import FEW_ROWS
from kscope.runs.history.chunks import digest_of
from kscope.runs.history.keyframes import Frozen
from kscope.runs.models import Checkpoint, Run, RunEvent
from scheduling.models import Pod

pytestmark = pytest.mark.django_db(transaction=True)
Start = Callable[..., Run]

POD = "pod/default/p"
few_or_many = pytest.mark.parametrize("count", [3, FEW_ROWS + 1])


class Writing:
    """The slices of one run, written by hand."""

    def __init__(self, run: Run) -> None:
        self.run = run
        epoch = slices.lease_take(run.pk, "first")
        assert epoch is not None
        self.epoch = epoch
        self.head: Head | None = None

    def write(self, count: int, **options: Any) -> slices.Controls:
        """Write *count* events more, each of which writes the pod."""
        first = self.head.seq + 1 if self.head else 1
        commit = _commit(first, count, {"before": self.head, **options})
        controls = slice_commit(self.run.pk, self.epoch, commit)
        self.head = commit.head
        return controls


def _commit(first: int, count: int, options: dict[str, Any]) -> Commit:
    rows = [
        EventRow(seq, seq, "PodUpdated", POD, "test", None, "", None, None)
        for seq in range(first, first + count)
    ]
    last = rows[-1].seq
    manifest = {"metadata": {"namespace": "default", "name": "p"}, "seq": last}
    piece = Slice([], rows, {POD: manifest}, {POD: Written(1, last)}, [], [])
    head = Head(seq=last, at=last, steps=last, commands=0, digest=f"of {last}", next_at=None)
    return Commit(packed=slice_packed(piece), head=head, **options)


@pytest.fixture
def writing(start: Start) -> Writing:
    return Writing(start())


@few_or_many
def test_slices_follow_each_other(writing: Writing, count: int) -> None:
    writing.write(count)
    writing.write(count)
    assert kept(writing) == (2 * count, [*range(1, 2 * count + 1)])
    assert Pod.objects.get(run=writing.run, key="default/p").seq == 2 * count


@few_or_many
def test_slice_not_following_the_head_writes_nothing(writing: Writing, count: int) -> None:
    writing.write(count)
    right = writing.head
    writing.head = Head(seq=count - 1, at=0, steps=count - 1, commands=0, digest="", next_at=None)
    with pytest.raises(LostLease, match=f"does not stand where it left it, at event {count - 1}"):
        writing.write(count)
    assert kept(writing) == (count, [*range(1, count + 1)])
    # The next right one uses the same connection.
    writing.head = right
    writing.write(count)
    assert kept(writing)[0] == 2 * count


@few_or_many
def test_another_owner_lets_nothing_be_written(writing: Writing, count: int) -> None:
    writing.write(count)
    Run.objects.update(lease_until=None)
    assert slices.lease_take(writing.run.pk, "second") == writing.epoch + 1
    with pytest.raises(LostLease, match="has another owner"):
        writing.write(count)
    assert kept(writing) == (count, [*range(1, count + 1)])
    writing.epoch += 1
    writing.write(count)
    assert kept(writing)[0] == 2 * count


def test_nothing_is_written_of_a_deleted_run(writing: Writing) -> None:
    Run.objects.all().delete()
    with pytest.raises(LostLease, match="is gone"):
        writing.write(3)
    assert not RunEvent.objects.exists()


def test_a_slice_says_what_the_user_wants_now(writing: Writing) -> None:
    Run.objects.update(status="playing", speed="10", steps_wanted=3, until_pod=POD)
    controls = writing.write(1, steps_taken=2)
    assert (controls.status, controls.speed, controls.steps_wanted) == ("playing", "10", 1)
    assert controls.until_pod == POD
    assert writing.write(1, steps_taken=2).steps_wanted == 0


STOP = Stop("events", "all 10 are used up")


@pytest.mark.parametrize(
    ("status", "options", "after"),
    [
        ("playing", {}, "playing"),
        ("playing", {"at_end": True}, "finished"),
        ("playing", {"at_decision": True}, "paused"),
        ("playing", {"stop": STOP}, "paused"),
        ("playing", {"stop": STOP, "at_end": True}, "paused"),
        ("paused", {"at_end": True}, "paused"),
        ("paused", {"wake": True}, "paused"),
        ("finished", {"wake": True}, "playing"),
        ("finished", {}, "finished"),
        ("finished", {"stop": STOP}, "finished"),
    ],
)
def test_a_slice_moves_the_status_on(
    writing: Writing, status: str, options: dict[str, Any], after: str
) -> None:
    Run.objects.update(status=status, steps_wanted=5, until_pod=POD, goal_at=7)
    controls = writing.write(1, **options)
    run = Run.objects.get(pk=writing.run.pk)
    assert (controls.status, run.status) == (after, after)
    is_stopped = "stop" in options
    assert (run.stopped_by, run.stop_reason) == (
        (STOP.part, STOP.message) if is_stopped else ("", "")
    )
    assert run.steps_wanted == (0 if is_stopped else 5)
    forgets = is_stopped or "at_end" in options or "at_decision" in options
    assert run.until_pod == ("" if forgets else POD)
    assert run.goal_at == 7
    writing.write(1, at_goal=True)
    run.refresh_from_db()
    assert run.goal_at is None


def test_a_slow_commit_ends_with_a_whole_lease(
    writing: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    def later(*_slice: Any) -> None:
        monkeypatch.setattr(slices, "LEASE", "30 seconds")

    monkeypatch.setattr(slices, "LEASE", "0 seconds")
    monkeypatch.setattr(slices, "SLOW_SECONDS", 0.0)
    monkeypatch.setattr(registry, "writers", [later])
    writing.write(3)
    assert slices.lease_take(writing.run.pk, "second") is None


def test_the_connection_keeps_nothing_of_what_was_written(writing: Writing) -> None:
    blob = b"engine" * 100_000
    for seq in (1, 2):
        place = {"seq": seq, "at": 0}
        checkpoint = Checkpoint(run=writing.run, **place, steps=0, commands=0, engine=blob)
        texts = {digest_of(blob): blob}
        keyframe = Frozen(writing.run.pk, **place, levels=[], texts=texts)
        writing.write(1, saved=Saved(keyframe, checkpoint))
    known = connection.connection._prepared._counts
    assert sum(len(query) for query, _ in known) < 10_000


def test_statement_failing_on_tables_counts_as_broken_connection(
    writing: Writing,
) -> None:
    def read() -> slices.Controls:
        return slices.controls_read(writing.run.pk, writing.epoch)

    read()
    with widened("speed", 8, back=4):
        with pytest.raises(OperationalError, match="a prepared statement is stale"):
            read()
        connection.close()
        assert read().speed == writing.run.speed


@contextmanager
def widened(column: str, length: int, *, back: int) -> Iterator[None]:
    """With another length of a column of runs, as a migration beside a running worker leaves it."""
    another = connection.copy()
    with another.cursor() as cursor:
        cursor.execute(f"ALTER TABLE runs_run ALTER COLUMN {column} TYPE varchar({length})")
        try:
            yield
        finally:
            cursor.execute(f"ALTER TABLE runs_run ALTER COLUMN {column} TYPE varchar({back})")
            another.close()


def kept(writing: Writing) -> tuple[int, list[int]]:
    """Where the run stands, and its events."""
    seqs = RunEvent.objects.filter(run=writing.run).order_by("seq").values_list("seq", flat=True)
    return Run.objects.get(pk=writing.run.pk).head_seq, [*seqs]


def test_objects_are_written_in_several_statements(
    writing: Writing, monkeypatch: pytest.MonkeyPatch
) -> None:
    """First by COPY, then over what is there, with a pod more and one less."""
    monkeypatch.setattr(slices, "MANY_OBJECTS", 7)
    names = [f"p{number:03d}" for number in range(FEW_ROWS + 2)]
    first, then = names[:-1], names[1:]
    for seq, group in enumerate((first, then), 1):
        manifests = {
            f"pod/default/{name}": {"metadata": {"namespace": "default", "name": name}, "n": seq}
            for name in group
        }
        gone = {"pod/default/p000": None} if seq == 2 else {}
        touched: dict[str, Any] = {**manifests, **gone}
        rows = [EventRow(seq, seq, "PodUpdated", POD, "test", None, "", None, None)]
        written = dict.fromkeys(touched, Written(1, seq))
        head = Head(seq=seq, at=seq, steps=seq, commands=0, digest=f"{seq}", next_at=None)
        packed = slice_packed(Slice([], rows, touched, written, [], []))
        slice_commit(writing.run.pk, writing.epoch, Commit(packed=packed, head=head))
        kept = Pod.objects.filter(run=writing.run).order_by("key")
        assert [*kept.values_list("name", "seq")] == [(name, seq) for name in group]
        assert {pod.manifest["n"] for pod in kept} == {seq}
