"""From uploaded files to a scenario, or to a report on what is wrong with them.

    view ── where the files lie ──▶ Question ──▶ an engine process: `upload_read`
     ◀── what is being done, at last what came of it ──────────┘

Reading takes long and holds the interpreter's lock, so it is done beside the web process.
"""

from collections import Counter
from collections.abc import AsyncGenerator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import PurePath
from typing import Any

import orjson
from asgiref.sync import sync_to_async
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.utils import timezone
from django.utils.translation import gettext

from engine.api_server.validation.report import text_fault
from engine.input.instants import whole_second_of
from engine.input.load_result import LoadResult, Problem
from engine.input.loader import Loader
from engine.input.options import IntakeOptions, OptionFault
from engine.input.scenario import LONGEST_NAME
from engine.input.sources.archives import is_archive
from engine.input.sources.runs import is_run_file
from engine.input.streams.window import Window
from engine.kernel.garbage import collector_paused
from engine.kernel.sentences import said_by
from engine.objects.documents import Limits
from engine.objects.values.shown import shown
from engine.run_file.checking import check_play
from engine.run_file.contents import RunFileError
from engine.run_file.reading import read_run_file
from engine.scheduler.configuration.scenario_schedulers import check_setup, is_known_plugin
from kscope.accounts.access import Visitor
from kscope.accounts.limits import upload_limit
from kscope.runs import aside, services
from kscope.runs.aside import Question
from kscope.runs.errors import ApplicationError
from kscope.runs.web.answers import EngineAnswer, EngineParts
from kscope.runs.web.handing.bringing import run_import
from kscope.runs.web.spool import Piece, SpooledFile, opened
from kscope.runs.web.upload_report import UploadReport, upload_report

READ_SECONDS = 300.0
PATIENCE_SECONDS = 120.0  # until an engine process is free
_HEAD = 4096  # bytes by which a file is recognised


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of an upload: a report always, the id of a scenario if there was nothing wrong.

    A run that came as a file is there already: `run_id`.
    """

    report: UploadReport
    scenario_id: int | None
    run_id: int | None = None


# Makes a response of what came of an upload, or of the refusal.
Show = Callable[[Outcome | ApplicationError], HttpResponse]


class UploadAnswer(EngineAnswer):
    """A response that waits until the files of an upload are read."""

    def __init__(self, question: Question, show: Show) -> None:
        super().__init__(question)
        self._show_end = show

    async def fill(self, asker: str) -> None:
        """See EngineAnswer."""
        parts: list[bytes] = []
        try:
            await aside.ask(self.question, asker, parts.append)
            end: Outcome | ApplicationError = _outcome(orjson.loads(parts[-1]))
        except ApplicationError as refusal:
            end = _nothing_saved(refusal)
        made = await sync_to_async(self._show_end)(end)
        self.content, self.status_code = made.content, made.status_code
        for name, value in made.headers.items():
            self.headers[name] = value


class UploadParts(EngineParts):
    """The same for a page: lines of JSON that tell what is being done, at last where to go or what
    to show.

    {"doing": "waiting"}, {"doing": "reading", "file", "number", "of"}, {"doing": "checking"},
    {"doing": "storing"}; {"status", "location"} or {"status", "page"}.
    """

    def __init__(self, question: Question, show: Show) -> None:
        super().__init__(question)
        self._show_end = show

    async def _lines(self, asker: str) -> AsyncGenerator[bytes]:
        yield b'{"doing":"waiting"}\n'
        end: Outcome | ApplicationError | None = None
        try:
            async for line in super()._lines(asker):
                told = orjson.loads(line)
                if "doing" in told:
                    yield line
                else:
                    end = _outcome(told)
        except ApplicationError as refusal:
            end = _nothing_saved(refusal)
        assert end is not None, "an upload ends with what came of it"
        made = await sync_to_async(self._show_end)(end)
        where = made.headers.get("Location")
        shown = {"location": where} if where else {"page": made.content.decode()}
        yield orjson.dumps({"status": made.status_code, **shown}) + b"\n"


def upload_ask(
    given: Iterable[UploadedFile],
    visitor: Visitor,
    *,
    name: str = "",
    choices: Mapping[str, str] | None = None,
) -> Question | Outcome:
    """The question that reads the files of *visitor*, or what came of them if that is known before.

    *choices* are those of options.NAMES, in the words of a form.
    """
    choices = {key: text for key, text in (choices or {}).items() if text}
    files = [file for file in given if isinstance(file, SpooledFile)]  # all, by the settings
    names, most = _names(files), upload_limit(visitor)
    problem = _too_much(files, most) or _bad_name(name) or _bad_choice(choices)
    if problem is not None:
        result = LoadResult()
        result.problems.append(problem)
        return Outcome(upload_report(names, result), None)
    pieces = [(name, *file.piece) for name, file in zip(names, files, strict=True)]
    arguments = {
        "pieces": pieces,
        "name": name,
        "owner_id": visitor.account_id,
        "choices": choices,
        "most_bytes": most,
    }
    return Question(
        upload_read, arguments, run_id=0, seconds=READ_SECONDS, patience=PATIENCE_SECONDS
    )


def upload_read(
    pieces: Sequence[tuple[str, str, int, int]],
    name: str,
    owner_id: int | None,
    choices: Mapping[str, str] | None = None,
    most_bytes: int = Limits().stream_bytes,
) -> Iterator[dict[str, Any]]:
    """Read the files and keep them as a scenario; with any problem nothing is saved.

    Each of *pieces* is a file: its name and its `Piece`; one, or an archive unpacked, may have up to
    *most_bytes*. For an engine process. Raises
    ApplicationError when the owner keeps too much already.
    """
    if len(pieces) == 1 and _is_run(_piece(pieces[0][1:])):
        yield from _run_read(*pieces[0], owner_id=owner_id)
        return
    with collector_paused():
        yield from _files_read(pieces, name, owner_id, choices or {}, most_bytes)


def _files_read(
    pieces: Sequence[tuple[str, str, int, int]],
    name: str,
    owner_id: int | None,
    choices: Mapping[str, str],
    most_bytes: int,
) -> Iterator[dict[str, Any]]:
    options = IntakeOptions.read(choices, is_known_plugin)
    loader = Loader(check_setup, options, Limits(stream_bytes=most_bytes))
    for number, (file, *piece) in enumerate(pieces, 1):
        told = {"doing": "reading", "file": file, "number": number, "of": len(pieces)}
        yield told
        with opened(_piece(piece)) as content:
            window = Window(content, content.size)
            # How much comes out of an archive is not known.
            size = 0 if is_archive(window.look(_HEAD)) else content.size
            for read in loader.given(file, window, is_alone=len(pieces) == 1):
                yield {**told, "read": read, "size": size}
    yield {"doing": "checking"}
    result = loader.finish()
    names = [file for file, *_ in pieces]
    scenario_id = None
    if result.ok:
        yield {"doing": "storing"}
        title = name or PurePath(names[0]).stem[:LONGEST_NAME]
        scenario = services.scenario_store(
            name=title, result=result, owner_id=owner_id, at=whole_second_of(timezone.now())
        )
        scenario_id = scenario.pk
    yield {"report": asdict(upload_report(names, result)), "scenario": scenario_id}


def _run_read(
    name: str, path: str, start: int, length: int, *, owner_id: int | None
) -> Iterator[dict[str, Any]]:
    """Read a run that came as a file, and keep it; see run_files.py."""
    yield {"doing": "reading", "file": name, "number": 1, "of": 1}
    result, run = LoadResult(), None
    try:
        with opened((path, start, length)) as content:
            data = content.read(content.size)
        file = read_run_file(data)
        yield {"doing": "checking"}
        check_play(file.scenario, file.choices)
    except RunFileError as error:
        result.problems.append(Problem(file=name, message=str(error)))
    else:
        yield {"doing": "storing"}
        run = run_import(file=file, data=data, owner_id=owner_id)
    report = asdict(upload_report([name], result))
    ids = (None, None) if run is None else (run.scenario_id, run.pk)
    yield {"report": report, "scenario": ids[0], "run": ids[1]}


def _is_run(piece: Piece) -> bool:
    with opened(piece) as content:
        return is_run_file(content.read(_HEAD))


def _piece(parts: Sequence[Any]) -> Piece:
    path, start, length = parts
    return path, start, length


def _outcome(told: dict[str, Any]) -> Outcome:
    return Outcome(UploadReport.from_dict(told["report"]), told["scenario"], told.get("run"))


def _nothing_saved(refusal: ApplicationError) -> ApplicationError:
    """The refusal in words for those who upload; what the owner may not do says enough by itself."""
    if refusal.status < 500:
        return refusal
    slow = gettext("Reading the files takes longer than {seconds} s.")
    words = slow.format(seconds=round(READ_SECONDS)) if refusal.status == 504 else refusal.message
    return ApplicationError(
        gettext("Nothing was saved. {words}").format(words=words),
        refusal.extra,
        refusal.status,
        refusal.retry_after,
    )


def _names(files: Sequence[SpooledFile]) -> list[str]:
    """The names of the files; the second and later ones of a name get a number."""
    names: list[str] = []
    counts: Counter[PurePath] = Counter()
    for file in files:
        name = PurePath(file.name or "file")
        counts[name] += 1
        number = f" ({counts[name]})" if counts[name] > 1 else ""
        names.append(f"{name.stem}{number}{name.suffix}")
    return names


def _bad_name(name: str) -> Problem | None:
    fault = text_fault(name, LONGEST_NAME)
    if fault is None:
        return None
    return Problem(file="Your upload", field="name", value=shown(name), message=fault)


def _bad_choice(choices: Mapping[str, str]) -> Problem | None:
    try:
        IntakeOptions.read(choices, is_known_plugin)
    except OptionFault as fault:
        value = shown(choices[fault.option])
        return Problem(file="Your upload", field=fault.option, value=value, message=said_by(fault))
    return None


def _too_much(files: Sequence[SpooledFile], most: int) -> Problem | None:
    """The problem of files that are too large together, found before any of them is read."""
    total = 0
    for file in files:
        total += file.size or 0
        if total > most:
            allowed = most // 1_048_576
            message = gettext(
                "{size} MiB with the files before it; an upload may hold {allowed} MiB in all"
            ).format(size=f"{total / 1_048_576:.1f}", allowed=allowed)
            return Problem(file=file.name or "file", message=message)
    return None
