"""Reads files as a cluster that stands still, and writes answers, for commands that ask."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import orjson
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from engine.diagnosis.triage.standing import Standing, standing
from engine.input.instants import whole_second_of
from engine.input.load_result import LoadResult
from engine.input.sources.named import NoSuchFileError, files_of
from engine.kernel.errors import SimError
from engine.kernel.sentences import Translations
from engine.scheduler.configuration.scenario_schedulers import check_setup
from kscope.runs.languages.reader import catalogue, said
from scheduling.management.intake import BAD_INPUT, load


class Writable(Protocol):
    """What a command was asked for."""

    def to_dict(self) -> dict[str, Any]: ...
    def text(self, translations: Translations = ...) -> str: ...


def expand(names: list[str]) -> Iterator[Path]:
    """See `files_of`. Raises CommandError for what is no file and no such folder."""
    try:
        yield from files_of(names)
    except NoSuchFileError as error:
        raise bad_input(str(error)) from error


def load_files(names: list[str], given: Mapping[str, Any]) -> LoadResult:
    """What the files hold; *given* are the arguments of the command.

    Raises CommandError, with exit status 2, when they cannot be used.
    """
    return load(names, given, check_setup)


def standing_cluster(loaded: LoadResult, profile: str | None) -> Standing:
    """The cluster of the files, of *profile*, else of the scenario's, else as its kubelets propose.

    Raises CommandError, with exit status 2, where none can be made.
    """
    try:
        return standing(loaded, profile, at=whole_second_of(timezone.now()))
    except (SimError, ValueError) as refusal:
        raise bad_input(str(refusal)) from refusal


def write_answer(command: BaseCommand, answer: Writable, *, as_json: bool) -> None:
    """Print an answer as a text, or as indented JSON."""
    if as_json:
        text = orjson.dumps(said(answer.to_dict()), option=orjson.OPT_INDENT_2).decode() + "\n"
    else:
        text = answer.text(catalogue())
    command.stdout.write(text, ending="")


def bad_input(message: str) -> CommandError:
    """An error for input that cannot be used."""
    return CommandError(message, returncode=BAD_INPUT)
