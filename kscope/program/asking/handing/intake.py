"""What was read of files and what was not, as `kscope import` says it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from engine.input.assembly import WANTED
from engine.input.assumed.placeholder import FILE as ASSUMED
from engine.input.load_result import FileContents, LoadedObject, LoadResult
from engine.input.sources.foreign import Skipped
from engine.objects.unmodelled import LeftOut
from kscope.program.speech.formats import document
from kscope.program.speech.paper import Paper
from kscope.program.speech.words import counted

# Rows of each part, unless the answer is wide.
_MOST_ROWS: Final = 20


def headline(loaded: LoadResult) -> str:
    """How many objects of how many files were read, and what is open."""
    found = [_kinds(each) for each in _files_of(loaded).values()]
    objects, read = sum(sum(each.values()) for each in found), sum(map(bool, found))
    all_files = len({*_files_of(loaded), *(each.file for each in loaded.skipped)})
    files = counted(read, "file") if read == all_files else f"{read:,} of {all_files:,} files"
    was = "was" if objects == 1 else "were"
    return f"{counted(objects, 'object')} {was} read from {files}. {_what_is_open(loaded)}"


def _files_of(loaded: LoadResult) -> dict[str, FileContents]:
    """Those that somebody named; what was added to them stands apart."""
    added = (WANTED, ASSUMED)
    return {name: each for name, each in loaded.files.items() if name not in added}


def _what_is_open(loaded: LoadResult) -> str:
    questions = len(loaded.questions)
    if not questions:
        return "Nothing is refused."
    return f"{counted(questions, 'question')} {'is' if questions == 1 else 'are'} open."


def _kinds(contents: FileContents) -> Mapping[str, int]:
    return contents.kinds | contents.aside


def write_intake(paper: Paper, loaded: LoadResult, *, is_wide: bool = False) -> None:
    """The answer for people; a wide one has every row and every object."""
    most = None if is_wide else _MOST_ROWS
    paper.paragraph(headline(loaded), style="bold")
    for name, what in loaded.sources.items():
        paper.paragraph(f"{name} is {what}.")
    paper.line()
    _rows(paper, "READ", "OBJECTS", _files(loaded), most)
    skipped = [(_place(each), str(each.why)) for each in loaded.skipped]
    _rows(paper, "SKIPPED", "WHY", skipped, most)
    left_out = [(f"{each.count:,} {each.name}", str(each.note)) for each in _effects(loaded)]
    _rows(paper, "NOT MODELLED", "EFFECT", left_out, most)
    for title, sentences in (
        ("MISSPELLED FIELDS", loaded.unknown_fields),
        ("PLACEHOLDERS", [str(each.sentence) for each in loaded.placeholders]),
        ("OPEN QUESTIONS", [str(each) for each in loaded.questions]),
    ):
        _sentences(paper, title, sentences, most)
    if is_wide:
        objects = [(_name(each), str(each.origin)) for each in _objects(loaded)]
        _rows(paper, "OBJECT", "PLACE", objects, None)


def _files(loaded: LoadResult) -> list[tuple[str, str]]:
    return [
        (name, ", ".join(f"{count:,} {kind}" for kind, count in _kinds(contents).items()))
        for name, contents in loaded.files.items()
        if name != ASSUMED and _kinds(contents)
    ]


def _place(skipped: Skipped) -> str:
    return f"{skipped.file}, document {skipped.document}" if skipped.document else skipped.file


def _effects(loaded: LoadResult) -> list[LeftOut]:
    """What is left out, and changes what is played."""
    return [each for each in loaded.left_out if not each.is_neutral]


def _rows(
    paper: Paper, first: str, second: str, rows: Sequence[tuple[str, str]], most: int | None
) -> None:
    if not rows:
        _none(paper, first)
        return
    paper.table([(first, second), *rows[:most]])
    _more(paper, len(rows), most)


def _sentences(paper: Paper, title: str, sentences: Sequence[str], most: int | None) -> None:
    if not sentences:
        _none(paper, title)
        return
    paper.line(title, style="dim")
    for each in sentences[:most]:
        paper.paragraph(each, first="  ", rest="    ")
    _more(paper, len(sentences), most)


def _none(paper: Paper, title: str) -> None:
    paper.line(f"{title:<19}none", style="dim")


def _more(paper: Paper, count: int, most: int | None) -> None:
    if most is not None and count > most:
        paper.line(f"  and {count - most:,} more: -o wide", style="dim")
    paper.line()


def _objects(loaded: LoadResult) -> Iterator[LoadedObject]:
    """What was read, in the order of the files; what was assumed is none of it."""
    yield from (each for each in loaded.objects if each.origin.file != ASSUMED)
    yield from loaded.kept_aside


def _name(found: LoadedObject) -> str:
    metadata = found.manifest.get("metadata") or {}
    parts = (found.manifest["kind"], metadata.get("namespace"), metadata.get("name"))
    return "/".join(str(part) for part in parts if part)


def intake_document(loaded: LoadResult, run: Mapping[str, Any] | None) -> dict[str, Any]:
    """The answer as a document; *run* is what a kscope made of it, None where none was asked."""
    return document(
        "Intake",
        headline=headline(loaded),
        complete=not loaded.questions,
        files=[
            {"name": name, "documents": each.documents, "objects": dict(_kinds(each))}
            for name, each in _files_of(loaded).items()
        ],
        sources=dict(loaded.sources),
        skipped=[
            {"file": each.file, "document": each.document or None, "why": each.why}
            for each in loaded.skipped
        ],
        not_modelled=[
            {"kind": each.name, "count": each.count, "effect": each.note}
            for each in _effects(loaded)
        ],
        misspelled_fields=list(loaded.unknown_fields),
        placeholders=[each.to_dict() for each in loaded.placeholders],
        questions=[each.to_dict() for each in loaded.questions],
        run=dict(run) if run else None,
    )


def intake_lines(loaded: LoadResult) -> Iterator[dict[str, Any]]:
    """A document for each object."""
    for each in _objects(loaded):
        origin = each.origin
        yield document(
            "IntakeObject",
            object=_name(each),
            file=origin.file,
            document=origin.document,
            line=origin.line,
        )
