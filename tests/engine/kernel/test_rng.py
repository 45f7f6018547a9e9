"""Seeded, named streams."""

import pytest

from engine.kernel.rng import Streams


def draws(streams: Streams, name: str) -> list[int]:
    return [streams.stream(name).below(1000) for _ in range(5)]


def test_equal_seeds_and_names_draw_equal_numbers() -> None:
    assert draws(Streams(7), "ties") == draws(Streams(7), "ties")


def test_another_seed_draws_other_numbers() -> None:
    assert draws(Streams(7), "ties") != draws(Streams(8), "ties")


def test_a_stream_is_not_disturbed_by_its_neighbours() -> None:
    streams = Streams(7)
    draws(streams, "provision")
    assert draws(streams, "ties") == draws(Streams(7), "ties")


def test_the_numbers_never_change_between_releases() -> None:
    assert draws(Streams(7), "ties") == [563, 665, 629, 660, 613]


def test_drawing_from_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="nothing to draw from"):
        Streams(1).stream("x").below(0)
