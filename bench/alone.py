"""A scheduler by itself: the API's objects, their watches, the record and the clock, nobody else.

What the real scheduler's figures were measured with, too: the scheduler in one process, without
kubelets and controllers that hear of every step.
"""

from engine.api_server.admission.admission import Admission
from engine.api_server.store.store import ObjectStore
from engine.cluster.cluster import Slice
from engine.cluster.commands import Manifest
from engine.cluster.replicas import SchedulerReplicas
from engine.cluster.storage_actors import VolumeActors
from engine.input.scenario import Scenario
from engine.kernel.latency import Latencies
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.rng import Streams
from engine.objects.objects import from_manifest
from engine.objects.phases import settled
from engine.scheduler.configuration.extenders import ExtenderCalls
from engine.scheduler.configuration.scenario_schedulers import read_schedulers
from engine.scheduler.cycle.scheduler import Scheduler
from engine.scheduler.cycle.state import Surroundings
from engine.versions.registry import VERSIONS


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
