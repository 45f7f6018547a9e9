"""Whether a claim's data source can be copied: clones of claims, and restores of snapshots.

Upstream: kubernetes-csi/external-provisioner, pkg/controller/controller.go, getPVCSource() and
getSnapshotSource().
"""

from collections.abc import Mapping
from typing import Any, Final

from engine.api_server.store.store import ObjectStore
from engine.kernel.errors import SimError
from engine.objects.objects import Manifest, PersistentVolumeClaim, quantity
from engine.objects.outside import Outside
from engine.storage.ports import Listers

_SNAPSHOT: Final = "VolumeSnapshot"
_CONTENT: Final = "VolumeSnapshotContent"
_BEING_RESTORED: Final = "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection"
_MAY_CHANGE_MODE: Final = "snapshot.storage.kubernetes.io/allow-volume-mode-change"


class DataSources:
    """The sources of copies: claims of the cluster, and snapshots of its files (*outside*)."""

    def __init__(self, store: ObjectStore, listers: Listers, outside: Outside) -> None:
        self._store = store
        self._listers = listers
        self._outside = outside

    def check(self, claim: PersistentVolumeClaim, driver: str) -> None:
        """Raises SimError when *driver* cannot make the claim's volume from its data source."""
        source: Manifest = claim.spec.get("dataSourceRef") or claim.spec.get("dataSource") or {}
        kind, name = source.get("kind", ""), source.get("name", "")
        if kind == PersistentVolumeClaim.KIND:
            refusal = self._claim_refusal(claim, name, driver)
        elif kind == _SNAPSHOT:
            refusal = self._snapshot_refusal(claim, name, driver)
        else:
            return
        if refusal is not None:
            raise SimError(
                f"error getting handle for DataSource Type {kind} by Name {name}: {refusal}"
            )

    # Clones

    def _claim_refusal(self, claim: PersistentVolumeClaim, name: str, driver: str) -> str | None:
        source = self._listers.claim(f"{claim.namespace}/{name}")
        if source is None:
            return (
                f'error getting PVC {name} (namespace "{claim.namespace}") from api server: '
                f'persistentvolumeclaim "{name}" not found'
            )
        if source.phase != "Bound":
            return f"the PVC DataSource {name} must have a status of Bound.  Got {source.phase}"
        if source.deletion_timestamp:
            return f"the PVC DataSource {name} is currently being deleted"
        if claim.request_bytes < source.request_bytes:
            return (
                "error, new PVC request must be greater than or equal in size to the specified PVC "
                f"data source, requested {claim.request_bytes} but source is {source.request_bytes}"
            )
        return self._volume_refusal(claim, source, driver)

    def _volume_refusal(
        self, claim: PersistentVolumeClaim, source: PersistentVolumeClaim, driver: str
    ) -> str | None:
        volume = self._listers.volume(source.volume_name)
        csi: Manifest = {} if volume is None else volume.spec.get("csi") or {}
        ref = None if volume is None else volume.claim_ref
        if (
            volume is None
            or csi.get("driver") != driver
            or ref is None
            or volume.claim_key != source.key
            or ref.get("uid") != source.uid
            or volume.phase != "Bound"
        ):
            return "claim in dataSource not bound or invalid"
        here, there = _mode(claim.spec), _mode(volume.spec)
        if here == there:
            return None
        return (
            "the source PVC and destination PVCs must have the same volume mode for cloning.  Source "
            f"is {there}, but new PVC requested {here}"
        )

    # Restores

    def _snapshot_refusal(self, claim: PersistentVolumeClaim, name: str, driver: str) -> str | None:
        key = f"{claim.namespace}/{name}"
        snapshot = self._find(_SNAPSHOT, key)
        if snapshot is None:
            group = "volumesnapshots.snapshot.storage.k8s.io"
            return f'error getting snapshot {name} from api server: {group} "{name}" not found'
        metadata: Manifest = snapshot["metadata"]
        if metadata.get("deletionTimestamp") and _BEING_RESTORED not in (
            metadata.get("finalizers") or ()
        ):
            return f"snapshot {name} is being deleted"
        status: Manifest = snapshot.get("status") or {}
        bound_to = status.get("boundVolumeSnapshotContentName")
        if not bound_to or not self._is_bound(snapshot, bound_to, driver):
            return f"snapshot {name} not bound"
        if not status.get("readyToUse"):
            return f"snapshot {name} is not Ready"
        size = quantity.value(status.get("restoreSize") or 0)
        if claim.request_bytes < size:
            return (
                f"requested volume size {claim.request_bytes} is less than the size {size} for the "
                f"source snapshot {name}"
            )
        return self._mode_refusal(claim, bound_to)

    def _is_bound(self, snapshot: Manifest, content_name: str, driver: str) -> bool:
        """Whether the content belongs to the snapshot and is of *driver*, where it is known."""
        content = self._find(_CONTENT, content_name)
        if content is None:
            return not self._outside.knows(_CONTENT)
        spec: Manifest = content.get("spec") or {}
        ref: Manifest = spec.get("volumeSnapshotRef") or {}
        metadata: Manifest = snapshot["metadata"]
        of = (metadata.get("namespace") or "default", metadata["name"])
        return (
            (ref.get("namespace"), ref.get("name")) == of
            and ref.get("uid") == metadata.get("uid")
            and spec.get("driver") == driver
        )

    def _mode_refusal(self, claim: PersistentVolumeClaim, content_name: str) -> str | None:
        content = self._find(_CONTENT, content_name) or {}
        spec: Manifest = content.get("spec") or {}
        before, wanted = spec.get("sourceVolumeMode"), claim.spec.get("volumeMode")
        if not before or not wanted or before == wanted:
            return None
        metadata: Manifest = content["metadata"]
        annotations: Manifest = metadata.get("annotations") or {}
        allowed = annotations.get(_MAY_CHANGE_MODE)
        if allowed == "true":
            return None
        how = (
            f"{_MAY_CHANGE_MODE} annotation is not present on snapshotcontent {content_name}"
            if allowed is None
            else f"{_MAY_CHANGE_MODE} is set to false on snapshotcontent {content_name}"
        )
        return (
            f"requested volume {claim.key} modifies the mode of the source volume but does not have "
            f"permission to do so. {how}"
        )

    def _find(self, kind: str, key: str) -> Manifest | None:
        found = self._store.find(kind, key)
        return self._outside.find(kind, key) if found is None else found.raw


def _mode(spec: Mapping[str, Any]) -> str:
    return spec.get("volumeMode") or "Filesystem"
