"""What a run file holds, as plain values; docs/run-file.md describes each member."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal, cast

from engine.input.header.external import left_together
from engine.input.scenario import Scenario
from engine.input.sources.runs import TYPE

Manifest = dict[str, Any]
TieBreak = Literal["random", "name"]

FORMAT: Final = 1
SUFFIX: Final = ".kscope"

# The members of the zip, in the order in which they are written.
SCENARIO, COMMANDS, ANSWERS = "scenario.json", "commands.ndjson", "answers.ndjson"
EVENTS, EVIDENCE, TRAIL, RUN = "events.ndjson", "evidence.ndjson", "trail", "run.json"
MEMBERS: Final = (TYPE, SCENARIO, COMMANDS, ANSWERS, EVENTS, EVIDENCE, TRAIL, RUN)


class RunFileError(ValueError):
    """A file that is not taken for a run; the message is a sentence for people."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What was chosen for the run, of which its history is a function together with its scenario."""

    name: str
    profile: str
    seed: int
    tie_break: TieBreak = "random"
    feature_gates: Mapping[str, bool] = field(default_factory=dict[str, bool])
    external_scheduler: bool = False
    external_controllers: tuple[str, ...] = ()
    # Of the scheduler, in place of the scenario's; None for that one.
    configuration: Manifest | None = None

    def to_dict(self) -> Manifest:
        """The JSON form."""
        found = {**asdict(self), "feature_gates": dict(self.feature_gates)}
        controllers = found.pop("external_controllers")
        # Older versions do not know them; files of runs without them are for those, too.
        return {**found, "external_controllers": [*controllers]} if controllers else found


@dataclass(frozen=True, slots=True)
class Recorded:
    """A command, and where the run took it: after so many steps, at virtual time `at` in ns."""

    steps: int
    at: int
    body: Manifest

    def to_dict(self) -> Manifest:
        """The JSON form."""
        return {"steps": self.steps, "at": self.at, "body": self.body}


@dataclass(frozen=True, slots=True)
class End:
    """Where the history of the file ends; `digest` is the chain over all its events, in hex."""

    events: int
    steps: int
    at: int
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFile:
    """A run, without its history; `document` is its scenario's JSON form.

    Who only writes it may give iterators in the place of the document's lists.

    `answers` are those of scheduler extenders, which no replay asks again. `trail` has two bytes for
    each event (see trail.py), or is empty. `withheld` says which values its writer was not shown.
    """

    choices: Choices
    document: Manifest
    commands: tuple[Recorded, ...]
    end: End
    answers: tuple[Manifest, ...] = ()
    trail: bytes = b""
    has_history: bool = False
    withheld: tuple[str, ...] = ()
    written_by: str = ""

    @property
    def scenario(self) -> Scenario:
        """The scenario with what was chosen for the run."""
        chosen: Manifest = {
            "feature_gates": dict(self.choices.feature_gates),
            "external_scheduler": self.choices.external_scheduler,
        }
        if self.choices.external_controllers:
            said = self.document.get("external_controllers") or ()
            chosen["external_controllers"] = left_together(said, self.choices.external_controllers)
        if self.choices.configuration is not None:
            chosen["configuration"] = self.choices.configuration
        return Scenario.from_dict({**self.document, **chosen, "seed": self.choices.seed})


def heading(file: RunFile) -> Manifest:
    """The member `run.json`."""
    return {
        "apiVersion": "kscope.dev/v1",
        "kind": "RunFile",
        "format": FORMAT,
        "writtenBy": file.written_by,
        "run": file.choices.to_dict(),
        "commands": len(file.commands),
        "end": asdict(file.end),
        "withheld": list(file.withheld),
    }


def mapping(value: Any, name: str) -> Manifest:
    """*value* as a mapping. Raises RunFileError."""
    if not isinstance(value, dict):
        raise RunFileError(f"{name} is no mapping")
    return cast("Manifest", value)
