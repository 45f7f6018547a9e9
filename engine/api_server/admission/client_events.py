"""Kubernetes Events that clients write: those of a scheduler or a controller beside the simulation.

Each write is an event of the history, with the Event as it is from then on. So an Event has its name,
can be changed and deleted, and is in the past and in forks, without being an object of the store.
"""

import json
from typing import Any, Final

from engine.kernel.errors import Invalid
from engine.kernel.recorder import Recorder
from engine.objects.manifest_parts import section
from engine.objects.objects import Manifest

TYPES: Final = ("Normal", "Warning")
DELETED: Final = "EventDeleted"
_PARTS: Final = ("reason", "message", "type", "component")
# Characters. Upstream: pkg/apis/core/validation/events.go, NoteLengthLimit.
_LONGEST: Final = 1_024
_LONGEST_EVENT: Final = 16_384


def check_note(note: Manifest, event: Manifest | None) -> None:
    """Raises Invalid when *note* is no Event: its reason, message, type and component are texts.

    *event* is the Event itself, of core/v1, where it is kept under its name. One that is "gone" is
    deleted.
    """
    for name in _PARTS:
        part: Any = note.get(name)
        if not isinstance(part, str) or len(part) > _LONGEST:
            raise Invalid(f"{name}: expected a text of at most {_LONGEST} characters")
    if not note["reason"] or not note["component"]:
        raise Invalid("an Event needs a reason and a component")
    if note["type"] not in TYPES:
        raise Invalid(f"type is {note['type']!r}; it must be {' or '.join(TYPES)}")
    if event is not None:
        _check_event(event)


def _check_event(event: Manifest) -> None:
    metadata = section(event, "metadata")
    names = metadata.get("namespace"), metadata.get("name")
    if not all(isinstance(one, str) and one for one in names):
        raise Invalid("an Event needs metadata.namespace and metadata.name")
    if len(json.dumps(event)) > _LONGEST_EVENT:
        raise Invalid(f"an Event has at most {_LONGEST_EVENT:,} characters here")


def record_note(recorder: Recorder, entity: str, note: Manifest, event: Manifest | None) -> None:
    """Record the Event about the object of that id, which need not exist.

    With *event*, it is kept so, or, if it is "gone", not any more.
    """
    kept = {} if event is None else {"kept": event}
    if note.get("gone"):
        recorder.record(DELETED, entity, note["component"], "", {**kept, "gone": True})
        return
    data = {"event": True, "type": note["type"], **kept}
    recorder.record(note["reason"], entity, note["component"], note["message"], data)
