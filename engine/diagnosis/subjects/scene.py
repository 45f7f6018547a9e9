"""The objects around the one in question."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from engine.api_server.admission.admission import Admission
from engine.api_server.store.store import ObjectStore
from engine.cluster.cluster import Cluster
from engine.diagnosis.report import Cause, Severity
from engine.framework.explaining.fact import Fact, fact
from engine.kernel.sentences import NOTHING, Sentence, say
from engine.objects.manifest_parts import section
from engine.objects.objects import (
    ApiObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from engine.objects.scripts.script import Script
from engine.objects.selectors import LabelSelector


@dataclass(frozen=True, slots=True)
class Scene:
    """The API server's objects at the instant of the question."""

    store: ObjectStore
    now: int
    # By object the newest Kubernetes Events: reason → message.
    noted: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    # By object what fails and is tried again, as pages show it.
    troubles: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])
    # What the API server would say of an object that is to be created; None where that is not asked.
    admission: Admission | None = None
    # What containers do, by the scenario.
    scripts: tuple[Script, ...] = ()

    @classmethod
    def of(cls, cluster: Cluster) -> Scene:
        """The objects of *cluster* now, with its Events and its admission."""
        recorder = cluster.recorder
        return cls(
            cluster.store,
            cluster.now,
            recorder.noted,
            recorder.troubles,
            cluster.admission,
            cluster.scripts,
        )

    def event(self, obj: ApiObject, *reasons: str) -> str:
        """The newest Event of *obj* with one of the *reasons*, "Reason: message"; "" for none."""
        found = [
            f"{reason}: {message}"
            for reason, message in self.noted.get(obj.id, {}).items()
            if reason in reasons
        ]
        return found[-1] if found else ""

    def pod(self, key: str) -> Pod | None:
        """The pod of that key, or None."""
        found = self.store.find(Pod.KIND, key)
        return found if isinstance(found, Pod) else None

    def pods(self, namespace: str = "") -> Iterator[Pod]:
        """The pods of a namespace that have not ended, or of all namespaces."""
        for pod in self.store.objects(Pod.KIND):
            if not isinstance(pod, Pod) or pod.is_terminated:
                continue
            if not namespace or pod.namespace == namespace:
                yield pod

    def node(self, name: str) -> Node | None:
        """The node of that name, or None."""
        found = self.store.find(Node.KIND, name)
        return found if isinstance(found, Node) else None

    def nodes(self) -> Iterator[Node]:
        """All nodes."""
        return (each for each in self.store.objects(Node.KIND) if isinstance(each, Node))

    def claim(self, key: str) -> PersistentVolumeClaim | None:
        """The claim of that key, or None."""
        found = self.store.find(PersistentVolumeClaim.KIND, key)
        return found if isinstance(found, PersistentVolumeClaim) else None

    def claims_of(self, pod: Pod) -> Iterator[tuple[str, PersistentVolumeClaim | None]]:
        """The claims that a pod uses, by key; None for one that does not exist."""
        for name in pod.claim_names:
            key = f"{pod.namespace}/{name}"
            yield key, self.claim(key)

    def volume(self, name: str) -> PersistentVolume | None:
        """The volume of that name, or None."""
        found = self.store.find(PersistentVolume.KIND, name) if name else None
        return found if isinstance(found, PersistentVolume) else None

    def volumes(self) -> Iterator[PersistentVolume]:
        """All volumes."""
        for each in self.store.objects(PersistentVolume.KIND):
            if isinstance(each, PersistentVolume):
                yield each

    def claims(self) -> Iterator[PersistentVolumeClaim]:
        """All claims."""
        for each in self.store.objects(PersistentVolumeClaim.KIND):
            if isinstance(each, PersistentVolumeClaim):
                yield each

    def storage_class(self, name: str) -> StorageClass | None:
        """The class of that name, or None."""
        found = self.store.find(StorageClass.KIND, name) if name else None
        return found if isinstance(found, StorageClass) else None

    def storage_classes(self) -> Iterator[StorageClass]:
        """All classes."""
        for each in self.store.objects(StorageClass.KIND):
            if isinstance(each, StorageClass):
                yield each

    def users(self, claim: PersistentVolumeClaim) -> list[Pod]:
        """The pods that use *claim*, by name."""
        found = [pod for pod in self.pods(claim.namespace) if claim.name in pod.claim_names]
        return sorted(found, key=_key)

    def attachments(self, volume: str) -> list[ApiObject]:
        """The VolumeAttachments of a volume, by node."""
        found = [
            each
            for each in self.store.objects("VolumeAttachment")
            if section(each.spec, "source").get("persistentVolumeName") == volume
        ]
        return sorted(found, key=_node_name)

    def controller_of(self, obj: ApiObject) -> ApiObject | None:
        """The workload that controls *obj*, or None."""
        for owner in obj.metadata.get("ownerReferences") or ():
            if owner.get("controller"):
                name = owner.get("name")
                key = f"{obj.namespace}/{name}" if obj.namespace else str(name)
                return self.store.find(str(owner.get("kind")), key)
        return None

    def budgets_of(self, pod: Pod) -> list[ApiObject]:
        """The disruption budgets that select *pod*."""
        return [
            each
            for each in self.store.objects("PodDisruptionBudget")
            if each.namespace == pod.namespace
            and LabelSelector.parse(each.spec.get("selector")).matches(pod.labels)
        ]


def _key(pod: Pod) -> str:
    return pod.key


def _node_name(attachment: ApiObject) -> str:
    return str(attachment.spec.get("nodeName"))


def cause(
    component: str,
    sentence: Sentence,
    because: list[Fact],
    *,
    why: Sentence = NOTHING,
    severity: Severity = "blocks",
    event: str = "",
) -> Cause:
    """A cause for which another component than the scheduler is responsible, with its *event*."""
    return Cause(
        severity=severity,
        sentence=sentence,
        plugin=component,
        reasons=(event,) if event else (),
        why=why,
        because=tuple(because),
    )


def deletion_facts(obj: ApiObject) -> list[Fact]:
    """When the deletion began and which finalizers hold the object."""
    since = obj.metadata.get("deletionTimestamp")
    found = [
        fact(
            obj,
            ("metadata", "deletionTimestamp"),
            say(
                "{kind} {obj} is terminating: it has a deletionTimestamp, {since}.",
                kind=obj.kind,
                obj=obj.key,
                since=since,
            ),
        )
    ]
    for place, finalizer in enumerate(obj.finalizers):
        text = say(
            "The finalizer {finalizer} holds it until its owner removes the finalizer.",
            finalizer=finalizer,
        )
        found.append(fact(obj, ("metadata", "finalizers", place), text))
    return found
