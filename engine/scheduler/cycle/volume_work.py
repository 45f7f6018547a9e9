"""What the scheduler assumes of volumes and claims, and the binder that writes it.

The plugins read claims and volumes from the listers. Those show what is assumed, so that two pods
in a row do not get the same volume; the assume caches also hold the real state from the API server.
"""

from collections.abc import Callable, Mapping

from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import WatchEvent
from engine.framework.framework import PodVolumes as Plan
from engine.framework.handle import Handle
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.errors import SimError
from engine.kernel.latency import Latencies
from engine.kernel.loop import EventLoop
from engine.objects.objects import ApiObject, Node, PersistentVolume, Pod
from engine.storage.binding.assume_cache import ClaimAssumeCache, VolumeAssumeCache
from engine.storage.binding.binder import Binding, PodVolumes, VolumeBinder, written_versions
from engine.storage.binding.pod_binding import PodBinding
from engine.storage.binding.trace_steps import VolumesWritten
from engine.storage.migration import ALL_MIGRATED, NO_MIGRATION
from engine.storage.ports import StoreVolumeApi
from engine.versions.kubernetes_version import KubernetesVersion


class SchedulerLookups:
    """What the binder looks up, out of the scheduler's own informers. See BinderListers."""

    def __init__(self, handle: Handle, pods: dict[str, Pod]) -> None:
        self.listers = handle.listers
        self._table = handle.table
        self._pods = pods

    def node(self, name: str) -> Node | None:
        """See BinderListers."""
        row = self._table.rows.get(name)
        return None if row is None else self._table.node(row)

    def pod(self, key: str) -> Pod | None:
        """See BinderListers."""
        return self._pods.get(key)

    def csi_node(self, name: str) -> ApiObject | None:
        """See BinderListers."""
        return self.listers.get("CSINode", name)


class VolumeWork:
    """Reserve, PreBind and Unreserve of VolumeBinding."""

    def __init__(
        self,
        loop: EventLoop,
        store: ObjectStore,
        lookups: SchedulerLookups,
        version: KubernetesVersion,
        latencies: Latencies,
        timeouts: Mapping[str, int],
    ) -> None:
        """*timeouts* say how long a binding waits for its volumes, in ns, by schedulerName."""
        self._loop = loop
        self._latencies = latencies
        self._heard_until = 0
        self.timeouts = timeouts
        self._volumes = VolumeAssumeCache()
        self._claims = ClaimAssumeCache()
        # The plugins look at the very same objects.
        lookups.listers.adopt(self._volumes.latest, self._volumes.index, self._claims.latest)
        self.binder = VolumeBinder(
            self._volumes,
            self._claims,
            lookups,
            StoreVolumeApi(store, "scheduler"),
            rules=version.binder,
            migration=ALL_MIGRATED if version.storage.migrates_in_tree else NO_MIGRATION,
        )

    def observe(self, event: WatchEvent) -> None:
        """Take a watch event of a volume or a claim into the caches and the listers.

        Upstream the caches and the queue hear of it in threads of their own: with a latency of the
        caches the event can wake a pod that is then tried with what was known before.
        """
        now = self._loop.now
        delay = self._latencies.draw("assume_cache")
        if delay or self._heard_until > now:
            self._heard_until = at = max(now + delay, self._heard_until)
            self._loop.call_at(at, self._take, event)
        else:
            self._take(event)

    def _take(self, event: WatchEvent) -> None:
        cache = self._volumes if event.new.kind == PersistentVolume.KIND else self._claims
        cache.observe(event)

    def assume(self, info: PodInfo, node: str, plan: Plan) -> PodVolumes | None:
        """Lay the plugin's *plan* over the caches; None when there is nothing to bind.

        Raises SimError when a cache has moved on since; nothing is assumed then.
        """
        volumes = self._planned(plan)
        if not volumes.has_work:
            self._tell_assumed(info, node, volumes)
            return None
        if self.binder.assume_pod_volumes(info.pod, node, volumes):
            self._tell_assumed(info, node, PodVolumes())
            return None
        self._tell_assumed(info, node, volumes)
        return volumes

    def assume_round(self, info: PodInfo, node: str, plan: Plan) -> PodVolumes | None:
        """The same where binding goes in rounds (v1.11); None when all the claims are bound.

        Else what has to be written; nothing, while the PV controller still has to answer.
        """
        volumes = self._planned(plan)
        if self.binder.assume_pod_volumes(info.pod, node, volumes):
            self._tell_assumed(info, node, PodVolumes())
            return None
        self._tell_assumed(info, node, volumes)
        return volumes

    def bind_round(self, info: PodInfo, volumes: PodVolumes) -> None:
        """Write the assumptions and wait for nothing. Raises SimError; see bind_api_update()."""
        error = ""
        try:
            self.binder.bind_api_update(info.pod, volumes)
        except SimError as refusal:
            error = str(refusal)
            raise
        finally:
            trace = self._loop.trace
            if trace is not None and trace.follows(info.pod.id):
                told = VolumesWritten(written_versions(volumes), None, error)
                trace.add(info.pod.id, told)

    def _tell_assumed(self, info: PodInfo, node: str, volumes: PodVolumes) -> None:
        trace = self._loop.trace
        if trace is not None and trace.follows(info.pod.id):
            trace.add(info.pod.id, self.binder.assumed_step(info.pod, node, volumes))

    def _planned(self, plan: Plan) -> PodVolumes:
        return PodVolumes(
            static_bindings=[
                Binding(self._volumes.get(volume), self._claims.get(claim))
                for claim, volume in plan.bind.items()
            ],
            dynamic_provisions=[self._claims.get(claim) for claim in plan.provision],
        )

    def revert(self, volumes: PodVolumes) -> None:
        """Take the assumptions off the caches again."""
        self.binder.revert_assumed_pod_volumes(volumes)

    def bind(
        self,
        info: PodInfo,
        node: str,
        volumes: PodVolumes,
        done: Callable[[str | None], None],
    ) -> PodBinding:
        """Write the assumptions and wait for the PV controller; *done* gets the error, or None."""
        timeout = self.timeouts[info.pod.scheduler_name]
        binding = PodBinding(self._loop, self.binder, info.pod, node, volumes)
        binding.start(done, timeout)
        return binding
