"""The replicas of one scheduler, and the Lease by which they agree who leads.

Only the leader schedules. It renews the Lease every retry period, which costs nothing here: the
time of the last renewal follows from when it took the Lease, and is written down only when it
dies. A standby looks every retry period, too; it takes the Lease at its first look at which the
last renewal is a lease duration old.

A standby's informers are not simulated: at the moment it leads it lists the cluster anew, which
gives it what they would have given, in order of creation. What the old leader kept in memory
(backoffs, attempts, what it had assumed) is lost, as it really is.

Upstream: client-go/tools/leaderelection, cmd/kube-scheduler/app/server.go Run().
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from engine.api_server.store import process
from engine.kernel.errors import ApiError
from engine.kernel.loop import Timer
from engine.kernel.units import SECOND, timestamp
from engine.kernel.view import Attributes, Changes
from engine.objects.objects import Pod, from_manifest
from engine.scheduler.configuration.scenario_schedulers import SchedulerSpec
from engine.scheduler.cycle.attempt import SchedulingAttempt
from engine.scheduler.cycle.inside.caches import ProcessHeld, held_by
from engine.scheduler.cycle.scheduler import Scheduler
from engine.scheduler.cycle.shadow.shadow_decisions import ShadowDecisions
from engine.scheduler.cycle.state import Surroundings

LEASE = "Lease"


def scheduler_replicas(
    specs: Sequence[SchedulerSpec], around: Surroundings
) -> list[SchedulerReplicas]:
    """The schedulers of a cluster. Only the first is given the names of the others."""
    names = frozenset(name for spec in specs for name in spec.setup.names)
    return [
        SchedulerReplicas(spec, around, None if place else names - frozenset(spec.setup.names))
        for place, spec in enumerate(specs)
    ]


@dataclass(frozen=True, slots=True)
class Replica:
    """A process of a scheduler: the leader, a standby, or one that has stopped."""

    identity: str
    role: Literal["leader", "standby", "stopped"]


@dataclass(frozen=True, slots=True)
class LeaseHeld:
    """The Lease of replicas, in ns: a leader renews it every `retry_period`.

    `runs_out` is when its last renewal is a lease duration old. After the death of the leader it is
    `next_leader` that sees so first, and takes it at `taken_at`.
    """

    holder: str
    acquired: int
    renewed: int
    lease_duration: int
    retry_period: int
    runs_out: int
    next_leader: str
    taken_at: int | None


@dataclass(frozen=True, slots=True)
class SchedulerHeld:
    """One scheduler: its processes, its Lease if there are several, and what the leader remembers."""

    name: str
    replicas: tuple[Replica, ...]
    lease: LeaseHeld | None
    memory: ProcessHeld | None


class SchedulerReplicas:
    """One scheduler of a cluster: a single process, or several with a leader.

    `scheduler` is the process that leads, or that led last.
    """

    def __init__(
        self, spec: SchedulerSpec, around: Surroundings, neighbours: frozenset[str] | None
    ) -> None:
        self._setup = spec.setup
        self._around = around
        self._neighbours = neighbours
        name = spec.setup.names[0]
        single = spec.replicas == 1
        self.identities = [name] if single else [f"{name}-{n}" for n in range(spec.replicas)]
        self._since: dict[str, int] = dict.fromkeys(self.identities, around.loop.now)
        self._acquired = 0
        self._renewed: int = 0
        self._attempts: list[SchedulingAttempt] = []
        self._cycles = 0
        self._taking_over: Timer | None = None
        self.leader = ""
        self.scheduler = self._lead(self.identities[0])

    # -- what a user does ------------------------------------------------------------------------

    def stop(self, identity: str) -> str:
        """Kill a replica; returns "" or why that cannot be."""
        if identity not in self._since:
            return f"{identity} is not running"
        del self._since[identity]
        if identity == self.leader:
            self._step_down()
        else:
            self._record("SchedulerStopped", identity, "a standby has stopped")
        self._plan_take_over()
        return ""

    def start(self, identity: str) -> str:
        """Start a replica that was stopped; returns "" or why that cannot be."""
        if identity in self._since:
            return f"{identity} is running"
        self._since[identity] = self._around.loop.now
        self._record("SchedulerStarted", identity, "started")
        if len(self.identities) == 1:
            self._replace(identity)
        else:
            self._plan_take_over()
        return ""

    def restart(self, identity: str) -> str:
        """Kill a replica and start it at once; returns "" or why that cannot be.

        Its queue and its cache are lost. Alone, it lists the cluster again; of several, the one that
        led is a standby now, and the Lease has to run out first.
        """
        return self.stop(identity) or self.start(identity)

    # -- looking ---------------------------------------------------------------------------------

    @property
    def is_leading(self) -> bool:
        """Whether one of the replicas schedules."""
        return bool(self.leader)

    @property
    def next_leader(self) -> tuple[str, int] | None:
        """The standby that waits for the Lease to run out, and when it takes it, in ns."""
        timer = self._taking_over
        return None if timer is None else (timer.args[0], timer.at)

    def held(self) -> SchedulerHeld:
        """Who leads, until when, and what that process holds in memory."""
        return SchedulerHeld(
            self._setup.names[0],
            tuple(Replica(one, self._role(one)) for one in self.identities),
            self._lease_held() if len(self.identities) > 1 else None,
            held_by(self.scheduler.state) if self.leader else None,
        )

    def _role(self, identity: str) -> Literal["leader", "standby", "stopped"]:
        if identity == self.leader:
            return "leader"
        return "standby" if identity in self._since else "stopped"

    def _lease_held(self) -> LeaseHeld:
        election, renewed = self._setup.leader_election, self._last_renewal()
        next_leader, taken_at = self.next_leader or ("", None)
        return LeaseHeld(
            self.leader,
            self._acquired,
            renewed,
            election.lease_duration,
            election.retry_period,
            renewed + election.lease_duration,
            next_leader,
            taken_at,
        )

    def _last_renewal(self) -> int:
        """The leader renews at once when it has taken the Lease, then every retry period."""
        if not self.leader:
            return self._renewed
        held, period = (
            self._around.loop.now - self._acquired,
            self._setup.leader_election.retry_period,
        )
        return self._acquired + held // period * period

    @property
    def is_external(self) -> bool:
        """Whether a client of the Kubernetes API decides on its pods."""
        return self._setup.external

    def shadow_of(self, pod: Pod) -> ShadowDecisions | None:
        """What says how its own decision on *pod* compares with a client's; None: it decides."""
        return self.shadow if pod.scheduler_name in self.scheduler.names else None

    @property
    def shadow(self) -> ShadowDecisions | None:
        """What says how its own decisions compare with a client's; None: it decides itself."""
        scheduler = self.scheduler
        return None if scheduler.state.stopped else scheduler.shadow

    @property
    def asks_extenders(self) -> bool:
        """Whether there are any."""
        return bool(self._setup.extenders)

    @property
    def cycles_ended(self) -> int:
        """Scheduling cycles of all replicas so far."""
        return self._cycles + self.scheduler.cycles_ended

    def take_attempts(self) -> list[SchedulingAttempt]:
        """The attempts of all replicas since the last take."""
        taken, self._attempts = self._attempts, []
        return taken + self.scheduler.take_attempts()

    # -- the lease -------------------------------------------------------------------------------

    def _lead(self, identity: str) -> Scheduler:
        around = self._around
        before = self.leader, self._acquired, self._renewed
        self.leader = identity
        self._acquired = self._renewed = around.loop.now
        if len(self.identities) > 1:
            try:
                self._write_lease(identity)
            except ApiError:
                self.leader, self._acquired, self._renewed = before
                raise
        return Scheduler(around, self._setup, self._neighbours)

    def _step_down(self) -> None:
        around = self._around
        self._attempts += self.scheduler.take_attempts()
        self.scheduler.stop()
        process.end(self.scheduler, around.loop, around.store)
        self._renewed = self._last_renewal()
        self.leader = ""
        if len(self.identities) > 1:
            patch = {"spec": {"renewTime": timestamp(self._renewed + around.loop.ahead)}}
            # It was renewed when it was; this only writes it down.
            with suppress(ApiError):
                around.store.patch(
                    LEASE, self._lease_key, patch, by="scheduler", event="LeaseRenewed"
                )

    def _plan_take_over(self) -> None:
        """Find the standby that will be the first to see that the Lease has run out."""
        if self._taking_over is not None:
            self._taking_over.cancel()
            self._taking_over = None
        if self.leader or not self._since or len(self.identities) == 1:
            return
        election, now = self._setup.leader_election, self._around.loop.now
        expiry = max(self._renewed + election.lease_duration, now)
        period = election.retry_period
        looks = [
            (since + -(-(max(expiry, since) - since) // period) * period, place, identity)
            for place, identity in enumerate(self.identities)
            if (since := self._since.get(identity)) is not None
        ]
        at, _, identity = min(looks)
        self._taking_over = self._around.loop.call_at(at, self._take_over, identity)

    def _take_over(self, identity: str) -> None:
        self._around.loop.cause = 0
        self._taking_over = None
        try:
            self._replace(identity)
        except ApiError:
            # Upstream: leaderelection.go, acquire() tries again after the retry period.
            period = self._setup.leader_election.retry_period
            self._taking_over = self._around.loop.call_after(period, self._take_over, identity)

    def _replace(self, identity: str) -> None:
        """Let *identity* lead in place of the one that died. Raises ApiError: it does not then."""
        before = self.scheduler
        self.scheduler = self._lead(identity)
        self._cycles += before.cycles_ended
        self.scheduler.explains = before.explains
        self.scheduler.state.evidence_of = before.state.evidence_of
        self.scheduler.keep_explanations = before.keep_explanations
        self.scheduler.gauges.take_over(before.gauges)

    @property
    def _lease_key(self) -> str:
        election = self._setup.leader_election
        return f"{election.resource_namespace}/{self._lease_name}"

    @property
    def _lease_name(self) -> str:
        """Two schedulers must not share one Lease."""
        name = self._setup.names[0]
        election = self._setup.leader_election
        return election.resource_name if name == "default-scheduler" else name

    def _write_lease(self, identity: str) -> None:
        around, election = self._around, self._setup.leader_election
        now = timestamp(around.loop.clock)
        spec = {
            "holderIdentity": identity,
            "leaseDurationSeconds": election.lease_duration // SECOND,
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": 0,
        }
        changes: Changes = {f"scheduler/{one}": self._shown(one) for one in self.identities}
        found = around.store.find(LEASE, self._lease_key)
        if found is None:
            metadata = {"name": self._lease_name, "namespace": election.resource_namespace}
            lease = from_manifest(
                {
                    "apiVersion": "coordination.k8s.io/v1",
                    "kind": LEASE,
                    "metadata": metadata,
                    "spec": spec,
                }
            )
            around.store.create(
                lease, by="scheduler", event="LeaseAcquired", message=identity, changes=changes
            )
        else:
            spec["leaseTransitions"] = int(found.spec.get("leaseTransitions") or 0) + 1
            around.store.patch(
                LEASE,
                self._lease_key,
                {"spec": spec},
                by="scheduler",
                event="LeaseAcquired",
                message=identity,
                changes=changes,
            )
        data = {"type": "Normal", "event": True}
        around.recorder.record(
            "LeaderElection",
            f"lease/{self._lease_key}",
            "scheduler",
            f"{identity} became leader",
            data,
        )

    def _shown(self, identity: str) -> Attributes:
        return {"running": identity in self._since, "leading": identity == self.leader}

    def _record(self, fact: str, identity: str, message: str) -> None:
        changes: Changes = {f"scheduler/{identity}": self._shown(identity)}
        target = f"scheduler/{identity}"
        self._around.recorder.record(fact, target, "scheduler", message, None, changes)
