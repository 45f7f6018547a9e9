"""Checks the objects that a scenario begins with, before a run is made of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from engine.api_server.admission.admission import SYSTEM_PRIORITIES, Admission, was_admitted
from engine.api_server.admission.rules import AdmissionRules
from engine.api_server.admission.setup_fault import SetupFault
from engine.api_server.store.store import ObjectStore
from engine.kernel.errors import ApiError
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.objects.objects import Manifest, Pod, from_manifest

_CLASSES = ("PriorityClass", "RuntimeClass")
# The fields of a pod that name an object which has to exist.
_NAMED = ("priorityClassName", "runtimeClassName")


def refused_objects(objects: Sequence[Manifest]) -> list[SetupFault]:
    """The objects that admission would refuse because they name a missing class."""
    pods = [
        (place, raw)
        for place, raw in enumerate(objects)
        if raw["kind"] == "Pod" and any(_spec(raw).get(name) for name in _NAMED)
    ]
    if not pods:
        return []
    admission = _admission(objects)
    found: list[SetupFault] = []
    for place, raw in pods:
        try:
            admission.admit(from_manifest(raw))
        except ApiError as refusal:
            # The place names the object already.
            _, _, why = str(refusal).partition(" is forbidden: ")
            found.append(_fault(place, _spec(raw), why or str(refusal)))
    return found


def missing_classes(objects: Sequence[Manifest]) -> list[str]:
    """Warnings about pods that name a missing class and stay, because they were admitted before."""
    known = {(raw["kind"], raw["metadata"]["name"]) for raw in objects if raw["kind"] in _CLASSES}
    known.update(("PriorityClass", name) for name in SYSTEM_PRIORITIES)
    missing: Counter[tuple[str, str]] = Counter()
    for raw in objects:
        if raw["kind"] != "Pod" or not any(_spec(raw).get(name) for name in _NAMED):
            continue
        spec = _spec(raw)
        named = [("RuntimeClass", spec.get("runtimeClassName"))]
        if spec.get("priority") is None:
            named.append(("PriorityClass", spec.get("priorityClassName")))
        wanted = [(kind, name) for kind, name in named if name and (kind, name) not in known]
        if wanted and was_admitted(Pod(raw)):
            missing.update(wanted)
    return [
        f"{kind} {name} is not among the files; {count:,} {'pod' if count == 1 else 'pods'} that "
        "a cluster has admitted with it stay as they are"
        for (kind, name), count in sorted(missing.items())
    ]


def _admission(objects: Sequence[Manifest]) -> Admission:
    loop = EventLoop()
    store = ObjectStore(loop, Recorder(loop))
    for raw in objects:
        if raw["kind"] in _CLASSES:
            store.create(from_manifest(raw), by="scenario")
    # No class is refused by a rule of one version.
    return Admission(store, rules=AdmissionRules())


def _fault(place: int, spec: Mapping[str, Any], text: str) -> SetupFault:
    field = next((name for name in _NAMED if spec.get(name) and str(spec[name]) in text), "")
    path = f"spec.{field}" if field else "spec"
    return SetupFault(part="object", path=path, value=spec.get(field), message=text, place=place)


def _spec(raw: Manifest) -> Mapping[str, Any]:
    return raw.get("spec") or {}
