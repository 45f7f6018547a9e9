"""Kubernetes Events that clients write: those of a scheduler or a controller beside the simulation."""

from typing import Any, Final

from engine.kernel.errors import Invalid
from engine.kernel.recorder import Recorder
from engine.objects.objects import Manifest

TYPES: Final = ("Normal", "Warning")
_PARTS: Final = ("reason", "message", "type", "component")
_LONGEST: Final = 1_024


def check_note(note: Manifest) -> None:
    """Raises Invalid when *note* is no Event: its reason, message, type and component are texts."""
    for name in _PARTS:
        part: Any = note.get(name)
        if not isinstance(part, str) or len(part) > _LONGEST:
            raise Invalid(f"{name}: expected a text of at most {_LONGEST} characters")
    if not note["reason"] or not note["component"]:
        raise Invalid("an Event needs a reason and a component")
    if note["type"] not in TYPES:
        raise Invalid(f"type is {note['type']!r}; it must be {' or '.join(TYPES)}")


def record_note(recorder: Recorder, entity: str, note: Manifest) -> None:
    """Record the Event about the object of that id, which need not exist."""
    data = {"event": True, "type": note["type"]}
    recorder.record(note["reason"], entity, note["component"], note["message"], data)
