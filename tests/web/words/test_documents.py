"""Lessons, scenarios and tables of docs/ are in the catalogue, and pages print them through it."""

import html
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.test import Client

from engine.input.lessons.lesson import Lesson as Told
from engine.input.lessons.words import marks_of, with_targets, words_of
from engine.input.loader import load_files
from engine.objects.documents import Limits, read_documents
from kscope.concepts.table import sections as concept_sections
from kscope.documents.messages import (
    document_messages,
    lesson_texts,
    messages_of_yaml,
    texts_of_tables,
    texts_of_versions,
)
from kscope.glossary import sections, sentence_of, terms
from kscope.runs import services
from kscope.runs.models import Lesson
from tests.engine.input.test_lesson_documents import LESSON, SCENARIO
from tests.web.words.pseudo import CLOSE, OPEN, pseudo_language, unmarked

LESSONS = sorted(Path(settings.BASE_DIR, "scenarios", "lessons").glob("*/*.yaml"))


@pytest.fixture
def lesson(db: None) -> Lesson:
    """A lesson that was uploaded with its scenario."""
    files = [("small.yaml", (SCENARIO + LESSON).encode())]
    services.scenario_store(name="small", result=load_files(files))
    return Lesson.objects.get()


def documents_of(path: Path) -> Iterator[dict]:
    """The lessons in a file of scenarios/lessons/."""
    for document in read_documents(path.name, path.read_bytes(), Limits()):
        if document.value["kind"] == "Lesson":
            yield document.value


def messages_of(text: str) -> list[str]:
    """The messages of a file of YAML."""
    return [message for message, _ in messages_of_yaml(text.encode())]


def strings_of(value: object) -> Iterator[str]:
    """All texts in a tree of JSON."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for each in value.values():
            yield from strings_of(each)
    elif isinstance(value, list):
        for each in value:
            yield from strings_of(each)


def test_messages_say_where_they_stand() -> None:
    found = dict(messages_of_yaml((SCENARIO + LESSON).encode()))
    assert list(found)[:2] == ["A course", "A lesson"]
    assert all(about[0].startswith("Translators: Lesson first: spec.") for about in found.values())


def test_translators_are_told_to_keep_marks() -> None:
    told = dict(messages_of_yaml(LESSON.encode()))
    assert {len(about) == 2 for message, about in told.items() if marks_of(message)} == {True}
    assert {len(about) for message, about in told.items() if not marks_of(message)} == {1}


def test_all_documents_are_in_the_catalogue() -> None:
    files = {file for file, _, _ in document_messages(Path(settings.BASE_DIR))}
    assert {"docs/glossary.md", "docs/terms.md", "docs/concepts.md"} <= files
    assert {path.relative_to(settings.BASE_DIR).as_posix() for path in LESSONS} <= files
    assert "scenarios/local-volumes.yaml" in files


@pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)
def test_whole_text_of_a_lesson_is_extracted(path: Path) -> None:
    """What a reader sees is found by walking the document itself, whatever its fields are called."""
    known = set(messages_of(path.read_text()))
    for document in documents_of(path):
        seen = {
            text
            for text in strings_of(document["spec"])
            if " " in text and not re.fullmatch(r"[\w./:#@-]*", text)
        }
        facts = {
            text for step in document["spec"]["steps"] for text in strings_of(step.get("assert"))
        }
        moments = set(strings_of(document["spec"].get("moments")))
        moments |= {text for step in document["spec"]["steps"] for text in strings_of(step["at"])}
        assert {with_targets(text) for text in seen - facts - moments} <= known


def test_lesson_page_prints_only_messages(client: Client, lesson: Lesson) -> None:
    with pseudo_language():
        told = client.get(f"/api/v1/lessons/{lesson.slug}/").json()
    texts = [told["course"], told["title"], told["teaches"]]
    for step in told["told"]:
        ask = step["ask"]
        texts.append(step["title"])
        paragraphs = [*step["text"], ask["question"], ask["because"]]
        for option in ask["options"]:
            paragraphs += [option["text"], option["why"]]
        texts += ["".join(piece.get("text", "") for piece in paragraph) for paragraph in paragraphs]
    assert [unmarked(text) for text in texts] == [""] * len(texts)
    assert any(text for text in texts)


def test_translated_lesson_has_the_same_steps(client: Client, lesson: Lesson) -> None:
    plain = client.get(f"/api/v1/lessons/{lesson.slug}/").json()
    with pseudo_language():
        other = client.get(f"/api/v1/lessons/{lesson.slug}/").json()
    for one, two in zip(plain["told"], other["told"], strict=True):
        assert (one["at"], one["select"], one["page"]) == (two["at"], two["select"], two["page"])
        assert [_marks(text) for text in one["text"]] == [_marks(text) for text in two["text"]]


def _marks(pieces: list[dict]) -> list[dict]:
    return [
        {name: value for name, value in piece.items() if name != "means"}
        for piece in pieces
        if piece["kind"] not in ("text", "code")
    ]


def test_translation_that_marks_other_things_is_not_shown(client: Client, lesson: Lesson) -> None:
    plain = client.get(f"/api/v1/lessons/{lesson.slug}/").json()
    with pseudo_language(lambda message: re.sub(r"\]\([^)]*\)", "](pod/default/another)", message)):
        other = client.get(f"/api/v1/lessons/{lesson.slug}/").json()
    assert plain["told"] == other["told"]


def test_lesson_pages_in_another_language(client: Client, lesson: Lesson) -> None:
    with pseudo_language():
        page = html.unescape(client.get("/lessons/").content.decode())
    assert f"{OPEN}A course{CLOSE}" in page
    assert f"{OPEN}A lesson{CLOSE}" in page


def test_terms_are_explained_in_the_language() -> None:
    with pseudo_language():
        assert sentence_of("Pod") == f"{OPEN}{terms()['pod']}{CLOSE}"
        assert sentence_of("no such term") == ""


@pytest.mark.parametrize("name", ["glossary.md", "concepts.md"])
def test_tables_are_printed_through_the_catalogue(name: str, client: Client) -> None:
    messages = list(texts_of_tables(Path(settings.BASE_DIR, "docs", name).read_text()))
    with pseudo_language():
        page = client.get(f"/{name.removesuffix('.md')}/").content.decode()
    text = html.unescape(re.sub("</?code>", "`", page))
    missing = [message for message in messages if f"{OPEN}{message}{CLOSE}" not in text]
    # On the page of concepts code spans are as they are written.
    assert missing == []
    printed = re.findall("<d[td][^>]*>(.*?)</d[td]>", page, re.DOTALL)
    assert printed
    assert {re.sub(r"\s|<[^>]*>", "", unmarked(each)) for each in printed} == {""}


def test_tables_have_the_rows_that_they_had() -> None:
    assert sum(len(section.terms) for section in sections("glossary.md")) > 50
    assert sum(len(section.concepts) for section in concept_sections()) >= 70


def test_columns_that_no_page_prints_are_left_out() -> None:
    table = "## Things\n\n| word | meaning |\n|---|---|\n| pod, pods | it runs |\n"
    assert list(texts_of_tables(table, ("meaning",))) == ["Things", "it runs"]


def test_rules_of_versions_are_printed_through_the_catalogue(client: Client) -> None:
    with pseudo_language():
        page = html.unescape(client.get("/versions/").content.decode())
    missing = [text for text in texts_of_versions() if f"{OPEN}{text}{CLOSE}" not in page]
    assert missing == []


def test_scenarios_question_is_a_message() -> None:
    path = Path(settings.BASE_DIR, "scenarios", "local-volumes.yaml")
    question, answer = messages_of(path.read_text())
    assert question.endswith("the controller's about the volume?")
    assert answer.endswith(".")


def test_marks_are_the_same_in_any_order() -> None:
    one = "[claim](?) of [db](pod/default/db) at [](@bound), see `x`"
    two = "`x`: [](@bound), [db](pod/default/db), [PVC](?claim)"
    assert marks_of(one) == marks_of(two)
    assert marks_of(one) != marks_of(two.replace("?claim", "?pod"))


def test_term_keeps_its_target_in_other_words() -> None:
    told = with_targets("[Claim](?), [claims](?claim) and [API server](?)")
    assert told == "[Claim](?claim), [claims](?claim) and [API server](?api server)"
    assert [words.term for words in words_of(told) if words.term] == [
        "claim",
        "claim",
        "api server",
    ]
    assert with_targets(told) == told


def test_lessons_texts_are_all_changed() -> None:
    (document,) = [one.value for one in read_documents("", LESSON.encode(), Limits())]
    told = Told.from_document(document)
    changed = told.with_texts(lambda _, text: text.upper())
    before, after = lesson_texts(told), lesson_texts(changed)
    assert [with_targets(text).upper() for text in before.values()] == [
        with_targets(text).upper() for text in after.values()
    ]
