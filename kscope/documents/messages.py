"""The texts of documents, as Babel asks for them: methods of extraction.

A method is given a file, and yields for each text its line, the function of gettext that looks it
up (none: by the text alone), the text, and what translators are told of it. What is no text of a
page is not among them: names of objects, moments, facts about runs.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, cast

from engine.input.lessons.lesson import Lesson
from engine.input.lessons.loading import is_lesson
from engine.input.lessons.words import marks_of
from engine.objects.documents import Limits, Path, find_lines, read_documents, show_path
from kscope.documents.tables import Table, tables_of

Message = tuple[int, None, str, list[str]]

# Of a scenario: what pages print of it.
_SCENARIO = (("spec", "question"),)
# The columns of tables that pages print.
_COLUMNS = ("word", "meaning", "concept", "what it is", "why no run shows it")
_KEEP_MARKS = "Keep the marks [words](target) and `code`; [word](?) becomes [translation](?word)."


def extract_yaml(
    file: IO[bytes], keywords: Any = (), comment_tags: Any = (), options: Any = None
) -> Iterator[Message]:
    """The texts of the lessons and scenarios in a file of YAML."""
    data = file.read()
    documents = list(read_documents("", data, Limits()))
    texts = {number: _texts(one.value) for number, one in enumerate(documents, 1)}
    lines = find_lines(data, {number: set(paths) for number, paths in texts.items()})
    for number, found in texts.items():
        for path, text in found.items():
            yield lines[number][path], None, text, [*_about(documents[number - 1].value, path, text)]


def extract_tables(
    file: IO[bytes],
    keywords: Any = (),
    comment_tags: Any = (),
    options: Mapping[str, str] | None = None,
) -> Iterator[Message]:
    """The texts of the tables in a document of docs/; `without` names a column that no page prints."""
    left_out = (options or {}).get("without", "")
    for table in tables_of(file.read().decode()):
        if table.rows:
            yield table.line, None, table.title, []
            yield from _cells(table, left_out)


def _cells(table: Table, left_out: str) -> Iterator[Message]:
    printed = [name in _COLUMNS and name != left_out for name in table.head]
    for row in table.rows:
        for cell, is_printed in zip(row.cells, printed, strict=True):
            if is_printed:
                yield row.line, None, cell, []


def _texts(document: Any) -> Mapping[Path, str]:
    """The texts of one document, each under its path."""
    if not isinstance(document, dict):
        return {}
    manifest = cast("dict[str, Any]", document)
    if is_lesson(manifest):
        return lesson_texts(Lesson.from_document(manifest))
    if manifest.get("kind") == "Scenario":
        found = {path: _at(manifest, path) for path in _SCENARIO}
        return {path: text for path, text in found.items() if isinstance(text, str)}
    return {}


def lesson_texts(lesson: Lesson) -> dict[Path, str]:
    """The texts of a lesson that readers see, each under its path."""
    found: dict[Path, str] = {}

    def note(path: Path, text: str) -> str:
        found[path] = text
        return text

    lesson.with_texts(note)
    return {path: text for path, text in found.items() if text}


def _at(document: Any, path: Path) -> Any:
    for part in path:
        document = document.get(part) if isinstance(document, dict) else None
    return document


def _about(document: Any, path: Path, text: str) -> Iterable[str]:
    """What helps to translate a text: where it stands, and to keep what it marks."""
    name = _at(document, ("metadata", "name"))
    yield f"{document['kind']} {name}: {show_path(path)}"
    if marks_of(text):
        yield _KEEP_MARKS
