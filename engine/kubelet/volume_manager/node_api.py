"""What operations read from, and write to, the API server."""

from engine.api_server.store.store import ObjectStore
from engine.kernel.errors import ApiError
from engine.kubelet.context import COMPONENT
from engine.objects.objects import Manifest, PersistentVolume


class StoreNodeApi:
    """The operations' API server, as seen from *node*. See operations.base.NodeApi."""

    __slots__ = ("_node", "_store")

    def __init__(self, store: ObjectStore, node: str) -> None:
        self._store = store
        self._node = node

    def volumes_attached(self) -> list[Manifest] | None:
        """See NodeApi."""
        node = self._store.find("Node", self._node)
        return None if node is None else node.status.get("volumesAttached") or []

    def claim_of(self, volume: Manifest) -> Manifest | None:
        """See NodeApi."""
        key = PersistentVolume(volume).claim_key
        claim = self._store.find("PersistentVolumeClaim", key)
        return None if claim is None else claim.raw

    def mark_fs_resize_finished(self, claim: Manifest, capacity: str) -> str | None:
        """See NodeApi. Removes the claim's conditions, which are all about resizing.

        Upstream: util.MarkFSResizeFinished().
        """
        metadata = claim["metadata"]
        status = {"capacity": {"storage": capacity}, "conditions": None}
        try:
            self._store.patch(
                "PersistentVolumeClaim",
                f"{metadata['namespace']}/{metadata['name']}",
                {"status": status},
                by=COMPONENT,
                event="ClaimResized",
                message=f"its file system has {capacity}",
            )
        except ApiError as error:
            return str(error)
        return None
