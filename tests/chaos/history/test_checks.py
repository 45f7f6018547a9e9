"""Each check finds the fault that it is for, and none in a history without one."""

from collections import Counter
from dataclasses import replace

import pytest

from tests.chaos.history import checks
from tests.chaos.history.linear import is_linear
from tests.chaos.history.once import Tally
from tests.chaos.history.record import (
    ABSENT,
    CONFLICT,
    EXISTS,
    OK,
    OPEN,
    Change,
    Following,
    History,
    Kind,
    Listing,
    Operation,
)


def op(
    began: float, ended: float, kind: Kind, value: str = "", version: int = 0, outcome: str = OK
) -> Operation:
    """An operation on the object a."""
    times = {"began": began, "ended": float("inf") if outcome == OPEN else ended}
    return Operation(int(began * 10), kind, "a", value, 0, outcome, version, **times)


def sound() -> History:
    """Two objects, two clients and two watches; one write is open, and happened."""
    b = replace(op(3, 4, "create", "b1", 14), name="b")
    operations = [
        op(1, 2, "create", "v1", 11),
        op(2.5, 5, "patch", "v2", 0, OPEN),
        op(3, 4, "get", "v1", 11),
        op(5, 6, "get", "v2", 13),
        replace(op(7, 8, "update", "v3", 15), expect=13),
        replace(op(7, 8, "update", "v4", 0, CONFLICT), expect=13),
        op(9, 10, "delete"),
        op(10.5, 11, "patch", "v5", 0, ABSENT),
        op(12, 13, "create", "v6", 20),
        op(13.5, 14, "create", "v7", 0, EXISTS),
        b,
    ]
    first = Listing(10, {}, 0, 0.5)
    later = Listing(14, {"a": ("v2", 13), "b": ("b1", 14)}, 6, 6.5)
    changes = [
        Change("ADDED", "a", "v1", 11),
        Change("MODIFIED", "a", "v2", 13),
        Change("ADDED", "b", "b1", 14),
        Change("MODIFIED", "a", "v3", 15),
        Change("DELETED", "a", "v3", 17),
        Change("ADDED", "a", "v6", 20),
    ]
    return History(
        operations,
        [first, later],
        [Following(first, changes, 21), Following(later, changes[3:], 21)],
        Listing(20, {"a": ("v6", 20), "b": ("b1", 14)}, 15, 16),
        last=20,
    )


def test_a_sound_history_has_no_faults() -> None:
    assert checks.faults(sound()) == []


def test_simultaneous_operations_are_put_into_an_order() -> None:
    writes = [op(0, 1, "create", "v0", 1)]
    writes += [op(2, 9, "patch", f"v{n}", 10 - n) for n in range(1, 8)]
    assert is_linear([*writes, op(3, 4, "get", "v5", 5), op(10, 11, "get", "v1", 9)])


STALE = op(8.5, 8.9, "get", "v2", 13)
LOST = op(14.2, 14.6, "update", "v8", 22)
BROKEN: dict[str, list[Operation]] = {
    "a read of what was replaced": [STALE],
    "a read of what was never there": [op(5.5, 5.9, "get", "v9", 12)],
    "an object that is there after its deletion": [op(10.2, 10.4, "get", "v3", 15)],
    "a creation of what is there": [op(14.2, 14.6, "create", "v8", 22)],
    "an update of a version that is gone": [replace(op(8.2, 8.6, "update", "v8", 16), expect=13)],
    "a conflict without a reason": [
        replace(op(14.2, 14.6, "update", "v8", 0, CONFLICT), expect=20),
    ],
    "a write that is lost": [replace(LOST, expect=20)],
}


@pytest.mark.parametrize("fault", BROKEN)
def test_answers_that_no_order_explains_are_found(fault: str) -> None:
    history = sound()
    history.operations += BROKEN[fault]
    assert [*checks.operations_have_an_order(history)]


def test_a_version_that_falls_is_found() -> None:
    history = sound()
    history.listings.append(Listing(12, {"a": ("v1", 11)}, 6.6, 6.8))
    assert len([*checks.versions_only_rise(history)]) == 1
    history = sound()
    history.operations.append(replace(op(14.1, 14.2, "create", "c1", 20), name="c"))
    assert len([*checks.versions_only_rise(history)]) == 1


def test_a_write_that_happened_twice_is_found() -> None:
    history = sound()
    history.followings[0].changes.insert(2, Change("MODIFIED", "a", "v2", 14))
    found = [*checks.each_write_has_one_version(history)]
    assert "a=v2 was written at [13, 14]" in found
    assert len(found) == 2  # and an object that has the version of another


def test_a_value_that_nobody_wrote_is_found() -> None:
    history = sound()
    history.listings.append(Listing(15, {"a": ("other", 15)}, 8, 9))
    assert "a=other was never written" in [*checks.each_write_has_one_version(history)]


def test_an_acknowledged_write_that_is_lost_is_found() -> None:
    history = sound()
    assert history.final is not None
    history.final = replace(history.final, objects={"a": ("v6", 20)})
    assert [*checks.acknowledged_writes_are_there(history)] == [
        "create b=b1 (ok, 14) is lost: b is not there at 0"
    ]


CHANGES = sound().followings[0].changes
WATCHES: dict[str, tuple[list[Change], int]] = {
    "a change that is left out": (CHANGES[:3] + CHANGES[4:], 21),
    "a change that comes twice": ([*CHANGES[:4], CHANGES[3], *CHANGES[4:]], 21),
    "changes in another order": ([CHANGES[1], CHANGES[0], *CHANGES[2:]], 21),
    "a last change that is left out": (CHANGES[:-1], 21),
    "a deletion that is left out": (CHANGES[:4] + CHANGES[5:], 21),
    "an addition of what is there": (
        [CHANGES[0], replace(CHANGES[1], kind="ADDED"), *CHANGES[2:]],
        21,
    ),
    "a change from before the list": ([Change("ADDED", "c", "c1", 9), *CHANGES], 21),
}


@pytest.mark.parametrize("fault", WATCHES)
def test_watches_with_gaps_and_repetitions_are_found(fault: str) -> None:
    history = sound()
    changes, upto = WATCHES[fault]
    history.followings[0] = Following(history.followings[0].began, changes, upto)
    assert [*checks.watches_tell_all_once(history)]


def test_write_reported_as_a_later_one_is_omitted() -> None:
    history = sound()
    history.operations[8] = op(12.2, 13, "create", "v6a", 18)
    history.operations.append(op(12.6, 14, "patch", "v6", 20))
    left_out = "create a=v6a (ok, 18) is left out"
    assert [*checks.watches_tell_all_once(history)] == [f"watch {n}: {left_out}" for n in (0, 1)]


def test_watch_that_lags_behind_leaves_nothing_out() -> None:
    history = sound()
    history.followings[0] = Following(history.followings[0].began, CHANGES[:4], 15)
    assert [*checks.watches_tell_all_once(history)] == []


@pytest.mark.parametrize(
    ("mark", "pods"),
    [("acknowledged", 0), ("acknowledged", 2), ("unanswered", 2), ("keyed", 0), ("keyed", 2)]
    + [("refused", 1)],
)
def test_writes_missing_or_stored_twice_are_found(mark: str, pods: int) -> None:
    tally = Tally(["acknowledged"], ["unanswered"], ["keyed"], ["refused"])
    right = Counter(acknowledged=1, unanswered=1, keyed=1)
    assert tally.faults(right) == tally.faults(Counter(acknowledged=1, keyed=1)) == []
    assert len(tally.faults(Counter({**right, mark: pods}))) == 1


def test_many_open_operations_leave_the_search_short() -> None:
    operations = [op(0, 1, "create", "v0", 1)]
    for number in range(1, 13):
        operations.append(op(number, 0, "delete", outcome=OPEN))
        operations.append(op(number + 0.1, 0, "create", f"c{number}", outcome=OPEN))
        operations.append(op(number + 0.2, 0, "patch", f"p{number}", outcome=OPEN))
    assert is_linear([*operations, op(50, 51, "get", "", outcome=ABSENT)])
    assert not is_linear([*operations, op(50, 51, "get", "never", 9)])
