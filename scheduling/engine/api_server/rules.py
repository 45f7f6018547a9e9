"""Where the admission of one Kubernetes version differs from that of another, as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRules:
    """The rules of LimitRanges and ResourceQuotas that differ between versions.

    `pod_totals`: a LimitRange of type Pod compares what the pod as a whole asks for, with sidecars
    and pod-level resources; before v1.29 a resource that one container leaves open counts as
    missing. Quotas count sidecars and pod-level resources too. `limit_full_stops`: the sentences of
    LimitRanger end in a full stop. `names_containers`: a quota that needs a request names the
    containers without one (since v1.24). `partial_usage`: of a quota's status only the resources
    that the object takes must have been counted. `scope_selectors`: spec.scopeSelector is stored
    (beta in v1.12). `cross_namespace_scope`: scope CrossNamespacePodAffinity (since v1.22).
    `scope_updates`: an update of activeDeadlineSeconds moves a pod from one quota to another (since
    v1.33). `overhead`: quotas count the overhead of a runtime class (since v1.18);
    `overhead_without_limit`: also as a limit of a pod that sets none. `allocated_storage`: a claim
    counts by what was allocated for it if that is more than it requests; `attributes_class_scope`:
    scope VolumeAttributesClass selects claims; `spares_node_ports`: a load balancer may do without
    node ports, and then takes none.
    """

    pod_totals: bool = False
    limit_full_stops: bool = False
    names_containers: bool = False
    partial_usage: bool = True
    scope_selectors: bool = True
    cross_namespace_scope: bool = False
    scope_updates: bool = False
    overhead: bool = False
    overhead_without_limit: bool = False
    allocated_storage: bool = False
    attributes_class_scope: bool = False
    spares_node_ports: bool = False


NEWEST_ADMISSION: Final = AdmissionRules(
    pod_totals=True,
    names_containers=True,
    cross_namespace_scope=True,
    scope_updates=True,
    overhead=True,
    allocated_storage=True,
    attributes_class_scope=True,
    spares_node_ports=True,
)

ADMISSION_RULES: Final[Mapping[str, AdmissionRules]] = {
    "v1.11": AdmissionRules(limit_full_stops=True, partial_usage=False, scope_selectors=False),
    "v1.16": AdmissionRules(),
    "v1.20": AdmissionRules(overhead=True, overhead_without_limit=True),
    "v1.34": NEWEST_ADMISSION,
}
