"""The migrated-to annotation and the deletion finalizers of claims and volumes.

Upstream: pv_controller.go, updateClaimMigrationAnnotations(), updateVolumeMigrationAnnotationsAndFinalizers()
and modifyDeletionFinalizers().
"""

from collections.abc import Mapping
from typing import Final

from engine.controllers.persistent_volumes.in_tree.plugin import is_in_tree
from engine.objects.objects import Manifest, PersistentVolume, PersistentVolumeClaim
from engine.objects.phases import (
    BETA_STORAGE_PROVISIONER,
    MIGRATED_TO,
    PROVISIONED_BY,
    RECLAIM_DELETE,
    RECLAIM_RECYCLE,
    RECLAIM_RETAIN,
    STORAGE_PROVISIONER,
)
from engine.storage.migration import Migration

IN_TREE_FINALIZER: Final = "kubernetes.io/pv-controller"
EXTERNAL_FINALIZER: Final = "external-provisioner.volume.kubernetes.io/finalizer"


def claim_migration_patch(claim: PersistentVolumeClaim, migration: Migration) -> Manifest | None:
    """The change to the claim's annotations that CSI migration requires, or None."""
    return migration_patch(
        claim.annotations, migration, STORAGE_PROVISIONER, BETA_STORAGE_PROVISIONER
    )


def volume_migration_patch(
    volume: PersistentVolume, migration: Migration, *, honors_reclaim_policy: bool
) -> Manifest:
    """The change to the volume's metadata that CSI migration and reclaim require; may be empty.

    *honors_reclaim_policy* is the rule of that name.
    """
    metadata: Manifest = {}
    if PROVISIONED_BY not in volume.annotations:
        return metadata
    annotations = migration_patch(volume.annotations, migration, PROVISIONED_BY)
    if annotations is not None:
        metadata["annotations"] = annotations
    if honors_reclaim_policy:
        finalizers = _deletion_finalizers(volume, migration)
        if finalizers is not None:
            metadata["finalizers"] = finalizers or None
    return metadata


def migration_patch(
    annotations: Mapping[str, str], migration: Migration, *provisioner_keys: str
) -> Manifest | None:
    """The change that makes the migrated-to annotation right; None if it is right already.

    The provisioner is the value of the first of *provisioner_keys* that is set. Upstream:
    updateMigrationAnnotations().
    """
    provisioner: str | None = None
    for key in provisioner_keys:
        provisioner = annotations.get(key)
        if provisioner is not None:
            break
    else:
        return None
    migrated_to = annotations.get(MIGRATED_TO, "")
    if migration.is_enabled(provisioner):
        driver = migration.driver_of(provisioner)
        if driver is not None and migrated_to != driver:
            return {MIGRATED_TO: driver}
    elif migrated_to:
        # Rolled back.
        return {MIGRATED_TO: None}
    return None


def _deletion_finalizers(volume: PersistentVolume, migration: Migration) -> list[str] | None:
    """The finalizers that *volume* should have instead, or None if they are right."""
    provisioner = volume.annotations[PROVISIONED_BY]
    wanted = list(volume.finalizers)
    if migration.is_enabled(provisioner):
        wanted = [name for name in wanted if name != IN_TREE_FINALIZER]
    elif not is_in_tree(provisioner):
        return None
    else:
        policy = volume.reclaim_policy
        # The API server accepts no new finalizer on an object that is being deleted.
        missing = IN_TREE_FINALIZER not in wanted and not volume.deletion_timestamp
        if policy == RECLAIM_DELETE and missing:
            wanted.append(IN_TREE_FINALIZER)
        elif policy in (RECLAIM_RETAIN, RECLAIM_RECYCLE):
            wanted = [name for name in wanted if name != IN_TREE_FINALIZER]
        wanted = [name for name in wanted if name != EXTERNAL_FINALIZER]
    return None if tuple(wanted) == volume.finalizers else wanted
