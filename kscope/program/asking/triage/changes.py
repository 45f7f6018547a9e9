"""Changes as the program shows them: their sign, their short form, their kind in documents."""

from __future__ import annotations

from typing import Final

from engine.diagnosis.triage.report import Change
from kscope.program.speech.words import first_small

ALL_OF, SOME_OF, NOT_TRIED = "✓", "◐", "·"
# The kinds of change in documents, by those of the engine.
_KINDS: Final = {"node": "buy", "ready": "repair", "uncordon": "repair", "requests": "request"}


def sign_of(change: Change) -> str:
    """✓ places all, ◐ some, · not tried."""
    if change.places is None:
        return NOT_TRIED
    return ALL_OF if change.is_whole else SOME_OF


def places_of(change: Change) -> str:
    """How many it places: "20 of 20"; "-" where that was not tried."""
    return "-" if change.places is None else f"{change.places} of {change.of}"


def words_of(change: Change) -> str:
    """The change to go on in a sentence."""
    return first_small(change.text.rstrip("."))


def told(change: Change) -> str:
    """The change with what came of it, and its note."""
    outcome = "" if change.places is None else f": places {places_of(change)}"
    note = f" {change.note}" if change.note else ""
    return f"{words_of(change)}{outcome}.{note}"


def document_kind(change: Change) -> str:
    """Buy, repair, request, policy, data or object."""
    if change.loses:
        return "data"
    if change.shared:
        return "policy"
    return _KINDS.get(change.kind, "object")


def more_nodes(change: Change) -> str:
    """The words of --nodes that carry a change out: "4xgeneral-a1"; "" for any other change."""
    if change.kind != "node":
        return ""
    made = [each["manifest"]["metadata"]["name"] for each in change.commands if "manifest" in each]
    models = {name.partition("-more-")[0] for name in made if "-more" in name}
    return f"{len(made)}x{models.pop()}" if len(models) == 1 else ""
