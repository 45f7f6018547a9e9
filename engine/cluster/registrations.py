"""CSI drivers that are registered on nodes, or no longer, because somebody wants it so.

Upstream: pkg/kubelet/pluginmanager; pkg/volume/csi/nodeinfomanager, which writes the CSINode.
"""

from __future__ import annotations

from engine.api_server.store.store import ObjectStore
from engine.objects.objects import ApiObject, Manifest


class Registrations:
    """Ends and begins the registration of drivers, in the CSINodes of nodes."""

    def __init__(self, store: ObjectStore, author: str) -> None:
        self._store = store
        self._author = author
        # What drivers had registered where they are registered no more: by driver and node.
        self._ended: dict[tuple[str, str], Manifest] = {}

    def end(self, driver: str, node: str | None) -> None:
        """The driver's part on *node* ends; without a node, on all. Raises NotFound."""
        for found in self._csi_nodes(node):
            entry = _entry(found, driver)
            if entry is not None:
                self._ended[driver, found.key] = entry
                self._write(found, [each for each in _entries(found) if each is not entry])

    def begin(self, driver: str, node: str | None) -> None:
        """The driver's part on *node* runs; without a node, on all. Raises NotFound."""
        for found in self._csi_nodes(node):
            if _entry(found, driver) is None:
                self._write(found, [*_entries(found), self._registration(driver, found.key)])

    def _csi_nodes(self, node: str | None) -> list[ApiObject]:
        return [self._store.get("CSINode", node)] if node else self._store.objects("CSINode")

    def _registration(self, driver: str, node: str) -> Manifest:
        """What the driver registers there: as before, or else as it does on another node."""
        if (driver, node) in self._ended:
            return self._ended.pop((driver, node))
        others = (_entry(each, driver) for each in self._store.objects("CSINode"))
        alike = next((each for each in others if each is not None), {"name": driver})
        return {**alike, "nodeID": node}

    def _write(self, csi_node: ApiObject, drivers: list[Manifest]) -> None:
        patch = {"spec": {"drivers": drivers}}
        self._store.patch("CSINode", csi_node.key, patch, by=self._author)


def _entries(csi_node: ApiObject) -> list[Manifest]:
    return csi_node.spec.get("drivers") or []


def _entry(csi_node: ApiObject, driver: str) -> Manifest | None:
    return next((each for each in _entries(csi_node) if each.get("name") == driver), None)
