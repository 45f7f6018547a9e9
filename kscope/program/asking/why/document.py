"""The document `Why`: today's keys, but `fixes` is `changes`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kscope.program.asking.why.text import headline
from kscope.program.speech.formats import document

if TYPE_CHECKING:
    from kscope.program.asking.why.answer import Explained


def why_document(explained: Explained) -> dict[str, Any]:
    """Unknown is null, none is []; no field is left out."""
    parts = explained.answer.to_dict()
    changes = parts.pop("fixes")
    if explained.blind is not None:
        parts |= {"causes": [], "groups": [], "predicted": "", "contradicts": False}
        changes = []
    instant = parts.pop("instant")
    return document(
        "Why",
        complete=explained.sight.is_whole,
        unseen=explained.sight.unseen_documents(),
        headline=headline(explained),
        is_stuck=explained.is_stuck,
        instant=instant or None,
        **{**parts, "predicted": explained.message or parts["predicted"] or None},
        changes=[
            {
                **each,
                "outcome": explained.outcomes[place].node or None
                if place in explained.outcomes
                else None,
            }
            for place, each in enumerate(changes)
        ],
    )
