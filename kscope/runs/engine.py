"""The interface between the runner and an engine, and how `scheduling` registers its engine.

`kscope.runs` drives a run without knowing what is simulated: `scheduling.apps` registers the
engine, the task that starts the runner and the tables that a slice is written to.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

from psycopg import Connection, Cursor

from engine.api_server.store.write_record import Left, Removal, Written
from engine.input.budget import Budget
from engine.input.budget import Stop as BudgetStop
from engine.input.load_result import SetupCheck
from engine.kernel.recorder import Event, EventRow
from engine.kernel.view import State

Manifest = dict[str, Any]
Stop = Literal["event", "cycle"]


class VersionChoice(Protocol):
    """A version of Kubernetes as pages offer it."""

    @property
    def name(self) -> str: ...
    @property
    def summary(self) -> str: ...
    @property
    def has(self) -> tuple[str, ...]: ...

    @property
    def is_default(self) -> bool:
        """Whether a run follows it unless another one is chosen."""
        ...

    @property
    def gates(self) -> Mapping[str, bool]:
        """The feature gates that a run can turn on or off, with their defaults."""
        ...


class PluginChange(Protocol):
    """A rule of a plugin in which two versions differ: docs/compare.md."""

    @property
    def plugin(self) -> str: ...
    @property
    def rule(self) -> str: ...
    @property
    def sentence(self) -> str: ...
    @property
    def since(self) -> str: ...
    @property
    def a(self) -> str: ...
    @property
    def b(self) -> str: ...
    @property
    def anchor(self) -> str: ...


class Outcome(Protocol):
    """What became of a command: applied with its first event's seq, or refused and why.

    An applied one has a reason, too, where fields of an object were left out.
    """

    @property
    def applied(self) -> bool: ...
    @property
    def reason(self) -> str: ...
    @property
    def seq(self) -> int: ...


class EngineSlice(Protocol):
    """What the engine recorded since it was last asked: see `Engine.take`."""

    @property
    def rows(self) -> Sequence[EventRow]: ...
    @property
    def touched(self) -> dict[str, Manifest | None]: ...
    @property
    def written(self) -> Mapping[str, Written]: ...
    @property
    def removals(self) -> Sequence[Removal]: ...
    @property
    def attempts(self) -> Sequence[Any]: ...


class Engine(Protocol):
    """A deterministic simulation that can be advanced, commanded, drained and frozen.

    Times are virtual nanoseconds. `steps` counts the callbacks run so far: together with `now` it
    is the exact position in the run. `failure` says why it will never go on, `budget_stop` which part
    of its budget is used up.
    """

    @property
    def now(self) -> int: ...
    @property
    def seq(self) -> int: ...
    @property
    def steps(self) -> int: ...
    @property
    def next_at(self) -> int | None: ...
    @property
    def untaken(self) -> Sequence[Event]: ...
    @property
    def objects(self) -> int: ...
    @property
    def failure(self) -> str: ...
    @property
    def unexpected(self) -> int: ...
    @property
    def budget_stop(self) -> BudgetStop | None: ...

    def limit(self, budget: Budget | None) -> None: ...
    def advance(
        self,
        until: int,
        *,
        max_steps: int | None = None,
        stop: Stop | None = None,
        rest: bool = True,
    ) -> bool: ...
    def apply(self, command: Any) -> Outcome: ...
    def left(self, entity: str) -> Left | None: ...
    def take(self) -> EngineSlice: ...
    def checkpoint(self) -> bytes: ...
    def digest(self) -> str: ...
    def view(self) -> State: ...


# Writes the attempts of a slice of a run, as part of its transaction.
SliceWriter = Callable[[Connection[Any], int, Sequence[Any]], None]
# Copies what was written so from one run to another, up to an event.
HistoryCopier = Callable[[Cursor[Any], int, int, int], None]


@dataclass(slots=True)
class Wiring:
    """The parts that the rooms to the left put in when Django is ready.

    Runs and models are Any here: this module stands below the models.
    """

    # Called with the number of objects of the first state that exist, and that there will be; may raise.
    create: Callable[[Any, Callable[[int, int], None]], Engine] | None = None
    # Digest of the engine's source: a history with another digest may have been decided otherwise.
    engine_digest: Callable[[], str] = str
    restore: Callable[[bytes], Engine] | None = None
    # Gives a restored engine of that run what its checkpoint leaves out.
    prepare: Callable[[Any, int], None] | None = None
    parse_command: Callable[[dict[str, Any]], Any] = field(default=lambda body: body)
    enqueue: Callable[[int], None] | None = None
    # Called by a child process of web or worker, with its role, so that its counts are not lost.
    process_began: Callable[[str], None] = field(default=lambda role: None)
    # Has the engine's next slice include every object, as if all had just been touched.
    touch_objects: Callable[[Any], None] | None = None
    # Puts a log in the place of the engine's record of touched objects: see past.py.
    log_objects: Callable[[Any], Any] | None = None
    # The evidence of the newest attempt of a pod up to an event, if it was kept: see docs/evidence.md.
    attempt_kept: Callable[[int, str, int], dict[str, Any] | None] | None = None
    # The rule of a plugin that differs between two versions: (plugin, version, version).
    plugin_change: Callable[[str, str, str], PluginChange | None] | None = None
    # What the engine would not accept in a scenario's setup of its schedulers.
    check_setup: SetupCheck | None = None
    # The versions of Kubernetes that a run can follow, the newest first.
    versions: Sequence[VersionChoice] = ()
    # The version for a cluster whose kubelets have these versions.
    proposed_version: Callable[[Iterable[str]], str] | None = None
    writers: list[SliceWriter] = field(default_factory=list)
    copiers: list[HistoryCopier] = field(default_factory=list)
    projections: dict[str, type[Any]] = field(default_factory=dict)

    def project(self, prefix: str, model: type[Any]) -> None:
        """Rows of *model* follow the objects whose entity id begins with *prefix*."""
        self.projections[prefix] = model


wiring = Wiring()
