"""Indexes of the objects that controllers look for: by namespace, owner, labels and selector.

What they find may be more than is asked for: the caller asks each object itself.
"""

from collections.abc import Iterable, Iterator, Mapping

from engine.api_server.store.grouped import WORKLOADS
from engine.api_server.store.informer import Informer
from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import WatchEvent
from engine.controllers.shared.owners import controller_of
from engine.controllers.shared.selection import selector_of
from engine.kernel.groups import Group, Groups
from engine.objects.objects import ApiObject, Manifest
from engine.objects.selectors import LabelSelector, SelectorError, selecting, with_labels

# Those that adopt pods, and those that count them.
_KINDS_WITH_SELECTOR = frozenset((*WORKLOADS, "Job", "PodDisruptionBudget"))


class IndexedInformer(Informer[ApiObject]):
    """An informer of the controllers' own kinds. What is found is in the informer's order."""

    __slots__ = ("_groups", "_has_selector")

    def __init__(self, store: ObjectStore, kind: str, latency: int = 0) -> None:
        super().__init__(store, kind, latency)
        self._groups: Groups[str] = Groups()
        self._has_selector = kind in _KINDS_WITH_SELECTOR
        self.on_event(self._index)

    def in_namespace(self, namespace: str) -> list[ApiObject]:
        """The objects of *namespace*."""
        return self._found([(namespace,)])

    def controlled_by(self, owner: ApiObject) -> list[ApiObject]:
        """Those whose controller has the uid or the name of *owner*."""
        return self._found(_owned(owner.namespace, owner.uid, owner.name))

    def with_controller(self, namespace: str, ref: Manifest) -> list[ApiObject]:
        """Those whose controller has the uid or the name that *ref* has."""
        return self._found(_owned(namespace, ref.get("uid"), ref.get("name")))

    def claimable(self, owner: ApiObject, selector: LabelSelector) -> list[ApiObject]:
        """The same, and those without a controller that *selector*, the owner's, may match."""
        orphans = self._groups.fewest(selecting(_orphans(owner.namespace), selector))
        return self._found([*_owned(owner.namespace, owner.uid, owner.name), *orphans])

    def selecting(self, namespace: str, *labels: Mapping[str, str]) -> list[ApiObject]:
        """The objects of *namespace* whose selector may match any of *labels*."""
        scope = _selectors(namespace)
        return self._found([group for each in labels for group in with_labels(scope, each)])

    def _found(self, groups: Iterable[Group]) -> list[ApiObject]:
        found = [self.get(key) for key in self._groups.of(groups)]
        return [each for each in found if each is not None]

    def _index(self, event: WatchEvent) -> None:
        new, old = event.new, event.old
        if event.type == "DELETED":
            self._groups.drop(new.key)
        elif old is None or new.key not in self._groups or not _is_grouped_alike(old, new):
            self._groups.put(new.key, self._groups_of(new))

    def _groups_of(self, obj: ApiObject) -> Iterator[Group]:
        yield (obj.namespace,)
        ref = controller_of(obj)
        if ref is None:
            yield from with_labels(_orphans(obj.namespace), obj.labels)
        else:
            yield from _owned(obj.namespace, ref.get("uid"), ref.get("name"))
        if self._has_selector:
            scope = _selectors(obj.namespace)
            try:
                yield from self._groups.fewest(selecting(scope, selector_of(obj)))
            except SelectorError:
                # It is found, and asked: whoever asks it says what is wrong.
                yield (scope,)


def _is_grouped_alike(old: ApiObject, new: ApiObject) -> bool:
    return (
        (old.spec is new.spec or old.spec == new.spec)
        and old.labels == new.labels
        and old.uid == new.uid
        and old.controller == new.controller
    )


def _owned(namespace: str, uid: str | None, name: str | None) -> list[Group]:
    return [("owner", namespace, "uid", uid or ""), ("owner", namespace, "name", name or "")]


def _orphans(namespace: str) -> str:
    return f"orphans of {namespace}"


def _selectors(namespace: str) -> str:
    return f"selectors of {namespace}"


Labels = tuple[tuple[str, str], ...]


class PodsByLabels:
    """Pods by namespace and labels, in the order in which they came.

    Pods made from one template share their labels, and a selector is asked once for all of them.
    """

    __slots__ = ("_alike", "_count", "_kinds", "_places")

    def __init__(self) -> None:
        # The pods of a namespace with the same labels, each with its position.
        self._alike: dict[tuple[str, Labels], dict[str, int]] = {}
        self._kinds: Groups[tuple[str, Labels]] = Groups()
        # Where a pod is: its namespace and labels.
        self._places: dict[str, tuple[str, Labels]] = {}
        self._count = 0

    def put(self, pod: ApiObject) -> None:
        """Add the pod, or update its labels; its position among the pods stays."""
        place = pod.namespace, tuple(sorted(pod.labels.items()))
        if self._places.get(pod.key) == place:
            return
        turn = self.drop(pod.key)
        if turn is None:
            turn = self._count = self._count + 1
        self._places[pod.key] = place
        if place not in self._alike:
            self._alike[place] = {}
            self._kinds.put(place, with_labels(pod.namespace, pod.labels))
        self._alike[place][pod.key] = turn

    def drop(self, key: str) -> int | None:
        """Remove the pod; returns its position, or None if it is not here."""
        place = self._places.pop(key, None)
        if place is None:
            return None
        alike = self._alike[place]
        turn = alike.pop(key)
        if not alike:
            del self._alike[place]
            self._kinds.drop(place)
        return turn

    def matching(self, namespace: str, selector: LabelSelector) -> list[str]:
        """The keys of those in *namespace* that *selector* selects."""
        found: dict[str, int] = {}
        groups = self._kinds.fewest(selecting(namespace, selector))
        for place in self._kinds.of(groups):
            if selector.matches(dict(place[1])):
                found |= self._alike[place]
        return sorted(found, key=found.__getitem__)
