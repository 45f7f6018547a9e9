"""Pods that are made alike, among those that a cluster starts with.

Pods of a workload come one behind the other, and share the parts that are the same in all of them
(kscope/runs/contents.py). So what was found for one of them holds for the next, which costs a
comparison of its parts by identity.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from engine.objects.objects import ApiObject, Manifest, Pod, from_manifest, have_same_fields

_MISSING: Final = object()


class AlikePods:
    """Reads and admits initial pods; of each it remembers the one before."""

    def __init__(self) -> None:
        self._read: Manifest | None = None
        self._spec: Mapping[str, Any] = {}
        # What admission has changed in that spec; None where nothing is known.
        self._changes: Manifest | None = None

    def read(self, raw: Manifest, read: Callable[[Manifest], ApiObject]) -> ApiObject:
        """What *read* makes of a manifest, which leaves out fields that are unknown."""
        if raw.get("kind") != Pod.KIND:
            return read(raw)
        if self._read is not None and _differ_in_texts(raw, self._read):
            return from_manifest(raw)
        found = read(raw)
        self._read = raw if found.raw is raw else None
        return found

    def admitted(self, obj: ApiObject, admit: Callable[[ApiObject], ApiObject]) -> ApiObject:
        """What *admit* makes of an object.

        A pod that was admitted before gets what follows from its spec alone, without the node.
        """
        # One with a phase: see `was_admitted`.
        if not (isinstance(obj, Pod) and obj.status.get("phase")):
            return admit(obj)
        spec = obj.spec
        if self._changes is not None and have_same_fields(spec, self._spec):
            return obj.with_spec({**spec, **self._changes}) if self._changes else obj
        found = admit(obj)
        changes = {name: part for name, part in found.spec.items() if part is not spec.get(name)}
        self._spec, self._changes = spec, changes
        return found


def _differ_in_texts(one: Manifest, other: Manifest) -> bool:
    """Whether two manifests of one kind have the same fields, of which texts alone may differ."""
    if len(one) != len(other):
        return False
    for name, part in one.items():
        known = other.get(name, _MISSING)
        if part is known or (part.__class__ is str and part == known):
            continue
        if part.__class__ is not dict or known.__class__ is not dict:
            return False
        fields, others = cast("Manifest", part), cast("Manifest", known)
        if len(fields) != len(others):
            return False
        for field, value in fields.items():
            before = others.get(field, _MISSING)
            if value is not before and not (value.__class__ is str and before.__class__ is str):
                return False
    return True
