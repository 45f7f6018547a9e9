"""The way from a pod to its diagnosis: where it stands, what is in its way, what would help.

Changes that help are found by trying. Most changes are ruled out by deciding on the pod once more in
a copy of the scheduler's own view; what is left is carried out in a fork of the whole cluster,
which then runs until the pod is bound. Nothing is offered that did not get the pod its node.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Final, TypeVar

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.cluster.replicas import SchedulerReplicas
from engine.diagnosis.at_once import known_at_once
from engine.diagnosis.candidates import Candidate, Situation, patched, replaced
from engine.diagnosis.causes import (
    Refused,
    check_of,
    node_causes,
    outright_cause,
    preemption_note,
    refused_nodes,
)
from engine.diagnosis.changes.crowding import lone_pods, peers
from engine.diagnosis.changes.moved_volumes import moved_volumes
from engine.diagnosis.changes.new_nodes import more_nodes
from engine.diagnosis.changes.node_changes import recovered_nodes, uncordoned
from engine.diagnosis.changes.of_plugins import plugin_changes
from engine.diagnosis.changes.priorities import priorities
from engine.diagnosis.explaining import outright_facts
from engine.diagnosis.fork import CopiedForks, Forks, MakeForks
from engine.diagnosis.headline import headline
from engine.diagnosis.no_scheduler import NoScheduler, leaderless_cause
from engine.diagnosis.pairs import Changes, PairSearch
from engine.diagnosis.report import SEVERITIES, Cause, Check, Diagnosis, Fix
from engine.diagnosis.subjects.pod_claims import pod_claim_causes, pod_claim_changes
from engine.diagnosis.subjects.pods.devices import readiness_causes
from engine.diagnosis.subjects.pods.extenders import extender_cause
from engine.diagnosis.subjects.pods.gangs import gang_cause, gang_changes, is_gate_of_gang
from engine.diagnosis.subjects.pods.nomination import nomination_cause, stays
from engine.diagnosis.subjects.rollouts import outdated_causes, rollout_causes, rollout_changes
from engine.diagnosis.subjects.scene import Scene
from engine.diagnosis.trials import Trials, listed, seconds
from engine.diagnosis.volumes import (
    missing_claims,
    missing_classes,
    more_capacity,
    more_volumes,
    published_capacity,
)
from engine.diagnosis.world import World
from engine.kernel.garbage import collector_paused
from engine.kernel.sentences import Sentence, say, say_count
from engine.objects.objects import Pod
from engine.scheduler.cycle.decision.result import SCHEDULED, ScheduleResult
from engine.scheduler.cycle.scheduler import Scheduler
from engine.scheduler.queue.queued_pod import QueuedPodInfo

# The kinds of change from the smallest on: what only lifts a restriction, what changes a rule, what
# asks for less, what takes something away from others, what has to be bought.
_KINDS: Final[tuple[tuple[str, Changes], ...]] = (
    ("gate", plugin_changes("gate")),
    ("ready", recovered_nodes),
    ("uncordon", uncordoned),
    ("label", plugin_changes("label")),
    ("toleration", plugin_changes("toleration")),
    ("taint", plugin_changes("taint")),
    ("selector", plugin_changes("selector")),
    ("spread", plugin_changes("spread")),
    ("namespaces", plugin_changes("namespaces")),
    ("affinity", plugin_changes("affinity")),
    ("device", plugin_changes("device")),
    ("requests", plugin_changes("requests")),
    ("plugin", plugin_changes("plugin")),
    ("claim", missing_claims),
    ("class", missing_classes),
    ("capacity", more_capacity),
    ("publish", published_capacity),
    ("volume", more_volumes),
    ("moved", moved_volumes),
    ("priority", priorities),
    ("pod", lone_pods),
    ("node", more_nodes),
    ("peer", peers),
)
_MOST_OFFERED = 8


Step = TypeVar("Step")


def diagnose(
    cluster: Cluster,
    pod_key: str,
    *,
    tries_changes: bool = True,
    make_forks: MakeForks = CopiedForks,
) -> Diagnosis:
    """Why the pod "namespace/name" has no node at this instant, and what would give it one.

    *cluster* is left exactly as it is: nothing is recorded, drawn or scheduled in it. Extenders are
    never called. A pod that is not there, or has its node, gets a diagnosis that says so. Without
    *tries_changes* there are causes alone, and no look ahead. Changes are tried in the forks of
    *make_forks*.
    """
    steps = diagnose_in_steps(cluster, pod_key, make_forks(cluster))
    with collector_paused():
        return last_of(steps) if tries_changes else next(steps)


def diagnose_in_steps(cluster: Cluster, pod_key: str, forks: Forks) -> Iterator[Diagnosis]:
    """As `diagnose`: the causes first, then all that is known after each fix, and the whole last."""
    pod = cluster.store.find(Pod.KIND, pod_key)
    at_once = known_at_once(cluster, pod_key, pod)
    if at_once is not None or not isinstance(pod, Pod):
        assert at_once is not None
        yield at_once
        return
    leading = [
        each
        for each in cluster.replicas
        if each.scheduler.algorithm_for(pod.scheduler_name) is not None
    ]
    if not leading:
        yield from NoScheduler(cluster, pod, forks).diagnoses()
    else:
        yield from _Inquiry(cluster, pod, leading[0], forks).diagnoses()


def last_of(steps: Iterator[Step]) -> Step:
    """The last of the steps, which is the whole answer."""
    return deque(steps, maxlen=1).pop()


@dataclass(frozen=True, slots=True)
class _Findings:
    """What the scheduler would decide on the pod right now, and why."""

    decision: ScheduleResult
    refused: list[Refused]
    gates: tuple[str, ...]

    @property
    def fits(self) -> bool:
        """Whether some node takes it as it is."""
        return self.decision.result == SCHEDULED and not self.gates

    @property
    def check(self) -> Check | None:
        """The check that blocks the closest node."""
        if not self.refused or self.decision.result == SCHEDULED:
            return None
        nearest = self.refused[0]
        return check_of(nearest, nearest.obstacles[0])


class _Inquiry:
    """Explains a pod that waits for its scheduler to give it a node."""

    def __init__(
        self, cluster: Cluster, pod: Pod, replicas: SchedulerReplicas, forks: Forks
    ) -> None:
        algorithm = replicas.scheduler.algorithm_for(pod.scheduler_name)
        assert algorithm is not None
        self._cluster = cluster
        self._pod = pod
        self._replicas = replicas
        self._scheduler: Scheduler = replicas.scheduler
        self._asks_extenders = algorithm.extenders is not None
        self._world = World(algorithm, pod)
        self._trials = Trials(cluster, pod, forks)
        self._findings = self._decide()

    def _decide(self) -> _Findings:
        world = self._world
        decision = world.decide()
        # Without pods of lower priority, only a custom plugin's PostFilter can find a node.
        if world.has_lower_priorities or world.algorithm.profile.custom_plugins:
            world.algorithm.preempt(decision)
        return _Findings(decision, refused_nodes(world, decision), world.gates(self._pod))

    def diagnoses(self) -> Iterator[Diagnosis]:
        """The causes, then the same with each fix that is found, then the whole."""
        causes = self._causes()
        found = Diagnosis(
            pod=self._pod.key,
            profile=self._cluster.profile,
            at=self._cluster.now,
            state=self._state,
            sentence=self._sentence(causes),
            causes=tuple(causes),
            check=self._findings.check,
        )
        yield found
        found = replace(found, outlook=self._trials.look_ahead())
        fixes: list[Fix] = []
        for fix in self._fixes():
            fixes.append(fix)
            yield replace(found, fixes=tuple(fixes))
        yield replace(
            found,
            fixes=tuple(fixes),
            tried=tuple(self._trials.tried.items()),
            conclusion=self._conclusion(fixes),
        )

    def _conclusion(self, fixes: list[Fix]) -> Sentence:
        if self._cluster.asks_extenders:
            return say("Extenders are not asked about what is only tried, so no change is offered.")
        return self._trials.conclusion(fixes)

    @property
    def _scene(self) -> Scene:
        return Scene.of(self._cluster)

    # -- where the pod stands --------------------------------------------------------------------

    @property
    def _queued(self) -> QueuedPodInfo | None:
        queue = self._scheduler.queue
        return queue.get(self._pod.key) or queue.in_flight(self._pod.key)

    @property
    def _state(self) -> str:
        if self._scheduler.cache.is_assumed(self._pod.key):
            return "assumed"
        if not self._replicas.is_leading:
            return "leaderless"
        queued = self._queued
        return queued.place if queued is not None and queued.place else "unseen"

    @property
    def _victims(self) -> list[Pod]:
        """The pods whose leaving the pod waits for on the node it is nominated to."""
        node = self._pod.nominated_node_name
        if not node:
            return []
        return [
            pod
            for pod in self._cluster.store.pods_on(node)
            if pod.deletion_timestamp and pod.priority < self._pod.priority
        ]

    # -- what is in its way ----------------------------------------------------------------------

    def _causes(self) -> list[Cause]:
        if self._state == "assumed":
            binding = self._scheduler.state.bindings.get(self._pod.key)
            node = "" if binding is None else binding.node
            return list(readiness_causes(self._scene, self._pod, node))
        causes = [*self._queue_causes(), *self._in_the_way()]
        if self._asks_extenders:
            text = say("An extender takes part in the decision and is not asked here.")
            causes.append(Cause(severity="notes", sentence=text))
        # The sort keeps the order among equals.
        return sorted(map(self._as_stored, causes), key=_gravity)

    def _as_stored(self, cause: Cause) -> Cause:
        """The cause with the values that the API server has, which the scheduler may not have seen.

        Nothing is said of objects that are gone.
        """
        find = self._cluster.store.find
        facts = [(fact, find(fact.kind, fact.key)) for fact in cause.because]
        return replace(cause, because=tuple(fact.of(obj) for fact, obj in facts if obj is not None))

    @property
    def _gang(self) -> Cause | None:
        """What holds the pod's group back, where pods are scheduled in groups."""
        if not self._scheduler.state.profile.rules.schedules_groups:
            return None
        return gang_cause(self._scene, self._pod)

    @property
    def _extenders_refusal(self) -> Cause | None:
        node = self._findings.decision.node
        if not self._asks_extenders or node is None:
            return None
        return extender_cause(self._pod, self._queued, node)

    def _queue_causes(self) -> Iterator[Cause]:
        """What has to do with the queue rather than with any node."""
        if not self._replicas.is_leading:
            yield leaderless_cause(self._replicas)
        gang = self._gang
        if gang is not None:
            yield gang
        for message in self._findings.gates:
            if is_gate_of_gang(message):
                continue
            yield Cause(
                severity="blocks",
                sentence=say("Held back: {message}.", message=message),
                plugin="SchedulingGates",
                reasons=(message,),
                because=outright_facts(self._world, "SchedulingGates", (message,)),
            )
        victims = self._victims
        if victims:
            yield nomination_cause(self._cluster.store, self._pod, victims)
        queued = self._queued
        if queued is None:
            return
        until = self._scheduler.queue.backoff_until(queued) if queued.place == "backoff" else None
        if until is not None:
            yield Cause(
                severity="delays", sentence=say("In backoff until {time}.", time=seconds(until))
            )
        if queued.place == "active" and self._findings.fits:
            yield from self._others_first()
        refusal = self._extenders_refusal
        if refusal is not None:
            yield refusal
        elif queued.place == "unschedulable" and self._findings.fits:
            text = say(
                "Nothing that happened since its last attempt has brought it back to the queue."
            )
            yield Cause(severity="delays", sentence=text)

    def _others_first(self) -> Iterator[Cause]:
        """The pods that have their turn before this one."""
        before = self._scheduler.queue.tried_before(self._pod.key)
        if before:
            text = say_count(
                "One pod is tried before it, and may take its room: {pods}.",
                "{count} pods are tried before it, and may take its room: {pods}.",
                len(before),
                pods=listed(before),
            )
            yield Cause(severity="delays", sentence=text)

    def _in_the_way(self) -> Iterator[Cause]:
        world, decision = self._world, self._findings.decision
        if decision.result == SCHEDULED:
            return
        outright = outright_cause(decision, world)
        scene = self._scene
        claims = list(pod_claim_causes(scene, self._pod))
        if outright is not None and claims:
            # The same in more words, with upstream's for reference.
            for claim in claims:
                reasons = (*outright.reasons, *claim.reasons)
                parts = {"plugin": outright.plugin, "nodes": outright.nodes, "reasons": reasons}
                yield replace(claim, **parts)
        else:
            yield from claims
            yield from () if outright is None else (outright,)
        yield from node_causes(world, self._findings.refused)
        yield from rollout_causes(scene, self._pod)
        yield from outdated_causes(scene, self._pod)
        note = preemption_note(world, decision)
        if note is not None:
            yield note

    def _sentence(self, causes: list[Cause]) -> Sentence:
        """The answer in one sentence."""
        findings, state = self._findings, self._state
        if state == "assumed":
            found = say("It has been given a node and is being bound.")
            return causes[0].sentence if causes else found
        is_held = state == "leaderless" and (findings.fits or causes[0].severity == "blocks")
        if self._victims or is_held or findings.gates:
            return causes[0].sentence if not self._victims else _first_of(causes, "delays")
        if findings.fits:
            held = self._gang or self._extenders_refusal
            return self._sentence_when_it_fits(state) if held is None else held.sentence
        if not findings.refused:
            return _first_of(causes, "blocks")
        return headline(self._world, findings.refused, causes)

    def _sentence_when_it_fits(self, state: str) -> Sentence:
        node, queued = self._findings.decision.node or "", self._queued
        if state == "backoff" and queued is not None:
            until = self._scheduler.queue.backoff_until(queued) or 0
            return say(
                "It fits {node} and is tried again after its backoff, at {time}.",
                node=node,
                time=seconds(until),
            )
        if state == "unschedulable":
            return say(
                "It fits {node} now, but nothing has brought it back to the queue.", node=node
            )
        return say("It fits {node} and waits for its turn.", node=node)

    # -- what would help -------------------------------------------------------------------------

    def _fixes(self) -> Iterator[Fix]:
        if any(stays(each, self._cluster.store) for each in self._victims):
            yield from self._only(self._forced_deletions(), None)
            return
        if not self._needs_help:
            return
        if not self._replicas.is_leading:
            started = list(self._only(self._started_schedulers(), None))
            yield from started
            if started:
                return
        if self._gang is not None:
            for change in gang_changes(self._scene, self._pod):
                yield from self._only(iter((change,)), None)
            return
        if self._findings.fits:
            yield from self._only(self._retries(), None)
            return
        offers_none = True
        for fix in islice(self._single_changes(), _MOST_OFFERED):
            offers_none = False
            yield fix
        if offers_none:
            yield from self._pair_of_changes()

    def _single_changes(self) -> Iterator[Fix]:
        """The first of each kind that does."""
        situation = Situation(self._world, self._findings.refused)
        if not self._findings.gates:
            yield from self._only(rollout_changes(self._scene, self._pod), None)
            yield from self._only(pod_claim_changes(self._scene, self._pod), None)
        for kind, changes in _KINDS:
            if self._findings.gates and kind != "gate":
                return  # Nothing else counts as long as the pod may not enter the queue.
            yield from self._only(changes(situation), self._world)

    def _pair_of_changes(self) -> Iterator[Fix]:
        """Two that do together."""
        search = PairSearch(self._world, self._findings.refused, _KINDS)
        fix = self._trials.first_pair_that_helps(search)
        if fix is not None:
            yield fix

    @property
    def _needs_help(self) -> bool:
        """Whether it would not simply get its node in time, as things are."""
        outlook, findings = self._trials.outlook, self._findings
        if self._state == "assumed":
            return False
        # A pod that fits and is parked waits for a flush, and can be had sooner.
        promised = findings.fits and self._state != "unschedulable"
        promised = (promised and self._gang is None) or bool(self._victims) or self._evicts
        return not (outlook is not None and outlook.node and promised)

    @property
    def _evicts(self) -> bool:
        preemption = self._findings.decision.preemption
        return preemption is not None and preemption.chosen is not None

    @property
    def _may_evict(self) -> bool:
        """Whether a change may help by making evictions possible, which they are not as things are."""
        never = self._pod.spec.get("preemptionPolicy") == "Never"
        return not never and not self._evicts and self._world.has_lower_priorities

    def _only(self, candidates: Iterator[Candidate], world: World | None) -> Iterator[Fix]:
        evicting = world is not None and self._may_evict
        fix = self._trials.first_that_helps(candidates, world, evicting=evicting)
        if fix is not None:
            yield fix

    def _started_schedulers(self) -> Iterator[Candidate]:
        for identity in self._replicas.identities:
            yield Candidate(
                kind="scheduler",
                text=say("Start the scheduler {identity}", identity=identity),
                command=Command(verb="start_scheduler", object=f"scheduler/{identity}"),
                decidable=False,
                note=say("It schedules every pod that waits for it, not this one alone."),
            )

    def _forced_deletions(self) -> Iterator[Candidate]:
        """Each of its victims deleted at once, and all of them."""
        forced = [Command(verb="delete", object=each.id, grace_seconds=0) for each in self._victims]
        names = listed([each.key for each in self._victims])
        yield Candidate(
            kind="force",
            text=say("Delete {names} by force (grace period 0)", names=names),
            command=forced[0],
            more=tuple(forced[1:]),
            decidable=False,
            note=say("Be sure that nothing of them runs any more: no kubelet confirms it."),
        )

    def _retries(self) -> Iterator[Candidate]:
        """It fits and is not tried: a label wakes it where some plugin minds labels, else a new pod."""
        yield Candidate(
            kind="retry",
            text=say("Give the pod a label, so that the queue takes it up again"),
            command=patched(self._pod.id, {"metadata": {"labels": {"kscope.dev/retry": "1"}}}),
            decidable=False,
            note=say("The label stays on the pod, where selectors can see it."),
        )
        yield replaced(self._pod, {}, kind="retry", text=say("Create the pod anew, just as it is"))


def _gravity(cause: Cause) -> int:
    return SEVERITIES.index(cause.severity)


def _first_of(causes: list[Cause], severity: str) -> Sentence:
    return next(
        (each.sentence for each in causes if each.severity == severity), say("It has no node.")
    )
