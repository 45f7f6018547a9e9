"""The texts of documents that pages print, for the catalogue: see docs/adr/0039.

What is no text of a page is not among them: names of objects, moments, facts about runs.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path as File
from typing import Any

from engine.input.lessons.lesson import Lesson
from engine.input.lessons.loading import is_lesson
from engine.input.lessons.words import marks_of
from engine.objects.documents import Limits, Path, read_documents, show_path
from engine.versions.registry import VERSIONS
from engine.versions.shown.differences import rules
from kscope.documents.tables import tables_of

# A text, and what translators are told of it.
Message = tuple[str, list[str]]

# Of a scenario: what pages print of it.
_SCENARIO = (("spec", "question"), ("spec", "answer"))
# The columns of tables that pages print. The words of docs/terms.md are Kubernetes' own.
_COLUMNS = ("concept", "what it is", "why no run shows it")
_TABLES = {
    "glossary.md": ("word", "meaning"),
    "terms.md": ("meaning",),
    "concepts.md": _COLUMNS,
}
_KEEP_MARKS = "Translators: keep the marks [words](target) and `code`; only words are translated."


def document_messages(root: File) -> Iterator[tuple[str, str, list[str]]]:
    """The texts of all documents below *root*: file, text, and what translators are told of it."""
    folder = root / "scenarios"
    for path in (*sorted(folder.glob("*.yaml")), *sorted(folder.glob("lessons/*/*.yaml"))):
        for text, comments in messages_of_yaml(path.read_bytes()):
            yield path.relative_to(root).as_posix(), text, comments
    for name, columns in _TABLES.items():
        for text in texts_of_tables((root / "docs" / name).read_text(), columns):
            yield f"docs/{name}", text, []
    for text in texts_of_versions():
        yield "engine/versions/shown/differences.py", text, []


def messages_of_yaml(data: bytes) -> Iterator[Message]:
    """The texts of the lessons and scenarios in a file."""
    for document in read_documents("", data, Limits()):
        for path, text in _texts(document.value).items():
            yield text, [*_about(document.value, path, text)]


def texts_of_tables(text: str, columns: tuple[str, ...] = _COLUMNS) -> Iterator[str]:
    """The headings of a document of docs/ that have a table, and the cells of these *columns*."""
    for table in tables_of(text):
        if table.rows:
            yield table.title
            printed = [name in columns for name in table.head]
            for row in table.rows:
                yield from (cell for cell, is_told in zip(row, printed, strict=True) if is_told)


def texts_of_versions() -> Iterator[str]:
    """What the page of versions says of each, and of each rule; values are the engine's."""
    yield from (version.summary for version in VERSIONS.values())
    for rule in rules():
        yield from (rule.area, rule.sentence)


def lesson_texts(lesson: Lesson) -> dict[Path, str]:
    """The texts of a lesson that readers see, each under its path."""
    found: dict[Path, str] = {}

    def note(path: Path, text: str) -> str:
        found[path] = text
        return text

    lesson.with_texts(note)
    return {path: text for path, text in found.items() if text}


def _texts(document: Any) -> Mapping[Path, str]:
    """The texts of one document, each under its path."""
    if not isinstance(document, dict):
        return {}
    if is_lesson(document):
        return lesson_texts(Lesson.from_document(document))
    if document.get("kind") == "Scenario":
        found = {path: _at(document, path) for path in _SCENARIO}
        return {path: text for path, text in found.items() if isinstance(text, str)}
    return {}


def _at(document: Any, path: Path) -> Any:
    for part in path:
        document = document.get(part) if isinstance(document, dict) else None
    return document


def _about(document: Any, path: Path, text: str) -> Iterator[str]:
    """What helps to translate a text: where it stands, and to keep what it marks."""
    name = _at(document, ("metadata", "name"))
    yield f"Translators: {document['kind']} {name}: {show_path(path)}"
    if marks_of(text):
        yield _KEEP_MARKS
