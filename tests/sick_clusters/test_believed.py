"""A few random sick clusters, each asked and played; `make fuzz` tries thousands."""

import pytest

from tests.sick_clusters.believed import faults_of_answers, faults_of_playing, faults_of_triage
from tests.sick_clusters.standing import sick
from tests.sick_clusters.statements import untrue

# Chosen for what is wrong in them: a claim that is Lost although its volume is there (2), a driver
# that an Event misses and a CSINode has (31), a pod that waits for two refused claims (46), a pod
# that is only foreseen on a node (192), failing containers (6, 7, 24), a node that falls silent in the
# next minute (1018), an attachment that nobody uses (2211).
TRIAGED = (1, 2, 31, 46, 159, 192)
PLAYED = (6, 7, 24)
ASKED = (31, 1018, 2211)


@pytest.mark.parametrize("seed", TRIAGED)
def test_triage_counts_once_and_says_the_truth(seed: int) -> None:
    assert faults_of_triage(seed) == []


@pytest.mark.parametrize("seed", ASKED)
def test_answers_let_nothing_go_silently(seed: int) -> None:
    assert faults_of_answers(seed) == []


@pytest.mark.parametrize("seed", PLAYED)
def test_no_pod_runs_where_it_cannot(seed: int) -> None:
    assert faults_of_playing(seed) == []


@pytest.mark.parametrize(
    "sentence",
    [
        "Node n0 is not ready (Ready=False, KubeletNotReady).",
        "Pod default/p0 uses it.",
        "On n1 7 pods hold 2 of 2 cpu: default/p4 1500m and shop/p5 500m.",
        "Secret shop/there does not exist.",
        "Volume pv-c9 is attached to n1.",
    ],
)
def test_false_sentence_is_found_out(sentence: str) -> None:
    assert untrue(sick(192).evidence, sentence)
