"""Answers of the engine are said in the reader's language where they leave, and kept in none."""

from collections.abc import Callable

import orjson
import pytest
from django.utils import translation

from engine.kernel.sentences import Sentence, say
from engine.kernel.stored_sentences import stored
from kscope.runs.aside import Question
from kscope.runs.aside.child import answer_text
from kscope.runs.languages import reader
from kscope.runs.languages.kept import sentence_kept, sentence_read
from kscope.runs.languages.renderers import SaidRenderer
from kscope.runs.models import Run, Triage
from kscope.runs.selectors import run_dict
from kscope.runs.triages import document_of

CHINESE = {"It fits {node} now.": "现在它适合 {node}。"}


@pytest.fixture
def in_chinese(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translation, "get_language", lambda: "zh-hans")
    monkeypatch.setattr(translation, "gettext", lambda text: CHINESE.get(text, text))


def fits() -> Sentence:
    return say("It fits {node} now.", node="n1")


def test_english_readers_get_answers_as_they_are() -> None:
    answer = {"sentence": fits()}
    assert reader.said(answer) is answer


@pytest.mark.usefixtures("in_chinese")
def test_an_engine_process_answers_in_the_language() -> None:
    assert orjson.loads(answer_text({"causes": [fits()]})) == {"causes": ["现在它适合 n1。"]}


@pytest.mark.usefixtures("in_chinese")
def test_rest_answers_in_the_reader_s_language() -> None:
    assert orjson.loads(SaidRenderer().render({"why": fits()})) == {"why": "现在它适合 n1。"}


@pytest.mark.usefixtures("in_chinese")
def test_a_question_carries_the_reader_s_language() -> None:
    request = Question(fits, {}, 1).request()
    assert orjson.loads(request)["language"] == "zh-hans"


def test_questions_in_two_languages_are_two(monkeypatch: pytest.MonkeyPatch) -> None:
    english = Question(fits, {}, 1).request()
    monkeypatch.setattr(translation, "get_language", lambda: "zh-hans")
    assert Question(fits, {}, 1).request() != english


@pytest.mark.usefixtures("in_chinese")
def test_a_kept_triage_is_said_when_read() -> None:
    kept = Triage(document=orjson.loads(orjson.dumps(stored({"groups": [{"cause": fits()}]}))))
    document = document_of(kept)
    assert document["groups"][0]["cause"] == "It fits n1 now."
    assert reader.said(document)["groups"][0]["cause"] == "现在它适合 n1。"


@pytest.mark.django_db
@pytest.mark.usefixtures("in_chinese")
def test_a_run_s_error_is_said_when_read(start: Callable[..., Run]) -> None:
    made = start(name="r")
    Run.objects.filter(pk=made.pk).update(error=fits())
    run = Run.described().get(pk=made.pk)
    assert run.error == "It fits n1 now."
    assert reader.said(run_dict(run))["error"] == "现在它适合 n1。"


@pytest.mark.parametrize(
    "text", ["", "OSError: no space", '{"kscope.dev/', '{"kscope.dev/sentence": 1}', "{}"]
)
def test_a_text_without_pattern_is_kept(text: str) -> None:
    assert sentence_read(sentence_kept(text)) == text


@pytest.mark.django_db
def test_a_socket_has_the_asked_language() -> None:
    scope = {"headers": [(b"accept-language", b"en-gb;q=0.8")], "cookies": {}}
    assert reader.language_of(scope) == "en-gb"
