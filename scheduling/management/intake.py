"""The arguments of commands that read files, and what they tell about the reading."""

import argparse
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TextIO

import orjson
from django.core.management.base import BaseCommand, CommandError

from engine.input.load_result import LoadResult, SetupCheck
from engine.input.loader import STDIN, load_paths, reading_words
from engine.input.options import NAMES, WATCHES, IntakeOptions, OptionFault, parse_size
from engine.objects.documents import Limits
from engine.scheduler.configuration.scenario_schedulers import is_known_plugin

BAD_INPUT = 2
# The options that have another name on the command line, which says it in the singular.
_FLAGS = {"namespaces": "namespace", "kinds": "kind", "case": "perf-case"}
# What an option is called among the arguments, where a command has another argument of its name.
_PLACES = {"namespaces": "only_namespaces", "kinds": "only_kinds", "case": "perf_case"}
_MOST_SKIPPED = 10


def add_intake_arguments(
    parser: argparse.ArgumentParser, *, watch: str = "recording", has_seed: bool = False
) -> None:
    """The options of an import; *watch* is how a watch is read without one.

    With *has_seed* the command has an option --seed of its own, which counts here too.
    """
    group = parser.add_argument_group("what is read of the files")
    group.add_argument(
        "--nodes",
        metavar="LIST",
        default="",
        help="add nodes: 10xm5.large,3xn2-standard-8:zone=a,b,c; a node of the files instead of a "
        "type gives nodes like it",
    )
    for name, words in (
        (("-n", "--namespace"), "read objects of this namespace alone"),
        (("--kind",), "read objects of this kind alone: pod, deployments.apps"),
    ):
        place = _PLACES[f"{name[-1][2:]}s"]
        group.add_argument(
            *name,
            dest=place,
            metavar="NAME",
            action="append",
            default=[],
            help=f"{words}; may be repeated",
        )
    group.add_argument(
        "-l", "--selector", default="", help="read objects with these labels: app=web"
    )
    group.add_argument(
        "--ignore-unknown-plugins",
        action="store_true",
        help="leave out the plugins of a scheduler's configuration that kscope does not know",
    )
    group.add_argument(
        "--watch",
        choices=WATCHES,
        default=watch,
        help="how the output of kubectl get --watch is read: as a recording, whose changes are steps, "
        f"or as the newest version of each object; default: {watch}",
    )
    group.add_argument(
        "--perf-case",
        metavar="CASE/WORKLOAD",
        default="",
        help="which test case of a scheduler_perf file",
    )
    group.add_argument(
        "--max-bytes",
        metavar="SIZE",
        default="",
        help="the largest file that is read, and the most that comes out of an archive; default: 4Gi",
    )
    group.add_argument(
        "--report", metavar="FILE", help="write what was read, skipped and assumed as JSON"
    )
    parser.set_defaults(intake_has_seed=has_seed)


def options_of(given: Mapping[str, Any]) -> IntakeOptions:
    """What the arguments of a command choose. Raises CommandError, with exit status 2."""
    words: dict[str, str] = {}
    for name in NAMES:
        value = given.get(_PLACES.get(name, name))
        words[name] = ",".join(value) if isinstance(value, list) else str(value or "")
    words["seed"] = str(given["seed"]) if given.get("intake_has_seed") and given["seed"] else ""
    try:
        return IntakeOptions.read(words, is_known_plugin)
    except OptionFault as fault:
        raise _bad_input(f"--{_FLAGS.get(fault.option, fault.option)}: {fault}") from fault


def paths_of(names: list[str]) -> list[Path]:
    """The files, folders and archives of the arguments. Raises CommandError for what is not there."""
    for name in names:
        path = Path(name)
        if name != STDIN and not (
            path.exists() and (path.is_dir() or not path.is_symlink() or path.stat())
        ):
            raise _bad_input(f"{path}: no such file or folder")
    return [Path(name) for name in names]


def load(names: list[str], given: Mapping[str, Any], check: SetupCheck) -> LoadResult:
    """What the files hold. Raises CommandError, with exit status 2, when they cannot be used."""
    options, limits = options_of(given), _limits(given)
    try:
        loaded = load_paths(
            paths_of(names), limits, check=check, options=options, progress=_Progress(sys.stderr)
        )
    except OSError as error:
        if error.filename is None:
            raise
        raise _bad_input(f"{error.filename}: {error.strerror}") from error
    if given.get("report"):
        Path(given["report"]).write_bytes(
            orjson.dumps(loaded.to_report(), option=orjson.OPT_INDENT_2)
        )
    if not loaded.ok:
        told = [str(problem) for problem in loaded.problems]
        known = {(each.file, each.why) for each in loaded.skipped}
        alone = all((each.file, each.message) in known for each in loaded.problems)
        raise _bad_input("\n".join(told if alone else [*told, *_skipped(loaded)]))
    return loaded


def _limits(given: Mapping[str, Any]) -> Limits:
    text = given.get("max_bytes") or ""
    try:
        return Limits(stream_bytes=parse_size(text)) if text else Limits()
    except ValueError as error:
        raise _bad_input(f"--max-bytes: {error}") from error


class _Progress:
    """On a terminal, a line that says how much of a large file has been read."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __call__(self, name: str, done: int, size: int) -> None:
        """See load_paths()."""
        if self._stream.isatty():
            self._stream.write(f"\r\x1b[Kreading {reading_words(name, done, size)}")
            self._stream.write("\r\x1b[K" if done >= size > 0 else "")
            self._stream.flush()


def tell(
    command: BaseCommand,
    loaded: LoadResult,
    *,
    leaves_out: frozenset[str] = frozenset(),
    asks: bool = True,
) -> None:
    """Write what a person should know of the reading, a line each, to the standard error.

    Notes in *leaves_out* are not written, and open questions only if it *asks*.
    """
    for name, what in loaded.sources.items():
        command.stderr.write(f"note: {name} is {what}")
    for line in _skipped(loaded):
        command.stderr.write(f"note: {line}")
    for note in loaded.warnings:
        if note not in leaves_out:
            command.stderr.write(f"note: {note}")
    for each in loaded.placeholders[:_MOST_SKIPPED]:
        command.stderr.write(f"assumed: {each.sentence}")
    more = len(loaded.placeholders) - _MOST_SKIPPED
    if more > 0:
        command.stderr.write(f"assumed: {more:,} more objects; --report lists them")
    for question in loaded.questions if asks else ():
        command.stderr.write(f"open: {question}")


def _skipped(loaded: LoadResult) -> Iterator[str]:
    yield from (str(each) for each in loaded.skipped[:_MOST_SKIPPED])
    more = len(loaded.skipped) - _MOST_SKIPPED
    if more > 0:
        yield f"{more:,} more files were skipped; --report lists them"


def _bad_input(message: str) -> CommandError:
    return CommandError(message, returncode=BAD_INPUT)
