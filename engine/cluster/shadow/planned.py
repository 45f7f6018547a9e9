"""One write, what it says, and in what fields two of them differ.

Times, versions, uids and parts of names that are drawn or computed from a hash are not compared,
and defaults count as said.
"""

from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal, cast

from engine.api_server.admission.defaults import with_defaults
from engine.api_server.store.watches import WatchEvent
from engine.controllers.shared.controller import only_status_changed
from engine.objects.objects import ApiObject

Verb = Literal["create", "update", "delete"]

# Labels whose values each implementation computes in its own way, and kinds that are named by them.
_HASHES: Final = ("pod-template-hash", "controller-revision-hash")
_NAMED_BY_HASH: Final = ("ReplicaSet", "ControllerRevision")
_WRITTEN_BY_SERVER: Final = (
    *("metadata.resourceVersion", "metadata.uid", "metadata.generation", "metadata.selfLink"),
    *("metadata.creationTimestamp", "metadata.managedFields"),
)
# Upstream: batch/v1, JobCompletionIndexAnnotation.
_INDEX: Final = "batch.kubernetes.io/job-completion-index"
# What tells the entries of a list apart.
_ENTRY_KEYS: Final = ("type", "name", "mountPath", "key")
# Who may not see these parts of an object would not see them in a verdict either. Annotations may
# hold copies of whole manifests.
_NOT_TOLD: Final = frozenset(
    ("data", "binaryData", "parameters", "env", "args", "command", "annotations")
    + ("volumeAttributes", "flexVolume", "attachmentMetadata", "restuserkey")
)


@dataclass(frozen=True)
class Write:
    """What was written, or would have been: *old* became *new*; None for what was not there.

    What follows from the two is computed once: a plan's writes are compared with many.
    """

    old: ApiObject | None
    new: ApiObject | None

    @classmethod
    def of(cls, event: WatchEvent) -> "Write":
        """A write of a trial. A deletion that something holds back is one, too."""
        old, new = event.old, event.new
        is_deleted = old is not None and not old.deletion_timestamp
        if is_deleted and (event.type == "DELETED" or new.deletion_timestamp):
            return cls(old, None)
        return cls(old, new)

    @property
    def verb(self) -> Verb:
        """What happens to the object."""
        if self.old is None:
            return "create"
        return "delete" if self.new is None else "update"

    @property
    def object(self) -> ApiObject:
        """The object, before or after."""
        found = self.new or self.old
        assert found is not None
        return found

    @cached_property
    def has_free_name(self) -> bool:
        """Whether the name is drawn, or computed from a hash."""
        made = self.object
        return self.verb == "create" and bool(
            made.metadata.get("generateName") or made.kind in _NAMED_BY_HASH
        )

    @property
    def says_nothing(self) -> bool:
        """Whether nothing that counts is changed."""
        return self.verb == "update" and self.before == self.after

    @cached_property
    def before(self) -> Mapping[str, Any]:
        """The fields that count of the object before, by their paths."""
        return _fields(self.old)

    @cached_property
    def after(self) -> Mapping[str, Any]:
        """The fields that count of the object afterwards, by their paths."""
        return _fields(self.new)

    @cached_property
    def by_name(self) -> tuple[Hashable, ...]:
        """The same in two writes that may be one."""
        return (*self._sort, self.object.key)

    @cached_property
    def by_namespace(self) -> tuple[Hashable, ...]:
        """The same in two writes that may be one, where both names are free."""
        return (*self._sort, self.object.namespace)

    @property
    def _sort(self) -> tuple[Hashable, ...]:
        old, new = self.old, self.new
        is_of_status = old is not None and new is not None and only_status_changed(old, new)
        return self.verb, self.object.kind, is_of_status

    @cached_property
    def discriminators(self) -> frozenset[tuple[str, Any]]:
        """Some of the fields of a new pod, those in which pods of one owner differ.

        They are read without the rest. Nothing fills them in by default.
        """
        made = self.object
        if self.verb != "create" or made.kind != "Pod":
            return frozenset()
        read = {name: made.spec.get(name) for name in ("nodeName", "hostname", "affinity")}
        index = made.annotations.get(_INDEX)
        return frozenset([*_flat(read, "spec"), *_flat(index, _INDEX)])

    def said(self) -> str:
        """ "update deployment/default/web"."""
        return f"{self.verb} {self.object.id}"


@dataclass(frozen=True, slots=True)
class Difference:
    """A field in which two writes differ, with what is *written* and what is *expected* there.

    None stands for a field that is not there. Values that may be secret are not told.
    """

    field: str
    written: Any
    expected: Any

    def as_json(self) -> dict[str, Any]:
        """For the record."""
        parts = (part.partition("[")[0] for part in self.field.split("."))
        if not _NOT_TOLD.isdisjoint(parts):
            return {"field": self.field}
        return {"field": self.field, "written": self.written, "expected": self.expected}


def differences(write: Write, planned: Write, expected: Mapping[str, Any]) -> list[Difference]:
    """In what *write* differs from *planned*, as far as one of them changes it.

    *expected* are the fields of *planned* with the names that objects have been given since.
    """
    if write.verb == "delete":
        return []
    after, before, expected_before = write.after, write.before, planned.before
    unlike = {name for name, _ in after.items() ^ expected.items()}
    if write.has_free_name:
        unlike.discard("metadata.name")
    if not unlike:
        return []
    changed = [
        *(name for name in {**after, **before} if after.get(name) != before.get(name)),
        *(
            name
            for name in {**expected, **expected_before}
            if expected.get(name) != expected_before.get(name)
        ),
    ]
    return [
        Difference(name, after.get(name), expected.get(name))
        for name in dict.fromkeys(changed)
        if name in unlike
    ]


def _fields(obj: ApiObject | None) -> dict[str, Any]:
    if obj is None:
        return {}
    found = dict(_flat(with_defaults(obj.raw), ""))
    return {name: value for name, value in found.items() if name not in _WRITTEN_BY_SERVER}


def _flat(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """The leaves of a manifest by their paths; an empty one is as none."""
    if isinstance(value, dict):
        for name, part in cast("dict[str, Any]", value).items():
            yield from _flat(_leaf(name, part), f"{path}.{name}" if path else name)
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        key = _entry_key(items)
        for place, part in enumerate(items):
            yield from _flat(part, f"{path}[{part[key] if key else place}]")
    elif value:
        yield path, value


def _leaf(name: str, value: Any) -> Any:
    if name in _HASHES and isinstance(value, str):
        return "<hash>"
    if isinstance(value, str) and name.endswith(("Time", "Timestamp")):
        return "<time>"
    return None if name == "resourceVersion" else value


def _entry_key(items: list[Any]) -> str:
    """The field that tells the entries apart; "" where none does."""
    if not items or not all(isinstance(each, dict) for each in items):
        return ""
    entries = cast("list[dict[str, Any]]", items)
    for key in _ENTRY_KEYS:
        values = [each.get(key) for each in entries]
        if all(isinstance(each, str) for each in values) and len(set(values)) == len(values):
            return key
    return ""
