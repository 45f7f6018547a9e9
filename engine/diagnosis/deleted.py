"""The answer about an object that is not there: how it went, if the run has deleted it."""

from typing import Final

from engine.api_server.store.write_record import Deletion
from engine.cluster.cluster import Cluster
from engine.kernel.sentences import NOTHING, Sentence, grouped, say, together
from engine.kernel.units import SECOND
from engine.objects.kinds import entity_id
from engine.objects.objects import Pod

ABSENT: Final = "absent"
DELETED: Final = "deleted"


def absence(cluster: Cluster, kind: str, key: str) -> tuple[str, Sentence]:
    """The state of an object that is not there, and a sentence: who deleted it, when, as what."""
    found = cluster.store.record.deletion_of(entity_id(kind, key))
    if found is None:
        if kind == Pod.KIND:
            return ABSENT, say("There is no pod {pod}.", pod=key)
        return ABSENT, say("There is no {kind} {name}.", kind=kind, name=key)
    return DELETED, together(_deletion(kind, key, found), _last(found))


def _deletion(kind: str, key: str, found: Deletion) -> Sentence:
    """Who deleted it, when, whether another had asked for it, and why."""
    known = {"kind": kind, "name": key, "by": found.by, "seq": grouped(found.seq)}
    known["time"] = f"{found.at / SECOND:g} s"
    if found.asked_by in ("", found.by):
        if not found.message:
            return say("{kind} {name} was deleted at t={time} by {by}, event {seq}.", **known)
        return say(
            "{kind} {name} was deleted at t={time} by {by} ({why}), event {seq}.",
            **known,
            why=found.message,
        )
    if not found.message:
        return say(
            "{kind} {name} was deleted at t={time} by {by}, as {asked_by} had asked, event {seq}.",
            **known,
            asked_by=found.asked_by,
        )
    return say(
        "{kind} {name} was deleted at t={time} by {by}, as {asked_by} had asked ({why}), event "
        "{seq}.",
        **known,
        asked_by=found.asked_by,
        why=found.message,
    )


def _last(found: Deletion) -> Sentence:
    """What it was at the last."""
    if found.phase and found.node:
        return say(
            "At the last its phase was {phase} and its node was {node}.",
            phase=found.phase,
            node=found.node,
        )
    if found.phase:
        return say("At the last its phase was {phase}.", phase=found.phase)
    return say("At the last its node was {node}.", node=found.node) if found.node else NOTHING
