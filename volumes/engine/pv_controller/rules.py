"""How the PV controller differs between Kubernetes versions, as data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRules:
    """What the PV controller of one version does."""

    provisioner_annotations: tuple[str, ...]
    """The annotations of a claim that ask an external provisioner for a volume."""
    external_provisioning: str
    """The message of the Event ExternalProvisioning."""
    names_waiting_pods: bool
    """The Event of a claim that waits for its first consumer names the pods that wait with it."""
    reports_taken_volume: bool
    """A claim that names a volume of another claim gets an Event."""
    retroactive_default_class: bool
    """A claim without a class gets the default class once there is one."""
    honors_reclaim_policy: bool
    """Provisioned in-tree volumes keep a finalizer until their deletion has succeeded."""
    reschedules_lost_node: bool
    """A claim whose selected node is gone goes back to the scheduler."""
    rechecks_claim_uid: bool
    """A claim with another uid is looked up again before its volume is released."""
    retries_failed_syncs: bool
    """A sync that failed is tried again after 5 ms, twice as long each time up to 1000 s; otherwise at the next resync."""
