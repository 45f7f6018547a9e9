"""Decisions mode: schedules every pending pod once, in queue order, without time.

Every node is evaluated. Victims are gone at once, and their preemptor is tried again at once;
volumes bind at once. The format is that of docs/decisions.md; equal input gives equal output, byte for
byte.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from kscope.sim.api_server.store import ObjectStore
from kscope.sim.kernel.loop import EventLoop
from kscope.sim.kernel.recorder import Recorder
from kscope.sim.kernel.rng import Stream
from kscope.sim.kernel.units import SECOND, timestamp
from kscope.sim.objects.objects import (
    ApiObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    Templates,
    from_manifest,
)
from kscope.sim.objects.unmodelled import unmodelled_need
from scheduling.engine.api_server.admission import Admission
from scheduling.engine.configuration.extenders import Extender
from scheduling.engine.configuration.profiles import Profile
from scheduling.engine.cycle.algorithm import SchedulingAlgorithm
from scheduling.engine.cycle.claim_work import ClaimWork
from scheduling.engine.cycle.decision.result import ERROR, SCHEDULED, ScheduleResult
from scheduling.engine.framework.handle import Handle
from scheduling.engine.nodes.node_info import NodeInfo
from scheduling.engine.nodes.nominated import Nominated
from scheduling.engine.plugins.volumes.volume_zone import BETA_ZONE
from scheduling.engine.pods.pod_info import PodInfo
from scheduling.engine.preemption.preemption import Preemption
from scheduling.engine.workloads.disruption.budget_count import with_counted_budgets
from volumes.engine.phases import claim_ref_of

Attempt = dict[str, Any]

# The kinds that admission reads; the others are not put into a store.
_CLASSES = ("PriorityClass", "RuntimeClass", "StorageClass", "Namespace", "LimitRange")
_MAX_ATTEMPTS = 8


@dataclass(slots=True)
class Decisions:
    """The attempts so far, and the cluster on which they were made."""

    algorithm: SchedulingAlgorithm
    evidence: bool = True
    # Whether evidence may come from columns that are kept per template.
    by_columns: bool = False
    # By schedulerName, if there are several profiles.
    by_name: dict[str, SchedulingAlgorithm] = field(default_factory=dict[str, SchedulingAlgorithm])
    attempts: list[Attempt] = field(default_factory=list[Attempt])
    placed: dict[str, str] = field(default_factory=dict[str, str])
    evicted: list[str] = field(default_factory=list[str])
    # Where devices are allocated.
    claims: ClaimWork | None = None
    # The pods of each node in the order in which the scheduler's cache would hold them.
    held: dict[str, NodeInfo] = field(default_factory=dict[str, NodeInfo])

    def read(self, objects: list[ApiObject]) -> list[PodInfo]:
        """Build the cluster from *objects*; returns the pods without a node."""
        profile, handle = self.algorithm.profile, self.algorithm.handle
        if not profile.preemption.goes_by_start:
            handle.table.lister = self._pods_on
        if profile.rules.counts_budgets_without_status:
            objects = with_counted_budgets(objects, profile.kubernetes.workloads)
        for obj in objects:
            if isinstance(obj, Node):
                handle.table.add_node(obj)
            elif not isinstance(obj, Pod):
                handle.listers.put(_settled(obj))
        pending: list[PodInfo] = []
        for obj in objects:
            if isinstance(obj, Pod) and not obj.is_terminated:
                info = PodInfo(obj, profile.resource_rules)
                if not info.node_name:
                    pending.append(info)
                    continue
                self.placed[info.key] = info.node_name
                row = handle.table.rows.get(info.node_name)
                if row is not None:
                    self._count(row, info)
        return pending

    def _pods_on(self, node_name: str) -> list[PodInfo]:
        entry = self.held.get(node_name)
        return [] if entry is None else entry.pods

    def _count(self, row: int, pod: PodInfo) -> None:
        self.algorithm.table.add_pod(row, pod)
        self.held.setdefault(pod.node_name, NodeInfo(pod.node_name, 0)).add_pod(pod)

    # -- one pod ---------------------------------------------------------------------------------

    def _held_back(self, pod: Pod) -> str:
        """Why the pod may not enter the queue; "" if it may."""
        gates = pod.scheduling_gates if self.algorithm.profile.heeds_gates else ()
        if gates:
            return f"waiting for scheduling gates: [{' '.join(gates)}]"
        return ""

    def _not_enqueued(self, pod: PodInfo) -> str:
        """What a plugin says at PreEnqueue; "" if the pod may enter the queue."""
        for plugin in self.algorithm.framework.plugins.pre_enqueue:
            status = plugin.pre_enqueue(pod)
            if not status.is_success:
                return status.message
        return unmodelled_need(pod.pod, allocates_devices=self.algorithm.devices is not None)

    def decide(self, pod: PodInfo) -> None:
        """Schedule *pod*, preempting where that helps."""
        self.algorithm = self.by_name.get(pod.pod.scheduler_name, self.algorithm)
        message = self._held_back(pod.pod)
        if message:
            self.placed[pod.key] = ""
            gated: Attempt = {"result": "gated", "message": message, "prefilter": {}}
            self.attempts.append({**_blank(pod, 0), **gated})
            return
        message = self._not_enqueued(pod)
        if message:
            self.placed[pod.key] = ""
            waiting: Attempt = {"result": "gated", "message": message, "prefilter": {}}
            self.attempts.append({**_blank(pod, 1), **waiting})
            return
        for number in range(1, _MAX_ATTEMPTS):
            pod = self._with_current_nomination(pod)
            result = self._schedule(pod)
            preemption = self.algorithm.preempt(result)
            self.attempts.append(self._attempt(result, number))
            if result.result == SCHEDULED:
                self._place(result)
                return
            if self.claims is not None and result.search is not None:
                self.claims.deallocate(result.search.state)
            if preemption is None or preemption.chosen is None:
                if preemption is not None and preemption.clears:
                    self.algorithm.nominated.remove(pod.key)
                break
            self._evict(preemption)
            self._clear_lower(pod, preemption.chosen.row)
            chosen = preemption.chosen.node
            if self.algorithm.profile.rules.decides_with_nomination:
                pod = pod.updated(pod.pod.patched({"status": {"nominatedNodeName": chosen}}))
            self.algorithm.nominated.add(chosen, pod)
        self.placed[pod.key] = ""

    def _schedule(self, pod: PodInfo) -> ScheduleResult:
        result = self.algorithm.schedule(pod, explain=self.evidence, by_columns=self.by_columns)
        devices = self.algorithm.devices
        if devices is None or result.node is None or result.search is None:
            return result
        problem = devices.pre_bind_error(result.search.state, result.node)
        if not problem:
            return result
        message = f'running PreBind plugin "{devices.name}": {problem}'
        return replace(result, result=ERROR, node=None, message=message)

    def _with_current_nomination(self, pod: PodInfo) -> PodInfo:
        """*pod* without the nomination in its status, if that was cleared since."""
        nominated_node = pod.pod.nominated_node_name
        if not nominated_node or self.algorithm.nominated.node_of(pod.key) == nominated_node:
            return pod
        return pod.updated(pod.pod.patched({"status": {"nominatedNodeName": None}}))

    def _place(self, result: ScheduleResult) -> None:
        pod = result.pod
        assert result.node is not None
        self.algorithm.nominated.remove(pod.key)
        self._count(result.row, pod.assigned_to(result.node))
        self.algorithm.table.images.note_change(result.row)
        self.placed[pod.key] = result.node
        if self.claims is not None and result.search is not None:
            self.attempts[-1]["devices"] = self.claims.place(result.search.state, result.node)
        plan = self._plan(result)
        for key, volume in plan["bind"].items():
            self._bind(key, volume)
        for key, node in plan["provision"].items():
            self._provision(key, node)

    def _evict(self, preemption: Preemption) -> None:
        chosen = preemption.chosen
        assert chosen is not None
        for victim in chosen.victims:
            self.algorithm.table.remove_pod(chosen.row, victim.key)
            self.held[chosen.node].remove_pod(victim.uid)
            self.algorithm.table.images.note_change(chosen.row)
            self.placed.pop(victim.key, None)
            self.evicted.append(victim.key)
            if self.claims is not None:
                self.claims.evict(victim.pod)

    def _clear_lower(self, preemptor: PodInfo, row: int) -> None:
        """Clear the nomination of lower-priority pods on the node at *row*.

        Upstream: prepareCandidate(), getLowerPriorityNominatedPods().
        """
        for lower in self.algorithm.nominated.at(row):
            if lower.priority < preemptor.priority:
                self.algorithm.nominated.remove(lower.key)

    # -- volumes ---------------------------------------------------------------------------------

    def _plan(self, result: ScheduleResult) -> dict[str, dict[str, str]]:
        search = result.search
        binding = self.algorithm.framework.volume_binding
        if search is None or binding is None or result.row < 0:
            return {"bind": {}, "provision": {}}
        plan = binding.plan(search.state, result.row)
        return {"bind": plan.bind, "provision": plan.provision}

    def _bind(self, claim_key: str, volume_name: str) -> None:
        listers = self.algorithm.handle.listers
        claim, volume = listers.claim(claim_key), listers.volume(volume_name)
        assert claim is not None
        assert volume is not None
        listers.put(
            volume.patched(
                {"spec": {"claimRef": claim_ref_of(claim)}, "status": {"phase": "Bound"}}
            )
        )
        listers.put(
            claim.patched(
                {
                    "metadata": {
                        "annotations": {
                            "pv.kubernetes.io/bind-completed": "yes",
                            "pv.kubernetes.io/bound-by-controller": "yes",
                        }
                    },
                    "spec": {"volumeName": volume_name},
                    "status": {"phase": "Bound"},
                }
            )
        )

    def _provision(self, claim_key: str, node_name: str) -> None:
        listers = self.algorithm.handle.listers
        claim = listers.claim(claim_key)
        assert claim is not None
        storage_class = listers.storage_class(claim.storage_class_name or "")
        provisioner = storage_class.provisioner if storage_class else ""
        name = f"pvc-{claim.uid}"
        spec: dict[str, Any] = {
            "accessModes": list(claim.access_modes),
            "capacity": {"storage": str(claim.request_bytes)},
            "csi": {"driver": provisioner, "volumeHandle": name},
            "storageClassName": claim.storage_class_name or "",
            "volumeMode": claim.spec.get("volumeMode") or "Filesystem",
        }
        if self.algorithm.profile.rules.uses_predicates:
            spec |= self._zone_affinity(node_name)
        volume = from_manifest(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": name},
                "spec": spec,
                "status": {"phase": "Available"},
            }
        )
        listers.put(volume)
        self._bind(claim_key, name)

    def _zone_affinity(self, node_name: str) -> dict[str, Any]:
        """Node affinity for the zone of the node, as zonal disks had it before CSI."""
        table = self.algorithm.table
        zone = table.node(table.rows[node_name]).labels.get(BETA_ZONE)
        if not zone:
            return {}
        requirement = {"key": BETA_ZONE, "operator": "In", "values": [zone]}
        terms = [{"matchExpressions": [requirement]}]
        return {"nodeAffinity": {"required": {"nodeSelectorTerms": terms}}}

    # -- output ----------------------------------------------------------------------------------

    def _attempt(self, result: ScheduleResult, number: int) -> Attempt:
        attempt = _blank(result.pod, number)
        attempt.update(
            result=result.result,
            node=result.node,
            tied=sorted(self.algorithm.table.names(result.tied_rows.tolist())),
            single_feasible=result.feasible == 1,
            message=result.message,
            volumes=self._plan(result),
        )
        search = None if self._failed_at_filter(result) else result.search
        if search is not None and not self.algorithm.profile.rules.uses_predicates:
            attempt["prefilter"] = _status_dict(search.status)
        if result.result != ERROR:
            attempt["preemption"] = self._preemption(result.preemption)
        if self.evidence:
            attempt["filters"] = self._filters(result)
            attempt["scores"] = self._scores(result)
        return attempt

    def _failed_at_filter(self, result: ScheduleResult) -> bool:
        """Whether an error ended the search, so that no node counts as examined."""
        uses_predicates = self.algorithm.profile.rules.uses_predicates
        return result.result == ERROR and result.scores is None and not uses_predicates

    def _filters(self, result: ScheduleResult) -> dict[str, Any]:
        search = result.search
        if search is None or self._failed_at_filter(result):
            return {}
        if result.took_nominated_node:
            search = self.algorithm.search_everywhere(result.pod)
        framework, table = self.algorithm.framework, self.algorithm.table
        filters: dict[str, Any] = {}
        for row, plugin, code in search.verdicts.each():
            verdict = None
            if plugin:
                status = framework.explain(search.state, plugin, code)
                verdict = {"plugin": status.plugin, "reasons": list(status.reasons)}
                if not self.algorithm.profile.rules.uses_predicates:
                    verdict["code"] = status.code.value
            filters[table.name(row)] = verdict
        return dict(sorted(filters.items()))

    def _scores(self, result: ScheduleResult) -> dict[str, Any]:
        scores = result.scores
        if scores is None:
            return {}
        # The format of v1.16 has the reduced score, before it is weighted.
        columns = {
            score.name: (
                score.normalized if self.algorithm.profile.rules.uses_predicates else score.weighted
            ).tolist()
            for score in scores.plugins
        }
        totals = scores.total.tolist()
        return {
            self.algorithm.table.name(row): {
                "total": totals[place],
                "plugins": {name: column[place] for name, column in columns.items()},
            }
            for place, row in enumerate(scores.rows.tolist())
        }

    def _preemption(self, preemption: Preemption | None) -> dict[str, Any] | None:
        if preemption is None:
            return None
        chosen = preemption.chosen
        found: dict[str, Any] = {
            "node": chosen.node if chosen else None,
            "victims": [victim.key for victim in chosen.victims] if chosen else [],
        }
        if self.evidence:
            found["candidates"] = {
                candidate.node: {
                    "victims": [victim.key for victim in candidate.victims],
                    "pdb_violations": candidate.violations,
                }
                for candidate in preemption.candidates
            }
        return found

    def to_dict(self) -> dict[str, Any]:
        """Everything, in the format of decisions files."""
        listers = self.algorithm.handle.listers
        claims = {
            claim.key: claim.volume_name
            for claim in listers.all(PersistentVolumeClaim.KIND)
            if isinstance(claim, PersistentVolumeClaim)
        }
        final: dict[str, Any] = {
            "pods": dict(sorted(self.placed.items())),
            "evicted": sorted(self.evicted),
            "claims": dict(sorted(claims.items())),
        }
        devices = None if self.claims is None else self.claims.to_dict()
        if devices:
            final["devices"] = devices
        return {
            "profile": self.algorithm.profile.version,
            "final": final,
            "attempts": self.attempts,
        }


def decide(
    objects: Iterable[ApiObject],
    profile: Profile,
    *others: Profile,
    ties: Stream | None = None,
    evidence: bool = True,
    by_columns: bool = False,
    extenders: Sequence[Extender] = (),
) -> dict[str, Any]:
    """All decisions of *profile* on the cluster that *objects* describe.

    *others* schedule the pods that name them. The smallest node name wins a tie, or *ties* draws.
    *evidence* is computed anew for every attempt, unless *by_columns*.
    """
    handle = Handle()
    nominated = Nominated(handle.table)
    by_name = {
        one.name: SchedulingAlgorithm(
            replace(one, percentage=100),
            handle,
            ties=ties,
            nominated=nominated,
            extenders=extenders,
        )
        for one in (profile, *others)
    }
    decisions = Decisions(by_name[profile.name], evidence, by_columns, by_name if others else {})
    devices = decisions.algorithm.devices
    if devices is not None:
        decisions.claims = ClaimWork(devices, handle.listers)
    pending = decisions.read(admitted(objects))
    # The sort keeps file order among pods of equal priority.
    pending.sort(key=_minus_priority)
    for info in pending:
        # Gated pods hold no room on the node to which they are nominated.
        node, gates = info.pod.nominated_node_name, info.pod.scheduling_gates
        if node and (profile.rules.uses_predicates or not gates):
            nominated.add(node, info)
    for info in pending:
        decisions.decide(info)
    return decisions.to_dict()


def admitted(objects: Iterable[ApiObject]) -> list[ApiObject]:
    """*objects* as the API server would have stored them.

    Missing creation times count up by one second; a running pod without a start time started when
    it was created. Raises Invalid for what admission refuses.
    """
    everything = [_created(obj, place) for place, obj in enumerate(objects)]
    loop = EventLoop()
    store = ObjectStore(loop, Recorder(loop))
    for obj in everything:
        if obj.kind in _CLASSES:
            store.create(obj, by="decisions")
    admission, templates = Admission(store), Templates()
    stored = [_admit(admission, obj) for obj in everything]
    for obj in stored:
        if isinstance(obj, Pod):
            obj.template = templates.shared(obj)
    return stored


def _created(obj: ApiObject, place: int) -> ApiObject:
    missing: dict[str, str] = {}
    if not obj.creation_timestamp:
        missing["creationTimestamp"] = timestamp(place * SECOND)
    if isinstance(obj, (Pod, PersistentVolumeClaim)) and not obj.uid:
        # Nominated pods and provisioned volumes need a uid. A namespace contains no dot.
        missing["uid"] = obj.key.replace("/", ".")
    return obj.with_metadata(**missing) if missing else obj


def _admit(admission: Admission, obj: ApiObject) -> ApiObject:
    if isinstance(obj, Pod) and obj.node_name and not obj.status.get("startTime"):
        obj = obj.patched({"status": {"startTime": obj.creation_timestamp}})
    return admission.admit(obj)


def _settled(obj: ApiObject) -> ApiObject:
    """*obj*; a volume without a phase gets the one that the PV controller gives it."""
    if isinstance(obj, PersistentVolume) and not obj.status.get("phase"):
        return obj.patched({"status": {"phase": "Bound" if obj.claim_ref else "Available"}})
    return obj


def _blank(pod: PodInfo, number: int) -> Attempt:
    return {
        "pod": pod.key,
        "attempt": number,
        "priority": pod.priority,
        "result": "",
        "node": None,
        "tied": [],
        "single_feasible": False,
        "filters": {},
        "scores": {},
        "volumes": {"bind": {}, "provision": {}},
        "preemption": None,
        "message": "",
    }


def _status_dict(status: Any) -> dict[str, Any]:
    if status.is_success:
        return {"code": status.code.value}
    return {
        "code": status.code.value,
        "plugin": status.plugin,
        "reasons": list(status.reasons),
    }


def _minus_priority(pod: PodInfo) -> int:
    return -pod.priority
