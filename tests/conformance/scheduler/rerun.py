"""The scenario of a recording, run here, and told as the recording's facts are."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from engine.api_server.store.watches import WatchEvent
from engine.cluster.cluster import Cluster
from engine.controllers.persistent_volumes.pv_controller import PersistentVolumeController
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.latency import Latency
from engine.kernel.recorder import Event
from engine.kernel.units import MILLISECOND, SECOND
from engine.objects.objects import PersistentVolume, PersistentVolumeClaim, Pod
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.attempt import SchedulingAttempt
from engine.scheduler.cycle.decision.result import UNSCHEDULABLE, ScheduleResult
from tests.conformance.recordings import (
    BY_EPHEMERAL_CONTROLLER,
    BY_PROVISIONER,
    ORIGIN,
    START,
    Facts,
    Recording,
    Scores,
    Write,
    attempts_told,
    changes_told,
    events_told,
    made_up_names,
    pod_group,
    statuses_told,
)
from tests.engine.controllers.workloads.recorded import History

# By profile, when the scheduler of the recordings started its tickers: their phase.
TICKERS = {"v1.20": ORIGIN - 4_600 * MILLISECOND, "v1.36": ORIGIN - 3_300 * MILLISECOND}
# By profile, what took another time there than here: the recordings of v1.36 were made on a busy
# machine, and see `_delay_attaches`.
OTHER_LATENCIES = {
    "v1.36": {
        "api_write": Latency("fixed", 8 * MILLISECOND),
        "attach": Latency("fixed", 0),
        "detach": Latency("fixed", 0),
    }
}
# Of two threads either is first: the scheduler's caches or the attempt of the pod that a change
# woke; the worker of claims or that of volumes; that attempt, which takes milliseconds, or what the
# PV controller writes for the claim, or the node controller for the node, that it was woken by; the
# node controller's two writes and the attempts in between; the scheduler's watches of nodes and of
# pods; the end of a pod or the look of its Job's controller, a second after its start and two.
RACES = {
    "assume_cache": Latency("uniform", 0, 1),
    "bind_race": Latency("uniform", 0, 1),
    "claim_sync": Latency("uniform", 0, 12 * MILLISECOND),
    "node_taint": Latency("uniform", 1 * MILLISECOND, 20 * MILLISECOND),
    "node_labels": Latency("uniform", 0, 6 * MILLISECOND),
    "node_watch": Latency("uniform", 0, 12 * MILLISECOND),
    "run": Latency("uniform", 2 * SECOND, 2 * SECOND + 20 * MILLISECOND),
}
# More than any of the recordings takes by far.
_MANY_STEPS = 60_000

_KINDS = {
    "pod": "Pod",
    "node": "Node",
    "claim": "PersistentVolumeClaim",
    "volume": "PersistentVolume",
    "deployment": "Deployment",
    "replicaset": "ReplicaSet",
    "statefulset": "StatefulSet",
    "daemonset": "DaemonSet",
    "job": "Job",
    "poddisruptionbudget": "PodDisruptionBudget",
}


# By profile, plugins that go by another name here; see docs/conformance.md, Profile v1.20.
_PLUGINS = {
    "v1.20": {
        "NodeResourcesFit": "NodeResourcesLeastAllocated",
        "NodePreferAvoidPodsPriority": "NodePreferAvoidPods",
    },
}


@dataclass(frozen=True, slots=True)
class Chances:
    """What is left to chance in a run.

    Where it *follows*, of equally good nodes the recorded one is taken, and the volume worker of the
    PV controller overtakes its claim worker where it did. Else the *seed* decides, as it does each
    time which of the two threads of *races* comes first.
    """

    follows: bool = True
    seed: int = 0
    races: tuple[str, ...] = ()


class Rerun:
    """The same scenario, run here."""

    def __init__(self, recording: Recording, chances: Chances) -> None:
        self.recording = recording
        scenario = recording.shifted()
        races = {name: RACES[name] for name in chances.races}
        others = OTHER_LATENCIES.get(recording.profile, {})
        scenario = replace(scenario, latencies={**scenario.latencies, **others, **races})
        self.cluster = Cluster.create(scenario, profile=recording.profile, seed=chances.seed)
        # The stand-ins: the kubelet looks for its volumes all the time, and the provisioner does
        # not try again what has failed.
        self.cluster.volumes.kubelets.volumes.options.verify_backs_off = False
        self.cluster.volumes.provisioners.retries = False
        if recording.profile != "v1.20":
            self._delay_attaches()
        queue = self.cluster.scheduler.queue
        queue.flush_times.started_at = TICKERS[recording.profile]
        if not recording.server_side_apply:
            queue.updates.rules = replace(queue.updates.rules, status_counts=False)
        if chances.follows:
            follower = Follower(recording.nodes_taken(), recording.stalled_binds())
            follower.guide(self.cluster.scheduler.algorithm)
            if "bind_race" not in chances.races:
                follower.let_race(self.cluster.volumes.pv_controller)
        self.writes: list[Write] = []
        self.recorded: list[Event] = []
        self.tried: list[SchedulingAttempt] = []
        watches, deliver = self.cluster.store.watches, self.cluster.store.watches.deliver

        def delivered(event: WatchEvent) -> None:
            author = self.cluster.recorder.pending[-1].component
            now = (self.cluster.now - ORIGIN) / SECOND
            self.writes.append((now, author, event.type, {**event.new.raw, "kind": event.new.kind}))
            deliver(event)

        watches.deliver = delivered

    def _delay_attaches(self) -> None:
        """The stand-in for the attacher does nothing for a second or a little more, then all at once."""
        attacher, loop = self.cluster.volumes.csi_attacher, self.cluster.loop
        sync = attacher._sync
        attacher._sync = lambda name: loop.call_after(SECOND + 50 * MILLISECOND, sync, name)

    def run(self) -> None:
        """To the end of the recording."""
        self.cluster.advance(self.cluster.horizon, max_steps=_MANY_STEPS)
        assert self.cluster.now == self.cluster.horizon, "the run does not become quiet"
        taken = self.cluster.take()
        self.recorded, self.tried = taken.events, taken.attempts

    def changes(self) -> Facts:
        """What was written, per object."""
        return changes_told(self.writes, self._names())

    def attempts(self) -> Facts:
        """The attempts at scheduling that found no node, with why."""
        tried = [
            (
                (each.at - ORIGIN) / SECOND,
                each.pod,
                each.message if each.result == UNSCHEDULABLE else "",
            )
            for each in self.tried
        ]
        return attempts_told(tried, self._names(), self.recording.profile)

    def scores(self) -> Scores:
        """The weighted scores, by upstream's names of the plugins."""
        told: Scores = {}
        plugins = _PLUGINS.get(self.recording.profile, {})
        for attempt in self.tried:
            nodes = (attempt.evidence or {}).get("scores") or {}
            for node, scored in nodes.items():
                for plugin, (_, _, weighted) in scored["plugins"].items():
                    of_pod = told.setdefault(attempt.pod, {})
                    of_pod.setdefault(plugins.get(plugin, plugin), {})[node] = weighted
        return told

    def statuses(self) -> dict[str, History]:
        """The values that the fields of workloads took."""
        return statuses_told(self.writes)

    def events(self) -> Facts:
        """The Kubernetes Events, per object."""
        told: dict[str, list[tuple[float, str]]] = {}
        for event in self.recorded:
            data = event.data or {}
            at = (event.at - ORIGIN) / SECOND
            if not data.get("event") or at < START or data.get("series", 0) > 1:
                continue
            if event.component == "kubelet" or event.kind.startswith("VolumeModify"):
                # The stand-in for the resizer emits none.
                continue
            reason = data.get("reason") or event.kind
            text = f"{data['type']} {reason}: {data.get('note', event.message)}"
            prefix, _, key = event.object.partition("/")
            about = f"{_KINDS.get(prefix, prefix)}/{key}"
            if event.component == "external-provisioner":
                about += BY_PROVISIONER
            if event.component == "ephemeral-volume-controller":
                about += BY_EPHEMERAL_CONTROLLER
            told.setdefault(about, []).append((at, text))
        return events_told(told, self._names(), self.recording.profile)

    def _names(self) -> dict[str, str]:
        return made_up_names(raw for _, _, _, raw in self.writes)


@dataclass(slots=True)
class Follower:
    """Takes, of equally good nodes, the one that the recorded pod got.

    Pods with made-up names are told apart by their number among those of their owner. And lets the
    PV controller's volume worker win where it did.
    """

    taken: dict[str, list[str]]
    stalled: dict[str, list[bool]]
    _numbers: dict[str, int] = field(default_factory=dict[str, int])
    _counts: dict[str, int] = field(default_factory=dict[str, int])
    _wanted: str = ""

    def guide(self, algorithm: SchedulingAlgorithm) -> None:
        """Let *algorithm* decide ties as the recorded scheduler did."""
        schedule, pick = algorithm.schedule, algorithm.hosts._pick
        choose_tied = algorithm.hosts.choose_tied

        def scheduled(pod: PodInfo, *rest: Any, **named: Any) -> ScheduleResult:
            self._wanted = self._recorded_node(pod.pod)
            return schedule(pod, *rest, **named)

        def picked(tied: Any) -> int:
            row = algorithm.table.rows.get(self._wanted)
            return row if row is not None and row in np.asarray(tied) else pick(tied)

        def chosen(tied: Any, feasible: int) -> int:
            row = algorithm.table.rows.get(self._wanted)
            known = row is not None and row in tied.tolist()
            return row if known else choose_tied(tied, feasible)

        algorithm.schedule = scheduled
        algorithm.hosts._pick = picked
        algorithm.hosts.choose_tied = chosen

    def let_race(self, controller: PersistentVolumeController) -> None:
        """Let *controller* bind claims that name their volume as the recorded one did."""
        writer = controller.writer
        bind = writer.bind
        binding: list[str] = []
        left = {key: [*outcomes] for key, outcomes in self.stalled.items()}

        def bound(volume: PersistentVolume, claim: PersistentVolumeClaim, *data: Any) -> None:
            binding[:] = [claim.key]
            bind(volume, claim, *data)

        def overtaken() -> bool:
            outcomes = left.get(binding[0])
            return bool(outcomes and outcomes.pop(0))

        writer.bind = bound
        writer._is_overtaken = overtaken

    def _recorded_node(self, pod: Pod) -> str:
        group = pod_group(pod.raw)
        if pod.uid not in self._numbers:
            self._numbers[pod.uid] = self._counts.get(group, 0)
            self._counts[group] = self._numbers[pod.uid] + 1
        nodes = self.taken.get(group, [])
        number = self._numbers[pod.uid]
        return nodes[number] if number < len(nodes) else ""
