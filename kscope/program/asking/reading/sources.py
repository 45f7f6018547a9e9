"""Reads what is asked about: files and folders become a cluster that stands, and what they say."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from engine.diagnosis.triage.standing import Standing, standing
from engine.input.formats.collection import Collection
from engine.input.load_result import LoadResult
from engine.input.loader import load_paths, reading_words
from engine.input.options import IntakeOptions, OptionFault, parse_size
from engine.input.sources.runs import is_run_file
from engine.kernel.errors import SimError
from engine.objects.documents import Limits
from engine.run_file.checking import check_play
from engine.run_file.contents import RunFile, RunFileError
from engine.run_file.reading import read_run_file
from engine.scheduler.configuration.scenario_schedulers import check_setup, is_known_plugin
from kscope.program.asking.reading.cluster import read_about
from kscope.program.asking.reading.faults import (
    unknown_fields,
    unreadable,
    unreadable_source,
    warn_of_unknown_fields,
)
from kscope.program.asking.reading.kinds import KIND_OF_WORD, Named
from kscope.program.grammar import COMMANDS, Request
from kscope.program.live.kubeconfig import context_names
from kscope.program.live.whole import (
    Live,
    cluster_of,
    loaded_of,
    read_whole,
    say_what_was_hidden,
)
from kscope.program.speech.errors import ProgramError
from kscope.program.speech.screen import Screen
from kscope.program.speech.words import counted, several

STDIN = "-"
# Commands that play what they read, and those that play a run that was saved.
_PLAYED = ("simulate", "test", "export", "import")
_PLAY_RUNS = ("simulate", "export", "import")
_HEAD = 200
_MOST_NOTES = 5


@dataclass(frozen=True, slots=True)
class Source:
    """Files that were read, as they were named."""

    names: tuple[str, ...]
    loaded: LoadResult
    # What a `.kscope` file holds, if that is what was named.
    run_file: RunFile | None = None
    # What was read just now of a cluster itself.
    live: Live | None = None

    @property
    def collection(self) -> Collection | None:
        """How the cluster was read, where that is known."""
        return self.loaded.collection

    @property
    def collection_context(self) -> str:
        """The context that the cluster was read by; "" for files."""
        return self.loaded.collection.context if self.loaded.collection else ""

    @property
    def has_stdin(self) -> bool:
        """Whether standard input was read, which no other command can read again."""
        return STDIN in self.names

    @property
    def words(self) -> str:
        """The names for a sentence or a command."""
        return " ".join(self.names)


def read(
    request: Request, screen: Screen, names: Sequence[str], named: Named | None = None
) -> Source:
    """The files of a request, or its cluster: what concerns *named* alone, where that is asked about.

    Raises ProgramError for none, and for what cannot be read.
    """
    if request["context"]:
        screen.is_of_cluster = True
        return _read_context(request, screen, names, named)
    if not names:
        raise _nothing_named(request)
    screen.progress(f"reading {' '.join(names)}")
    run = run_named(request, names)
    if run is not None:
        return Source(tuple(names), LoadResult(), run)
    loaded = _loaded(request, screen, names)
    if not loaded.ok:
        raise unreadable_source(loaded, names, request.command)
    _refuse_strictly(request, loaded)
    # What was read is the answer of an import, not a note beside it.
    if request.command != "import":
        _say_what_was_read(screen, loaded)
    if loaded.collection is not None:
        say_what_was_hidden(screen, loaded.collection, "")
    return Source(tuple(names), loaded)


def run_named(request: Request, names: Sequence[str]) -> RunFile | None:
    """The run that a `.kscope` file holds; None where none was named. Raises ProgramError."""
    runs = [name for name in names if _is_run(name)]
    if not runs:
        return None
    name = runs[0]
    if request.command not in _PLAY_RUNS:
        helps = [f"kscope export -o yaml {name} - | kscope {request.command} -"]
        raise ProgramError(
            f"{name} is a run; {request.command} takes files of a cluster", helps=helps
        )
    if len(names) > 1:
        raise ProgramError(f"{name} is a run, which is played alone")
    try:
        file = read_run_file(Path(name))
        check_play(file.scenario, file.choices)
    except RunFileError as error:
        raise ProgramError(f"{name} cannot be read: {error}") from error
    return file


def _is_run(name: str) -> bool:
    path = Path(name)
    if name == STDIN or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return is_run_file(file.read(_HEAD))
    except OSError as error:
        raise ProgramError(f"{name}: {error.strerror}") from error


def _nothing_named(request: Request) -> ProgramError:
    contexts = context_names(request["kubeconfig"])
    known = f" (contexts: {', '.join(contexts[:_MOST_NOTES])})" if contexts else ""
    return ProgramError(
        "no cluster was named",
        helps=[
            f"kscope {request.command} FILE, or kscope {request.command} --context NAME{known}"
            if "context" in COMMANDS[request.command].flags
            else f"kscope {request.command} FILE, or - for standard input"
        ],
    )


def _read_context(
    request: Request, screen: Screen, names: Sequence[str], named: Named | None
) -> Source:
    """What was read of a cluster, said as a source."""
    if names:
        raise ProgramError(
            f"{names[0]} and --context were both given", helps=["leave one of them out"]
        )
    cluster = cluster_of(request)
    live = (
        read_about(request, screen, cluster, named)
        if named is not None
        else read_whole(request, screen, cluster)
    )
    name = live.collection.context
    screen.did(f"read {name}  {live.summary}")
    say_what_was_hidden(screen, live.collection, "")
    try:
        loaded = loaded_of(live, request["nodes"] or "")
    except OptionFault as fault:
        raise ProgramError(f"--{fault.option}: {fault}") from fault
    if not loaded.ok:
        raise unreadable(loaded.problems)
    return Source((f"--context {name}",), loaded, live=live)


def _loaded(request: Request, screen: Screen, names: Sequence[str]) -> LoadResult:
    try:
        options = IntakeOptions.read(choices(request), is_known_plugin)
        for name in names:
            if name != STDIN and not Path(name).exists():
                raise ProgramError(f"{name}: no such file or folder")
        return load_paths(
            map(Path, names),
            _limits(request),
            check=check_setup,
            options=options,
            progress=lambda *done: screen.progress(f"reading {reading_words(*done)}"),
        )
    except OptionFault as fault:
        raise ProgramError(f"--{_FLAGS.get(fault.option, fault.option)}: {fault}") from fault
    except OSError as error:
        raise ProgramError(f"{error.filename}: {error.strerror}") from error


# The flags of the options that are called otherwise.
_FLAGS = {
    "namespaces": "read-namespace",
    "selector": "read-selector",
    "case": "perf-case",
}


def choices(request: Request) -> dict[str, str]:
    """What the flags choose, in the words of options.NAMES."""
    # What stands is asked about as it is now; what is played goes through its changes.
    watch = "recording" if request.command in _PLAYED else "newest"
    is_on = "on" if request["ignore-unknown-plugins"] else ""
    given = {name: request[flag] or "" for name, flag in _FLAGS.items()}
    words = {
        name: text if isinstance(text, str) else ",".join(text) for name, text in given.items()
    }
    return {
        **words,
        "kinds": _kinds(request),
        "nodes": request["nodes"] or "",
        "watch": request["watch"] or watch,
        "ignore_unknown_plugins": is_on,
    }


def _limits(request: Request) -> Limits:
    size = request["max-bytes"]
    try:
        return Limits(stream_bytes=parse_size(size)) if size else Limits()
    except ValueError as error:
        raise ProgramError(f"--max-bytes: {error}") from error


def _kinds(request: Request) -> str:
    """The kinds of --read, which files may have of any name."""
    words = str(request["read"] or "").split(",")
    return ",".join(KIND_OF_WORD.get(word.strip().lower(), word) for word in words)


def stand(source: Source, request: Request) -> Standing:
    """The cluster of the files as it stands. Raises ProgramError where none can be made."""
    try:
        return standing(source.loaded, single_profile(request), at=now())
    except (SimError, ValueError) as refusal:
        raise ProgramError(str(refusal)) from refusal


def single_profile(request: Request) -> str | None:
    """The version that was asked for. Raises ProgramError for several."""
    given: list[str] = request["profile"] or []
    if len(given) > 1:
        raise ProgramError(
            "two profiles were given", helps=["to compare two: kscope diff --profile A --profile B"]
        )
    return given[0] if given else None


def age_of(source: Source) -> str:
    """How long ago a cluster was read: ", 1 s ago"; "" for a collection, which may be old."""
    if source.live is None:
        return ""
    seconds = time.monotonic() - source.live.read_at
    return f", {seconds:.0f} s ago"


def now() -> str:
    """The time of the import, in RFC 3339 and whole seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def files_and_object(request: Request) -> tuple[list[str], Named | None]:
    """The files that were named, and the object behind them: TYPE/NAME or TYPE NAME."""
    words, files = list(request.words), list(request["filename"] or [])
    if words and not _is_source(words[-1]):
        last = words.pop()
        before = words[-1] if words else ""
        if before and not _is_source(before) and "/" not in before and "." not in before:
            return [*files, *words[:-1]], Named(before, last)
        if "/" in last:
            word, _, name = last.partition("/")
            return [*files, *words], Named(word, name)
        words.append(last)
    return [*files, *words], None


def _is_source(word: str) -> bool:
    return word == STDIN or Path(word).exists()


# -- what is said of it ------------------------------------------------------------------------------


def _refuse_strictly(request: Request, loaded: LoadResult) -> None:
    """What is a warning else is an error where that is asked for."""
    if not request["strict"]:
        return
    if loaded.unknown_fields:
        raise unknown_fields(loaded)
    told = _warnings(loaded)
    if told:
        raise ProgramError(
            f"{len(told):,} things in the files are not as they should be", places=told
        )


def _warnings(loaded: LoadResult) -> list[str]:
    """Those that stand in no list of their own."""
    apart = {*map(str, loaded.left_out), *loaded.unknown_fields}
    return [each for each in loaded.warnings if each not in apart]


def _say_what_was_read(screen: Screen, loaded: LoadResult) -> None:
    warn_of_unknown_fields(screen, loaded)
    for each in _warnings(loaded):
        screen.warning(each)
    for note in _notes(loaded):
        screen.note(note)
    aside = _aside(loaded)
    if aside:
        screen.note(aside)


def _notes(loaded: LoadResult) -> Iterator[str]:
    """What files were taken for, what was skipped, assumed, and left open."""
    yield from (f"{name} is {what}" for name, what in loaded.sources.items())
    for found in (loaded.skipped, [each.sentence for each in loaded.placeholders]):
        yield from map(str, found[:_MOST_NOTES])
        more = len(found) - _MOST_NOTES
        if more > 0:
            yield f"{more:,} more like these"
    yield from map(str, loaded.questions)


def _aside(loaded: LoadResult) -> str:
    """What was read and is not played."""
    kinds = [each.name for each in loaded.left_out if not each.is_neutral or each.is_evidence]
    if not kinds:
        return ""
    events = sum(each.manifest["kind"] == "Event" for each in loaded.kept_aside)
    beside = f" and {counted(events, 'Event')}" if events else ""
    names = several([each for each in kinds if each != "Event"])
    rest = f"; {names} are read as evidence but not played" if names else ""
    return f"{counted(len(loaded.objects), 'object')}{beside} were read{rest}"
