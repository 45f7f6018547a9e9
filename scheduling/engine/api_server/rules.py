"""How admission differs between versions, as data."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionRules:
    """What admission does in one version; by default, as in the newest."""

    pod_totals: bool = True
    """LimitRanges and quotas count the requests of a whole pod, with sidecars and pod-level resources."""
    limit_full_stops: bool = False
    """The sentences of LimitRanger end in a full stop."""
    names_containers: bool = True
    """A quota that needs a request names the containers without one."""
    partial_usage: bool = True
    """The status of a quota must have counted only the resources that the object uses."""
    scope_selectors: bool = True
    """The scopeSelector of a quota is stored."""
    cross_namespace_scope: bool = True
    """A quota can have the scope CrossNamespacePodAffinity."""
    scope_updates: bool = True
    """An update of activeDeadlineSeconds moves a pod from one quota to another."""
    overhead: bool = True
    """Quotas count the overhead of a runtime class."""
    overhead_without_limit: bool = False
    """The overhead counts as a limit of a pod that sets none."""
    allocated_storage: bool = True
    """A claim counts by what was allocated for it if that is more than it requests."""
    attributes_class_scope: bool = True
    """The scope VolumeAttributesClass selects claims."""
    immutable_data: bool = True
    """A ConfigMap or a Secret with `immutable: true` keeps its data."""
    changes_attributes_class: bool = True
    """A bound claim can be changed to name another VolumeAttributesClass."""
    lowers_storage_requests: bool = True
    """A claim whose expansion is not complete can request less again, but more than it has."""
    spares_node_ports: bool = True
    """A load balancer may have no node ports, and then uses none of the quota."""
    topology_labels: bool = True
    """A pod gets the labels for zone and region of its node when it is bound, or created with a node."""
    clears_nomination: bool = True
    """Binding a pod empties its nominatedNodeName."""
    gated_condition: bool = True
    """A pod with scheduling gates is stored with the condition PodScheduled False, SchedulingGated."""
    marks_evicted: bool = True
    """An eviction gives the pod the condition DisruptionTarget, and its budget DisruptionAllowed."""
    unready_evictions: bool = True
    """Pods that are not ready are evicted by the budget's unhealthyPodEvictionPolicy."""
    resizes_pods: bool = True
    """The cpu and memory of a pod's containers can be changed while they run (subresource resize)."""
    resizes_whole_pods: bool = True
    """A resize can also change init containers, and the requests of the whole pod."""
    resize_fits_node: bool = True
    """A resize to more than the node could ever give is refused, not stored and then found infeasible."""
