"""Asking the rules of volumes about a moment of a run."""

from typing import Any, TypeVar

from django.utils.translation import gettext

from engine.objects.objects import (
    ApiObject,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    StorageClass,
    from_manifest,
)
from engine.objects.phases import claim_class
from engine.storage.matching.candidates import candidates_for, claimants_dict, claimants_of
from engine.storage.matching.index import VolumeIndex
from kscope.runs.aside.kept import answered_whole
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Run, RunEvent
from kscope.runs.selectors import check_seq
from kscope.runs.web.past import ObjectLog, log_replayed

Obj = TypeVar("Obj", bound=ApiObject)


def claim_candidates_by_id(run_id: int, claim: str, seq: int | None, node: str) -> dict[str, Any]:
    """See claim_candidates. An answer that is kept is given again."""
    run, question = Run.described().get(pk=run_id), ("candidates", claim, node)
    return answered_whole(
        run, seq, question, lambda: claim_candidates(run, claim, seq=seq, node=node)
    )


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
        raise ApplicationError(
            gettext("There is no claim {claim} at event {seq}.").format(claim=claim, seq=seq),
            status=404,
        )
    on = _object_at(log, f"node/{node}", seq, Node) if node else None
    if node and on is None:
        raise ApplicationError(
            gettext("There is no node {node} at event {seq}.").format(node=node, seq=seq),
            status=404,
        )
    of = _object_at(log, f"class/{claim_class(found)}", seq, StorageClass)
    volumes = VolumeIndex(_objects_at(log, "volume/", seq, PersistentVolume))
    candidates = candidates_for(found, volumes, of, on).to_dict()
    return {"run": run.pk, "seq": seq, "at": _time_of(run, seq), **candidates}


def volume_claimants_by_id(run_id: int, volume: str, seq: int | None) -> dict[str, Any]:
    """See volume_claimants. An answer that is kept is given again."""
    run, question = Run.described().get(pk=run_id), ("claimants", volume)
    return answered_whole(run, seq, question, lambda: volume_claimants(run, volume, seq=seq))


def volume_claimants(run: Run, volume: str, *, seq: int | None) -> dict[str, Any]:
    """What matching says of a volume for every claim that has none after event *seq* (None: now).

    As claim_candidates, seen from the volume.
    """
    seq = run.head_seq if seq is None else seq
    check_seq(run, seq)
    log = log_replayed(run.pk, seq)
    found = _object_at(log, f"volume/{volume}", seq, PersistentVolume)
    if found is None:
        raise ApplicationError(
            gettext("There is no volume {volume} at event {seq}.").format(volume=volume, seq=seq),
            status=404,
        )
    volumes = VolumeIndex(_objects_at(log, "volume/", seq, PersistentVolume))
    claims = _objects_at(log, "claim/", seq, PersistentVolumeClaim)
    classes = {each.name: each for each in _objects_at(log, "class/", seq, StorageClass)}
    claimants = claimants_dict(claimants_of(found, claims, volumes, classes))
    return {"run": run.pk, "seq": seq, "at": _time_of(run, seq), "volume": volume, **claimants}


def _time_of(run: Run, seq: int) -> int:
    events = RunEvent.objects.filter(run_id=run.pk, seq=seq)
    return events.values_list("at", flat=True).first() or 0


def _objects_at(log: ObjectLog, prefix: str, seq: int, kind: type[Obj]) -> list[Obj]:
    found = (from_manifest(manifest) for manifest in log.all_at(prefix, seq))
    return [each for each in found if isinstance(each, kind)]


def _object_at(log: ObjectLog, entity: str, seq: int, kind: type[Obj]) -> Obj | None:
    manifest = log.at(entity, seq)
    if manifest is None:
        return None
    found = from_manifest(manifest)
    assert isinstance(found, kind), entity
    return found
