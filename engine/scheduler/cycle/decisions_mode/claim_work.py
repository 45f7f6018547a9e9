"""Resource claims in decisions mode: allocated, reserved and released at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from engine.framework.framework import CycleState
from engine.framework.nodes.listers import Listers
from engine.objects.objects import ApiObject, Pod
from engine.objects.pods.resource_claims import RESOURCE_CLAIM
from engine.plugins.dynamic_resources import allocation_results
from engine.plugins.dynamic_resources.allocation.claims import ClaimMissing, claims_of
from engine.plugins.dynamic_resources.protocol import AllocatesDevices


@dataclass(slots=True)
class ClaimWork:
    """What happens to claims when pods are placed and evicted."""

    plugin: AllocatesDevices
    listers: Listers
    of_pods: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    """The keys of the claims that a placed pod uses, by the pod's key."""

    def place(self, state: CycleState, node: str) -> dict[str, list[str]]:
        """Allocate and reserve the pod's claims; the devices of each, by the claim's key."""
        prepared = self.plugin.prepared(state)
        if prepared is None:
            return {}
        pod = state.pod.pod
        made = allocation_results.allocated_claims(
            self.plugin,
            prepared,
            pod,
            node,
            name=f"{pod.name}-extended-resources-0",
            uid=f"{pod.uid}-extended",
        )
        claims = {claim.key: claim for claim in prepared.claims} | made
        found: dict[str, list[str]] = {}
        for claim in claims.values():
            stored = allocation_results.reserved(claim, pod)
            self.listers.put(stored)
            found[stored.key] = allocation_results.written(stored)
        self.of_pods[pod.key] = list(found)
        return found

    def deallocate(self, state: CycleState) -> None:
        """Deallocate, or delete, the claim that PostFilter chooses for a pod that fits nowhere."""
        answer = self.plugin.answer_post_filter(state)
        if answer.deallocates is not None:
            self.listers.put(allocation_results.deallocated(answer.deallocates))
        if answer.deletes is not None:
            self.listers.remove(RESOURCE_CLAIM, answer.deletes.key)

    def evict(self, pod: Pod) -> None:
        """Release the pod's claims; those that it owns vanish with it."""
        claims = self.listers.live(RESOURCE_CLAIM)
        for key in self._keys(pod):
            claim = claims.get(key)
            if claim is None:
                continue
            if (claim.controller or {}).get("uid") == pod.uid:
                self.listers.remove(RESOURCE_CLAIM, key)
            else:
                self.listers.put(allocation_results.released(claim, pod))

    def _keys(self, pod: Pod) -> list[str]:
        if pod.key in self.of_pods:
            return self.of_pods[pod.key]
        try:
            return [claim.key for claim in claims_of(pod, self.listers.live(RESOURCE_CLAIM))]
        except ClaimMissing:
            return []

    def to_dict(self) -> dict[str, list[str]]:
        """The devices of every claim."""
        claims = self.listers.all(RESOURCE_CLAIM)
        return {claim.key: allocation_results.written(claim) for claim in sorted(claims, key=_key)}


def _key(claim: ApiObject) -> str:
    return claim.key
