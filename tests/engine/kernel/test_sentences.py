"""Sentences carry their pattern and arguments, and are said again in another language."""

import copy
import pickle
from typing import Any

import orjson
import pytest

from engine.kernel.sentences import (
    NOTHING,
    Sentence,
    all_of,
    any_of,
    clause,
    count_phrase,
    each_of,
    enumerated,
    in_turn,
    phrase,
    say,
    say_count,
    together,
    translated,
    verbatim,
)
from engine.kernel.stored_sentences import restored, stored


class Catalogue:
    """A language with one form for all numbers, like Chinese."""

    def __init__(self, patterns: dict[str, str]) -> None:
        self._patterns = patterns

    def gettext(self, message: str, /) -> str:
        return self._patterns.get(message, message)

    def ngettext(self, singular: str, plural: str, number: int, /) -> str:
        return self._patterns.get(singular, singular if number == 1 else plural)


CHINESE = Catalogue(
    {
        "It fits {node} now.": "现在它适合 {node}。",
        "{count} pod waits": "有 {count} 个 Pod 在等待",
        "{list}, {next}": "{list}、{next}",
        "{list} and {next}": "{list}和{next}",
        "{list} {next}": "{list}{next}",
        "{list} and {count} more": "{list}等（另有 {count} 个）",
        "{why}, so {pod} waits.": "{pod} 在等待：{why}。",
        "Broken {node}": "{other}",
    }
)


def test_a_sentence_is_its_english_text() -> None:
    said = say("It fits {node} now.", node="n1")
    assert said == "It fits n1 now."
    assert (said.id, dict(said.arguments)) == ("It fits {node} now.", {"node": "n1"})
    assert orjson.loads(orjson.dumps({"sentence": said})) == {"sentence": "It fits n1 now."}


@pytest.mark.parametrize(
    ("count", "text"), [(0, "0 pods wait"), (1, "1 pod waits"), (2, "2 pods wait")]
)
def test_the_plural_follows_the_count(count: int, text: str) -> None:
    said = say_count("{count} pod waits", "{count} pods wait", count)
    assert said == count_phrase("{count} pod waits", "{count} pods wait").say(count) == text
    assert (said.plural, said.number) == ("{count} pods wait", count)


def test_the_singular_may_spell_its_number() -> None:
    assert say_count("One pod", "{count} pods", 1) == "One pod"


@pytest.mark.parametrize("places", [{}, {"node": "n1", "more": 1}, {"nodes": "n1"}])
def test_a_missing_or_unknown_place_raises(places: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="not in both"):
        say("It fits {node} now.", **places)


def test_a_place_of_one_form_alone_raises() -> None:
    with pytest.raises(ValueError, match="not in both"):
        say_count("{pod} waits", "{count} pods wait", 1, pod="a")
    with pytest.raises(ValueError, match="other places"):
        say_count("{pod} waits", "{count} pods wait", 1)


@pytest.mark.parametrize("pattern", ["{}", "{at:g}", "{pod!r}", "{pod.name}"])
def test_a_place_is_a_name_alone(pattern: str) -> None:
    with pytest.raises(ValueError, match="more than a name"):
        phrase(pattern).say()


def test_lists_are_joined_as_before() -> None:
    names = ["a", "b", "c", "d"]
    assert all_of(names) == "a, b, c and d"
    assert all_of(names, 2) == enumerated(names, 2) == "a, b and 2 more"
    assert (enumerated(names), in_turn(names)) == ("a, b, c, d", "a; b; c; d")
    assert (each_of(names[:3]), any_of(names[:3])) == ("a and b and c", "a or b or c")
    assert (all_of(["a"]), all_of([])) == ("a", "")


def test_a_clause_begins_small_unless_abbreviated() -> None:
    assert clause(say("All nodes are full.")) == "all nodes are full."
    assert clause(say("PVCs are lost.")) == "PVCs are lost."


def test_sentences_follow_one_another() -> None:
    first, second = say("One is full."), say("It waits.")
    assert together(first, NOTHING, second) == "One is full. It waits."
    assert together(NOTHING, second) is second
    assert together() == ""


def _nested() -> Sentence:
    fits = say("It fits {node} now.", node=all_of(["a", "b", "c"]))
    waits = say("{why}, so {pod} waits.", why=verbatim("0/3 nodes"), pod="shop/web")
    return together(fits, waits, say_count("{count} pod waits", "{count} pods wait", 1))


def test_a_document_is_said_in_another_language() -> None:
    known = clause(say("It fits {node} now.", node=enumerated(["a", "b", "c"], 2)))
    document = {"all": [_nested(), ("plain", 3)], "clause": known}
    assert translated(document, CHINESE) == {
        "all": [
            "现在它适合 a、b和c。shop/web 在等待：0/3 nodes。有 1 个 Pod 在等待",
            ["plain", 3],
        ],
        "clause": "现在它适合 a、b等（另有 1 个）。",
    }


def test_what_a_catalogue_lacks_or_breaks_stays_english() -> None:
    assert translated(say("Broken {node}", node="n1"), CHINESE) == "Broken n1"
    assert translated(say("Unknown {node}", node="n1"), CHINESE) == "Unknown n1"


@pytest.mark.parametrize("carried", [copy.copy, copy.deepcopy, lambda one: _pickled(one)])
def test_a_copy_can_be_said_in_another_language(carried: Any) -> None:
    for sentence in (_nested(), clause(_nested())):
        copied = carried(sentence)
        assert copied == sentence
        assert translated(copied, CHINESE) == translated(sentence, CHINESE) != sentence


def _pickled(sentence: Sentence) -> Any:
    return pickle.loads(pickle.dumps(sentence))


def test_a_stored_answer_keeps_its_sentences() -> None:
    answer = {"one": _nested(), "more": [clause(_nested()), NOTHING, "plain", 3, None]}
    kept = orjson.loads(orjson.dumps(stored(answer)))
    assert restored(kept) == answer
    assert translated(restored(kept), CHINESE) == translated(answer, CHINESE)


@pytest.mark.parametrize(
    "manifest",
    [
        {"kscope.dev/sentence": "text"},
        {"kscope.dev/sentence": {"id": "{a}", "arguments": {}}},
        {"kscope.dev/list": {"items": 3, "between": "", "last": ""}},
        {"kscope.dev/unstopped": "text"},
    ],
)
def test_what_looks_like_a_sentence_stays(manifest: dict[str, Any]) -> None:
    assert restored(copy.deepcopy(manifest)) == manifest
