"""Commands: what a user does to a live run; the engine executes each at one exact position."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, cast

from engine.api_server.admission import strategy
from engine.api_server.admission.admission import Admission
from engine.api_server.admission.binding import bind, check_unbound
from engine.api_server.admission.client_events import check_note, record_note
from engine.api_server.admission.eviction import evict
from engine.api_server.admission.permissions import (
    ANYTHING,
    PERMISSIONS,
    Permission,
    custom_permission,
)
from engine.api_server.admission.pod_resize import resize_text, resized
from engine.api_server.store.faults import invalid
from engine.api_server.store.store import ObjectStore, modified
from engine.api_server.store.watches import WatchEvent
from engine.api_server.validation.report import LONGEST_ENTITY, text_fault
from engine.cluster.faults import FaultInjector
from engine.cluster.known_fields import KnownFields
from engine.cluster.shadow.shadow_writes import ShadowWrites
from engine.controllers.shared.deletion import BACKGROUND, PROPAGATIONS, DeleteOptions, delete
from engine.input.cleaning import clean_command, without_nulls
from engine.input.scenario import STEP_VERBS, Step, grace_fault
from engine.kernel.errors import ApiError, Conflict, Invalid, NotFound, TooManyRequests
from engine.kernel.recorder import Recorder
from engine.objects.kinds import split_entity_id
from engine.objects.objects import (
    ApiObject,
    Manifest,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from engine.objects.values.shown import shown
from engine.scheduler.cycle.shadow.shadow_decisions import ShadowDecisions

# A scenario's steps are commands too; the others are those of clients of the Kubernetes API.
VERBS = (*STEP_VERBS, "bind", "note")

# The JSON type of each part of a command.
_PARTS: dict[str, type] = {
    "verb": str,
    "object": str,
    "manifest": dict,
    "patch": dict,
    "labels": dict,
    "grace_seconds": int,
    "propagation": str,
    "node": str,
    "uid": str,
    "expect": int,
    "permission": str,
}
# The verbs of which it says how far they may go.
_WRITES = ("create", "patch", "resize")
_KIND_NAMES: dict[type, str] = {str: "a text", dict: "a mapping", int: "an integer"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What a user asks for: a verb on the object called `object` ("node/n1"), or a manifest.

    - `create` and `apply` take a manifest. So does `replace`, which deletes the object at once and
      creates it anew as soon as it has gone, as `kubectl replace --force` does.
    - `patch` takes an RFC 7386 merge patch. `resize` of a pod takes one whose lists of containers
      are merged by name.
    - `delete` and `evict` of a pod, `delete_pods` and `evict_pods` of a node take a grace period.
      `propagation` says what `delete` does with dependents: Background (the default), Foreground
      or Orphan.
    - An eviction is refused where a disruption budget forbids it. With `labels` and a namespace
      ("pod/default"), `evict` takes the first pod by name that has them. `evict_pods` leaves the
      pods of DaemonSets alone, as a drain does.
    - `bind` gives a pod its `node`. `note` records a Kubernetes Event about the object, whose reason,
      message, type and component are its `patch`; the `manifest` is the Event as it is kept.
    - `cordon`, `uncordon`, `stop_kubelet` and `start_kubelet` take only a node, `stop_scheduler`
      and `start_scheduler` only a replica ("scheduler/name-0").
    - `fault` takes a fault as its `patch` (engine.api_server.store.faults).

    With `uid`, or with `expect`, the event that wrote the object last, the command is refused when
    the object is another one by now. `permission` names what `create`, `patch` and `resize` may do
    (engine.api_server.admission.permissions): a client of the Kubernetes API less than a page.
    """

    verb: str
    object: str = ""
    manifest: Manifest | None = None
    patch: Manifest | None = None
    labels: Mapping[str, str] | None = None
    grace_seconds: int | None = None
    propagation: str = ""
    node: str = ""
    uid: str = ""
    expect: int | None = None
    permission: Permission = ANYTHING

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Command":
        """The command of its JSON form. Raises Invalid for an unknown verb or a missing part."""
        data = clean_command(data)
        known = {name: data[name] for name in cls.__slots__ if data.get(name) is not None}
        for name, kind in _PARTS.items():
            part = known.get(name)
            if part is not None and (isinstance(part, bool) or not isinstance(part, kind)):
                raise Invalid(f"{name}: expected {_KIND_NAMES[kind]}, found {shown(part)}")
        fault = text_fault(known.get("object", ""), LONGEST_ENTITY)
        if fault is not None:
            raise Invalid(f"object: {shown(known['object'])} {fault}")
        if known.get("verb") not in VERBS:
            raise Invalid(
                f"verb is {shown(data.get('verb'))}; it must be one of {', '.join(VERBS)}"
            )
        known["permission"] = _permission_of(known)
        command = cls(**known)
        if command.verb in ("create", "apply", "replace"):
            if command.manifest is None:
                raise Invalid(f"{command.verb} needs a manifest")
        elif command.verb == "fault":
            invalid(command.patch)
        elif not command.object:
            raise Invalid(f"{command.verb} needs an object")
        if command.verb in ("patch", "resize", "note") and command.patch is None:
            raise Invalid(f"{command.verb} needs a patch")
        if command.verb == "bind" and not command.node:
            raise Invalid("bind needs a node")
        if command.verb == "note":
            check_note(command.patch or {}, command.manifest)
        if command.grace_seconds is not None:
            fault = grace_fault(command.grace_seconds)
            if fault:
                raise Invalid(f"grace_seconds: {fault}")
        if command.propagation and command.propagation not in PROPAGATIONS:
            known_ones = ", ".join(PROPAGATIONS)
            found = shown(command.propagation)
            raise Invalid(f"propagation is {found}; it must be one of {known_ones}")
        return command

    @classmethod
    def from_step(cls, step: Step) -> "Command":
        """The command that a step of a scenario gives."""
        return cls(
            verb=step.verb,
            object=step.object,
            manifest=step.manifest,
            patch=step.patch,
            labels=step.labels,
            grace_seconds=step.grace_seconds,
            propagation=step.propagation,
            permission=ANYTHING,
        )

    def to_dict(self) -> dict[str, Any]:
        """The JSON form, without what is absent."""
        parts = {name: getattr(self, name) for name in self.__slots__}
        parts["permission"] = "" if self.permission == ANYTHING else self.permission.name
        return {name: value for name, value in parts.items() if value not in (None, "")}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a command: applied with its first event's seq, or refused and why.

    An applied one has a reason, too, where fields of an object were left out; what admission policies
    warn of follows on lines of its own.
    """

    applied: bool
    reason: str
    seq: int


class Replicas(Protocol):
    """The replicas of one scheduler."""

    @property
    def identities(self) -> Sequence[str]:
        """Their names."""
        ...

    def stop(self, identity: str) -> str:
        """Kill one; returns "" or why not."""
        ...

    def start(self, identity: str) -> str:
        """Start it again; returns "" or why not."""
        ...

    @property
    def shadow(self) -> ShadowDecisions | None:
        """Compares with a client's decisions; None where no client decides."""
        ...

    def shadow_of(self, pod: Pod) -> ShadowDecisions | None:
        """The same, where *pod* is of this scheduler."""
        ...


class CommandExecutor:
    """Carries commands out on the store, as a user with kubectl would."""

    __slots__ = (
        "_admission",
        "_faults",
        "_fields",
        "_recorder",
        "_schedulers",
        "_shadow_writes",
        "_store",
        "_successors",
        "_watched",
        "warnings",
    )

    def __init__(
        self,
        store: ObjectStore,
        recorder: Recorder,
        admission: Admission,
        faults: FaultInjector,
        fields: KnownFields,
        schedulers: Sequence[Replicas],
        shadow_writes: ShadowWrites | None = None,
    ) -> None:
        """*shadow_writes* judges what clients write in the place of controllers left to them."""
        self._store = store
        self._shadow_writes = shadow_writes
        self._recorder = recorder
        self._admission = admission
        self._faults = faults
        self._fields = fields
        self._schedulers = schedulers
        # By kind and key of an object that is being deleted: its replacement, and the author.
        self._successors: dict[tuple[str, str], tuple[ApiObject, str]] = {}
        self._watched: set[str] = set()
        # What admission policies warn of, of the command that was carried out last.
        self.warnings: list[str] = []

    def execute(self, command: Command, by: str = "command") -> str:
        """Do what *command* says; returns "" or the reason why the API server refuses it.

        A refusal is recorded, and so are fields that are left out.
        """
        self._fields.notes = []
        self._admission.policies.warnings = self.warnings = []
        try:
            self._check_preconditions(command)
            getattr(self, f"_{command.verb}")(command, by)
        except ApiError as refusal:
            reason = f"{refusal.reason}: {refusal}"
            data = {"command": command.to_dict()}
            target = command.object or "run"
            self._recorder.record("CommandRejected", target, "command", reason, data)
            return reason
        finally:
            self._admission.policies.warnings = None
        self._fields.tell(command.manifest or command.object, by)
        return ""

    def _check_preconditions(self, command: Command) -> None:
        """Upstream: registry/generic/registry/store.go, Preconditions."""
        if not command.uid and command.expect is None:
            return
        found = self._find(command.object)
        if command.uid and command.uid != found.uid:
            raise Conflict(
                f"Precondition failed: UID in precondition: {command.uid}, UID in object meta: "
                f"{found.uid}"
            )
        if command.expect is not None and command.expect != self._store.record.cause(found):
            raise Conflict(modified(found))

    def _bind(self, command: Command, by: str) -> None:
        pod = self._find(command.object)
        if not isinstance(pod, Pod):
            raise Invalid(f"{command.object} is no pod")
        check_unbound(pod)
        shadow = self._shadow_of(pod)
        decided = None if shadow is None else shadow.decide_binding(pod, command.node)
        bind(
            self._store,
            pod,
            command.node,
            self._admission.rules,
            by=by,
            event="PodBound",
            message=f"Assigned {pod.key} to {command.node}",
        )
        bound = self._store.find(Pod.KIND, pod.key)
        if shadow is not None and decided is not None and isinstance(bound, Pod):
            shadow.bound(pod, bound, decided)

    def _shadow_of(self, pod: Pod) -> ShadowDecisions | None:
        found = (replicas.shadow_of(pod) for replicas in self._schedulers)
        return next((shadow for shadow in found if shadow is not None), None)

    def _note(self, command: Command, by: str) -> None:
        record_note(self._recorder, command.object, command.patch or {}, command.manifest)

    def _stop_scheduler(self, command: Command, by: str) -> None:
        replicas, identity = self._replica(command)
        self._raise_refusal(replicas.stop(identity))

    def _start_scheduler(self, command: Command, by: str) -> None:
        replicas, identity = self._replica(command)
        self._raise_refusal(replicas.start(identity))

    def _raise_refusal(self, refusal: str) -> None:
        if refusal:
            raise Invalid(refusal)

    def _replica(self, command: Command) -> "tuple[Replicas, str]":
        kind, _, identity = command.object.partition("/")
        for replicas in self._schedulers:
            if kind == "scheduler" and identity in replicas.identities:
                return replicas, identity
        known = ", ".join(
            f"scheduler/{one}" for each in self._schedulers for one in each.identities
        )
        raise NotFound(f"there is no scheduler {command.object}; there are {known}")

    def _create(self, command: Command, by: str) -> None:
        given = command.manifest or {}
        permission = custom_permission(command.permission, self._fields.custom.of(given))
        wanted = _parsed(strategy.prepare_for_create(given, permission), self._fields)
        verdicts: list[Callable[[], None]] = []
        if self._shadow_writes is not None and by == "command":
            # A quota that is charged for it already would be a change that it has not seen.
            verdicts = self._shadow_writes.of_write(None, self._admission.check(wanted))
        self._create_new(self._admission.admit(wanted), by)
        for verdict in verdicts:
            verdict()

    def _create_new(self, wanted: ApiObject, by: str) -> None:
        """Create *wanted*. If another object has its uid, it gets a new one, as upstream."""
        uid = wanted.uid
        known = (one for kind in self._store.kinds() for one in self._store.objects(kind))
        if uid and any(one.uid == uid for one in known):
            wanted = _anew(wanted)
        self._store.create(wanted, by=by)

    def _apply(self, command: Command, by: str) -> None:
        wanted = _parsed(command.manifest, self._fields)
        old = self._store.find(wanted.kind, wanted.key)
        if old is None:
            self._create_new(self._admission.admit(wanted), by)
            return
        kept = {
            name: old.metadata[name]
            for name in ("creationTimestamp", "ownerReferences", "finalizers")
            if name in old.metadata and name not in wanted.metadata
        }
        new = wanted.with_metadata(**kept, resourceVersion=wanted.resource_version)
        if "status" in old.raw and "status" not in wanted.raw:
            new = new.patched({"status": old.raw["status"]})
        self._store.update(self._updated(old, new, ANYTHING), by=by)

    def _replace(self, command: Command, by: str) -> None:
        wanted = self._admission.admit(_parsed(command.manifest, self._fields))
        old = self._store.find(wanted.kind, wanted.key)
        if old is not None:
            self._admission.policies.check(old, None)
            self._delete_one(old, 0, by)
        if self._store.find(wanted.kind, wanted.key) is None:
            self._store.create(_anew(wanted), by=by)
            return
        # A finalizer holds the old one; the new one follows it, as kubectl waits for that.
        self._successors[wanted.kind, wanted.key] = _anew(wanted), by
        if wanted.kind not in self._watched:
            self._watched.add(wanted.kind)
            self._store.watch(wanted.kind, self._create_successor)

    def _create_successor(self, event: WatchEvent) -> None:
        gone = event.new
        found = self._successors.get((gone.kind, gone.key))
        if event.type == "DELETED" and found is not None:
            del self._successors[gone.kind, gone.key]
            if self._store.find(gone.kind, gone.key) is None:
                wanted, by = found
                self._store.create(wanted, by=by)

    def _patch(self, command: Command, by: str) -> None:
        old = self._find(command.object)
        patch = _stored(command.patch or {})
        permission = custom_permission(command.permission, self._fields.custom.of_object(old))
        strategy.check_patch(old, patch, permission)
        patch = strategy.permitted(old.kind, patch, permission)
        new = self._updated(old, old.patched(patch), permission)
        comparisons = self._comparisons(old, new)
        if self._shadow_writes is not None and by == "command":
            comparisons += self._shadow_writes.of_write(old, new)
        self._store.update(new, by=by)
        for compare in comparisons:
            compare()

    def _comparisons(self, old: ApiObject, new: ApiObject) -> list[Callable[[], None]]:
        """The function that compares the client's decision behind this write, once it is stored."""
        shadows = [replicas.shadow for replicas in self._schedulers]
        found = [shadow.of_write(old, new) for shadow in shadows if shadow is not None]
        return [each for each in found if each is not None]

    def _resize(self, command: Command, by: str) -> None:
        old = self._find(command.object)
        if not isinstance(old, Pod):
            raise Invalid(f"{command.object} is no pod")
        new = resized(old, command.patch or {}, self._admission.rules)
        kept = self._fields.checked(new.raw, old.raw)
        new = new if kept is new.raw else Pod(kept)
        self._admission.policies.check(old, new, "resize")
        self._admission.admit_resize(old, new)
        self._store.update(new, by=by, event="PodResized", message=resize_text(old, new))

    def _updated(self, old: ApiObject, new: ApiObject, permission: Permission) -> ApiObject:
        """*new* as it is stored in place of *old*. Raises ApiError where that may not be."""
        new = strategy.with_checked_metadata(old, new, permission)
        new = strategy.with_admission(old, self._fields.changed(old, new), permission)
        rules = self._admission.rules
        strategy.check_update(old, new, permission, rules, self._storage_class(old))
        part = "" if permission.rest else permission.name
        new = self._admission.policies.changed(old, new, part)
        self._admission.policies.check(old, new, part)
        return self._admission.amend(old, new)

    def _storage_class(self, old: ApiObject) -> StorageClass | None:
        if not isinstance(old, PersistentVolumeClaim):
            return None
        found = self._store.find("StorageClass", old.storage_class_name or "")
        return found if isinstance(found, StorageClass) else None

    def _delete(self, command: Command, by: str) -> None:
        propagation, old = command.propagation or BACKGROUND, self._find(command.object)
        self._admission.policies.check(old, None)
        verdicts: list[Callable[[], None]] = []
        if self._shadow_writes is not None and by == "command" and not old.deletion_timestamp:
            verdicts = self._shadow_writes.of_write(old, None)
        self._delete_one(old, command.grace_seconds, by, propagation)
        for verdict in verdicts:
            verdict()

    def _delete_one(
        self, old: ApiObject, grace: int | None, by: str, propagation: str = BACKGROUND
    ) -> None:
        delete(
            self._store,
            old,
            by=by,
            options=DeleteOptions(grace, propagation),
        )

    def _fault(self, command: Command, by: str) -> None:
        self._faults.inject(command.patch or {}, by)

    def _evict(self, command: Command, by: str) -> None:
        if command.labels is None:
            pod = self._find(command.object)
        else:
            pod = self._first_pod(command.object, command.labels)
        if not isinstance(pod, Pod):
            raise Invalid(f"{command.object} is no pod")
        evict(self._store, pod, self._admission.rules)
        self._delete_one(pod, command.grace_seconds, by)

    def _first_pod(self, place: str, labels: Mapping[str, str]) -> Pod:
        """The first pod by name that has *labels*, in the namespace of *place*, "pod/NAMESPACE"."""
        _, namespace = split_entity_id(place)
        found = [
            pod
            for pod in self._store.objects("Pod")
            if isinstance(pod, Pod)
            and pod.namespace == namespace
            and labels.items() <= pod.labels.items()
        ]
        if not found:
            shown_labels = ",".join(f"{name}={value}" for name, value in labels.items())
            raise NotFound(f"no pod in namespace {namespace} has the labels {shown_labels}")
        return min(found, key=lambda pod: pod.name)

    def _delete_pods(self, command: Command, by: str) -> None:
        for pod in self._store.pods_on(self._node(command).name):
            self._admission.policies.check(pod, None)
            self._delete_one(pod, command.grace_seconds, by)

    def _evict_pods(self, command: Command, by: str) -> None:
        refused: list[str] = []
        for pod in self._store.pods_on(self._node(command).name):
            if any(owner.get("kind") == "DaemonSet" for owner in pod.owner_references):
                continue
            try:
                evict(self._store, pod, self._admission.rules)
            except TooManyRequests as refusal:
                refused.append(f"{pod.key}: {refusal}")
                continue
            self._delete_one(pod, command.grace_seconds, by)
        if refused:
            raise TooManyRequests("; ".join(refused))

    def _stop_kubelet(self, command: Command, by: str) -> None:
        node = self._node(command)
        self._faults.kubelets.stop_kubelet(node.name)
        self._recorder.record("KubeletStopped", node.id, by, "", None)

    def _start_kubelet(self, command: Command, by: str) -> None:
        node = self._node(command)
        if self._faults.kubelets.is_off(node.name):
            raise Invalid(f"{node.id} has no power")
        self._recorder.record("KubeletStarted", node.id, by, "", None)
        self._faults.kubelets.start_kubelet(node.name)
        self._faults.heard(node.name)

    def _cordon(self, command: Command, by: str) -> None:
        self._set_unschedulable(command, by, True, "NodeCordoned")

    def _uncordon(self, command: Command, by: str) -> None:
        self._set_unschedulable(command, by, None, "NodeUncordoned")

    def _set_unschedulable(self, command: Command, by: str, value: bool | None, event: str) -> None:
        node = self._node(command)
        patch = {"spec": {"unschedulable": value}}
        self._admission.policies.check(node, node.patched(patch))
        self._store.patch("Node", node.key, patch, by=by, event=event)

    def _node(self, command: Command) -> ApiObject:
        node = self._find(command.object)
        if node.kind != "Node":
            raise Invalid(f"{command.object} is no node")
        return node

    def _find(self, entity: str) -> ApiObject:
        prefix, key = split_entity_id(entity)
        for kind in self._store.kinds():
            if prefix in (kind, kind.lower()):
                return self._store.get(kind, key)
        raise NotFound(f"{entity} not found")


def _permission_of(known: dict[str, Any]) -> Permission:
    """The permission that a command names; all others may do anything. Raises Invalid."""
    name = known.get("permission")
    if name is None:
        return ANYTHING
    if name not in PERMISSIONS:
        raise Invalid(f"permission is {shown(name)}; it must be one of {', '.join(PERMISSIONS)}")
    if known["verb"] not in _WRITES:
        raise Invalid(f"permission: {known['verb']} takes none; {', '.join(_WRITES)} do")
    return PERMISSIONS[name]


def _stored(patch: Any) -> Any:
    """*patch* without nulls inside of lists. Elsewhere a null deletes a field."""
    if isinstance(patch, dict):
        return {name: _stored(part) for name, part in cast("Manifest", patch).items()}
    return without_nulls(patch)


def _anew(obj: ApiObject) -> ApiObject:
    return obj.patched({"metadata": {"uid": None}})


def _parsed(manifest: Manifest | None, fields: KnownFields) -> ApiObject:
    raw = manifest or {}
    metadata = raw.get("metadata")
    name = cast("Manifest", metadata).get("name") if isinstance(metadata, dict) else None
    if not raw.get("kind") or not name:
        raise Invalid("a manifest needs kind and metadata.name")
    if not isinstance(raw["kind"], str):
        raise Invalid(f"kind: expected a text, found {shown(raw['kind'])}")
    return fields.parsed(raw)
