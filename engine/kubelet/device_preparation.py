"""The devices of pods on their nodes: drivers prepare them before containers start.

    volumes mounted ──▶ prepare ──▶ containers … end ──▶ unprepare ──▶ volumes unmounted
                         └─ failed ─▶ again after ten seconds

Upstream: pkg/kubelet/cm/dra/manager.go PrepareResources(), UnprepareResources().
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from engine.api_server.store.faults import ClaimFaults
from engine.kernel.units import SECOND
from engine.kubelet.context import KubeletContext
from engine.kubelet.worker import Worker
from engine.objects.objects import ApiObject, Pod
from engine.objects.pods.resource_claims import RESOURCE_CLAIM, extended_claim, pod_claims
from engine.storage.ports import WARNING

# Upstream: backOffPeriod, to which up to half of it is added at random.
RETRY_PERIOD: Final = 10 * SECOND


class DevicePreparation:
    """Has the devices of pods prepared by their drivers, and given back after the containers."""

    def __init__(self, context: KubeletContext) -> None:
        self._context = context
        self.faults = ClaimFaults()

    def are_known(self, pod: Pod) -> bool:
        """Whether the pod's resource claims are there."""
        return all(claim is not None for claim in self._claims(pod))

    def are_prepared(self, pod: Pod) -> bool:
        """Whether the devices of a pod that runs already are prepared: always, if it has any."""
        return _asks_for_devices(pod)

    def prepare(self, worker: Worker, done: Callable[[Worker], None]) -> None:
        """Call *done* once all devices of the pod are prepared; at once for a pod without any."""
        if worker.has_devices or not _asks_for_devices(worker.pod):
            done(worker)
            return
        delay = self._context.latencies.draw("prepare_devices")
        worker.timer = self._context.loop.call_after(delay, self._prepared, worker, done)

    def unprepare(self, worker: Worker, done: Callable[[Worker], None]) -> bool:
        """Call *done* once the devices are given back; False if the pod has none."""
        if not worker.has_devices:
            return False
        worker.has_devices = False
        delay = self._context.latencies.draw("unprepare_devices")
        worker.timer = self._context.loop.call_after(delay, done, worker)
        return True

    def _prepared(self, worker: Worker, done: Callable[[Worker], None]) -> None:
        error = self._error(worker)
        if error:
            text = f"Failed to prepare dynamic resources: prepare dynamic resources: {error}"
            self._context.emit(worker.pod, WARNING, "FailedPrepareDynamicResources", text)
            worker.timer = self._context.loop.call_after(RETRY_PERIOD, self.prepare, worker, done)
            return
        worker.timer = None
        worker.has_devices = True
        done(worker)

    def _error(self, worker: Worker) -> str:
        """Why a claim cannot be prepared this time; "" if all are."""
        pod = worker.pod
        for claim in self._claims(pod):
            if claim is None:
                continue
            if not _is_reserved(claim, pod):
                return (
                    f"pod {pod.name} ({pod.uid}) is not allowed to use ResourceClaim {claim.name} "
                    f"({claim.uid})"
                )
            text = self.faults.strike(claim.key, worker.node)
            if text is not None:
                return f"NodePrepareResources failed for ResourceClaim {claim.name}: {text}"
        return ""

    def _claims(self, pod: Pod) -> Iterator[ApiObject | None]:
        """The pod's claims, that of its extended resources too; None for one that is not there."""
        for each in pod_claims(pod):
            if each.claim or not each.is_made:
                yield self._context.store.find(RESOURCE_CLAIM, f"{pod.namespace}/{each.claim}")
        extended = extended_claim(pod)
        if extended:
            yield self._context.store.find(RESOURCE_CLAIM, f"{pod.namespace}/{extended}")


def _is_reserved(claim: ApiObject, pod: Pod) -> bool:
    """Upstream: dynamic-resource-allocation/resourceclaim/claim.go, IsReservedForPod()."""
    return any(user.get("uid") == pod.uid for user in claim.status.get("reservedFor") or ())


def _asks_for_devices(pod: Pod) -> bool:
    return bool(pod.spec.get("resourceClaims") or extended_claim(pod))
