"""The answer about an object that is not there: how it went, if the run has deleted it."""

from typing import Final

from engine.cluster.cluster import Cluster
from engine.kernel.units import SECOND
from engine.objects.kinds import entity_id

ABSENT: Final = "absent"
DELETED: Final = "deleted"


def absence(cluster: Cluster, kind: str, key: str) -> tuple[str, str]:
    """The state of an object that is not there, and a sentence: who deleted it, when, as what."""
    found = cluster.store.record.deletion_of(entity_id(kind, key))
    if found is None:
        return ABSENT, f"There is no {'pod' if kind == 'Pod' else kind} {key}."
    asked = f", as {found.asked_by} had asked" if found.asked_by not in ("", found.by) else ""
    why = f" ({found.message})" if found.message else ""
    text = f"{kind} {key} was deleted at t={found.at / SECOND:g} s by {found.by}{asked}{why}"
    text = f"{text}, event {found.seq:,}."
    last = [f"its phase was {found.phase}"] if found.phase else []
    last += [f"its node was {found.node}"] if found.node else []
    return DELETED, f"{text} At the last {' and '.join(last)}." if last else text
