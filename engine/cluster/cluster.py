"""The composition root: a scenario becomes a running cluster.

`Cluster` is all that the runner, the command line and the tests see of the engine. Its history is a
pure function of (scenario, profile, seed, commands at their positions).
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from engine.api_server.admission.admission import Admission
from engine.api_server.store.store import ObjectStore
from engine.api_server.store.superseding import entities_told
from engine.api_server.store.write_record import Left, Removal, Written
from engine.cluster import checkpoints
from engine.cluster.budget_limit import BudgetLimit
from engine.cluster.commands import Command, CommandExecutor, Outcome
from engine.cluster.faults import FaultInjector
from engine.cluster.initial_objects import Created, InitialObjects
from engine.cluster.known_fields import KnownFields
from engine.cluster.rebuilding import ClusterComponents
from engine.cluster.replicas import SchedulerReplicas, scheduler_replicas
from engine.cluster.shadow.planner import Planner
from engine.cluster.shadow.shadow_writes import ShadowWrites
from engine.cluster.storage_actors import VolumeActors
from engine.cluster.told_troubles import ToldTroubles
from engine.controllers.actors import WorkloadActors
from engine.controllers.shared.controller import ControllerContext
from engine.controllers.shared.listers import WorkloadListers
from engine.input.budget import Budget
from engine.input.budget import Stop as BudgetStop
from engine.input.scenario import Scenario, Step
from engine.kernel.boundary import FAILED, Boundary, Failures
from engine.kernel.latency import Latencies
from engine.kernel.loop import EventLoop, Failed, attempted
from engine.kernel.recorder import Event, EventRow, Recorder
from engine.kernel.rng import Streams
from engine.kernel.stepwise import finished
from engine.kernel.units import MINUTE
from engine.kernel.view import State
from engine.objects.objects import Manifest
from engine.objects.outside import Outside
from engine.objects.projection import attributes
from engine.objects.scripts.reading import ignored, read_scripts
from engine.scheduler.configuration.extenders import ExtenderCalls
from engine.scheduler.configuration.scenario_schedulers import read_schedulers
from engine.scheduler.cycle.attempt import SchedulingAttempt
from engine.scheduler.cycle.scheduler import Scheduler
from engine.scheduler.cycle.state import Surroundings
from engine.versions.kubernetes_version import with_gates
from engine.versions.registry import DEFAULT, VERSIONS

Stop = Literal["event", "cycle"]
TieBreak = Literal["random", "name"]


# How far a run goes on after the last command, if its scenario does not last longer.
AFTER_COMMAND = 10 * MINUTE


@dataclass(frozen=True, slots=True)
class Slice:
    """What a run recorded since the last take.

    `rows` are the events with their JSON encoded; `touched` maps entity ids to the newest manifest,
    or to None for an object that is gone, and `written` to the events that wrote it; `removals` are
    the objects that went; `attempts` are the scheduling attempts with evidence.
    """

    events: list[Event]
    rows: list[EventRow]
    touched: dict[str, Manifest | None]
    written: dict[str, Written]
    removals: list[Removal]
    attempts: list[SchedulingAttempt]


class Cluster:
    """A simulated control plane with its nodes, at one instant of virtual time."""

    def _begun(
        self, scenario: Scenario, profile: str, seed: int, tie_break: TieBreak
    ) -> Iterator[Created]:
        """What a constructor would do, in steps."""
        version = with_gates(VERSIONS[profile], scenario.feature_gates)
        entries, external = scenario.schedulers, scenario.external_scheduler
        specs = read_schedulers(entries, scenario.configuration, version, external=external)
        self.horizon = scenario.until
        self.open_until = 0
        self.profile = profile
        self.loop = EventLoop(scenario.ahead)
        self.recorder = Recorder(self.loop)
        self.streams = Streams(seed)
        self.latencies = Latencies(scenario.latencies, self.streams)
        self._resource_rules = version.resources
        self.store = ObjectStore(self.loop, self.recorder, seed, self._resource_rules)
        outside = Outside.of(scenario.outside)
        self._budget = BudgetLimit(self.loop, self.recorder, self.store)
        workload_rules = version.workloads
        self.scripts = read_scripts(list(scenario.containers), ("containers",), ignored)
        self.admission = Admission(
            self.store,
            default_tolerations=True,
            taints_new_nodes=workload_rules.taints_new_nodes,
            labels_namespaces=version.namespaces_have_name_label,
            rules=version.admission,
            resources=self._resource_rules,
            outside=outside,
            scripts=self.scripts,
        )
        self.store.guard = self.admission.policies
        run: dict[str, Any] = {"name": scenario.name, "profile": profile, "seed": seed}
        if scenario.feature_gates:
            run["feature_gates"] = dict(scenario.feature_gates)
        self.recorder.record("RunCreated", "run", "run", scenario.title, None, {"run": run})
        # Only the process that drives the run can call extenders; see ExtenderCalls.
        self.extender_calls = ExtenderCalls(self.recorder)
        self._known_fields = KnownFields(version.name, self.recorder, self.admission.custom)
        self._failures = Failures(self.loop, self.recorder)
        stands = scenario.stands
        told = ToldTroubles(outside, scenario.objects, self.recorder) if stands else None
        yield from InitialObjects(
            self.store, self.admission, self._known_fields, workload_rules, self._failures, told
        ).creating(scenario.objects)
        if stands:
            self.store.record.begin_superseding(self.loop, entities_told(scenario.objects))
        for step in scenario.steps:
            self.loop.cause = 0
            self.loop.call_at(step.at, self._take_step, step)
        # Initial nodes are not tainted as new; only later nodes are.
        self.admission.open()
        self.volumes = VolumeActors(
            loop=self.loop,
            store=self.store,
            recorder=self.recorder,
            latencies=self.latencies,
            version=version,
            outside=outside,
            scripts=self.scripts,
            streams=self.streams,
        )
        watch_latency = self.latencies.draw("watch")
        workload_context = ControllerContext(
            loop=self.loop,
            store=self.store,
            listers=WorkloadListers(self.store, watch_latency),
            admission=self.admission,
            names=self.streams.stream("pod-names"),
            rules=workload_rules,
            watch_latency=watch_latency,
            latencies=self.latencies,
        )
        self.workloads = WorkloadActors(
            workload_context, self.recorder, scenario.external_controllers
        )
        around = Surroundings(
            loop=self.loop,
            store=self.store,
            recorder=self.recorder,
            latencies=self.latencies,
            ties=self.streams.stream("ties") if tie_break == "random" else None,
            calls=self.extender_calls,
        )
        self._replicas = scheduler_replicas(specs, around)
        injector = FaultInjector(
            self.store,
            self.recorder,
            self.streams,
            self.volumes,
            self.workloads,
            self._replicas,
        )
        self._executor = CommandExecutor(
            self.store,
            self.recorder,
            self.admission,
            injector,
            self._known_fields,
            self._replicas,
            self._shadow_writes(workload_context, scenario.external_controllers),
        )
        injector.silence(outside.silent_nodes(workload_rules.monitor_grace))
        components = ClusterComponents(self.volumes, self.workloads, self._replicas)
        self.boundary = Boundary(self.loop, self.recorder, self._failures, components)
        self.loop.boundary = self.boundary
        self._is_held_open = any(one.is_external for one in self._replicas)
        if self._is_held_open:
            self._hold_open()

    @classmethod
    def create(
        cls,
        scenario: Scenario,
        *,
        profile: str = DEFAULT.name,
        seed: int = 0,
        tie_break: TieBreak = "random",
    ) -> "Cluster":
        """A cluster at the beginning of *scenario*; without a *profile*, of the newest version.

        Raises KeyError for a profile that does not exist, ApiError naming the object when an
        initial object would be refused by the API server, and ConfigurationError naming the path
        when the scenario's configuration of a scheduler, or a feature gate, is not one.
        """
        return finished(cls.creating(scenario, profile=profile, seed=seed, tie_break=tie_break))

    @classmethod
    def creating(
        cls,
        scenario: Scenario,
        *,
        profile: str = DEFAULT.name,
        seed: int = 0,
        tie_break: TieBreak = "random",
    ) -> Generator[Created, None, "Cluster"]:
        """Like `create`, in steps of some milliseconds; each says how far it is.

        A caller may do other things between them, or go no further.
        """
        cluster = cls.__new__(cls)
        yield from cluster._begun(scenario, profile or DEFAULT.name, seed, tie_break)
        return cluster

    def _shadow_writes(
        self, context: ControllerContext, external: Sequence[str]
    ) -> ShadowWrites | None:
        """What judges the writes in the place of the *external* controllers; None without any."""
        kinds = self.workloads.kinds_of(external)
        return ShadowWrites(self.store, self.recorder, Planner(context, kinds)) if kinds else None

    # Schedulers

    @property
    def scheduler(self) -> Scheduler:
        """The first scheduler: the one whose cache the nodes show."""
        return self._replicas[0].scheduler

    @property
    def schedulers(self) -> list[Scheduler]:
        """All schedulers, in the order of the scenario."""
        return [one.scheduler for one in self._replicas]

    @property
    def replicas(self) -> list[SchedulerReplicas]:
        """The processes behind the schedulers, in the order of the scenario."""
        return self._replicas

    @property
    def asks_extenders(self) -> bool:
        """Whether any scheduler has extenders, whose answers are on the record."""
        return any(one.asks_extenders for one in self._replicas)

    @property
    def _cycles_ended(self) -> int:
        return sum(one.cycles_ended for one in self._replicas)

    # Time

    @property
    def now(self) -> int:
        """Virtual time in nanoseconds."""
        return self.loop.now

    @property
    def seq(self) -> int:
        """The sequence number of the newest event."""
        return self.recorder.seq

    @property
    def steps(self) -> int:
        """Callbacks run so far: together with the history, the exact position in the run."""
        return self.loop.steps

    @property
    def failure(self) -> str:
        """Why the run cannot continue: an essential process has died; or ""."""
        return self.loop.failure

    @property
    def next_at(self) -> int | None:
        """When the next callback is due; None when the run is over.

        It is over when nothing is due before the horizon: the scenario's duration, or some time
        after the last command. Beyond it only periodic retries would repeat themselves. They do
        up to `open_until`, which whoever plays the run sets for those who use it: it changes
        nothing that happens, only how far the run goes.
        """
        due = self.loop.next_at
        return None if due is None or due > max(self.horizon, self.open_until) else due

    @property
    def unexpected(self) -> int:
        """How many unexpected exceptions there were so far; after the first, the run is not proven."""
        return self._failures.count

    # Budget

    def limit(self, budget: Budget | None) -> None:
        """Stop at the step at which *budget* is used up; None removes every limit.

        It changes nothing that happens, only where the run stops: a larger budget continues there.
        """
        self._budget.set(budget)

    @property
    def budget_stop(self) -> BudgetStop | None:
        """The part of the budget that is used up; None while the run continues, or is over."""
        return self._budget.stop(self.next_at)

    @property
    def objects(self) -> int:
        """How many objects the cluster holds."""
        return self.store.limit.count

    def advance(
        self,
        until: int,
        *,
        max_steps: int | None = None,
        stop: Stop | None = None,
        rest: bool = True,
    ) -> bool:
        """Run what is due up to *until*, then rest there; without *rest*, stay at the last callback.

        Halts earlier, without resting, after *max_steps* callbacks, or with *stop* after the first
        callback that recorded an event ("event") or ended a scheduling cycle ("cycle"). Returns
        whether *stop* halted it. Nothing is run beyond the budget: see `limit`.
        """
        loop, last = self.loop, None if max_steps is None else self.loop.steps + max_steps
        if (latest := self._budget.time) is not None:
            until = min(until, latest)
            if until < loop.now:
                return False
        if loop.halted:
            # Check again: a command may have deleted objects, so the budget is not used up now.
            used_up = self.budget_stop
            loop.halted = bool(self.failure) or (used_up is not None and used_up.part != "time")
        if stop is None:
            if not rest:
                loop.run_due(min(until, max(self.horizon, self.open_until)), last)
            elif loop.run_due(until, last):
                loop.rest_at(until)
            return False
        seq, cycles = self.recorder.seq, self._cycles_ended
        while (at := loop.next_at) is not None and at <= until:
            if last is not None and loop.steps >= last:
                return False
            if not loop.run_next():
                return False
            if stop == "event" and self.recorder.seq > seq:
                return True
            if stop == "cycle" and self._cycles_ended > cycles:
                return True
        if not loop.halted:
            loop.rest_at(until)
        return False

    # Commands

    def apply(self, command: Command) -> Outcome:
        """Carry out *command* now. A refusal is an outcome, and on the record, not an exception."""
        first = self.recorder.seq + 1
        self.loop.cause = 0
        self._extend()
        reason = self._execute(command)
        left_out = "; ".join(self._known_fields.notes)
        told = reason or "\n".join(filter(None, (left_out, *self._executor.warnings)))
        return Outcome(not reason, told, min(first, self.recorder.seq))

    def _execute(self, command: Command) -> str:
        """Why it is refused, or "". Upstream: the API server answers a panic with InternalError."""
        end = attempted(self._executor.execute, command)
        if not isinstance(end, Failed):
            return end
        if not self.boundary.caught(end.error):
            raise end.error
        return f"InternalError: {type(end.error).__name__}; see the event {FAILED}"

    def _extend(self) -> None:
        """Go on for some time after a command."""
        was_over = self.now >= self.horizon
        self.horizon = max(self.horizon, self.now + AFTER_COMMAND)
        if self._is_held_open and was_over:
            self._hold_open()

    def _hold_open(self) -> None:
        """Keep the run from ending while a client outside of it thinks.

        Something is always due soon: what is due only after the end of the budget ends the run.
        """
        if self.now < self.horizon:
            at = min(self.horizon, self.now + AFTER_COMMAND)
            self.loop.call_at(at, self._hold_open)

    def _take_step(self, step: Step) -> None:
        self.loop.cause = 0
        self._executor.execute(Command.from_step(step), by="scenario")

    # History

    def left(self, entity: str) -> Left | None:
        """An object that was written since the last take, as it is on record; None if it is gone."""
        return self.store.record.left(entity)

    def take(self) -> Slice:
        """Everything recorded since the last take."""
        events, rows = self.recorder.take()
        record = self.store.record
        touched = record.take_touched()
        written = record.written_of(touched)
        attempts = [attempt for one in self._replicas for attempt in one.take_attempts()]
        return Slice(events, rows, touched, written, record.take_removals(), attempts)

    @property
    def untaken(self) -> list[Event]:
        """The events recorded since the last take. Not to be changed by the caller."""
        return self.recorder.pending

    def digest(self) -> str:
        """Hex digest over the events taken so far."""
        return self.recorder.digest

    def view(self) -> State:
        """The view state folded over the events taken so far."""
        return self.recorder.view

    # For checks

    def held_view(self) -> State:
        """What the view state must show, computed from the engine's state at this instant."""
        held: State = {}
        for kind in self.store.kinds():
            for obj in self.store.objects(kind):
                held[obj.id] = attributes(obj, self._resource_rules, self.loop.ahead)
                if kind == "Node":
                    held[obj.id] |= self.volumes.held_view(obj.name)
        for scheduler in self.schedulers:
            for entity, shown in scheduler.held_view().items():
                if entity in held:
                    held[entity].update(shown)
        return held

    # Checkpoints

    def checkpoint(self, pause: Callable[[], None] | None = None) -> bytes:
        """The whole engine. *pause* is called all along, and nothing may change the engine meanwhile.

        Raises ValueError where events have not been taken, which would be recorded twice.
        """
        if self.recorder.pending:
            raise ValueError(f"{len(self.recorder.pending)} events have not been taken")
        plugins = [plugin for one in self.schedulers for plugin in one.plugins()]
        return checkpoints.dump(self, plugins, pause)

    @staticmethod
    def restore(blob: bytes, pause: Callable[[], None] | None = None) -> "Cluster":
        """The engine of a checkpoint; *pause* is called all along.

        Raises StaleCheckpoint when other code wrote it.
        """
        cluster = checkpoints.load(blob, pause)
        assert isinstance(cluster, Cluster), f"the checkpoint holds a {type(cluster).__name__}"
        # The caller sets the budget, which may have changed since, and says who uses the run.
        cluster.limit(None)
        cluster.open_until = 0
        return cluster
