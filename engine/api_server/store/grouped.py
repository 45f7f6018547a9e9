"""The objects of a kind by what they are looked for by, found without a look at all of them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from engine.kernel.groups import Group, Groups
from engine.objects.manifest_parts import section
from engine.objects.objects import ApiObject
from engine.objects.selectors import with_labels

# Whose pods have the labels of a template.
WORKLOADS: Final = (
    "Deployment",
    "StatefulSet",
    "DaemonSet",
    "ReplicaSet",
    "ReplicationController",
)
_DEFAULT: Final[Group] = ("global default", "", "", "")


class GroupedObjects:
    """Finds objects of one kind, in the order of their creation."""

    def __init__(self, objects: Mapping[str, ApiObject]) -> None:
        """*objects* are all that there are by key, now and in future, in that order."""
        self._objects = objects
        self._groups: Groups[str] = Groups()
        for obj in objects.values():
            self.put(obj)

    def put(self, obj: ApiObject) -> None:
        """The object was stored."""
        self._groups.put(obj.key, _groups_of(obj))

    def drop(self, key: str) -> None:
        """The object is gone."""
        self._groups.drop(key)

    def at(self, node: str) -> list[ApiObject]:
        """The VolumeAttachments of *node*."""
        return self._found([_node(node)])

    def in_namespace(self, namespace: str) -> list[ApiObject]:
        """Those in *namespace*."""
        return self._found([(namespace,)])

    def labelled(self, namespace: str, labels: Mapping[str, str]) -> list[ApiObject]:
        """Those in *namespace* with *labels*, or with a template that has them; maybe others."""
        return self._found(self._groups.fewest(_having(namespace, labels)))

    def defaults(self) -> list[ApiObject]:
        """The PriorityClasses that are the global default."""
        return self._found([_DEFAULT])

    def _found(self, groups: Iterable[Group]) -> list[ApiObject]:
        return [self._objects[key] for key in self._groups.of(groups)]


def _groups_of(obj: ApiObject) -> Iterator[Group]:
    yield from with_labels(obj.namespace, obj.labels)
    if obj.kind in WORKLOADS:
        template = section(obj.spec, "template")
        yield from with_labels(obj.namespace, section(template, "metadata", "labels"))
    elif obj.kind == "VolumeAttachment":
        yield _node(obj.spec.get("nodeName") or "")
    elif obj.kind == "PriorityClass" and obj.raw.get("globalDefault"):
        yield _DEFAULT


def _having(namespace: str, labels: Mapping[str, str]) -> Iterator[tuple[Group, ...]]:
    yield ((namespace,),)
    for key, value in labels.items():
        yield ((namespace, key, value),)


def _node(name: str) -> Group:
    return "node of spec", name, "", ""
