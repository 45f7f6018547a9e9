"""Keeps the limits in CSINodes up to date, for drivers whose CSIDriver asks for that.

Upstream: pkg/volume/csi/csi_node_updater.go. There each kubelet has a ticker for each driver; the
kubelets here begin together, so that one ticker for each driver does the work of all.
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import ClassVar, Protocol

from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import AT_ONCE, WatchEvent
from engine.kernel.errors import ApiError
from engine.kernel.loop import Timer
from engine.kubelet.context import COMPONENT, KubeletContext
from engine.objects.objects import ApiObject, Manifest
from engine.storage.plugins.attach_limits import update_period, updated_drivers


class RunningKubelets(Protocol):
    """Which kubelets run."""

    def is_running(self, node: str) -> bool:
        """Whether the kubelet of *node* does its work."""
        ...


class CSINodeUpdater:
    """Asks the drivers of the nodes for their limits, each in its own period."""

    PARTS: ClassVar[tuple[str, ...]] = ()

    def __init__(self, context: KubeletContext, kubelets: RunningKubelets) -> None:
        self._loop = context.loop
        self._store = context.store
        self._kubelets = kubelets
        # By driver, its period and the next look.
        self._tickers: dict[str, tuple[int, Timer]] = {}
        # Told within the write, so that a cluster without such drivers does nothing for it.
        context.store.watch("CSIDriver", self._on_driver, AT_ONCE)

    def _on_driver(self, event: WatchEvent) -> None:
        """Upstream: syncDriverUpdater()."""
        name = event.new.name
        period = 0 if event.type == "DELETED" else update_period(self._store, name)
        known, timer = self._tickers.get(name, (0, None))
        if period == known:
            return
        if timer is not None:
            timer.cancel()
            del self._tickers[name]
        if period:
            self._arm(name, period)

    def _arm(self, driver: str, period: int) -> None:
        timer = self._loop.call_after(period, self._tick, driver, period)
        self._tickers[driver] = period, timer

    def _tick(self, driver: str, period: int) -> None:
        self._loop.cause = 0
        self._arm(driver, period)
        self._loop.tried_each(self._update_running, self._store.objects("CSINode"), driver)

    def _update_running(self, csi_node: ApiObject, driver: str) -> None:
        if self._kubelets.is_running(csi_node.name):
            update_limit(self._store, csi_node.name, driver)


def update_limit(store: ObjectStore, node: str, driver: str) -> None:
    """Write into the CSINode of *node* how many volumes the *driver* can attach there.

    Upstream: csi_plugin.go, updateCSIDriver(); what the API server refuses is logged only.
    """
    csi_node = store.find("CSINode", node)
    drivers = None if csi_node is None else updated_drivers(csi_node, driver)
    if drivers is None:
        return
    patch: Manifest = {"spec": {"drivers": drivers}}
    message = f"driver {driver} says how many volumes it can attach"
    with suppress(ApiError):
        store.patch("CSINode", node, patch, by=COMPONENT, message=message)


def update_limits(store: ObjectStore, node: str, drivers: Iterable[str]) -> None:
    """The same for each of the *drivers*, once."""
    for driver in dict.fromkeys(drivers):
        update_limit(store, node, driver)
