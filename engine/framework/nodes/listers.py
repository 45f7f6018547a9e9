"""What plugins look up besides nodes and pods: claims, volumes, classes, namespaces, budgets …

One `Listers` is one scheduler's informer caches: the actor that owns it puts objects in as its
watches deliver them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import cast

from engine.kernel.change_log import ChangeLog
from engine.kernel.groups import Group, Groups
from engine.objects.objects import ApiObject, PersistentVolume, PersistentVolumeClaim, StorageClass
from engine.objects.pods.resource_claims import RESOURCE_CLAIM
from engine.objects.selectors import with_labels
from engine.storage.matching.index import VolumeIndex

_NO_LABELS: Mapping[str, str] = {}
_ATTACHMENT = "VolumeAttachment"
_SERVICE = "Service"


class Listers:
    """Objects by kind and key, in the order they first arrived.

    `generation` counts the changes of each kind that is put in, for caches of what was derived from
    them. `volumes` is the same volumes again, indexed for matching; a volume that the scheduler has
    assumed for a claim is there with its claimRef already set. `claim_changes` has the keys of the
    resource claims that were put in or removed.
    """

    def __init__(self) -> None:
        self._objects: dict[str, dict[str, ApiObject]] = {}
        self.generation: dict[str, int] = {}
        self.volumes = VolumeIndex()
        self.claim_changes: ChangeLog[str] = ChangeLog()
        self._services: Groups[str] = Groups()
        # VolumeAttachments by node and name.
        self._attachments: dict[str, dict[str, ApiObject]] = {}

    def adopt(
        self,
        volumes: dict[str, PersistentVolume],
        index: VolumeIndex,
        claims: dict[str, PersistentVolumeClaim],
    ) -> None:
        """Show these volumes and claims, which the caller keeps up to date."""
        self._objects[PersistentVolume.KIND] = cast("dict[str, ApiObject]", volumes)
        self._objects[PersistentVolumeClaim.KIND] = cast("dict[str, ApiObject]", claims)
        index.applies_match_fields = self.volumes.applies_match_fields
        index.lists_by_spec_class = self.volumes.lists_by_spec_class
        self.volumes = index

    def put(self, obj: ApiObject) -> None:
        """Add *obj*, or replace the version that is there."""
        self._objects.setdefault(obj.kind, {})[obj.key] = obj
        if isinstance(obj, PersistentVolume):
            self.volumes.put(obj)
        elif obj.kind == _ATTACHMENT:
            # Its node never changes.
            self._attachments.setdefault(_node_of(obj), {})[obj.key] = obj
        elif obj.kind == RESOURCE_CLAIM:
            self.claim_changes.note(obj.key)
        elif obj.kind == _SERVICE:
            selected = _groups_selected(obj)
            self._services.put(obj.key, self._services.fewest(selected))
        self.generation[obj.kind] = self.generation.get(obj.kind, 0) + 1

    def remove(self, kind: str, key: str) -> None:
        """Forget an object; unknown keys are ignored."""
        gone = self._objects.get(kind, {}).pop(key, None)
        if gone is not None:
            self.generation[kind] = self.generation.get(kind, 0) + 1
            if kind == PersistentVolume.KIND:
                self.volumes.remove(key)
            elif kind == _ATTACHMENT:
                self._attachments[_node_of(gone)].pop(key, None)
            elif kind == RESOURCE_CLAIM:
                self.claim_changes.note(key)
            elif kind == _SERVICE:
                self._services.drop(key)

    def get(self, kind: str, key: str) -> ApiObject | None:
        """The object of that kind and key, or None."""
        objects = self._objects.get(kind)
        return None if objects is None else objects.get(key)

    def all(self, kind: str) -> Iterator[ApiObject]:
        """Every object of that kind."""
        return iter(self._objects.get(kind, {}).values())

    def live(self, kind: str) -> Mapping[str, ApiObject]:
        """The objects of that kind by key, now and in future. Not to be changed."""
        return self._objects.setdefault(kind, {})

    def has(self, kind: str) -> bool:
        """Whether there is any object of that kind."""
        return bool(self._objects.get(kind))

    def in_namespace(self, kind: str, namespace: str) -> Iterator[ApiObject]:
        """Every object of that kind in that namespace."""
        return (obj for obj in self.all(kind) if obj.namespace == namespace)

    def services_selecting(self, namespace: str, labels: Mapping[str, str]) -> Iterator[ApiObject]:
        """The services of *namespace* that may select pods with *labels*, and maybe others."""
        services = self.live(_SERVICE)
        return (services[key] for key in self._services.of(with_labels(namespace, labels)))

    def claim(self, key: str) -> PersistentVolumeClaim | None:
        """The claim of that key, or None."""
        obj = self.get("PersistentVolumeClaim", key)
        return obj if isinstance(obj, PersistentVolumeClaim) else None

    def volume(self, name: str) -> PersistentVolume | None:
        """The volume of that name, or None."""
        obj = self.get("PersistentVolume", name)
        return obj if isinstance(obj, PersistentVolume) else None

    def storage_class(self, name: str) -> StorageClass | None:
        """The storage class of that name, or None."""
        obj = self.get("StorageClass", name)
        return obj if isinstance(obj, StorageClass) else None

    def attachments_at(self, node: str) -> Iterator[ApiObject]:
        """Every VolumeAttachment of a node."""
        return iter(self._attachments.get(node, {}).values())

    def attachment_count(self, node: str) -> int:
        """How many VolumeAttachments a node has."""
        return len(self._attachments.get(node, ()))

    def namespace_labels(self, name: str) -> Mapping[str, str]:
        """The labels of a namespace; none when it is unknown."""
        obj = self.get("Namespace", name)
        return _NO_LABELS if obj is None else obj.labels


def _groups_selected(service: ApiObject) -> list[tuple[Group, ...]]:
    """The choices of groups in which all pods are that the service selects."""
    selector: dict[str, str | None] = service.spec.get("selector") or {}
    # A label that is null matches pods without it, too.
    pairs = [
        ((service.namespace, key, value),) for key, value in selector.items() if value is not None
    ]
    return pairs or [((service.namespace,),)]


def _node_of(attachment: ApiObject) -> str:
    return str(attachment.spec.get("nodeName") or "")
