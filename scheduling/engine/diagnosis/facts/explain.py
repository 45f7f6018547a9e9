"""Which module explains the refusals of which plugin, under the names of every version."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from scheduling.engine import names
from scheduling.engine.diagnosis.facts.case import Case
from scheduling.engine.diagnosis.facts.devices import explain_devices
from scheduling.engine.diagnosis.facts.fact import Explanation
from scheduling.engine.diagnosis.facts.labels import explain_selector
from scheduling.engine.diagnosis.facts.node_state import (
    explain_condition,
    explain_cordon,
    explain_features,
)
from scheduling.engine.diagnosis.facts.node_volumes import explain_limits, explain_zone
from scheduling.engine.diagnosis.facts.peers import explain_claim_in_use, explain_port
from scheduling.engine.diagnosis.facts.pod_affinity import explain_pod_affinity
from scheduling.engine.diagnosis.facts.resources import explain_resources
from scheduling.engine.diagnosis.facts.spread import explain_spread
from scheduling.engine.diagnosis.facts.taints import explain_taint
from scheduling.engine.diagnosis.facts.volumes import explain_binding

Explain = Callable[[Case], Explanation]

_EXPLAINED: Final[Mapping[str, Explain]] = {
    names.VOLUME_BINDING: explain_binding,
    names.CHECK_VOLUME_BINDING: explain_binding,
    names.VOLUME_ZONE: explain_zone,
    names.NO_VOLUME_ZONE_CONFLICT: explain_zone,
    names.NODE_VOLUME_LIMITS: explain_limits,
    names.MAX_CSI_VOLUME_COUNT: explain_limits,
    names.MAX_EBS_VOLUME_COUNT: explain_limits,
    names.MAX_GCE_PD_VOLUME_COUNT: explain_limits,
    names.MAX_AZURE_DISK_VOLUME_COUNT: explain_limits,
    names.MAX_CINDER_VOLUME_COUNT: explain_limits,
    names.VOLUME_RESTRICTIONS: explain_claim_in_use,
    names.NO_DISK_CONFLICT: explain_claim_in_use,
    names.NODE_RESOURCES_FIT: explain_resources,
    names.POD_FITS_RESOURCES: explain_resources,
    names.TAINT_TOLERATION: explain_taint,
    names.POD_TOLERATES_NODE_TAINTS: explain_taint,
    names.POD_TOLERATES_NODE_NO_EXECUTE_TAINTS: explain_taint,
    names.NODE_UNSCHEDULABLE: explain_cordon,
    names.CHECK_NODE_UNSCHEDULABLE: explain_cordon,
    names.CHECK_NODE_CONDITION: explain_condition,
    names.CHECK_NODE_MEMORY_PRESSURE: explain_condition,
    names.CHECK_NODE_PID_PRESSURE: explain_condition,
    names.CHECK_NODE_DISK_PRESSURE: explain_condition,
    names.NODE_AFFINITY: explain_selector,
    names.MATCH_NODE_SELECTOR: explain_selector,
    names.NODE_NAME: explain_selector,
    names.HOST_NAME: explain_selector,
    names.NODE_PORTS: explain_port,
    names.POD_FITS_HOST_PORTS: explain_port,
    names.POD_TOPOLOGY_SPREAD: explain_spread,
    names.EVEN_PODS_SPREAD: explain_spread,
    names.INTER_POD_AFFINITY: explain_pod_affinity,
    names.MATCH_INTER_POD_AFFINITY: explain_pod_affinity,
    names.DYNAMIC_RESOURCES: explain_devices,
    names.NODE_DECLARED_FEATURES: explain_features,
}
# GeneralPredicates reports several things together; each explains what it finds.
_GENERAL: Final[Sequence[Explain]] = (explain_resources, explain_selector, explain_port)


def explain(case: Case) -> Explanation:
    """What the refusals of *case* come from; empty for a plugin that is not Kubernetes' own."""
    if case.plugin == names.GENERAL_PREDICATES:
        found = [each(case) for each in _GENERAL]
        return Explanation(
            sentence=next((each.sentence for each in found if each.sentence), ""),
            why=" ".join(each.why for each in found if each.why),
            because=tuple(one for each in found for one in each.because),
        )
    known = _EXPLAINED.get(case.plugin)
    return Explanation() if known is None else known(case)
