"""Reads files as a cluster that stands still, and writes answers, for commands that ask."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import orjson
from django.core.management.base import BaseCommand, CommandError
from django.utils import timezone

from engine.cluster.cluster import Cluster
from engine.diagnosis.observed.evidence import Evidence
from engine.input.instants import whole_second_of
from engine.input.load_result import LoadResult
from engine.input.scenario import Scenario
from engine.kernel.errors import SimError
from engine.scheduler.configuration.scenario_schedulers import check_setup
from engine.versions.choices import proposed_version
from scheduling.management.intake import BAD_INPUT, load

_SUFFIXES = (".yaml", ".yml", ".json")


class Writable(Protocol):
    """What a command was asked for."""

    def to_dict(self) -> dict[str, Any]: ...
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Standing:
    """A cluster at its beginning, and what its files say."""

    cluster: Cluster
    evidence: Evidence


def expand(names: list[str]) -> Iterator[Path]:
    """The scenarios of the arguments, a file each; folders give theirs in order of name.

    Raises CommandError for what is no file and no such folder.
    """
    for name in names:
        path = Path(name)
        if path.is_dir():
            found = sorted(child for child in path.iterdir() if child.suffix in _SUFFIXES)
            # A folder of scenarios may hold their decisions too: NAME.json beside NAME.yaml.
            written = {child.stem for child in found if child.suffix != ".json"}
            found = [c for c in found if c.suffix != ".json" or c.stem not in written]
            if not found:
                raise bad_input(f"{path}: no .yaml or .json file in this folder")
            yield from found
        elif path.is_file():
            yield path
        else:
            raise bad_input(f"{path}: no such file or folder")


def load_files(names: list[str], given: Mapping[str, Any]) -> LoadResult:
    """What the files hold; *given* are the arguments of the command.

    Raises CommandError, with exit status 2, when they cannot be used.
    """
    return load(names, given, check_setup)


def standing_cluster(loaded: LoadResult, profile: str | None) -> Standing:
    """The cluster of the files, of *profile*, else of the scenario's, else as its kubelets propose.

    Raises CommandError, with exit status 2, where none can be made.
    """
    scenario = Scenario.from_load(loaded, name="files", at=whole_second_of(timezone.now()))
    evidence = Evidence.of(loaded)
    try:
        name = profile or scenario.profile or proposed_version(evidence.kubelet_versions)
        cluster = Cluster.create(scenario, profile=name)
    except (SimError, ValueError) as refusal:
        raise bad_input(str(refusal)) from refusal
    return Standing(cluster, evidence)


def write_answer(command: BaseCommand, answer: Writable, *, as_json: bool) -> None:
    """Print an answer as a text, or as indented JSON."""
    if as_json:
        text = orjson.dumps(answer.to_dict(), option=orjson.OPT_INDENT_2).decode() + "\n"
    else:
        text = answer.text()
    command.stdout.write(text, ending="")


def bad_input(message: str) -> CommandError:
    """An error for input that cannot be used."""
    return CommandError(message, returncode=BAD_INPUT)
