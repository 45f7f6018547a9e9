"""API objects: a manifest, never changed in place, with typed ways to read it.

The manifest is the truth and is given back whole, unknown fields and all. A change is a new object
made by `patched`; subtrees that the patch does not touch are shared. Values that are read often are parsed
once and kept on the object.
"""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, Generic, NamedTuple, Self, TypeVar, overload

import orjson

from engine.kernel.view import merge
from engine.objects.kinds import NAMESPACED, entity_id, resource_of_kind
from engine.objects.values import quantity

Manifest = dict[str, Any]
T = TypeVar("T")

EMPTY: Mapping[str, Any] = {}
# Set by an administrator on a node that was shut down and does not come back soon.
OUT_OF_SERVICE_TAINT = "node.kubernetes.io/out-of-service"
_ONLY_STATUS = {"status"}


class derived(Generic[T]):
    """A property that is worked out when first read and kept: a manifest never changes.

    As functools.cached_property, without its lock, which costs more than most of these properties.
    """

    def __init__(self, read: Callable[[Any], T]) -> None:
        self._read = read
        self._name = read.__name__
        self.__doc__ = read.__doc__

    @overload
    def __get__(self, obj: None, owner: type) -> Self: ...
    @overload
    def __get__(self, obj: object, owner: type) -> T: ...
    def __get__(self, obj: object | None, owner: type) -> Self | T:
        if obj is None:
            return self
        value = obj.__dict__[self._name] = self._read(obj)
        return value


class ApiObject:
    """One object of the API, of whatever kind. Immutable by convention.

    `key` is "ns/name" (or "name" for what has no namespace), `id` the entity id that events use:
    "pod/default/web-3", "claim/default/data", "node/n1".
    """

    KIND: ClassVar[str] = ""
    # What is kept on an object and follows from its status.
    OF_STATUS: ClassVar[tuple[str, ...]] = ("status",)

    def __init__(self, raw: Manifest) -> None:
        self.raw = raw
        metadata: Manifest = raw["metadata"]
        self.kind: str = raw.get("kind") or self.KIND
        self.name: str = metadata["name"]
        self.namespace: str = metadata.get("namespace") or ""
        self.key: str = f"{self.namespace}/{self.name}" if self.namespace else self.name
        self.id: str = entity_id(self.kind, self.key)

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.raw,))

    def __repr__(self) -> str:
        return f"<{self.id} rv={self.resource_version}>"

    @property
    def metadata(self) -> Manifest:
        """The manifest's metadata."""
        return self.raw["metadata"]

    @derived
    def spec(self) -> Mapping[str, Any]:
        """The manifest's spec; empty when absent."""
        return self.raw.get("spec") or EMPTY

    @derived
    def status(self) -> Mapping[str, Any]:
        """The manifest's status; empty when absent."""
        return self.raw.get("status") or EMPTY

    @derived
    def uid(self) -> str:
        """metadata.uid, or "" before the store has given one."""
        return self.raw["metadata"].get("uid") or ""

    @derived
    def resource_version(self) -> str:
        """metadata.resourceVersion, or "" before the first write."""
        return self.raw["metadata"].get("resourceVersion") or ""

    @derived
    def labels(self) -> Mapping[str, str]:
        """metadata.labels."""
        return self.raw["metadata"].get("labels") or EMPTY

    @derived
    def annotations(self) -> Mapping[str, str]:
        """metadata.annotations."""
        return self.raw["metadata"].get("annotations") or EMPTY

    @derived
    def finalizers(self) -> tuple[str, ...]:
        """metadata.finalizers."""
        return tuple(self.raw["metadata"].get("finalizers") or ())

    @derived
    def deletion_timestamp(self) -> str:
        """metadata.deletionTimestamp, or ""."""
        return self.raw["metadata"].get("deletionTimestamp") or ""

    @property
    def creation_timestamp(self) -> str:
        """metadata.creationTimestamp, or ""."""
        return self.raw["metadata"].get("creationTimestamp") or ""

    @property
    def owner_references(self) -> list[Manifest]:
        """metadata.ownerReferences."""
        return self.raw["metadata"].get("ownerReferences") or []

    @property
    def controller(self) -> Manifest | None:
        """The reference to the one owner that controls it, or None."""
        return _controller(self.owner_references)

    def patched(self, patch: Manifest) -> Self:
        """A new object: this one with an RFC 7386 merge patch applied."""
        if patch.keys() == _ONLY_STATUS and patch["status"]:
            return self.with_status(merge(self.raw.get("status"), patch["status"]))
        return self._successor(merge(self.raw, patch))

    def revised(self, patch: Manifest, revision: str) -> Self:
        """As `patched`, with a new resourceVersion and the uid that it has."""
        new = self.patched(patch)
        # The merge has made a new top level, which is not shared yet.
        new.raw["metadata"] = {
            **new.raw["metadata"],
            "uid": self.uid,
            "resourceVersion": revision,
        }
        new.__dict__["uid"], new.__dict__["resource_version"] = self.uid, revision
        return new

    def with_metadata(self, **fields: Any) -> Self:
        """A new object: this one with some fields of its metadata replaced."""
        return self._successor({**self.raw, "metadata": {**self.raw["metadata"], **fields}})

    def with_status(self, status: Manifest) -> Self:
        """A new object: this one with another status. It keeps what was parsed of the rest."""
        known = self.__dict__.copy()
        for name in self.OF_STATUS:
            known.pop(name, None)
        known["raw"] = {**self.raw, "status": status}
        known["status"] = status or EMPTY
        return self._knowing(known)

    def stored(self, uid: str, revision: str) -> Self:
        """As `with_metadata`, with what the store gives each version of an object.

        The new one keeps what was parsed of this one: it has the same content.
        """
        if self.uid != uid:
            return self.with_metadata(uid=uid, resourceVersion=revision)
        raw = self.raw.copy()
        metadata = raw["metadata"] = raw["metadata"].copy()
        metadata["uid"], metadata["resourceVersion"] = uid, revision
        known = self.__dict__.copy()
        known["raw"], known["resource_version"] = raw, revision
        return self._knowing(known)

    def _knowing(self, known: dict[str, Any]) -> Self:
        """A new object of which that is *known*: its manifest, and what was read of it."""
        new = object.__new__(type(self))
        new.__dict__ = known
        return new

    def replaced(self, **parts: Any) -> Self:
        """A new object: this one with some of its top-level parts replaced, but no pod's spec."""
        return self._successor({**self.raw, **parts})

    def _successor(self, raw: Manifest) -> Self:
        """The next version of this object: what names it is taken over, not parsed again."""
        new = object.__new__(type(self))
        new.raw = raw
        new.kind, new.name, new.namespace = self.kind, self.name, self.namespace
        new.key, new.id = self.key, self.id
        return new


# Names and values of labels, in order.
Labels = tuple[tuple[str, str], ...]


class PodFacts(NamedTuple):
    """What is asked most often of a pod, and follows from its spec and its metadata."""

    scheduler_name: str
    priority: int
    volumes: list[Manifest]
    claim_names: tuple[str, ...]
    named_claims: tuple[str, ...]
    owner_references: list[Manifest]
    controller: Manifest | None
    scheduling_gates: tuple[str, ...]
    # It has no owner and no volumes.
    is_lone: bool


class Template(dict[str, Any]):
    """What was derived from a pod's spec: the same object for all versions with that spec.

    `unlabelled` is the template of the same pods before they were bound, if binding them added
    labels on which nothing else in the template depends.

    A pickle keeps its identity but not its content, which is computed again on demand.
    """

    __slots__ = ("_labelled", "facts", "unlabelled")

    def __init__(self) -> None:
        self.facts: PodFacts | None = None
        self.unlabelled: Template | None = None
        self._labelled: dict[Labels, tuple[Mapping[str, str], Template]] = {}

    def labelled(self, pod: "Pod", added: "Labels") -> "tuple[Mapping[str, str], Template]":
        """The labels and the template of *pod* with labels *added*, but none of its own replaced.

        Pods of one template that get the same labels share both, as they shared this template.
        """
        known = self._labelled.get(added)
        if known is None:
            labels, template = {**dict(added), **pod.labels}, self
            if labels != pod.labels:
                template = Template()
                template.facts = self.facts
                template.unlabelled = None if _selects_by_own_labels(pod.spec) else self
            known = self._labelled[added] = (labels, template)
        return known

    def learn(self, other: "Template") -> None:
        """Take over what has been read of the *other*, of pods that differ in their node alone."""
        self.facts = other.facts
        if VIEW in other:
            self[VIEW] = other[VIEW]

    def __reduce__(self) -> tuple[Any, ...]:
        return (Template, ())


class Templates:
    """Pods with equal specs share one template, so that what follows from a spec is computed once.

    Pods that come with a node share it with those of that node, and with others what follows from
    the rest of the spec. Only recent templates are remembered, because the pods of a workload are
    created together.
    """

    __slots__ = ("_count", "_known", "_last")

    def __init__(self) -> None:
        # By what specs have in common the templates by node; "" for pods without one.
        self._known: dict[bytes, dict[str, Template]] = {}
        self._count = 0
        # The namespace, the metadata and the spec of the pod before, and the templates like its own.
        self._last: tuple[str, Metadata, Mapping[str, Any], dict[str, Template]] | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        # Pods keep the templates that they have; a restored run begins a new collection.
        return (Templates, ())

    def shared(self, pod: "Pod") -> Template:
        """The template for *pod*, which is new: that of a pod with an equal spec, or its own."""
        alike = self._alike(pod)
        if alike is None:
            return pod.template
        node = pod.node_name
        template = alike.get(node)
        if template is None:
            template = pod.template
            if alike:
                template.learn(next(iter(alike.values())))
            if self._count >= _TEMPLATES_KEPT:
                self._known.clear()
                self._count, self._last = 0, None
            alike[node] = template
            self._count += 1
        return template

    def _alike(self, pod: "Pod") -> dict[str, Template] | None:
        """The templates of pods that differ from this one in their node alone; None for none ever."""
        spec, find = pod.spec, pod.metadata.get
        metadata = find("labels"), find("annotations"), find("ownerReferences")
        last = self._last
        # Pods of a workload come one behind the other, and share what is the same in all of them.
        if last is not None and last[0] == pod.namespace and have_same_fields(spec, last[2]):
            labels, annotations, owners = last[1]
            if metadata[0] is labels and metadata[1] is annotations and metadata[2] is owners:
                return last[3]
        own = {name: value for name, value in spec.items() if name != _NODE_NAME}
        try:
            essence = orjson.dumps((pod.namespace, metadata, own))
        except TypeError:
            return None  # A number beyond 64 bits.
        # The claims of ephemeral volumes are named after the pod, so no other pod is equal.
        if b'"ephemeral"' in essence:
            return None
        alike = self._known.setdefault(essence, {})
        self._last = pod.namespace, metadata, spec, alike
        return alike


_TEMPLATES_KEPT = 4_096
# What pages show of all pods of a template; see projection.
VIEW = "view"
# Labels, annotations and owners.
Metadata = tuple[Any, Any, Any]
_NODE_NAME: Final = "nodeName"
_MISSING: Final = object()


def have_same_fields(one: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether two specs share all values but the node's name, or have the same texts there."""
    if len(one) != len(other):
        return False
    for name, value in one.items():
        known = other.get(name, _MISSING)
        if value is known:
            continue
        is_text = value.__class__ is str and known.__class__ is str
        if not is_text or (name != _NODE_NAME and value != known):
            return False
    return True


def _selects_by_own_labels(spec: Mapping[str, Any]) -> bool:
    """Whether matchLabelKeys or mismatchLabelKeys bring the pod's own labels into a selector."""
    selecting = (spec.get("affinity"), spec.get("topologySpreadConstraints"))
    return "atchLabelKeys" in str(selecting)


# Of a pod's metadata, what something in its template may follow from.
_IN_TEMPLATE = frozenset(("labels", "annotations", "ownerReferences"))


class Pod(ApiObject):
    """A pod. `template` carries what is derived from its spec from version to version."""

    KIND = "Pod"
    OF_STATUS = ("status", "is_terminated")

    def __init__(self, raw: Manifest, template: Template | None = None) -> None:
        super().__init__(raw)
        self.template = Template() if template is None else template

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self.raw, self.template))

    @property
    def generation(self) -> int:
        """The generation of its spec, 1 before the first change."""
        return self.metadata.get("generation") or 1

    def patched(self, patch: Manifest) -> Self:
        """As ApiObject.patched; `template` survives when spec (but for the node) and labels do."""
        spec = patch.get("spec")
        metadata = patch.get("metadata")
        new = super().patched(patch)
        if (spec and not spec.keys() <= {"nodeName"}) or (
            metadata and not _IN_TEMPLATE.isdisjoint(metadata)
        ):
            new.template = Template()
        return new

    def with_metadata(self, **fields: Any) -> Self:
        """As ApiObject.with_metadata; `template` survives when nothing of it is replaced."""
        new = super().with_metadata(**fields)
        if not _IN_TEMPLATE.isdisjoint(fields):
            new.template = Template()
        return new

    def with_spec(self, spec: Manifest) -> Self:
        """A new pod: this one with another spec."""
        new = self._successor({**self.raw, "spec": spec})
        new.template = Template()
        return new

    def bound(self, node: str, status: Manifest, revision: str, labels: Labels = ()) -> Self:
        """The next version of this pod: it has a node and *labels*, and its *status* says so.

        The phase stays the same.
        """
        raw = self.raw.copy()
        metadata = raw["metadata"] = raw["metadata"].copy()
        metadata["uid"], metadata["resourceVersion"] = self.uid, revision
        spec = raw["spec"] = {**self.spec, "nodeName": node}
        raw["status"] = status
        known = self.__dict__.copy()
        known["raw"], known["resource_version"] = raw, revision
        known["spec"], known["status"], known["node_name"] = spec, status, node
        if labels:
            metadata["labels"], known["template"] = self.template.labelled(self, labels)
            known["labels"] = metadata["labels"]
        return self._knowing(known)

    def _successor(self, raw: Manifest) -> Self:
        new = super()._successor(raw)
        new.template = self.template
        return new

    @derived
    def node_name(self) -> str:
        """spec.nodeName, or "" while the pod has no node."""
        return self.spec.get("nodeName") or ""

    @property
    def phase(self) -> str:
        """status.phase; Pending when absent."""
        return self.status.get("phase") or "Pending"

    @derived
    def is_terminated(self) -> bool:
        """Whether all its containers have ended for good (Succeeded or Failed)."""
        return self.status.get("phase") in ("Succeeded", "Failed")

    @property
    def nominated_node_name(self) -> str:
        """status.nominatedNodeName, or ""."""
        return self.status.get("nominatedNodeName") or ""

    @property
    def facts(self) -> PodFacts:
        """What follows from the spec, read once for all pods made alike."""
        facts = self.template.facts
        if facts is None:
            facts = self.template.facts = _facts(self)
        return facts

    @property
    def scheduler_name(self) -> str:
        """spec.schedulerName; default-scheduler when absent."""
        return (self.template.facts or self.facts).scheduler_name

    @property
    def priority(self) -> int:
        """spec.priority; 0 when admission has given none."""
        return (self.template.facts or self.facts).priority

    @property
    def containers(self) -> list[Manifest]:
        """spec.containers."""
        return self.spec.get("containers") or []

    @property
    def volumes(self) -> list[Manifest]:
        """spec.volumes."""
        return (self.template.facts or self.facts).volumes

    @property
    def claim_names(self) -> tuple[str, ...]:
        """Names, in its own namespace, of the claims it uses, ephemeral ones included."""
        return (self.template.facts or self.facts).claim_names

    @property
    def named_claims(self) -> tuple[str, ...]:
        """Those of its claims that it names; not those made for its ephemeral volumes."""
        return (self.template.facts or self.facts).named_claims

    @property
    def owner_references(self) -> list[Manifest]:
        """metadata.ownerReferences."""
        return (self.template.facts or self.facts).owner_references

    @property
    def controller(self) -> Manifest | None:
        """The reference to the one owner that controls it, or None."""
        return (self.template.facts or self.facts).controller

    @property
    def scheduling_gates(self) -> tuple[str, ...]:
        """Names of spec.schedulingGates."""
        return (self.template.facts or self.facts).scheduling_gates

    @property
    def grace_period_seconds(self) -> int:
        """spec.terminationGracePeriodSeconds; 30 when absent, 1 when it is below 0, as upstream."""
        grace = self.spec.get("terminationGracePeriodSeconds")
        if grace is None:
            return 30
        return grace if grace >= 0 else 1


def is_plain(old: ApiObject, pod: Pod) -> bool:
    """Whether only the progress of a pod without owner and volumes changed, not its labels."""
    template = pod.template
    if not isinstance(old, Pod) or template is not old.template:
        return False
    is_lone = (template.facts or pod.facts).is_lone
    return is_lone and not pod.deletion_timestamp and not pod.is_terminated


def _facts(pod: Pod) -> PodFacts:
    spec = pod.spec
    volumes: list[Manifest] = spec.get("volumes") or []
    owners: list[Manifest] = pod.metadata.get("ownerReferences") or []
    return PodFacts(
        scheduler_name=spec.get("schedulerName") or "default-scheduler",
        priority=spec.get("priority") or 0,
        volumes=volumes,
        claim_names=tuple(_claim_names(pod.name, volumes)),
        named_claims=tuple(_named_claims(volumes)),
        owner_references=owners,
        controller=_controller(owners),
        scheduling_gates=tuple(gate["name"] for gate in spec.get("schedulingGates") or ()),
        is_lone=not volumes and not owners,
    )


def _controller(owners: list[Manifest]) -> Manifest | None:
    return next((ref for ref in owners if ref.get("controller")), None)


def _claim_names(pod: str, volumes: list[Manifest]) -> list[str]:
    claims = (claim_of(pod, volume)[0] for volume in volumes)
    return [name for name in claims if name]


def _named_claims(volumes: list[Manifest]) -> list[str]:
    sources = [volume.get("persistentVolumeClaim") for volume in volumes]
    return [str(source["claimName"]) for source in sources if source]


def claim_of(pod: str, volume: Manifest) -> tuple[str, bool]:
    """The claim behind a volume of the pod of that name, "" if none; whether it is made for the pod.

    Upstream: component-helpers storage/ephemeral, VolumeClaimName().
    """
    if source := volume.get("persistentVolumeClaim"):
        return str(source["claimName"]), False
    if volume.get("ephemeral") is not None:
        return f"{pod}-{volume['name']}", True
    return "", False


class Node(ApiObject):
    """A node."""

    KIND = "Node"
    OF_STATUS = ("status", "allocatable_units", "conditions")

    @property
    def unschedulable(self) -> bool:
        """spec.unschedulable: cordoned."""
        return bool(self.spec.get("unschedulable"))

    @property
    def taints(self) -> list[Manifest]:
        """spec.taints."""
        return self.spec.get("taints") or []

    @property
    def capacity(self) -> Mapping[str, Any]:
        """status.capacity, as written."""
        return self.status.get("capacity") or EMPTY

    @property
    def allocatable(self) -> Mapping[str, Any]:
        """status.allocatable, as written; the capacity where the kubelet gave none."""
        return self.status.get("allocatable") or self.capacity

    @derived
    def allocatable_units(self) -> dict[str, int]:
        """Allocatable as integers: cpu in milli, everything else in base units."""
        return resource_units(self.allocatable)

    @derived
    def conditions(self) -> list[tuple[str, str]]:
        """Type and status of each condition, as they are listed."""
        listed: list[Manifest] = self.status.get("conditions") or []
        return [(str(one.get("type")), str(one.get("status") or "")) for one in listed]

    @property
    def image_sizes(self) -> list[tuple[str, int]]:
        """The names of the images it holds, each with its bytes; a name may occur twice."""
        images: list[Manifest] = self.status.get("images") or []
        return [
            (name, int(image.get("sizeBytes") or 0))
            for image in images
            for name in image.get("names") or ()
        ]

    @property
    def is_ready(self) -> bool:
        """Whether condition Ready is True; a node that reports no conditions counts as ready."""
        for condition in self.status.get("conditions") or ():
            if condition.get("type") == "Ready":
                return condition.get("status") == "True"
        return True

    @property
    def is_out_of_service(self) -> bool:
        """Whether it has the taint out-of-service, with whatever effect. Upstream: TaintKeyExists()."""
        return any(taint.get("key") == OUT_OF_SERVICE_TAINT for taint in self.taints)

    @property
    def zone(self) -> str:
        """The zone label, new name before old; "" when it has neither."""
        return _first_label(self, "topology.kubernetes.io/zone", _OLD_ZONE)

    @property
    def region(self) -> str:
        """The region label, new name before old; "" when it has neither."""
        return _first_label(self, "topology.kubernetes.io/region", _OLD_REGION)


_OLD_ZONE = "failure-domain.beta.kubernetes.io/zone"
_OLD_REGION = "failure-domain.beta.kubernetes.io/region"


def _first_label(obj: ApiObject, *keys: str) -> str:
    return next((obj.labels[key] for key in keys if obj.labels.get(key)), "")


# The annotation that named the class before there was a field for it.
BETA_CLASS = "volume.beta.kubernetes.io/storage-class"


class _Bindable(ApiObject):
    """A volume or a claim."""

    def annotated(self, annotations: dict[str, str], **parts: Any) -> Self:
        """As `replaced`, with other *annotations*; who and which version it is stays known."""
        metadata = {**self.raw["metadata"], "annotations": annotations}
        new = self._successor({**self.raw, "metadata": metadata, **parts})
        known = new.__dict__
        known["uid"], known["resource_version"] = self.uid, self.resource_version
        known["annotations"], known["finalizers"] = annotations, self.finalizers
        known["deletion_timestamp"] = self.deletion_timestamp
        return new


class PersistentVolume(_Bindable):
    """A volume."""

    KIND = "PersistentVolume"
    # `offer` is what engine/storage/matching/matching.py keeps on it.
    OF_STATUS = ("status", "phase", "offer")

    @derived
    def capacity_bytes(self) -> int:
        """spec.capacity.storage in bytes."""
        return quantity.value((self.spec.get("capacity") or EMPTY).get("storage", 0))

    @derived
    def access_modes(self) -> tuple[str, ...]:
        """spec.accessModes, in order."""
        return tuple(self.spec.get("accessModes") or ())

    @derived
    def storage_class_name(self) -> str:
        """The class: the old annotation wins over the field, as upstream; "" for none."""
        beta = self.annotations.get(BETA_CLASS)
        return beta if beta is not None else self.spec.get("storageClassName") or ""

    @derived
    def claim_ref(self) -> Manifest | None:
        """spec.claimRef."""
        return self.spec.get("claimRef")

    @derived
    def claim_key(self) -> str:
        """The "ns/name" of the claim that spec.claimRef names, or ""."""
        ref = self.claim_ref
        return f"{ref.get('namespace', '')}/{ref.get('name', '')}" if ref else ""

    @derived
    def phase(self) -> str:
        """status.phase; Pending when absent."""
        return self.status.get("phase") or "Pending"

    @property
    def reclaim_policy(self) -> str:
        """spec.persistentVolumeReclaimPolicy; Retain when absent."""
        return self.spec.get("persistentVolumeReclaimPolicy") or "Retain"


class PersistentVolumeClaim(_Bindable):
    """A claim."""

    KIND = "PersistentVolumeClaim"
    OF_STATUS = ("status", "phase")

    @derived
    def request_bytes(self) -> int:
        """spec.resources.requests.storage in bytes."""
        resources = self.spec.get("resources") or EMPTY
        return quantity.value((resources.get("requests") or EMPTY).get("storage", 0))

    @derived
    def access_modes(self) -> tuple[str, ...]:
        """spec.accessModes, in order."""
        return tuple(self.spec.get("accessModes") or ())

    @derived
    def storage_class_name(self) -> str | None:
        """The class: the old annotation wins; None when unset (which is not the same as "")."""
        beta = self.annotations.get(BETA_CLASS)
        return beta if beta is not None else self.spec.get("storageClassName")

    @derived
    def volume_name(self) -> str:
        """spec.volumeName, or ""."""
        return self.spec.get("volumeName") or ""

    @derived
    def phase(self) -> str:
        """status.phase; Pending when absent."""
        return self.status.get("phase") or "Pending"

    @derived
    def is_bind_completed(self) -> bool:
        """Whether the PV controller has finished the binding (the annotation's presence counts)."""
        return "pv.kubernetes.io/bind-completed" in self.annotations

    @property
    def selected_node(self) -> str:
        """The node the scheduler chose for a delayed claim, or ""."""
        return self.annotations.get("volume.kubernetes.io/selected-node") or ""


class StorageClass(ApiObject):
    """A storage class."""

    KIND = "StorageClass"

    @property
    def provisioner(self) -> str:
        """The provisioner's name."""
        return self.raw.get("provisioner") or ""

    @property
    def binding_mode(self) -> str:
        """volumeBindingMode; Immediate when absent."""
        return self.raw.get("volumeBindingMode") or "Immediate"

    @property
    def reclaim_policy(self) -> str:
        """reclaimPolicy of what it provisions; Delete when absent."""
        return self.raw.get("reclaimPolicy") or "Delete"

    @property
    def is_default(self) -> bool:
        """Whether a default-class annotation, new or beta, says so."""
        return any(
            self.annotations.get(key) == "true"
            for key in (
                "storageclass.kubernetes.io/is-default-class",
                "storageclass.beta.kubernetes.io/is-default-class",
            )
        )


_TYPED: dict[str, type[ApiObject]] = {
    cls.KIND: cls for cls in (Pod, Node, PersistentVolume, PersistentVolumeClaim, StorageClass)
}


def from_manifest(raw: Manifest) -> ApiObject:
    """The object of a manifest that the loader has accepted (kind and metadata.name are there)."""
    kind = raw["kind"]
    if kind in NAMESPACED and not raw["metadata"].get("namespace"):
        raw = {**raw, "metadata": {**raw["metadata"], "namespace": "default"}}
    return _TYPED.get(kind, ApiObject)(raw)


def group_resource(obj: ApiObject) -> str:
    """The resource of *obj* as the API server names it: persistentvolumes, deployments.apps."""
    kind = str(obj.raw.get("kind") or obj.kind)
    return resource_of_kind(kind, str(obj.raw.get("apiVersion") or ""))


def resource_units(quantities: Mapping[str, Any]) -> dict[str, int]:
    """A resource list as integers: cpu in milli, everything else in base units."""
    return {
        name: quantity.counted(
            quantity.milli_value(text) if name == "cpu" else quantity.value(text)
        )
        for name, text in quantities.items()
    }
