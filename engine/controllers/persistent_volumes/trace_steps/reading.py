"""What a sync read on its way to the end of a branch, by the line of the tree.

Made from the very objects that the sync has before it. An absent value is "".
"""

from collections.abc import Iterable, Mapping

from engine.controllers.persistent_volumes.trace_steps.branches import way_to
from engine.controllers.persistent_volumes.trace_steps.syncs import BranchTaken
from engine.objects.objects import PersistentVolume, PersistentVolumeClaim
from engine.objects.phases import (
    BIND_COMPLETED,
    BOUND_BY_CONTROLLER,
    MIGRATED_TO,
    SELECTED_NODE,
    claim_class,
    volume_mode,
)
from engine.storage.operations.backoff import Start


def claim_branch(
    leaf: str, claim: PersistentVolumeClaim, volume: PersistentVolume | None
) -> BranchTaken:
    """syncClaim ended at *leaf*; *volume* is the one that it found, or that the claim names."""
    found = volume.name if volume is not None else ""
    ref = _claim_ref(volume)
    read = {
        "bind_completed": claim.annotations.get(BIND_COMPLETED, ""),
        "bound_volume_name": claim.volume_name,
        "bound_volume": found,
        "bound_claim_ref": ref,
        "volume_name": claim.volume_name,
        "find_match": f"{found}, claimRef {ref or 'nil'}" if found else "",
        "none": _class_and_node(claim),
        "named": found,
        "named_claim_ref": ref,
        "named_invalid": claim.annotations.get(BOUND_BY_CONTROLLER, ""),
    }
    return _taken("syncClaim", leaf, read)


def volume_branch(
    leaf: str, volume: PersistentVolume, claim: PersistentVolumeClaim | None
) -> BranchTaken:
    """syncVolume ended at *leaf*; *claim* is the one that it found for the volume's claimRef."""
    read = {
        "claim_ref": _claim_ref(volume),
        "claimed": f"{claim.key}, uid {claim.uid}" if claim is not None else "",
        "claim_volume_name": claim.volume_name if claim is not None else "",
    }
    if claim is not None and leaf in ("mode_mismatch", "waits_for_claim"):
        read[leaf] = f"{volume_mode(claim)} of the claim, {volume_mode(volume)} of the volume"
    if leaf == "not_needed":
        read[leaf] = volume.reclaim_policy
    return _taken("syncVolume", leaf, read)


def provisioning_branch(
    leaf: str, claim: PersistentVolumeClaim, found: str, start: Start | None
) -> BranchTaken:
    """provisionClaim ended at *leaf*: it *found* a provisioner, or an error."""
    read = {"provision_claim": claim_class(claim), "find_plugin": found}
    if start is not None:
        read[leaf] = start.value
    return _taken("provisionClaim", leaf, read)


def reclaim_branch(leaf: str, volume: PersistentVolume, start: Start | None) -> BranchTaken:
    """reclaimVolume ended at *leaf*."""
    read = {"policy": volume.reclaim_policy}
    if leaf == "migrated":
        read[leaf] = volume.annotations[MIGRATED_TO]
    if start is not None:
        read[leaf] = start.value
    return _taken("reclaimVolume", leaf, read)


def _taken(function: str, leaf: str, read: Mapping[str, str]) -> BranchTaken:
    way: Iterable[str] = way_to(function, leaf)
    return BranchTaken(function, leaf, {line: read[line] for line in way if line in read})


def _claim_ref(volume: PersistentVolume | None) -> str:
    """As "namespace/name uid"; "" for nil."""
    if volume is None or volume.claim_ref is None:
        return ""
    uid: str = volume.claim_ref.get("uid") or ""
    return f"{volume.claim_key}, uid {uid}" if uid else f"{volume.claim_key}, no uid"


def _class_and_node(claim: PersistentVolumeClaim) -> str:
    node = claim.annotations.get(SELECTED_NODE)
    of_class = f"class {claim_class(claim) or 'none'}"
    return f"{of_class}, selected-node {node or 'absent'}"
