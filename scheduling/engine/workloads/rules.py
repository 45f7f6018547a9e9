"""Where the controllers of one Kubernetes version differ from those of another, as data."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from kscope.sim.kernel.units import SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadRules:
    """The few rules that differ between versions.

    `taints_by_condition`: nodes are tainted by condition and pods evicted by taint; before (both
    are alpha in 1.11) the node controller itself deletes the pods of a node.
    `taints_new_nodes`: a node created during the run arrives not ready, as the kubelet registers
    it, and the controller introduces it (labels, RegisteredNode). `disruption_conditions`: evicted
    pods say so in condition DisruptionTarget, budgets in DisruptionAllowed. `scaled_from`:
    ScalingReplicaSet tells the old size too. `log_scale_down`: pods of about the same age are told
    apart by uid. `pod_index`: pods of a StatefulSet carry their ordinal as a label.
    `pending_pods_get_claims`: a StatefulSet makes the claims that its pending pods lack.
    `job_waits_first`: the first retry of a failed job's pod backs off too. `budget_resync`: how often
    the disruption controller looks at its budgets without a reason, in ns; 0 for never.
    `monitor_grace`: how long a node may be silent before its state is unknown, in ns;
    `tells_pods_of_node`: its pods get an Event then. `failed_daemons_count`: the status of a
    DaemonSet is written even when a pod of it was refused (since v1.28).
    """

    taints_by_condition: bool = True
    taints_new_nodes: bool = False
    disruption_conditions: bool = False
    scaled_from: bool = False
    log_scale_down: bool = False
    pod_index: bool = False
    pending_pods_get_claims: bool = False
    job_waits_first: bool = False
    budget_resync: int = 30 * SECOND
    monitor_grace: int = 40 * SECOND
    tells_pods_of_node: bool = False
    failed_daemons_count: bool = False


WORKLOAD_RULES: Final[Mapping[str, WorkloadRules]] = {
    "v1.11": WorkloadRules(taints_by_condition=False),
    "v1.16": WorkloadRules(),
    "v1.20": WorkloadRules(taints_new_nodes=True, tells_pods_of_node=True),
    "v1.34": WorkloadRules(
        disruption_conditions=True,
        scaled_from=True,
        log_scale_down=True,
        pod_index=True,
        pending_pods_get_claims=True,
        job_waits_first=True,
        budget_resync=0,
        monitor_grace=50 * SECOND,
        tells_pods_of_node=True,
        failed_daemons_count=True,
    ),
}
