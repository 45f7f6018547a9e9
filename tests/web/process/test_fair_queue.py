"""Turns between those who wait."""

import pytest

from kscope.runs.capacity.fair_queue import FairQueue, QueueFull


def filled(*keys: tuple[str, ...]) -> FairQueue[str]:
    queue: FairQueue[str] = FairQueue()
    for number, key in enumerate(keys):
        queue.put(key, f"{'/'.join(key)} {number}")
    return queue


def emptied(queue: FairQueue[str]) -> list[str]:
    found = []
    while (item := queue.take()) is not None:
        found.append(item)
    return found


def test_equal_keys_are_served_first_come_first_served() -> None:
    assert emptied(filled(("a",), ("a",), ("a",))) == ["a 0", "a 1", "a 2"]


def test_a_newcomer_is_served_before_anothers_backlog() -> None:
    assert emptied(filled(("a",), ("a",), ("a",), ("b",))) == ["a 0", "b 3", "a 1", "a 2"]


def test_runs_of_one_account_take_turns_as_well() -> None:
    queue = filled(("a", "1"), ("a", "1"), ("a", "2"), ("b", "1"))
    assert emptied(queue) == ["a/1 0", "b/1 3", "a/2 2", "a/1 1"]


def test_who_is_skipped_keeps_the_place() -> None:
    queue = filled(("a",), ("a",), ("b",))
    assert queue.take(skip=lambda key: key[0] == "a") == "b 2"
    assert queue.take(skip=lambda key: key[0] == "a") is None
    assert (len(queue), emptied(queue)) == (2, ["a 0", "a 1"])


def test_who_is_skipped_delays_no_neighbour() -> None:
    queue = filled(("a", "1"), ("a", "1"), ("a", "2"))
    assert queue.take(skip=lambda key: key == ("a", "1")) == "a/2 2"
    assert queue.take(skip=lambda key: key == ("a", "1")) is None


def test_what_was_removed_is_not_served() -> None:
    queue = filled(("a", "1"), ("a", "2"))
    assert queue.remove(("a", "1"), "a/1 0")
    assert not queue.remove(("a", "1"), "a/1 0")
    assert (len(queue), emptied(queue)) == (1, ["a/2 1"])


def test_the_newest_of_the_longest_makes_room() -> None:
    queue: FairQueue[str] = FairQueue(limit=3)
    for number in range(3):
        queue.put(("a", str(number % 2)), f"a {number}")
    assert queue.put(("b", "1"), "b") == "a 2"
    assert emptied(queue) == ["a 0", "b", "a 1"]


def test_who_has_most_gets_no_more_room() -> None:
    queue: FairQueue[str] = FairQueue(limit=2)
    queue.put(("a",), "a 0")
    queue.put(("b",), "b 0")
    for name in ("a", "c"):
        with pytest.raises(QueueFull) as full:
            queue.put((name,), "more")
        assert not full.value.own
    assert emptied(queue) == ["a 0", "b 0"]


def test_one_owner_has_room_for_so_many() -> None:
    queue: FairQueue[str] = FairQueue(limit=9, limit_each=2)
    queue.put(("a", "1"), "a 0")
    queue.put(("a", "2"), "a 1")
    with pytest.raises(QueueFull) as full:
        queue.put(("a", "3"), "a 2")
    assert full.value.own
