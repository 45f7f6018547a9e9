"""Asking the rules of volumes about a moment of a run."""

from typing import Any, TypeVar

from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, RunEvent
from kscope.runs.past import ObjectLog, check_seq, log_replayed
from kscope.sim.objects import (
    ApiObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    from_manifest,
)
from volumes.engine.candidates import candidates_for
from volumes.engine.matching import VolumeIndex
from volumes.engine.phases import claim_class

Obj = TypeVar("Obj", bound=ApiObject)


def claim_candidates_by_id(run_id: int, claim: str, seq: int | None, node: str) -> dict[str, Any]:
    """See claim_candidates."""
    return claim_candidates(Run.objects.described().get(pk=run_id), claim, seq=seq, node=node)


def claim_candidates(run: Run, claim: str, *, seq: int | None, node: str = "") -> dict[str, Any]:
    """What matching says of every volume for the claim "namespace/name" after event *seq* (None: now).

    With the objects as the API server had them then; *node* is the one that the scheduler would ask
    for. Takes as long as a replay from the checkpoint before. Raises ApplicationError when the run has
    no such event, claim or node.
    """
    seq = run.head_seq if seq is None else seq
    check_seq(run, seq)
    log = log_replayed(run.pk, seq)
    found = _object_at(log, f"claim/{claim}", seq, PersistentVolumeClaim)
    if found is None:
        raise ApplicationError(f"There is no claim {claim} at event {seq}.", status=404)
    on = _object_at(log, f"node/{node}", seq, Node) if node else None
    if node and on is None:
        raise ApplicationError(f"There is no node {node} at event {seq}.", status=404)
    of = _object_at(log, f"class/{claim_class(found)}", seq, StorageClass)
    told = candidates_for(found, volumes_at(log, seq), of, on).to_dict()
    at = RunEvent.objects.filter(run_id=run.pk, seq=seq).values_list("at", flat=True).first()
    return {"run": run.pk, "seq": seq, "at": at or 0, **told}


def volumes_at(log: ObjectLog, seq: int) -> VolumeIndex:
    """All volumes after event *seq*."""
    index = VolumeIndex()
    for manifest in log.all_at("volume/", seq):
        volume = from_manifest(manifest)
        assert isinstance(volume, PersistentVolume)
        index.put(volume)
    return index


def _object_at(log: ObjectLog, entity: str, seq: int, kind: type[Obj]) -> Obj | None:
    manifest = log.at(entity, seq)
    if manifest is None:
        return None
    found = from_manifest(manifest)
    assert isinstance(found, kind), entity
    return found
