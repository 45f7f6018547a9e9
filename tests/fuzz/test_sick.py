"""Random sick clusters: triage, answers and playing say and do only what can be."""

from collections.abc import Callable

import pytest

from tests.fuzz.limits import Tally, numbers_of
from tests.sick_clusters.believed import faults_of_answers, faults_of_playing, faults_of_triage

KINDS: dict[str, Callable[[int], list[str]]] = {
    "sick-triage": faults_of_triage,
    "sick-answers": faults_of_answers,
    "sick-playing": faults_of_playing,
}
# The tests try a few by name, in tests/sick_clusters, so that these need little time.
FIRST, FEW = 1_000, 1


def _is_believed(kind: str, number: int) -> bool:
    faults = KINDS[kind](FIRST + number)
    assert not faults, "\n".join(faults)
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_sick_cluster_is_believed(kind: str) -> None:
    tally = Tally(kind)
    for number in numbers_of(kind, FEW):
        tally.watch(number, lambda number=number: _is_believed(kind, number))
    print(tally)
    assert not tally.findings, "\n".join([str(tally), *tally.findings.values()])
