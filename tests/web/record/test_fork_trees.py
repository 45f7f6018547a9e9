"""Trees of forks of forks: whatever of them is deleted and thinned out, the others are as they were.

`make soak` grows one of a thousand (`KSCOPE_TEST_FORKS`).
"""

import hashlib
import os
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection

from engine.kernel.view import State, fold
from kscope.operations.backup import histories_checked
from kscope.operations.retention import Policy, retention_apply
from kscope.runs import services
from kscope.runs.drive import checkpoints, engines
from kscope.runs.history import keyframes
from kscope.runs.history.states import state_at
from kscope.runs.models import HistoryPart, Run, RunEvent
from tests.operations.test_backup import empty_database
from tests.operations.test_retention import aged
from tests.web.pages.test_forks import drive, events
from tests.web.record.test_parts import TABLES

pytestmark = pytest.mark.django_db(transaction=True)
__all__ = ["empty_database"]
FORKS = int(os.environ.get("KSCOPE_TEST_FORKS") or 12)
_CHANGES = (
    {"verb": "cordon", "object": "node/n1"},
    {"verb": "uncordon", "object": "node/n1"},
    {"verb": "cordon", "object": "node/n2"},
    {"verb": "delete", "object": "pod/default/web"},
)


class Tree:
    """Runs that are forked from one another; what each of them had is known."""

    def __init__(self, root: Run, random: Random) -> None:
        self.known = {root.pk: _told(root)}
        self._random = random

    def grow(self) -> None:
        """Fork one of the runs at one of its events, and have the fork go its own way."""
        parent = Run.objects.get(pk=self._random.choice([*self.known]))
        seq = self._random.randint(0, parent.head_seq)
        fork = drive(services.run_fork(run=parent, seq=seq))
        assert events(fork, seq) == events(parent, seq)
        if self._random.random() < 0.7:
            services.command_submit(run=fork, body=self._random.choice(_CHANGES))
        for _ in range(self._random.randint(0, 4)):
            services.run_transport(run=fork, action="step", unit="event")
        self.known[fork.pk] = _told(drive(fork))

    def cut(self) -> None:
        """Delete one of the runs, but never the last."""
        if len(self.known) > 1:
            run_id = self._random.choice([*self.known])
            services.run_delete(run=Run.objects.get(pk=run_id))
            del self.known[run_id]

    def thin(self) -> None:
        """Thin out one of the runs."""
        aged(Run.objects.get(pk=self._random.choice([*self.known])))
        retention_apply(Policy(thin_runs_days=30, drop_evidence_days=30))

    def check(self, seqs: int) -> None:
        """Every run has the events that it had, their digest, and the states that follow from them."""
        for run in Run.objects.all():
            assert _told(run) == self.known[run.pk]
        checked = [*histories_checked()]
        assert len(checked) == len(self.known)
        assert all(each.is_whole for each in checked)
        for run_id in self._random.sample([*self.known], min(len(self.known), 12)):
            _check_states(Run.objects.get(pk=run_id), self._random, seqs)


def _told(run: Run) -> str:
    return hashlib.sha256(repr(events(run)).encode()).hexdigest()


def _check_states(run: Run, random: Random, seqs: int) -> None:
    wanted = {random.randint(1, run.head_seq) for _ in range(seqs)}
    state: State = {}
    found = RunEvent.objects.filter(run=run).order_by("seq")
    for seq, changes in found.values_list("seq", "changes"):
        fold(state, changes or {})
        if seq in wanted:
            assert state_at(run.pk, seq) == state


@pytest.mark.timeout(0)
def test_a_tree_of_forks_survives_its_cuts(
    driven: Run,
    empty_database: Callable[[], None],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checkpoints, "CHECKPOINT_EVENTS", 5)
    monkeypatch.setattr(checkpoints, "CHECKPOINT_SHARE", 0)
    monkeypatch.setattr(keyframes, "KEYFRAME_EVENTS", 3)
    random = Random(FORKS)
    tree = Tree(driven, random)
    for number in range(FORKS):
        tree.grow()
        if number % 3 == 2:
            tree.cut()
        if number % 5 == 4:
            tree.thin()
    tree.check(seqs=5)
    file = str(tmp_path / "kscope.backup")
    call_command("backup", file)
    empty_database()
    call_command("restore", file)
    tree.check(seqs=5)
    engines._live.clear()
    tree.grow()
    while len(tree.known) > 1:
        tree.cut()
    tree.check(seqs=20)
    (last,) = Run.objects.all()
    services.run_delete(run=last)
    assert not HistoryPart.objects.exists()
    assert _rows() == {}


def _rows() -> dict[str, int]:
    counted: dict[str, Any] = {}
    with connection.cursor() as cursor:
        for table in TABLES:
            cursor.execute(f"SELECT count(*) FROM {table._meta.db_table}")
            counted[table.__name__] = cursor.fetchone()[0]
    return {name: number for name, number in counted.items() if number}
