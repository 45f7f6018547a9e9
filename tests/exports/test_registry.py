"""One registry for every door."""

import pytest

from kscope.exports.registry import FORMATS, format_of_path
from kscope.program.grammar import EXPORTS
from tests.exports.plays import played


def test_the_program_knows_every_format() -> None:
    assert tuple(FORMATS) == EXPORTS


@pytest.mark.parametrize("name", FORMATS)
def test_the_ending_of_a_file_picks_it(name: str) -> None:
    found = format_of_path(f"a.b/run{FORMATS[name].ending}")
    assert found is FORMATS[name]


@pytest.mark.parametrize("name", [name for name, each in FORMATS.items() if each.of == "events"])
def test_pieces_make_no_difference(name: str) -> None:
    pod = "pod/shop/ledger-1" if FORMATS[name].of_pod else ""
    run = played("checkout-surge")
    assert run.written(name, pod, each=7) == run.written(name, pod, each=5_000)
