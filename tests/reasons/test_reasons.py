"""No reason without facts: each case of the table names its facts, in sentences that can be read."""

import re
from functools import cache
from pathlib import Path

import pytest

from engine.cluster.cluster import Cluster
from engine.diagnosis.why import ASKED, explain_object
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from engine.kernel.units import SECOND
from tests.reasons.case import ANYTHING, Answer, Case, Expected, answered
from tests.reasons.collected import event_reasons, plugin_reasons
from tests.reasons.document import DOCUMENT, text
from tests.reasons.sentences import long_sentences
from tests.reasons.table import CASES, WITHOUT_CASE

_NUMBERS = range(len(CASES))


_DEMOS = sorted((Path(__file__).parents[2] / "scenarios").glob("*.yaml"))
_MOST_ASKED = 20


def _stem(path: Path) -> str:
    return path.stem


def _named(number: int) -> str:
    return f"{number}: {CASES[number].reason} ({CASES[number].profile})"


each_case = pytest.mark.parametrize("number", _NUMBERS, ids=_named)


@cache
def _answer(number: int) -> Answer:
    return answered(CASES[number])


def _pattern(case: Case) -> re.Pattern[str]:
    return re.compile(re.escape(case.reason).replace(r"\*", ".*"))


@each_case
def test_the_cluster_provokes_its_reason(number: int) -> None:
    answer = _answer(number)
    told = [*answer.reasons, *(each for cause in answer.causes for each in cause.reasons)]
    assert any(_pattern(CASES[number]).search(each) for each in told), answer.found.text()


@each_case
def test_the_answer_states_the_facts(number: int) -> None:
    case, answer = CASES[number], _answer(number)
    assert case.facts
    missing = [each for each in case.facts if not _is_stated(each, answer)]
    assert not missing, answer.found.text()


def _is_stated(wanted: Expected, answer: Answer) -> bool:
    return any(
        (fact.object, fact.field) == (wanted.object, wanted.field)
        and wanted.value in (ANYTHING, fact.value)
        and wanted.compared_with in (ANYTHING, fact.compared_with)
        for cause in answer.causes
        for fact in cause.because
    )


@each_case
def test_every_cause_of_a_case_has_facts(number: int) -> None:
    answer = _answer(number)
    bare = [
        each.sentence for each in answer.causes if not each.because and each.severity == "blocks"
    ]
    assert not bare, answer.found.text()


@each_case
def test_sentences_are_short_and_well_formed(number: int) -> None:
    found = _answer(number).found
    told = [found.sentence, *(each.sentence for each in found.causes)]
    told += [each.why for each in found.causes if each.why]
    told += [fact.text for each in found.causes for fact in each.because]
    for sentence in told:
        assert sentence[0].isupper(), sentence
        assert sentence.endswith("."), sentence
        assert "  " not in sentence, sentence
        assert "None" not in sentence, sentence
        assert "[]" not in sentence, sentence
    assert not long_sentences(found)


def test_every_reason_of_the_code_has_a_case() -> None:
    patterns = [_pattern(each) for each in CASES]
    reasons = plugin_reasons() | event_reasons()
    assert len(reasons) > 40
    missing = {
        each
        for each in reasons - WITHOUT_CASE.keys()
        if not any(pattern.fullmatch(each) for pattern in patterns)
    }
    assert missing == set()


def test_the_document_is_up_to_date() -> None:
    assert DOCUMENT.read_text() == text()


@pytest.mark.parametrize("path", _DEMOS, ids=_stem)
def test_sentences_about_demos_are_short(path: Path) -> None:
    scenario = Scenario.from_load(load_paths([path]), name=path.stem)
    cluster = Cluster.create(scenario, profile=scenario.profile, seed=0)
    long: list[str] = []
    for moment in (1 * SECOND, 20 * SECOND, 60 * SECOND):
        cluster.advance(moment)
        cluster.take()
        for kind in ASKED:
            for each in cluster.store.objects(kind)[:_MOST_ASKED]:
                found = explain_object(cluster, kind, each.key, tries_changes=False)
                long.extend(long_sentences(found))
    assert not long
