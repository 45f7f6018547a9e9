"""The films that the browser's tests read are those that the engine makes."""

import pytest

from tests.films import NAMES, RECORDED, written


@pytest.mark.parametrize("name", sorted(NAMES))
def test_recorded_films_are_the_engine_s_own(name: str) -> None:
    # `python -m tests.films` writes them anew.
    assert (RECORDED / f"{name}.json").read_text() == written(name)
