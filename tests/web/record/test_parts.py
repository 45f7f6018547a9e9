"""A fork reads the rows of its ancestors up to where it was made, and not one beyond."""

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import pytest
from django.db import connection
from django.db.models import Max
from django.test import Client

from kscope.accounts.access import visitor_for
from kscope.operations.backup import histories_checked
from kscope.operations.retention import Policy, retention_apply
from kscope.runs import services
from kscope.runs.access import may_see_values
from kscope.runs.capacity.quotas import quotas_used
from kscope.runs.drive import checkpoints
from kscope.runs.history import keyframes
from kscope.runs.history.states import state_at
from kscope.runs.models import (
    Checkpoint,
    EventChunk,
    EventRecord,
    HistoryPart,
    KeptAnswer,
    Keyframe,
    RemovedObject,
    Run,
    RunEvent,
    ViewChunk,
)
from kscope.runs.record.parts import in_history
from kscope.runs.selectors import run_histogram, run_seqs_before
from scheduling.models import RecordedAttempt, SchedulingAttempt
from tests.operations.test_retention import aged
from tests.record import events_put
from tests.web.accounts.test_run_deletion import account, logged_in, rows_of
from tests.web.pages.test_forks import command, drive, events, forked, objects, play

pytestmark = pytest.mark.django_db(transaction=True)
TABLES = (EventChunk, Checkpoint, Keyframe, ViewChunk, RemovedObject, RecordedAttempt)


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Checkpoints and keyframes come with every slice."""
    monkeypatch.setattr(checkpoints, "CHECKPOINT_EVENTS", 1)
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SHARE", 0)
    monkeypatch.setattr(keyframes, "KEYFRAME_EVENTS", 1)


@pytest.fixture
def line(often: None, driven: Run) -> list[Run]:
    """A run, a fork of it, and a fork of that; each has gone a way of its own."""
    half = driven.head_seq // 2
    first = forked(driven, seq=half)
    command(first, verb="cordon", object="node/n1")
    first = play(first)
    second = forked(first, seq=half + 4)
    command(second, verb="delete", object="pod/default/web")
    return [driven, first, play(second)]


def written_by(run: Run) -> int:
    """How many rows of history the run has itself."""
    return sum(table.objects.filter(run_id=run.pk).count() for table in TABLES)


def _folded(run: Run) -> Iterator[tuple[int, Any]]:
    from engine.kernel.view import State, fold

    state: State = {}
    for seq, changes in RunEvent.objects.filter(run=run).values_list("seq", "changes"):
        fold(state, changes or {})
        yield seq, state


def test_a_fork_copies_nothing_of_the_history(often: None, driven: Run) -> None:
    for seq in (1, driven.head_seq // 2, driven.head_seq):
        fork = services.run_fork(run=driven, seq=seq)
        assert written_by(fork) == 0
        fork = drive(fork)
        own = EventChunk.objects.filter(run=fork).values_list("first_seq", flat=True)
        # Events of the step in which it begins are its own.
        assert all(first > seq for first in own)
        assert Checkpoint.objects.filter(run=fork).count() == 0 or fork.head_seq > seq
        assert events(fork) == events(driven, fork.head_seq)


def test_each_reads_along_its_line(line: list[Run]) -> None:
    root, first, second = line
    assert [part.source for part in second.parts.order_by("upto")] == [root.pk, first.pk]
    for parent, fork in pairwise(line):
        seq = fork.forked_seq or 0
        assert events(fork, seq) == events(parent, seq)
        assert events(fork) != events(parent)
        assert [row[0] for row in events(fork)] == list(range(1, fork.head_seq + 1))
    assert all(checked.is_whole for checked in histories_checked())


def test_states_are_those_of_its_own_events(line: list[Run]) -> None:
    for run in line:
        for seq, state in _folded(run):
            assert state_at(run.pk, seq) == state


def test_events_come_in_order_over_parts(line: list[Run]) -> None:
    second = line[-1]
    found = RunEvent.objects.filter(run=second)
    every = list(range(1, second.head_seq + 1))
    cut = second.borrowed_seq
    assert [each.seq for each in found.order_by("seq")] == every
    assert [each.seq for each in found.order_by("-seq")] == every[::-1]
    assert [each.seq for each in found.order_by("seq").reverse()] == every[::-1]
    assert [each.seq for each in found.order_by("seq").iterator(5)] == every
    assert [each.seq for each in found.order_by("-seq")[:cut]] == every[::-1][:cut]
    near = found.order_by("seq")[cut - 3 : cut + 3]
    assert [each.seq for each in near] == every[cut - 3 : cut + 3]
    firsts = (found.order_by("seq").first(), found.order_by("seq").last())
    assert [each and each.seq for each in firsts] == [1, every[-1]]
    assert found.count() == len(every)
    assert found.get(seq=cut).seq == cut
    kinds = found.filter(kind="AttemptStarted").order_by("seq")
    assert list(kinds) == [each for each in found.order_by("seq") if each.kind == "AttemptStarted"]
    between = found.filter(seq__range=(cut - 1, cut + 1)).order_by("-seq")
    assert [each.seq for each in between] == [cut + 1, cut, cut - 1]


def test_the_admin_lists_inherited_events(line: list[Run], admin_client: Client) -> None:
    second = line[-1]
    page = admin_client.get(f"/admin/runs/eventrecord/?run__id__exact={second.pk}")
    assert page.context["cl"].result_count == second.head_seq
    shown = [each.seq for each in page.context["cl"].result_list]
    assert shown == list(range(second.head_seq, 0, -1))[:50]
    assert admin_client.get(f"/admin/runs/eventrecord/{second.pk}-1/change/").status_code == 200
    inherited = SchedulingAttempt.objects.filter(run=second).order_by("seq")[0]
    assert RecordedAttempt.objects.get(pk=inherited.pk).run_id == line[0].pk


def test_moments_are_found_over_parts(line: list[Run]) -> None:
    second = line[-1]
    times = [row[1] for row in events(second)]
    moments = sorted({0, 1, *times, *(at + 1 for at in times)})
    right = [sum(at < moment for at in times) for moment in moments]
    assert run_seqs_before(second, moments=moments) == right
    assert sum(run_histogram(second, buckets=7)["counts"]) == second.head_seq


def test_nothing_beyond_the_fork_is_shown(often: None, driven: Run, client: Client) -> None:
    seq = driven.head_seq // 2
    fork = services.run_fork(run=driven, seq=seq)
    for model in (RunEvent, SchedulingAttempt, EventRecord):
        found = model.objects.filter(run=fork).aggregate(last=Max("seq"))["last"]
        assert found is None or found <= seq
    for model in (Checkpoint, Keyframe):
        assert model.objects.filter(run=driven, seq__gt=seq).exists()
        assert not model.objects.filter(in_history(fork.pk)).filter(seq__gt=seq).exists()
    later = SchedulingAttempt.objects.filter(run=driven, seq__gt=seq).first()
    assert later is not None
    path = f"/api/v1/runs/{fork.pk}/attempts/{later.pk}/"
    assert client.get(path).status_code == 404
    assert client.get(f"/api/v1/runs/{fork.pk}/events/").json()["items"][0]["seq"] <= seq


def test_a_deleted_parent_is_gone_for_everybody(line: list[Run], client: Client) -> None:
    root, first, second = line
    services.run_delete(run=first)
    for path in ("/runs/{}/", "/api/v1/runs/{}/", "/api/v1/runs/{}/events/", "/runs/{}/timeline/"):
        assert client.get(path.format(first.pk)).status_code == 404
        assert client.get(path.format(second.pk)).status_code == 200
    listed = client.get("/api/v1/runs/").json()["items"]
    assert {each["id"] for each in listed} == {root.pk, second.pk}
    assert not RunEvent.objects.filter(run_id=first.pk).exists()
    assert not EventRecord.objects.filter(run_id=first.pk).exists()
    assert not SchedulingAttempt.objects.filter(run_id=first.pk).exists()


def test_only_what_forks_read_stays(line: list[Run]) -> None:
    root, first, second = line
    read = second.borrowed_seq
    before = events(second)
    services.run_delete(run=first)
    assert events(second) == before
    for table in (Checkpoint, Keyframe, RemovedObject, RecordedAttempt):
        assert not table.objects.filter(run_id=first.pk, seq__gt=read).exists()
    assert EventChunk.objects.filter(run_id=first.pk).aggregate(last=Max("last_seq")) == {
        "last": read
    }
    services.run_delete(run=root)
    assert events(second) == before
    assert [checked.is_whole for checked in histories_checked()] == [True]
    for seq, state in _folded(second):
        assert state_at(second.pk, seq) == state


def test_an_orphan_plays_on_and_is_forked(line: list[Run], client: Client) -> None:
    root, first, second = line
    again = play(forked(first, seq=second.forked_seq))
    assert again.head_digest == first.head_digest
    for run in (first, root):
        services.run_delete(run=run)
    again.refresh_from_db()
    third = play(forked(again, seq=(second.forked_seq or 0) + 2))
    assert third.head_digest == again.head_digest
    assert objects(third) == objects(again)
    assert client.get(f"/api/v1/runs/{third.pk}/why/pod/default/giant/").status_code == 200


def test_with_the_last_fork_all_rows_go(line: list[Run]) -> None:
    for run in line:
        services.run_delete(run=run)
    for run in line:
        assert rows_of(run.pk) == {}
    assert not HistoryPart.objects.exists()
    assert sum(table.objects.count() for table in TABLES) == 0


def test_a_parent_may_go_while_its_fork_arrives(often: None, driven: Run) -> None:
    seq = driven.head_seq // 2
    before = events(driven, seq)
    fork = services.run_fork(run=driven, seq=seq)
    services.run_delete(run=driven)
    fork.refresh_from_db()
    assert events(drive(fork), seq) == before


def test_thinning_a_parent_leaves_its_forks_whole(line: list[Run]) -> None:
    root, first, second = line
    right = {seq: dict(state) for seq, state in _folded(second)}
    for run in (root, first):
        aged(run)
    retention_apply(Policy(thin_runs_days=30, drop_evidence_days=30))
    assert Keyframe.objects.filter(run=root).count() <= 3
    for seq, state in right.items():
        assert state_at(second.pk, seq) == state
    retention_apply(Policy(delete_runs_days=30))
    assert not Run.objects.filter(pk__in=(root.pk, first.pk)).exists()
    assert [checked.is_whole for checked in histories_checked()] == [True]


def test_answers_about_its_ancestors_are_shared(driven: Run, client: Client) -> None:
    seq = driven.head_seq // 2
    fork = drive(services.run_fork(run=driven, seq=seq + 3))
    path = "/api/v1/runs/{}/why/pod/default/giant/?seq={}"
    told = client.get(path.format(driven.pk, seq)).json()
    of_fork = client.get(path.format(fork.pk, seq)).json()
    assert of_fork == {**told, "run": fork.pk}
    assert told["run"] == driven.pk
    assert not KeptAnswer.objects.filter(run=fork).exists()
    client.get(path.format(fork.pk, fork.head_seq))
    assert KeptAnswer.objects.filter(run=fork).exists()
    services.run_delete(run=driven)
    assert client.get(path.format(fork.pk, seq)).json() == of_fork


def test_another_seed_reads_nothing_of_its_parent(driven: Run) -> None:
    fork = services.run_fork(run=driven, seed=7)
    [part] = fork.parts.all()
    assert (part.source, part.upto) == (driven.pk, part.after)
    assert not RunEvent.objects.filter(run=fork).exists()
    services.run_delete(run=driven)
    assert rows_of(driven.pk) == {}


def test_forks_of_older_versions_have_their_own(driven: Run) -> None:
    """As forks were made until database format 4: with copies of all rows."""
    seq = driven.head_seq // 2
    fork = drive(services.run_fork(run=driven, seq=seq))
    fork.parts.all().delete()
    Run.objects.filter(pk=fork.pk).update(borrowed_seq=-1)
    with connection.cursor() as cursor:
        for table in TABLES:
            table.objects.filter(run_id=fork.pk).delete()
            names = [each.column for each in table._meta.local_fields if each.column not in _OWN]
            name, seq_of = table._meta.db_table, "last_seq" if table is EventChunk else "seq"
            most = f" AND {seq_of} <= %s" if table is not ViewChunk else " AND %s > 0"
            columns = ", ".join(names)
            cursor.execute(
                f"INSERT INTO {name} (run_id, {columns}) SELECT %s, {columns} FROM {name}"
                f" WHERE run_id = %s{most}",
                [fork.pk, driven.pk, fork.head_seq],
            )
    EventChunk.objects.filter(run=fork).delete()
    events_put(fork.pk, list(RunEvent.objects.filter(run=driven, seq__lte=fork.head_seq)))
    fork.refresh_from_db()
    assert events(fork) == events(driven, fork.head_seq)
    services.run_delete(run=driven)
    assert all(checked.is_whole for checked in histories_checked())
    grandchild = play(forked(fork, seq=seq - 2))
    assert grandchild.head_digest == play(fork).head_digest
    for each in (fork, grandchild):
        services.run_delete(run=each)
        assert not EventChunk.objects.filter(run_id=driven.pk).exists()


_OWN = ("id", "run_id", None)


def test_what_is_left_counts_for_its_reader(
    scenario: Any, start: Callable[..., Run], settings: Any
) -> None:
    settings.LOGIN_REQUIRED = True
    owner, reader, other = account("eva"), account("otto"), account("ida")
    run = start(owner_id=owner.pk, play=True, speed="max")
    run = drive(run)
    fork = drive(services.run_fork(run=run, owner_id=reader.pk))
    later = drive(services.run_fork(run=run, seq=3, owner_id=other.pk))
    assert [quotas_used(one.pk)["runs"] for one in (owner, reader, other)] == [1, 1, 1]
    services.run_delete(run=run)
    # Who reads most of it has the room that it takes.
    assert [quotas_used(one.pk)["runs"] for one in (owner, reader, other)] == [0, 2, 1]
    services.run_delete(run=fork)
    assert [quotas_used(one.pk)["runs"] for one in (owner, reader, other)] == [0, 0, 2]
    services.run_delete(run=later)
    assert quotas_used(other.pk)["runs"] == 0


def test_values_of_a_deleted_parent_stay_hidden(start: Callable[..., Run], settings: Any) -> None:
    settings.LOGIN_REQUIRED = True
    owner, reader = account("eva"), account("otto")
    run = drive(start(owner_id=owner.pk, play=True, speed="max"))
    run.scenario.is_demo = True
    run.scenario.save()
    fork = drive(services.run_fork(run=run, owner_id=reader.pk))
    second = drive(services.run_fork(run=fork, seq=2, owner_id=reader.pk))
    assert not may_see_values(visitor_for(reader), second)
    for each in (run, fork):
        services.run_delete(run=each)
    second.refresh_from_db()
    assert not may_see_values(visitor_for(reader), second)


def test_a_fork_outlives_the_hiding_of_its_parent(start: Callable[..., Run], settings: Any) -> None:
    settings.LOGIN_REQUIRED = True
    owner, reader = account("eva"), account("otto")
    run = drive(start(owner_id=owner.pk, play=True, speed="max"))
    services.owned_share(thing=run, visibility="shared")
    client = logged_in(reader)
    assert client.get(f"/api/v1/runs/{run.pk}/").status_code == 200
    fork = drive(services.run_fork(run=run, seq=9, owner_id=reader.pk))
    services.owned_share(thing=run, visibility="private")
    assert client.get(f"/api/v1/runs/{run.pk}/").status_code == 404
    told = client.get(f"/api/v1/runs/{fork.pk}/events/").json()["items"]
    assert len(told) == fork.head_seq >= 9
