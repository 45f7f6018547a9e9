"""The ResourceQuota controller: the status of each quota says what its namespace holds.

Admission only ever adds to a quota; what has gone is counted out here.
Upstream: pkg/controller/resourcequota (resource_quota_controller.go, resource_quota_monitor.go).
"""

from functools import partial
from typing import ClassVar, Final

from engine.api_server.admission.quota.amounts import Amounts, read_amounts
from engine.api_server.admission.quota.usage import Listed, QuotaMeter, Usage, is_current
from engine.api_server.store.watches import WatchEvent
from engine.controllers.shared.controller import Controller, ControllerContext
from engine.controllers.shared.ticker import Ticker
from engine.kernel.units import MINUTE
from engine.objects.objects import ApiObject
from engine.storage.ports import EventSink

# Upstream: --resource-quota-sync-period.
FULL_RESYNC: Final = 5 * MINUTE

_INFORMED: Final = ("Pod", "PersistentVolumeClaim")


class ResourceQuotaController(Controller):
    """Keeps the status of ResourceQuotas."""

    AUTHOR: ClassVar[str] = "resourcequota-controller"
    KIND: ClassVar[str] = "ResourceQuota"
    PARTS: ClassVar[tuple[str, ...]] = ("_queue", "_resync")

    def __init__(self, context: ControllerContext, events: EventSink) -> None:
        super().__init__(context, events)
        self._meter = QuotaMeter(context.admission.rules)
        self._quotas = self._listers.of(self.KIND)
        self._quotas.on_event(self._on_quota)
        # Without a quota, nothing else is of interest.
        self._listers.pods.on_event(self._on_object, only_with=self._quotas)
        self._listers.claims.on_event(self._on_object, only_with=self._quotas)
        # The other kinds that some quota counts, which are watched from then on.
        self._watched: dict[str, None] = {}
        # By uid, what a quota counts of the objects that the run does not hold.
        self._beyond: dict[str, Amounts] = {}
        self._resync = Ticker(context.loop, FULL_RESYNC, self._sync_all)

    # What it hears

    def _on_quota(self, event: WatchEvent) -> None:
        if event.type == "DELETED":
            self._beyond.pop(event.new.uid, None)
            return
        if event.new.uid not in self._beyond:
            self._beyond[event.new.uid] = self._meter.beyond(event.new, self._listed(event.new))
        # The resync finds charges for objects that were not created after all.
        self._resync.arm()
        quota, old = event.new, event.old
        hard = read_amounts(quota.spec.get("hard"))
        if old is not None and read_amounts(old.spec.get("hard")) == hard:
            return
        for kind in self._meter.kinds(hard):
            if kind not in _INFORMED and kind not in self._watched:
                self._watched[kind] = None
                self._store.watch(kind, self._on_object, self._context.watch_latency)
        self._queue.add(quota.key)

    def _on_object(self, event: WatchEvent) -> None:
        """Count again what an object took that has gone, or takes less. Upstream: replenishQuota()."""
        obj, usage = event.new, self._meter.usages[event.new.kind]
        if obj.deletion_timestamp:
            self._resync.arm()
        if event.type == "ADDED":
            return
        changed = event.type == "MODIFIED" and event.old is not None
        if changed and event.old and not usage.frees(event.old, obj, self._loop.clock):
            return
        self._loop.tried_each(self._queue_if_counting, self._in(obj.namespace), usage)

    def _queue_if_counting(self, quota: ApiObject, usage: Usage) -> None:
        if usage.matching(quota.status.get("hard") or ()):
            self._queue.add(quota.key)

    def _sync_all(self) -> None:
        """Upstream: enqueueAll()."""
        self._loop.cause = 0
        self._loop.tried_each(self._sync_again, self._quotas)

    def _sync_again(self, quota: ApiObject) -> None:
        self._queue.add(quota.key)
        if any(pod.deletion_timestamp for pod in self._listers.pods_in(quota.namespace)):
            # A pod that never goes is counted no more once its time is over.
            self._resync.arm()

    # What it does

    def sync(self, key: str) -> None:
        """See Controller. Upstream: syncResourceQuota()."""
        quota = self._quotas.get(key)
        if quota is None:
            return
        beyond = self._beyond.get(quota.uid, {})
        status = self._meter.status(quota, self._listed(quota), self._loop.clock, beyond)
        if not is_current(quota, status):
            self._write_status(quota, status)

    def _listed(self, quota: ApiObject) -> Listed:
        return partial(self._contents, namespace=quota.namespace)

    def _contents(self, kind: str, namespace: str) -> list[ApiObject]:
        """The objects of *kind* in *namespace*, as far as the controller has heard of them."""
        if kind == "Pod":
            return [*self._listers.pods_in(namespace)]
        if kind == "PersistentVolumeClaim":
            return [claim for claim in self._listers.claims if claim.namespace == namespace]
        return self._store.grouped(kind).in_namespace(namespace)

    def _in(self, namespace: str) -> list[ApiObject]:
        return self._listers.of(self.KIND).in_namespace(namespace)
