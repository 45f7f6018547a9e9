"""How admission differs between versions, as data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRules:
    """What admission does in one version; by default, as in the oldest."""

    pod_totals: bool = False
    """LimitRanges and quotas count the requests of a whole pod, with sidecars and pod-level resources."""
    limit_full_stops: bool = True
    """The sentences of LimitRanger end in a full stop."""
    names_containers: bool = False
    """A quota that needs a request names the containers without one."""
    partial_usage: bool = False
    """The status of a quota must have counted only the resources that the object uses."""
    scope_selectors: bool = False
    """The scopeSelector of a quota is stored."""
    cross_namespace_scope: bool = False
    """A quota can have the scope CrossNamespacePodAffinity."""
    scope_updates: bool = False
    """An update of activeDeadlineSeconds moves a pod from one quota to another."""
    overhead: bool = False
    """Quotas count the overhead of a runtime class."""
    overhead_without_limit: bool = False
    """The overhead counts as a limit of a pod that sets none."""
    allocated_storage: bool = False
    """A claim counts by what was allocated for it if that is more than it requests."""
    attributes_class_scope: bool = False
    """The scope VolumeAttributesClass selects claims."""
    immutable_data: bool = False
    """A ConfigMap or a Secret with `immutable: true` keeps its data."""
    changes_attributes_class: bool = False
    """A bound claim can be changed to name another VolumeAttributesClass."""
    lowers_storage_requests: bool = False
    """A claim whose expansion is not complete can request less again, but more than it has."""
    spares_node_ports: bool = False
    """A load balancer may have no node ports, and then uses none of the quota."""
    topology_labels: bool = False
    """A pod gets the labels for zone and region of its node when it is bound, or created with a node."""
    clears_nomination: bool = False
    """Binding a pod empties its nominatedNodeName."""
    gated_condition: bool = False
    """A pod with scheduling gates is stored with the condition PodScheduled False, SchedulingGated."""
    marks_evicted: bool = False
    """An eviction gives the pod the condition DisruptionTarget, and its budget DisruptionAllowed."""
    unready_evictions: bool = False
    """Pods that are not ready are evicted by the budget's unhealthyPodEvictionPolicy."""
    resizes_pods: bool = False
    """The cpu and memory of a pod's containers can be changed while they run (subresource resize)."""
    resizes_whole_pods: bool = False
    """A resize can also change init containers, and the requests of the whole pod."""
    mutable_job_resources: bool = False
    """A suspended Job without active pods may change what its template asks for, also once it had started."""
    resize_fits_node: bool = False
    """A resize to more than the node could ever give is refused, not stored and then found infeasible."""
