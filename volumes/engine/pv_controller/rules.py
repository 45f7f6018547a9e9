"""How the PV controller differs between Kubernetes versions, as data."""

from dataclasses import dataclass
from typing import Final

from volumes.engine.phases import BETA_STORAGE_PROVISIONER, STORAGE_PROVISIONER


@dataclass(frozen=True, slots=True, kw_only=True)
class ControllerRules:
    """The rules in which versions differ.

    `provisioner_annotations` are the annotations of a claim that ask an external provisioner for a
    volume; `external_provisioning` is the message of Event ExternalProvisioning.
    """

    provisioner_annotations: tuple[str, ...]
    external_provisioning: str
    # Whether the Event of an unbound delayed claim names the pods that wait for it.
    names_waiting_pods: bool = True
    # Whether a claim that names another claim's volume gets an Event.
    reports_taken_volume: bool = True
    # Whether a claim without a class gets the default class once there is one.
    retroactive_default_class: bool = False
    # Whether the in-tree deletion finalizer is kept on provisioned volumes.
    honors_reclaim_policy: bool = False
    # Whether a claim whose selected node is gone is sent back to the scheduler.
    reschedules_lost_node: bool = False
    # Whether a claim of the wrong uid is looked up again before its volume is released.
    rechecks_claim_uid: bool = False


_EXTERNAL_BEFORE_1_28 = (
    'waiting for a volume to be created, either by external provisioner "{}" or manually created '
    "by system administrator"
)
_EXTERNAL_SINCE_1_28 = (
    "Waiting for a volume to be created either by the external provisioner '{}' or manually by "
    "the system administrator. If volume creation is delayed, please verify that the provisioner "
    "is running and correctly registered."
)
V1_16: Final = ControllerRules(
    provisioner_annotations=(BETA_STORAGE_PROVISIONER,),
    external_provisioning=_EXTERNAL_BEFORE_1_28,
    names_waiting_pods=False,
    reports_taken_volume=False,
)
V1_20: Final = ControllerRules(
    provisioner_annotations=(BETA_STORAGE_PROVISIONER,),
    external_provisioning=_EXTERNAL_BEFORE_1_28,
)
V1_34: Final = ControllerRules(
    provisioner_annotations=(BETA_STORAGE_PROVISIONER, STORAGE_PROVISIONER),
    external_provisioning=_EXTERNAL_SINCE_1_28,
    retroactive_default_class=True,
    honors_reclaim_policy=True,
    reschedules_lost_node=True,
    rechecks_claim_uid=True,
)
