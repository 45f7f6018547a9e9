"""Failures of CSI drivers that a scenario or a command asks for."""

from dataclasses import dataclass, field
from typing import Final

from engine.api_server.store.faults import ClaimFaults
from engine.objects.objects import PersistentVolume, PersistentVolumeClaim

PROVISIONING_FAILED: Final = "rpc error: code = Internal desc = provisioning failed"
DELETION_FAILED: Final = "rpc error: code = Internal desc = deletion failed"


@dataclass(slots=True)
class DriverFaults:
    """How the CSI drivers of a scenario fail, and where they make volumes.

    `absent` drivers never answer. On `full_nodes` no volume can be made. `failures` is by claim how
    many more attempts fail before one succeeds. `zones` is by claim where the volume of an immediate
    claim is made; without an entry there, volumes of the drivers `anywhere` can be reached from every
    node. `offline` drivers expand only volumes that no pod uses. `injected` are
    the faults of provisioning that may still strike, `deletions` those of deleting a volume.
    """

    absent: tuple[str, ...] = ()
    full_nodes: tuple[str, ...] = ()
    failures: dict[str, int] = field(default_factory=dict[str, int])
    zones: dict[str, str] = field(default_factory=dict[str, str])
    anywhere: tuple[str, ...] = ()
    offline: tuple[str, ...] = ()
    injected: ClaimFaults = field(default_factory=ClaimFaults)
    deletions: ClaimFaults = field(default_factory=ClaimFaults)

    def of(self, claim: PersistentVolumeClaim, node: str) -> str | None:
        """Why provisioning for *claim* on *node* fails this time, or None."""
        if node and node in self.full_nodes:
            return f"rpc error: code = ResourceExhausted desc = no capacity on {node}"
        left = self.failures.get(claim.key, 0)
        if left > 0:
            self.failures[claim.key] = left - 1
            return PROVISIONING_FAILED
        return self.injected.strike(claim.key, node)

    def of_deletion(self, volume: PersistentVolume) -> str | None:
        """Why deleting *volume* fails this time, or None."""
        return self.deletions.strike(volume.name)
