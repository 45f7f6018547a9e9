"""A scheduler by itself: the API's objects, their watches, the record and the clock, nobody else.

What the real scheduler's figures were measured with, too: the scheduler in one process, without
kubelets and controllers that hear of every step.
"""

from kscope.sim.api_server.store import ObjectStore
from kscope.sim.input.scenario import Scenario
from kscope.sim.kernel.latency import Latencies
from kscope.sim.kernel.loop import EventLoop
from kscope.sim.kernel.recorder import Recorder
from kscope.sim.kernel.rng import Streams
from kscope.sim.objects.objects import from_manifest
from scheduling.engine.api_server.admission import Admission
from scheduling.engine.cluster.cluster import Slice
from scheduling.engine.cluster.commands import Manifest
from scheduling.engine.cluster.replicas import SchedulerReplicas
from scheduling.engine.configuration.extenders import ExtenderCalls
from scheduling.engine.configuration.scenario_schedulers import read_schedulers
from scheduling.engine.cycle.scheduler import Scheduler
from scheduling.engine.cycle.state import Surroundings
from scheduling.engine.versions.registry import VERSIONS
from volumes.engine.actors import VolumeActors
from volumes.engine.phases import settled


class SchedulerAlone:
    """As much of a `Cluster` as a scheduler needs, and, *with_storage*, the storage components."""

    def __init__(self, scenario: Scenario, *, with_storage: bool, profile: str = "v1.34") -> None:
        streams = Streams(0)
        loop = self.loop = EventLoop()
        recorder = self.recorder = Recorder(loop)
        version = VERSIONS[profile]
        store = self.store = ObjectStore(loop, recorder, rules=version.resources)
        latencies = Latencies(scenario.latencies, streams)
        self._admission = Admission(store, default_tolerations=True, rules=version.admission)
        for raw in scenario.objects:
            self.create(raw)
        if with_storage:
            VolumeActors(
                loop=loop,
                store=store,
                recorder=recorder,
                latencies=latencies,
                version=version,
            )
        around = Surroundings(
            loop=loop,
            store=store,
            recorder=recorder,
            latencies=latencies,
            ties=streams.stream("ties"),
            calls=ExtenderCalls(recorder),
        )
        spec = read_schedulers(scenario.schedulers, scenario.configuration, version)[0]
        self._replicas = SchedulerReplicas(spec, around, frozenset())

    @property
    def scheduler(self) -> Scheduler:
        """The scheduler."""
        return self._replicas.scheduler

    @property
    def now(self) -> int:
        """Virtual time in nanoseconds."""
        return self.loop.now

    def create(self, manifest: Manifest) -> None:
        """Create the object at this instant, by way of admission."""
        self.loop.cause = 0
        obj = self._admission.admit(from_manifest(manifest))
        self.store.create(settled(obj), by="scenario")

    def advance(self, until: int) -> None:
        """Run what is due up to *until*."""
        self.loop.run(until)

    def take(self) -> Slice:
        """Everything recorded since the last take, encoded and digested."""
        events, rows = self.recorder.take()
        record = self.store.record
        touched = record.take_touched()
        written = {entity: record.events_of(entity) for entity in touched}
        attempts = self.scheduler.take_attempts()
        return Slice(events, rows, touched, written, record.take_removals(), attempts)
