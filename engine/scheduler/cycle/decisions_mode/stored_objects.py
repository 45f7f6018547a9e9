"""The objects of a decisions file as the API server would have stored them."""

from __future__ import annotations

from collections.abc import Iterable

from engine.api_server.admission.admission import Admission
from engine.api_server.store.store import ObjectStore
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.units import SECOND, timestamp
from engine.objects.objects import (
    ApiObject,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    Templates,
)
from engine.versions.registry import DEFAULT

# The kinds that admission reads; the others are not put into a store.
_CLASSES = ("PriorityClass", "RuntimeClass", "StorageClass", "Namespace", "LimitRange")


def admitted(objects: Iterable[ApiObject]) -> list[ApiObject]:
    """*objects* as the API server would have stored them.

    Missing creation times count up by one second; a running pod without a start time started when
    it was created. Raises Invalid for what admission refuses.
    """
    everything = [_created(obj, place) for place, obj in enumerate(objects)]
    loop = EventLoop()
    store = ObjectStore(loop, Recorder(loop))
    for obj in everything:
        if obj.kind in _CLASSES:
            store.create(obj, by="decisions")
    admission, templates = Admission(store, rules=DEFAULT.admission), Templates()
    stored = [_admit(admission, obj) for obj in everything]
    for obj in stored:
        if isinstance(obj, Pod):
            obj.template = templates.shared(obj)
    return stored


def _created(obj: ApiObject, place: int) -> ApiObject:
    missing: dict[str, str] = {}
    if not obj.creation_timestamp:
        missing["creationTimestamp"] = timestamp(place * SECOND)
    if isinstance(obj, (Pod, PersistentVolumeClaim)) and not obj.uid:
        # Nominated pods and provisioned volumes need a uid. A namespace contains no dot.
        missing["uid"] = obj.key.replace("/", ".")
    return obj.with_metadata(**missing) if missing else obj


def _admit(admission: Admission, obj: ApiObject) -> ApiObject:
    if isinstance(obj, Pod) and obj.node_name and not obj.status.get("startTime"):
        obj = obj.patched({"status": {"startTime": obj.creation_timestamp}})
    return admission.admit(obj)


def settled(obj: ApiObject) -> ApiObject:
    """*obj*; a volume without a phase gets the one that the PV controller gives it."""
    if isinstance(obj, PersistentVolume) and not obj.status.get("phase"):
        return obj.patched({"status": {"phase": "Bound" if obj.claim_ref else "Available"}})
    return obj
