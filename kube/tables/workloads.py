"""The columns of what makes pods, of what spreads requests on them, and of disruption budgets.

Upstream: printDeployment(), printReplicaSet(), printJob() and their like.
"""

from dataclasses import dataclass, replace

from kube.tables.columns import (
    AGE,
    CONTAINERS,
    LABEL_SELECTOR,
    NAME,
    NONE,
    SELECTOR,
    UNSET,
    Cell,
    Column,
    Columns,
    Object,
    at_top,
    in_spec,
    in_status,
    is_deleted,
    labels_text,
    metadata_of,
    number,
    spec_of,
    status_of,
    template_of,
    text,
)
from kube.tables.durations import between, since


def _ready_of(one: Object) -> str:
    return f"{status_of(one).get('readyReplicas') or 0}/{spec_of(one).get('replicas') or 0}"


# In this order of precedence; FailureTarget and the rest only while the Job lives.
_ENDED = ("Complete", "Failed")
_ENDING = ("Suspended", "FailureTarget")


def _job_status(one: Object) -> str:
    conditions = status_of(one).get("conditions") or []
    are_true = [each.get("type") for each in conditions if each.get("status") == "True"]
    deleted = ("Terminating",) if is_deleted(one) else ()
    for condition in (*_ENDED, *deleted, *_ENDING):
        if condition in are_true or condition in deleted:
            return condition
    return "Running"


def _completions(one: Object) -> str:
    done, wanted = status_of(one).get("succeeded") or 0, spec_of(one).get("completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = spec_of(one).get("parallelism") or 0
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_duration(one: Object, now: int) -> str:
    status = status_of(one)
    if not status.get("startTime"):
        return ""
    if status.get("completionTime"):
        return between(status["startTime"], status["completionTime"])
    return since(status["startTime"], now)


def _last_schedule(one: Object, now: int) -> str:
    last = status_of(one).get("lastScheduleTime")
    return since(last, now) if last else NONE


def _suspend(one: Object) -> str:
    suspend = spec_of(one).get("suspend")
    return UNSET if suspend is None else str(suspend)


def _of_job_template(columns: Columns) -> Columns:
    """The same columns, of the Jobs that a CronJob makes."""
    return tuple(
        replace(column, get=_OfJobTemplate(column)) if column in (*CONTAINERS, SELECTOR) else column
        for column in columns
    )


@dataclass(frozen=True, slots=True)
class _OfJobTemplate:
    """Reads a cell of the template in a CronJob."""

    column: Column

    def __call__(self, one: Object, now: int) -> Cell:
        return self.column.get(spec_of(one).get("jobTemplate") or {}, now)


def _ports(one: Object) -> str:
    found: list[str] = []
    for port in spec_of(one).get("ports") or []:
        outside = f":{port['nodePort']}" if port.get("nodePort") else ""
        found.append(f"{port.get('port')}{outside}/{port.get('protocol', 'TCP')}")
    return ",".join(found) or NONE


def _cluster_ip(one: Object) -> str:
    spec = spec_of(one)
    return (spec.get("clusterIPs") or [spec.get("clusterIP") or NONE])[0]


def _external_ip(one: Object) -> str:
    """Upstream: getServiceExternalIP()."""
    spec = spec_of(one)
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    given = [*(spec.get("externalIPs") or [])]
    if spec.get("type") != "LoadBalancer":
        return ",".join(given) or NONE
    ingress = (status_of(one).get("loadBalancer") or {}).get("ingress") or []
    addresses = {each.get("ip") or each.get("hostname") or "" for each in ingress} - {""}
    return ",".join([*sorted(addresses), *given]) or "<pending>"


def _controller(one: Object) -> str:
    for owner in metadata_of(one).get("ownerReferences") or []:
        if owner.get("controller"):
            group = owner.get("apiVersion", "").rpartition("/")[0]
            kind = f"{owner.get('kind')}.{group}" if group else str(owner.get("kind"))
            return f"{kind.lower()}/{owner.get('name')}"
    return NONE


_REPLICAS: Columns = (
    NAME,
    number("Desired", in_spec("replicas")),
    number("Current", in_status("replicas")),
    number("Ready", in_status("readyReplicas")),
    AGE,
    *CONTAINERS,
)

WORKLOADS: dict[str, Columns] = {
    "ControllerRevision": (
        NAME,
        text("Controller", _controller),
        number("Revision", at_top("revision"), type="string"),
        AGE,
    ),
    "CronJob": _of_job_template(
        (
            NAME,
            text("Schedule", in_spec("schedule")),
            text("Timezone", in_spec("timeZone", NONE)),
            Column("Suspend", "boolean", get=lambda one, now: _suspend(one)),
            number("Active", lambda one: len(status_of(one).get("active") or ())),
            Column("Last Schedule", get=_last_schedule),
            AGE,
            *CONTAINERS,
            SELECTOR,
        )
    ),
    "DaemonSet": (
        NAME,
        number("Desired", in_status("desiredNumberScheduled")),
        number("Current", in_status("currentNumberScheduled")),
        number("Ready", in_status("numberReady")),
        number("Up-to-date", in_status("updatedNumberScheduled")),
        number("Available", in_status("numberAvailable")),
        text("Node Selector", lambda one: labels_text(template_of(one).get("nodeSelector"))),
        AGE,
        *CONTAINERS,
        SELECTOR,
    ),
    "Deployment": (
        NAME,
        text("Ready", _ready_of),
        number("Up-to-date", in_status("updatedReplicas"), type="string"),
        number("Available", in_status("availableReplicas"), type="string"),
        AGE,
        *CONTAINERS,
        SELECTOR,
    ),
    "Job": (
        NAME,
        text("Status", _job_status),
        text("Completions", _completions),
        Column("Duration", get=_job_duration),
        AGE,
        *CONTAINERS,
        SELECTOR,
    ),
    "PodDisruptionBudget": (
        NAME,
        text("Min Available", in_spec("minAvailable", "N/A")),
        text("Max Unavailable", in_spec("maxUnavailable", "N/A")),
        number("Allowed Disruptions", in_status("disruptionsAllowed")),
        AGE,
    ),
    "ReplicaSet": (*_REPLICAS, SELECTOR),
    "ReplicationController": (*_REPLICAS, LABEL_SELECTOR),
    "Service": (
        NAME,
        text("Type", in_spec("type", "ClusterIP")),
        text("Cluster-IP", _cluster_ip),
        text("External-IP", _external_ip),
        text("Port(s)", _ports),
        AGE,
        LABEL_SELECTOR,
    ),
    "StatefulSet": (NAME, text("Ready", _ready_of), AGE, *CONTAINERS),
}
