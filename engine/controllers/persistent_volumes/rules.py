"""How the PV controller differs between Kubernetes versions, as data."""

from dataclasses import dataclass

from engine.objects.phases import BETA_STORAGE_PROVISIONER


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRules:
    """What the PV controller of one version does; by default, as in the oldest."""

    provisioner_annotations: tuple[str, ...] = (BETA_STORAGE_PROVISIONER,)
    """The annotations of a claim that ask an external provisioner for a volume."""
    external_provisioning: str = (
        'waiting for a volume to be created, either by external provisioner "{}" or manually '
        "created by system administrator"
    )
    """The message of the Event ExternalProvisioning."""
    names_waiting_pods: bool = False
    """The Event of a claim that waits for its first consumer names the pods that wait with it."""
    reports_taken_volume: bool = False
    """A claim that names a volume of another claim gets an Event."""
    retroactive_default_class: bool = False
    """A claim without a class gets the default class once there is one."""
    honors_reclaim_policy: bool = False
    """Provisioned in-tree volumes keep a finalizer until their deletion has succeeded."""
    reschedules_lost_node: bool = False
    """A claim whose selected node is gone goes back to the scheduler."""
    rechecks_claim_uid: bool = False
    """A claim with another uid is looked up again before its volume is released."""
    retries_failed_syncs: bool = False
    """A sync that failed is tried again after 5 ms, twice as long each time up to 1000 s; otherwise at the next resync."""
