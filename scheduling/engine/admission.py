"""Admission: what the API server fills in before an object is stored, where decisions depend on it.

Upstream: plugin/pkg/admission/priority, plugin/pkg/admission/storage/storageclass/setdefault,
plugin/pkg/admission/runtimeclass,
plugin/pkg/admission/storage/storageobjectinuseprotection, pkg/apis/core/v1/defaults.go.
"""

from typing import Any

from kscope.sim.errors import Invalid
from kscope.sim.objects import ApiObject, Manifest, PersistentVolumeClaim, Pod, StorageClass
from kscope.sim.store import ObjectStore
from volumes.engine.phases import protected

# The two classes that every cluster has. Upstream: pkg/apis/scheduling/types.go.
SYSTEM_PRIORITIES = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}


class Admission:
    """Admits objects to a store, reading classes from that same store."""

    __slots__ = ("_store",)

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    def admit(self, obj: ApiObject) -> ApiObject:
        """*obj* as it would be stored. Raises Invalid when the API server would refuse it."""
        if isinstance(obj, Pod):
            return self._admit_pod(obj)
        if isinstance(obj, PersistentVolumeClaim):
            return protected(self._admit_claim(obj))
        return protected(obj)

    def _admit_pod(self, pod: Pod) -> ApiObject:
        patch: dict[str, Any] = {}
        if pod.spec.get("priority") is None:
            patch.update(self._priority(pod))
        runtime_class = pod.spec.get("runtimeClassName")
        if runtime_class and "overhead" not in pod.spec:
            patch.update(self._overhead(runtime_class))
        if patch:
            pod = pod.patched({"spec": patch})
        if "phase" not in pod.status:
            pod = pod.patched({"status": {"phase": "Pending"}})
        return pod

    def _priority(self, pod: Pod) -> Manifest:
        name = pod.spec.get("priorityClassName") or ""
        if not name:
            default = self._default_priority_class()
            if default is None:
                return {"priority": 0}
            return {"priority": default.raw["value"], "priorityClassName": default.name}
        if name in SYSTEM_PRIORITIES:
            return {"priority": SYSTEM_PRIORITIES[name]}
        found = self._store.find("PriorityClass", name)
        if found is None:
            raise Invalid(f"no PriorityClass with name {name} was found")
        given = {"priority": found.raw["value"]}
        if found.raw.get("preemptionPolicy") and "preemptionPolicy" not in pod.spec:
            given["preemptionPolicy"] = found.raw["preemptionPolicy"]
        return given

    def _default_priority_class(self) -> ApiObject | None:
        """The global default; the lowest of several, as upstream."""
        defaults = [c for c in self._store.objects("PriorityClass") if c.raw.get("globalDefault")]
        return min(defaults, key=_priority_value, default=None)

    def _overhead(self, name: str) -> Manifest:
        found = self._store.find("RuntimeClass", name)
        if found is None:
            raise Invalid(f'pod rejected: RuntimeClass "{name}" not found')
        fixed = (found.raw.get("overhead") or {}).get("podFixed")
        return {"overhead": fixed} if fixed else {}

    def _admit_claim(self, claim: PersistentVolumeClaim) -> ApiObject:
        if claim.storage_class_name is None and not claim.volume_name:
            defaults = [
                c
                for c in self._store.objects("StorageClass")
                if isinstance(c, StorageClass) and c.is_default
            ]
            if defaults:
                # The newest wins, and of equally new ones the first by name.
                newest = max(c.creation_timestamp for c in defaults)
                chosen = min(c.name for c in defaults if c.creation_timestamp == newest)
                claim = claim.patched({"spec": {"storageClassName": chosen}})
        return claim if "phase" in claim.status else claim.patched({"status": {"phase": "Pending"}})


def _priority_value(priority_class: ApiObject) -> int:
    return priority_class.raw["value"]
