"""Lets things go wrong on command: in drivers, in the API server, on nodes, in controllers."""

from collections.abc import Mapping, Sequence
from typing import Any

from engine.api_server.store.faults import (
    DELETE,
    DRIVER_CALLS,
    PREPARE_DEVICES,
    PROCESSES,
    PROVISION,
    PV_CONTROLLER,
    READY_DEVICES,
    RESTARTABLE,
    WRITE,
    WRITE_REFUSED,
    ApiFaults,
    ClaimFault,
    invalid,
)
from engine.api_server.store.store import ObjectStore
from engine.cluster.registrations import Registrations
from engine.cluster.replicas import SchedulerReplicas
from engine.cluster.storage_actors import VolumeActors
from engine.controllers.actors import WorkloadActors
from engine.csi_sidecars.driver_faults import DELETION_FAILED, PROVISIONING_FAILED
from engine.kernel.errors import Invalid, NotFound
from engine.kernel.recorder import Recorder
from engine.kernel.rng import Streams
from engine.kernel.units import SECOND
from engine.kernel.view import Attributes, Changes, diff
from engine.objects.kinds import split_entity_id
from engine.objects.objects import Node, Pod
from engine.objects.outside import NAMED
from engine.objects.values.durations import parse_duration
from engine.storage.plugins.simulated import Fault

COMPONENT = "fault"
# Long enough for any run: a call that fails with a probability does so to the end of the run.
_ALWAYS = 1 << 60
# In place of the name of a pod: every pod.
_EVERYTHING = "all"


class FaultInjector:
    """Carries out the verb `fault`. An event records each fault when it is injected."""

    def __init__(
        self,
        store: ObjectStore,
        recorder: Recorder,
        streams: Streams,
        volumes: VolumeActors,
        workloads: WorkloadActors,
        schedulers: Sequence[SchedulerReplicas],
    ) -> None:
        self._store = store
        self._recorder = recorder
        self._volumes = volumes
        self.kubelets = volumes.kubelets
        self._stream = streams.stream("faults")
        self._drivers = volumes.kubelets.volumes.plugins.faults
        self._api = ApiFaults(self._stream, self._refused)
        self._registrations = Registrations(store, COMPONENT)
        self._workloads = workloads
        self._schedulers = schedulers

    def inject(self, fault: Mapping[str, Any], by: str) -> None:
        """Let *fault* happen from now on. Raises Invalid, NotFound."""
        invalid(fault)
        # Set only now: before the first fault no write needs the check.
        self._store.faults = self._api
        kind = next(name for name in _ACTIONS if name in fault)
        getattr(self, _ACTIONS[kind])(fault)
        message = ", ".join(f"{name} {value}" for name, value in fault.items())
        self._recorder.record("FaultInjected", "run", by, message, {"fault": dict(fault)})

    def _fail(self, fault: Mapping[str, Any]) -> None:
        call = fault["fail"]
        if call == WRITE:
            self._api.refuse(fault)
        elif call == PROVISION:
            injected = self._volumes.driver_faults.injected
            text = fault.get("text") or PROVISIONING_FAILED
            injected.waiting.append(ClaimFault.of({**fault, "text": text}, self._stream))
        elif call == DELETE:
            injected = self._volumes.driver_faults.deletions
            text = fault.get("text") or DELETION_FAILED
            injected.waiting.append(ClaimFault.of({**fault, "text": text}, self._stream))
        elif call == PREPARE_DEVICES:
            injected = self.kubelets.devices.faults
            injected.waiting.append(ClaimFault.of(fault, self._stream))
        elif call == READY_DEVICES:
            driver = self._workloads.device_driver
            if driver is None:
                raise NotFound("there are no drivers of devices in this version")
            driver.faults.waiting.append(ClaimFault.of(fault, self._stream))
        else:
            probability = fault.get("probability", 0)
            for name in DRIVER_CALLS[call]:
                self._drivers.inject(
                    Fault(
                        call=name,
                        volume=fault.get("volume") or "",
                        node=fault.get("node") or "",
                        count=fault.get("times", _ALWAYS if probability else 1),
                        text=fault.get("text") or "injected fault",
                        probability=probability,
                        stream=self._stream if probability else None,
                    )
                )

    def _slow(self, fault: Mapping[str, Any]) -> None:
        self._api.slow(fault)

    def _absent(self, fault: Mapping[str, Any]) -> None:
        """The driver has neither provisioner nor resizer."""
        drivers = self._volumes.provisioners.faults
        drivers.absent = (*drivers.absent, fault["absent"])
        self._no_resizer({"no_resizer": fault["absent"]})

    def _no_resizer(self, fault: Mapping[str, Any]) -> None:
        resizers = self._volumes.resizers
        resizers.absent = (*resizers.absent, fault["no_resizer"])

    def _full(self, fault: Mapping[str, Any]) -> None:
        drivers = self._volumes.provisioners.faults
        drivers.full_nodes = (*drivers.full_nodes, fault["full"])

    def _offline(self, fault: Mapping[str, Any]) -> None:
        drivers = self._volumes.driver_faults
        drivers.offline = (*drivers.offline, fault["offline"])

    def _unregister(self, fault: Mapping[str, Any]) -> None:
        self._registrations.end(fault["unregister"], fault.get("node"))

    def _register(self, fault: Mapping[str, Any]) -> None:
        self._registrations.begin(fault["register"], fault.get("node"))

    def _heal(self, fault: Mapping[str, Any]) -> None:
        """Containers that the files show failing run from now on as if they were healthy."""
        named = fault["heal"]
        prefix, key = split_entity_id(named) if named != _EVERYTHING else ("", "")
        if named != _EVERYTHING and prefix not in ("pod", "Pod"):
            raise Invalid(f"heal is {named!r}: expected pod/NAMESPACE/NAME, or {_EVERYTHING}")
        pods = [self._store.get("Pod", key)] if key else self._store.objects("Pod")
        for pod in pods:
            if isinstance(pod, Pod):
                self.kubelets.heal(pod)

    def _missing(self, fault: Mapping[str, Any]) -> None:
        """A Secret, ConfigMap or ServiceAccount is not there, for kubelets."""
        kind, key = _named("missing", fault)
        if self._store.find(kind, key) is not None:
            self._store.delete(kind, key, by=COMPONENT)
        self.kubelets.volumes.plugins.obstacles.lose(kind, key)

    def _present(self, fault: Mapping[str, Any]) -> None:
        """A Secret, ConfigMap or ServiceAccount is there again, for kubelets: `missing` is over."""
        kind, key = _named("present", fault)
        self.kubelets.volumes.plugins.obstacles.bring(kind, key)

    def _place(self, fault: Mapping[str, Any]) -> None:
        self._volumes.provisioners.faults.zones[fault["place"]] = fault["zone"]

    def _anywhere(self, fault: Mapping[str, Any]) -> None:
        drivers = self._volumes.provisioners.faults
        drivers.anywhere = (*drivers.anywhere, fault["anywhere"])

    def _lag(self, fault: Mapping[str, Any]) -> None:
        self._api.lag(fault["lag"], parse_duration(fault.get("delay", 0)))

    def _cut(self, fault: Mapping[str, Any]) -> None:
        """Break the watches of all clients, or of the schedulers alone."""
        kind = fault["cut"]
        owners = [one.scheduler.watches for one in self._schedulers] if fault.get("of") else None
        self._api.cut(kind, self._store.watches.watchers_of(kind, owners))

    def _mend(self, fault: Mapping[str, Any]) -> None:
        """The components whose watches broke list again and watch again."""
        kind = fault["mend"]
        if kind not in self._api.cuts:
            raise Invalid(f"no watch of {kind} is cut")
        for cut in self._api.cuts.pop(kind):
            self._store.relist(cut)

    def _vanish(self, fault: Mapping[str, Any]) -> None:
        """The object goes at once: finalizers do not hold it."""
        prefix, key = split_entity_id(fault["vanish"])
        for kind in self._store.kinds():
            if prefix in (kind, kind.lower()):
                found = self._store.get(kind, key)
                bare = found.with_metadata(finalizers=[], deletionGracePeriodSeconds=0)
                self._store.update(bare, by=COMPONENT, event=f"{kind}Stripped")
                # An object marked for deletion was removed together with its last finalizer.
                if self._store.find(kind, key) is not None:
                    self._store.delete(kind, key, by=COMPONENT)
                return
        raise NotFound(f"{fault['vanish']} not found")

    def _die(self, fault: Mapping[str, Any]) -> None:
        """A node loses its power, and its kubelet reports nothing any more."""
        name = fault["die"].removeprefix("node/")
        self._store.get("Node", name)
        self.kubelets.stop_machine(name)
        message, shown = "nothing runs there any more, nothing is mounted", {"volumes": None}
        target = f"node/{name}"
        self._recorder.record("NodeDied", target, COMPONENT, message, None, {target: shown})
        self._workloads.node_silent(name)

    def _revive(self, fault: Mapping[str, Any]) -> None:
        """A node has power again."""
        name = fault["revive"].removeprefix("node/")
        self._store.get("Node", name)
        kubelets = self.kubelets
        if kubelets.is_off(name):
            kubelets.start_machine(name)
        elif kubelets.is_silent(name):
            kubelets.start_kubelet(name)
        else:
            raise Invalid(f"node {name} has power")
        self.heard(name)

    def heard(self, node: str) -> None:
        """The kubelet of *node* reports again."""
        self._workloads.node_heard(node)

    def silence(self, nodes: Mapping[str, int]) -> None:
        """Kubelets have ended whose nodes' Leases are older than the newest, each by so many ns."""
        for name, age in nodes.items():
            node = self._store.find("Node", name)
            if not isinstance(node, Node):
                continue
            message = f"its Lease is {age // SECOND} s older than the newest"
            if node.is_ready:
                message += "; its condition Ready says True all the same"
            self._recorder.record("NodeLeaseExpired", node.id, COMPONENT, message)
            self.kubelets.stop_kubelet(name)
            self._workloads.node_silent(name)

    def _restart(self, fault: Mapping[str, Any]) -> None:
        """A controller, a scheduler or the kubelet of a node comes back with empty caches."""
        named: str = fault["restart"]
        if named in RESTARTABLE:
            self._restart_controllers(named)
        elif named.partition("/")[0] == "scheduler":
            self._restart_scheduler(named)
        else:
            self._restart_kubelet(named.removeprefix("node/"))

    def _restart_controllers(self, process: str) -> None:
        authors = PROCESSES.get(process, (process,))
        storage = [one for one in authors if self._volumes.has(one)]
        others = [one for one in authors if self._workloads.has(one)]
        if not storage and not others:
            raise NotFound(f"there is no {process} in this version")
        message = "has lost its caches and lists the cluster anew"
        data = {
            "controllers": [*storage, *(one for one in others if self._is_listed(one, process))]
        }
        self._recorder.record("ControllerRestarted", "run", process, message, data)
        if storage:
            self._volumes.restart(storage)
        if others:
            self._workloads.restart(others)

    def _is_listed(self, author: str, process: str) -> bool:
        """Whether the record lists the controller: that of quotas only where there are any.

        So clusters without quotas have the same history as before kscope knew quotas.
        """
        if author != "resourcequota-controller" or author == process:
            return True
        return bool(self._store.objects("ResourceQuota"))

    def _restart_scheduler(self, named: str) -> None:
        replicas, identity = self._replica(named.partition("/")[2])
        refusal = replicas.restart(identity)
        if refusal:
            raise Invalid(refusal)
        message = "has lost its queue and its cache"
        data = {"controllers": [identity]}
        self._recorder.record("ControllerRestarted", "run", "scheduler", message, data)

    def _replica(self, name: str) -> tuple[SchedulerReplicas, str]:
        """The replica called *name*; without a name the one that leads."""
        for replicas in self._schedulers:
            if not name and replicas.leader:
                return replicas, replicas.leader
            if name in replicas.identities:
                return replicas, name
        known = ", ".join(
            f"scheduler/{one}" for each in self._schedulers for one in each.identities
        )
        raise NotFound(f"there is no scheduler {name or 'that runs'}; there are {known}")

    def _restart_kubelet(self, node: str) -> None:
        if self._store.find("Node", node) is None:
            known = ", ".join(("scheduler", *RESTARTABLE))
            raise NotFound(f"{node} is neither a node nor one of {known}")
        message, data = "has lost its caches", {"controllers": [f"node/{node}"]}
        self._recorder.record("ControllerRestarted", f"node/{node}", "kubelet", message, data)
        kubelets = self.kubelets
        if kubelets.is_off(node):
            raise Invalid(f"node {node} has no power")
        kubelets.stop_kubelet(node)
        kubelets.start_kubelet(node)

    def _refused(self, entity: str, by: str, text: str) -> None:
        message = f"a write of {by} was refused: {text}"
        changes = self._trouble(entity, text) if by == PV_CONTROLLER else None
        self._recorder.record(WRITE_REFUSED, entity, COMPONENT, message, None, changes)

    def _trouble(self, entity: str, text: str) -> Changes | None:
        """What pages show of an object whose writes fail: no Kubernetes Event tells of it.

        A deleted object must not come back into the view.
        """
        if not self._store.record.events_of(entity).created:
            return None
        known = self._recorder.troubles.get(entity)
        before = known["failures"] if known is not None and known["name"] == WRITE_REFUSED else 0
        now: Attributes = {"name": WRITE_REFUSED, "failures": before + 1, "error": text}
        now["failed"] = self._recorder.now
        retry_at = self._volumes.pv_controller.next_try()
        if retry_at is not None:
            now["retry_at"] = retry_at
        self._recorder.troubles[entity] = now
        return {entity: {"trouble": now if known is None else diff(known, now)}}


def _named(field: str, fault: Mapping[str, Any]) -> tuple[str, str]:
    """Kind and key of an object of which only the name counts. Raises Invalid for another kind."""
    prefix, key = split_entity_id(fault[field])
    kind = next((kind for kind in NAMED if prefix in (kind, kind.lower())), None)
    if kind is None or "/" not in key:
        raise Invalid(
            f"{field} is {fault[field]!r}: expected KIND/NAMESPACE/NAME of a {', '.join(NAMED)}"
        )
    return kind, key


_ACTIONS = {
    "fail": "_fail",
    "slow": "_slow",
    "absent": "_absent",
    "no_resizer": "_no_resizer",
    "full": "_full",
    "offline": "_offline",
    "unregister": "_unregister",
    "register": "_register",
    "missing": "_missing",
    "present": "_present",
    "place": "_place",
    "anywhere": "_anywhere",
    "lag": "_lag",
    "cut": "_cut",
    "mend": "_mend",
    "vanish": "_vanish",
    "die": "_die",
    "revive": "_revive",
    "restart": "_restart",
    "heal": "_heal",
}
