"""The script of a container. All times are in ns; those within a run count from its start."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final, NamedTuple

from engine.kernel.latency import Latency

# How a process ends that is told to, by SIGTERM and by SIGKILL.
TERMINATED: Final = 143
KILLED: Final = 137
# In the place of an entry's number: no entry of the scenario.
NO_ENTRY: Final = -1


class ProbeKind(Enum):
    """The probes of a container; the value is how the kubelet calls it in its Events.

    Upstream: pkg/kubelet/prober/prober_manager.go, probeType.String().
    """

    STARTUP = "Startup"
    READINESS = "Readiness"
    LIVENESS = "Liveness"


@dataclass(frozen=True, slots=True)
class ContainerRun:
    """One life of a container, from its start to its end.

    Without `lasts` it has no end of its own; without a `reason` that follows from the code.
    """

    lasts: Latency | None = None
    exit_code: int = 0
    reason: str = ""
    message: str = ""


@dataclass(frozen=True, slots=True)
class ContainerStop:
    """What a container does when it is told to stop; without `after` it takes the latency `stop`."""

    after: int | None = None
    exit_code: int = TERMINATED


@dataclass(frozen=True, slots=True)
class HookScript:
    """What a hook of a container does; without `lasts` it is done at once, or sleeps as it says."""

    lasts: int | None = None
    exit_code: int = 0


class Turn(NamedTuple):
    """From when on a probe passes, or fails."""

    at: int
    passes: bool


@dataclass(frozen=True, slots=True)
class ProbeScript:
    """What a probe, or a pull, finds over a time, and what a failed one says.

    It fails before the first turn.
    """

    turns: tuple[Turn, ...] = (Turn(0, True),)
    output: str | None = None

    def passes(self, at: int) -> bool:
        """Whether a probe *at* passes."""
        past = [turn for turn in self.turns if turn.at <= at]
        return bool(past) and past[-1].passes

    def next_failure(self, after: int) -> int | None:
        """When it begins to fail, later than *after*; None if never."""
        return next((turn.at for turn in self.turns if turn.at > after and not turn.passes), None)


class Condition(NamedTuple):
    """The path of a file that has to be there, and of one that may not; "" for none."""

    file: str = ""
    no_file: str = ""


@dataclass(frozen=True, slots=True)
class LogLine:
    """What a container prints, and when; again and again with `every`.

    The text may have places: see placeholders.
    """

    text: str
    at: int = 0
    every: int = 0
    condition: Condition = Condition()


@dataclass(frozen=True, slots=True)
class CommandAnswer:
    """What a command in the container answers. `command` is a pattern of its words.

    What it writes may have places: see placeholders. `probes` says what probes find from then on.
    """

    command: str
    stdout: str = ""
    stderr: str = ""
    exit_code: int = 0
    condition: Condition = Condition()
    probes: tuple[tuple[ProbeKind, bool], ...] = ()


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """What a server in the container answers. `path` is a pattern; the body may have places."""

    path: str = "*"
    status: int = 200
    body: str = ""
    condition: Condition = Condition()


@dataclass(frozen=True, slots=True)
class WebhookAnswer:
    """What a server in the container answers to a webhook. `path` is a pattern.

    `rules` are those of an admission policy, as manifests have them: variables, matchConditions (of
    requests that it answers), validations and mutations. `code` is the status of a denial. Without
    `latency` it never answers.
    """

    path: str = "*"
    latency: int | None = 0
    code: int = 403
    warnings: tuple[str, ...] = ()
    rules: Mapping[str, Any] = field(default_factory=dict[str, Any], hash=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Script:
    """An entry: whose containers it is about, and what they do.

    Patterns are those of a shell; "" holds for everything. It is about the first *times* pods of an
    owner; 0 for all. *number* is its place in the scenario; entries of an annotation have none.
    """

    number: int = NO_ENTRY

    pod: str = ""
    container: str = ""
    image: str = ""
    command: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    indexes: tuple[int, ...] = ()
    times: int = 0
    # What a pull of the image finds, by the time since the kubelet began with the pod; None: nothing
    # is said of it, and there is an image.
    pull: ProbeScript | None = None
    # One after the other; the last is that of all further runs. () for what unscripted ones do.
    runs: tuple[ContainerRun, ...] = ()
    stop: ContainerStop = field(default_factory=ContainerStop)
    post_start: HookScript = field(default_factory=HookScript)
    pre_stop: HookScript = field(default_factory=HookScript)
    probes: tuple[tuple[ProbeKind, ProbeScript], ...] = ()
    logs: tuple[LogLine, ...] = ()
    # None: nothing is said of commands, which are refused then.
    commands: tuple[CommandAnswer, ...] | None = None
    # None: nothing is said of a server.
    http: tuple[HttpAnswer, ...] | None = None
    # None: nothing is said of a server of webhooks.
    webhooks: tuple[WebhookAnswer, ...] | None = None

    def run(self, restarts: int) -> ContainerRun | None:
        """Its life after so many *restarts*; None where the script does not say."""
        return self.runs[min(restarts, len(self.runs) - 1)] if self.runs else None


SILENT: Final = Script()
