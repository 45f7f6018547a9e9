"""What is wrong with files, each fault with its place and the line itself, and what to type instead."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from engine.input.load_result import LoadResult, Problem
from engine.input.sources.foreign import HELM
from kscope.program.speech.errors import ProgramError
from kscope.program.speech.screen import Screen
from kscope.program.speech.words import counted

_MOST_ERRORS: Final = 20
_LONGEST_LINE: Final = 200
_ACTION: Final = re.compile(r"\{\{.*?\}\}")
_NOT_YAML: Final = "not YAML: "
_UNKNOWN: Final = "unknown field, which is left out; "


def unreadable_source(loaded: LoadResult, names: Sequence[str], command: str) -> ProgramError:
    """The error for files of which nothing can be used; *names* are what was asked about."""
    skipped = {(each.file, each.why) for each in loaded.skipped}
    problems = loaded.problems
    if len(problems) == 1 and problems[0].message == HELM:
        return _of_template(problems[0], command)
    if len(problems) > 1 and all((each.file, each.message) in skipped for each in problems):
        return _nothing_to_read(loaded, names, command)
    return unreadable(problems)


def _of_template(problem: Problem, command: str) -> ProgramError:
    """A template of a chart, with its first action."""
    places, rest = [problem.file], ["render it first: helm template . | kscope " + command + " -"]
    for number, text in enumerate(_lines(problem.file), 1):
        match = _ACTION.search(text)
        if match is not None:
            places = [f"{problem.file}:{number}:{match.start() + 1}, document 1"]
            places += _marked(number, text, match.start(), len(match[0]))
            break
    message = f"{problem.file} is a Helm template, not a manifest"
    return ProgramError(message, places=places, helps=rest)


def _nothing_to_read(loaded: LoadResult, names: Sequence[str], command: str) -> ProgramError:
    """Files of which none is a manifest: what each is taken for."""
    files = {each.file: each.why for each in loaded.skipped}
    width = max(map(len, files))
    places = [f"{file.ljust(width)}  {why}" for file, why in list(files.items())[:_MOST_ERRORS]]
    more = len(files) - _MOST_ERRORS
    places += [f"and {more:,} more"] if more > 0 else []
    is_chart = any("Helm" in why for why in files.values())
    message = (
        f"nothing to read in {' '.join(names)}: none of {counted(len(files), 'file')} is a manifest"
    )
    chart = f"render it first: helm template CHART | kscope {command} -"
    return ProgramError(message, places=places, helps=[chart] if is_chart else [])


def unreadable(problems: Sequence[Problem]) -> ProgramError:
    """What is wrong with files, each with its place; all of them at once."""
    first, *others = problems[:_MOST_ERRORS]
    if not others and first.message.startswith(_NOT_YAML):
        return _not_yaml(first)
    if not others:
        return ProgramError(_message(first), places=_place(first))
    places = [line for each in (first, *others) for line in _place_with_message(each)]
    more = len(problems) - _MOST_ERRORS
    places += [f"and {more:,} more"] if more > 0 else []
    return ProgramError(f"{len(problems):,} things are wrong in the files", places=places)


def _message(problem: Problem) -> str:
    found = (
        f", found {problem.value}" if problem.value and problem.value not in problem.message else ""
    )
    where = f"{problem.field}: " if problem.field else ""
    return f"{where}{problem.message}{found}"


def _place_with_message(problem: Problem) -> list[str]:
    where = _where(problem)
    return [f"{where}: {_message(problem)}"]


def _where(problem: Problem) -> str:
    line = f":{problem.line}" if problem.line else ""
    document = f", document {problem.document}" if problem.document else ""
    return f"{problem.file}{line}{document}"


def _not_yaml(problem: Problem) -> ProgramError:
    """A file that no reader of YAML takes: the line, and where it goes wrong."""
    why = problem.message.removeprefix(_NOT_YAML).rpartition(": ")[2]
    text = next(iter(_lines(problem.file)[problem.line - 1 : problem.line]), None)
    places = [_where(problem)]
    if text is not None and len(text) < _LONGEST_LINE:
        column = len(text) - len(text.lstrip())
        places += _marked(problem.line, text, column, 1, why)
    else:
        places.append(why)
    message = f"{problem.file} is not YAML"
    return ProgramError(message, places=places, helps=["Nothing was read."])


def _place(problem: Problem) -> list[str]:
    """Where it is, and the line itself with a caret."""
    text = next(iter(_lines(problem.file)[problem.line - 1 : problem.line]), None)
    if not problem.line or text is None or len(text) >= _LONGEST_LINE:
        return [_where(problem)]
    name = problem.field.rpartition(".")[2].partition("[")[0]
    column = max(text.find(name), 0) if name else len(text) - len(text.lstrip())
    return [_where(problem), *_marked(problem.line, text, column, max(len(name), 1))]


def _marked(number: int, text: str, column: int, length: int, why: str = "") -> Iterator[str]:
    """A line, and below it what is meant of it, with a word on it."""
    yield f"{number} | {text}"
    yield f"{' ' * len(str(number))} | {' ' * column}{'^' * length} {why}".rstrip()


def _lines(file: str) -> list[str]:
    """The lines of a file; none of what is no file, as a member of an archive."""
    try:
        return Path(file).read_text(errors="replace").splitlines()
    except OSError:
        return []


# -- fields that are not known ------------------------------------------------------------------------


def unknown_fields(loaded: LoadResult) -> ProgramError:
    """The error for fields that are not known, where that is one."""
    notes = loaded.unknown_fields
    are = "field is" if len(notes) == 1 else "fields are"
    return ProgramError(f"{len(notes):,} {are} not known", places=[*map(_short, notes)])


def warn_of_unknown_fields(screen: Screen, loaded: LoadResult) -> None:
    """The same as a warning, with what follows, and how to make it an error."""
    notes = loaded.unknown_fields
    if not notes:
        return
    are = "field is not known and was" if len(notes) == 1 else "fields are not known and were"
    details = [("-->" if not place else "", _short(each)) for place, each in enumerate(notes)]
    details += [
        ("effect", "as in a cluster, they are dropped, and what they were to say does not count"),
        ("help", "treat this as an error, as kubectl apply does: --strict"),
    ]
    screen.warning(f"{len(notes):,} {are} not used", details)


def _short(note: str) -> str:
    return note.replace(_UNKNOWN, "")
