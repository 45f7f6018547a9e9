"""The columns of each kind, in the order in which a server of today gives them.

A cell is text, a number or a boolean. Columns of priority 1 are those that `-o wide` adds.
Upstream: pkg/printers/internalversion/printers.go, AddHandlers().
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from kube.tables import pods
from kube.tables.durations import UNKNOWN, between, since
from kube.tables.nodes import address, info, roles, state

Object = Mapping[str, Any]
Cell = str | int | bool
# Of an object and the virtual time now.
Get = Callable[[Object, int], Cell]

NONE, UNSET = "<none>", "<unset>"


@dataclass(frozen=True, slots=True)
class Column:
    """One column of a Table and how its cells are found."""

    name: str
    get: Get
    type: str = "string"
    priority: int = 0
    format: str = ""

    def definition(self) -> dict[str, Any]:
        """As the Table declares it."""
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": "",
            "priority": self.priority,
        }


def _meta(one: Object) -> Object:
    return one["metadata"]


def _spec(one: Object) -> Object:
    return one.get("spec") or {}


def _status(one: Object) -> Object:
    return one.get("status") or {}


def _age(one: Object, now: int) -> str:
    return since(_meta(one).get("creationTimestamp"), now)


def text(name: str, get: Callable[[Object], Any], wide: bool = False) -> Column:
    """A column of text."""
    return Column(name, lambda one, now: str(get(one)), priority=int(wide))


def number(name: str, get: Callable[[Object], Any]) -> Column:
    """A column of numbers."""
    return Column(name, lambda one, now: int(get(one) or 0), type="integer")


def flag(name: str, get: Callable[[Object], Any]) -> Column:
    """A column of booleans."""
    return Column(name, lambda one, now: bool(get(one)), type="boolean")


NAME = Column("Name", lambda one, now: str(_meta(one).get("name", "")), format="name")
AGE = Column("Age", _age)


def labels_text(labels: Mapping[str, str] | None) -> str:
    """ "app=web,tier=front", or <none>."""
    return ",".join(f"{key}={value}" for key, value in sorted((labels or {}).items())) or NONE


def selector_text(selector: Mapping[str, Any] | None) -> str:
    """A LabelSelector as `-l` takes it. Upstream: metav1.FormatLabelSelector()."""
    if not selector:
        return NONE
    terms = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for one in sorted(selector.get("matchExpressions") or [], key=lambda each: each["key"]):
        values = ",".join(sorted(one.get("values") or []))
        match one.get("operator"):
            case "In":
                terms.append(f"{one['key']} in ({values})")
            case "NotIn":
                terms.append(f"{one['key']} notin ({values})")
            case "Exists":
                terms.append(one["key"])
            case _:
                terms.append(f"!{one['key']}")
    return ",".join(terms) or NONE


def _containers(one: Object) -> Iterable[Object]:
    return ((_spec(one).get("template") or {}).get("spec") or {}).get("containers") or []


def _container_columns() -> list[Column]:
    return [
        text("Containers", lambda one: ",".join(each["name"] for each in _containers(one)), True),
        text(
            "Images",
            lambda one: ",".join(each.get("image", "") for each in _containers(one)),
            True,
        ),
    ]


def _selector(wide_get: Callable[[Object], Any]) -> Column:
    return text("Selector", wide_get, True)


def _of_spec(name: str, default: Any = "") -> Callable[[Object], Any]:
    return lambda one: _spec(one).get(name, default)


def _of_status(name: str, default: Any = "") -> Callable[[Object], Any]:
    return lambda one: _status(one).get(name, default)


_ACCESS = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def _modes(modes: Iterable[str] | None) -> str:
    """Upstream: storageutil.GetAccessModesAsString(), which has an order of its own."""
    given = set(modes or ())
    return ",".join(short for mode, short in _ACCESS.items() if mode in given)


def _phase(one: Object, default: str) -> str:
    if _meta(one).get("deletionTimestamp"):
        return "Terminating"
    return str(_status(one).get("phase") or default)


def _class(one: Object) -> str:
    beta = (_meta(one).get("annotations") or {}).get("volume.beta.kubernetes.io/storage-class")
    return str(beta if beta is not None else _spec(one).get("storageClassName") or "")


def _claim_of(one: Object) -> str:
    claim = _spec(one).get("claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def _bound(one: Object, get: Callable[[Object], str]) -> str:
    """What a claim shows of its volume, once it has one."""
    return get(_status(one)) if _spec(one).get("volumeName") else ""


def _capacity(status: Object) -> str:
    return str((status.get("capacity") or {}).get("storage", ""))


_VOLUMES = (
    text("Capacity", lambda one: (_spec(one).get("capacity") or {}).get("storage", "")),
    text("Access Modes", lambda one: _modes(_spec(one).get("accessModes"))),
    text("Reclaim Policy", _of_spec("persistentVolumeReclaimPolicy")),
    text("Status", lambda one: _phase(one, "Pending")),
    text("Claim", _claim_of),
    text("StorageClass", _class),
    text("VolumeAttributesClass", _of_spec("volumeAttributesClassName", UNSET)),
    text("Reason", _of_status("reason")),
    AGE,
    text("VolumeMode", _of_spec("volumeMode", UNSET), True),
)
_CLAIMS = (
    text("Status", lambda one: _phase(one, "Pending")),
    text("Volume", _of_spec("volumeName")),
    text("Capacity", lambda one: _bound(one, _capacity)),
    text("Access Modes", lambda one: _bound(one, lambda it: _modes(it.get("accessModes")))),
    text("StorageClass", _class),
    text("VolumeAttributesClass", _of_spec("volumeAttributesClassName", UNSET)),
    AGE,
    text("VolumeMode", _of_spec("volumeMode", UNSET), True),
)


def _job_status(one: Object) -> str:
    names = {
        each["type"]: None
        for each in _status(one).get("conditions") or []
        if each.get("status") == "True"
    }
    for condition in ("Complete", "Failed"):
        if condition in names:
            return condition
    if _meta(one).get("deletionTimestamp"):
        return "Terminating"
    for condition in ("Suspended", "FailureTarget", "SuccessCriteriaMet"):
        if condition in names:
            return condition
    return "Running"


def _completions(one: Object) -> str:
    done, wanted = _status(one).get("succeeded") or 0, _spec(one).get("completions")
    if wanted is not None:
        return f"{done}/{wanted}"
    parallelism = _spec(one).get("parallelism") or 0
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def _job_duration(one: Object, now: int) -> str:
    status = _status(one)
    if not status.get("startTime"):
        return ""
    if status.get("completionTime"):
        return between(status["startTime"], status["completionTime"])
    return since(status["startTime"], now)


def _event_seen(one: Object, now: int) -> str:
    series = one.get("series") or {}
    last = series.get("lastObservedTime") or one.get("lastTimestamp")
    last = last or one.get("deprecatedLastTimestamp") or one.get("eventTime")
    return since(last, now)


def _event_about(one: Object) -> Object:
    return one.get("involvedObject") or one.get("regarding") or {}


def _event_source(one: Object) -> str:
    source = one.get("source") or one.get("deprecatedSource") or {}
    name = source.get("component") or one.get("reportingController", "")
    return ", ".join(part for part in (name, source.get("host", "")) if part)


_EVENTS = (
    Column("Last Seen", _event_seen),
    text("Type", lambda one: one.get("type", "")),
    text("Reason", lambda one: one.get("reason", "")),
    text(
        "Object",
        lambda one: (
            f"{_event_about(one).get('kind', '').lower()}/{_event_about(one).get('name', '')}"
        ),
    ),
    text("Subobject", lambda one: _event_about(one).get("fieldPath", ""), True),
    text("Source", _event_source, True),
    text("Message", lambda one: (one.get("message") or one.get("note") or "").strip()),
    Column(
        "First Seen",
        lambda one, now: since(
            one.get("firstTimestamp") or one.get("deprecatedFirstTimestamp"), now
        ),
        priority=1,
    ),
    Column(
        "Count",
        lambda one, now: int(one.get("count") or one.get("deprecatedCount") or 1),
        type="integer",
        priority=1,
    ),
    Column("Name", NAME.get, format="name", priority=1),
)


def _quota(one: Object, kind: str) -> str:
    """What is used of each limit. Upstream: printResourceQuota()."""
    status = _status(one)
    hard, used = status.get("hard") or _spec(one).get("hard") or {}, status.get("used") or {}
    chosen = (name for name in sorted(hard) if name.startswith("limits.") == (kind == "limit"))
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in chosen)


def _ports(one: Object) -> str:
    found: list[str] = []
    for port in _spec(one).get("ports") or []:
        protocol = port.get("protocol", "TCP")
        outside = f":{port['nodePort']}" if port.get("nodePort") else ""
        found.append(f"{port.get('port')}{outside}/{protocol}")
    return ",".join(found) or NONE


def _external(one: Object) -> str:
    spec = _spec(one)
    given: list[str] = list(spec.get("externalIPs") or [])
    if spec.get("type") == "ExternalName":
        return str(spec.get("externalName", ""))
    if spec.get("type") == "LoadBalancer":
        ingress = (_status(one).get("loadBalancer") or {}).get("ingress") or []
        given = [str(each.get("ip") or each.get("hostname")) for each in ingress] + given
        return ",".join(given) or "<pending>"
    return ",".join(given) or NONE


def _claim_state(one: Object) -> str:
    """Upstream: printResourceClaim()."""
    states: list[str] = []
    if _meta(one).get("deletionTimestamp"):
        states.append("deleted")
    if not _status(one).get("allocation"):
        states.append("pending")
    else:
        states.append("allocated")
        if _status(one).get("reservedFor"):
            states.append("reserved")
    return ",".join(states)


_REPLICAS = (
    NAME,
    number("Desired", _of_spec("replicas", 0)),
    number("Current", _of_status("replicas", 0)),
    number("Ready", _of_status("readyReplicas", 0)),
    AGE,
    *_container_columns(),
)


def _ready_of(one: Object) -> str:
    return f"{_status(one).get('readyReplicas') or 0}/{_spec(one).get('replicas') or 0}"


COLUMNS: dict[str, tuple[Column, ...]] = {
    "Pod": (
        NAME,
        text("Ready", lambda one: pods.summary(one).ready),
        text("Status", lambda one: pods.summary(one).status),
        Column("Restarts", lambda one, now: pods.restarts(one, now)),
        AGE,
        text("IP", lambda one: _status(one).get("podIP") or NONE, True),
        text("Node", lambda one: _spec(one).get("nodeName") or NONE, True),
        text("Nominated Node", lambda one: _status(one).get("nominatedNodeName") or NONE, True),
        text("Readiness Gates", pods.readiness_gates, True),
    ),
    "Node": (
        NAME,
        text("Status", state),
        text("Roles", roles),
        AGE,
        text("Version", lambda one: info(one, "kubeletVersion", "")),
        text("Internal-IP", lambda one: address(one, "InternalIP"), True),
        text("External-IP", lambda one: address(one, "ExternalIP"), True),
        text("OS-Image", lambda one: info(one, "osImage"), True),
        text("Kernel-Version", lambda one: info(one, "kernelVersion"), True),
        text("Container-Runtime", lambda one: info(one, "containerRuntimeVersion"), True),
    ),
    "Deployment": (
        NAME,
        text("Ready", _ready_of),
        number("Up-to-date", _of_status("updatedReplicas", 0)),
        number("Available", _of_status("availableReplicas", 0)),
        AGE,
        *_container_columns(),
        _selector(lambda one: selector_text(_spec(one).get("selector"))),
    ),
    "ReplicaSet": (*_REPLICAS, _selector(lambda one: selector_text(_spec(one).get("selector")))),
    "ReplicationController": (
        *_REPLICAS,
        _selector(lambda one: labels_text(_spec(one).get("selector"))),
    ),
    "StatefulSet": (NAME, text("Ready", _ready_of), AGE, *_container_columns()),
    "DaemonSet": (
        NAME,
        number("Desired", _of_status("desiredNumberScheduled", 0)),
        number("Current", _of_status("currentNumberScheduled", 0)),
        number("Ready", _of_status("numberReady", 0)),
        number("Up-to-date", _of_status("updatedNumberScheduled", 0)),
        number("Available", _of_status("numberAvailable", 0)),
        text(
            "Node Selector",
            lambda one: labels_text(
                ((_spec(one).get("template") or {}).get("spec") or {}).get("nodeSelector")
            ),
        ),
        AGE,
        *_container_columns(),
        _selector(lambda one: selector_text(_spec(one).get("selector"))),
    ),
    "Job": (
        NAME,
        text("Status", _job_status),
        text("Completions", _completions),
        Column("Duration", _job_duration),
        AGE,
        *_container_columns(),
        _selector(lambda one: selector_text(_spec(one).get("selector"))),
    ),
    "Service": (
        NAME,
        text("Type", _of_spec("type", "ClusterIP")),
        text("Cluster-IP", lambda one: _spec(one).get("clusterIP") or NONE),
        text("External-IP", _external),
        text("Port(s)", _ports),
        AGE,
        _selector(lambda one: labels_text(_spec(one).get("selector"))),
    ),
    "PersistentVolume": (NAME, *_VOLUMES),
    "PersistentVolumeClaim": (NAME, *_CLAIMS),
    "StorageClass": (
        Column(
            "Name",
            lambda one, now: (
                f"{_meta(one)['name']} (default)" if _is_default(one) else NAME.get(one, now)
            ),
            format="name",
        ),
        text("Provisioner", lambda one: one.get("provisioner", "")),
        text("ReclaimPolicy", lambda one: one.get("reclaimPolicy", "Delete")),
        text("VolumeBindingMode", lambda one: one.get("volumeBindingMode", "Immediate")),
        flag("AllowVolumeExpansion", lambda one: one.get("allowVolumeExpansion")),
        AGE,
    ),
    "Namespace": (NAME, text("Status", _of_status("phase", "Active")), AGE),
    "Event": _EVENTS,
    "PodDisruptionBudget": (
        NAME,
        text("Min Available", lambda one: _spec(one).get("minAvailable", "N/A")),
        text("Max Unavailable", lambda one: _spec(one).get("maxUnavailable", "N/A")),
        number("Allowed Disruptions", _of_status("disruptionsAllowed", 0)),
        AGE,
    ),
    "PriorityClass": (
        NAME,
        number("Value", lambda one: one.get("value", 0)),
        flag("Global-Default", lambda one: one.get("globalDefault")),
        AGE,
        text("PreemptionPolicy", lambda one: one.get("preemptionPolicy", "")),
    ),
    "CSIDriver": (
        NAME,
        flag("AttachRequired", _of_spec("attachRequired", True)),
        flag("PodInfoOnMount", _of_spec("podInfoOnMount", False)),
        flag("StorageCapacity", _of_spec("storageCapacity", False)),
        text(
            "TokenRequests",
            lambda one: (
                ",".join(
                    each.get("audience") or "" for each in _spec(one).get("tokenRequests") or []
                )
                or UNSET
            ),
        ),
        flag("RequiresRepublish", _of_spec("requiresRepublish", False)),
        text("Modes", lambda one: ",".join(_spec(one).get("volumeLifecycleModes") or []) or NONE),
        AGE,
    ),
    "CSINode": (NAME, number("Drivers", lambda one: len(_spec(one).get("drivers") or [])), AGE),
    "CSIStorageCapacity": (
        NAME,
        text("StorageClassName", lambda one: one.get("storageClassName", "")),
        text("Capacity", lambda one: one.get("capacity") or UNSET),
    ),
    "VolumeAttachment": (
        NAME,
        text("Attacher", _of_spec("attacher")),
        text("PV", lambda one: (_spec(one).get("source") or {}).get("persistentVolumeName") or ""),
        text("Node", _of_spec("nodeName")),
        flag("Attached", _of_status("attached", False)),
        AGE,
    ),
    "ResourceQuota": (
        NAME,
        text("Request", lambda one: _quota(one, "request")),
        text("Limit", lambda one: _quota(one, "limit")),
        AGE,
    ),
    "LimitRange": (NAME, text("Created At", lambda one: _meta(one).get("creationTimestamp", ""))),
    "ConfigMap": (
        NAME,
        text("Data", lambda one: len(one.get("data") or {}) + len(one.get("binaryData") or {})),
        AGE,
    ),
    "Secret": (
        NAME,
        text("Type", lambda one: one.get("type", "Opaque")),
        number("Data", lambda one: len(one.get("data") or {})),
        AGE,
    ),
    "ServiceAccount": (NAME, number("Secrets", lambda one: len(one.get("secrets") or [])), AGE),
    "Lease": (NAME, text("Holder", _of_spec("holderIdentity")), AGE),
    "ResourceClaim": (NAME, text("State", _claim_state), AGE),
    "ResourceSlice": (
        NAME,
        text("Node", lambda one: _spec(one).get("nodeName") or "<unset>"),
        text("Driver", _of_spec("driver")),
        text("Pool", lambda one: (_spec(one).get("pool") or {}).get("name", "")),
        AGE,
    ),
}
USUAL = (NAME, AGE)


def _is_default(one: Object) -> bool:
    annotations = _meta(one).get("annotations") or {}
    names = ("storageclass.kubernetes.io/is-default-class",)
    names += ("storageclass.beta.kubernetes.io/is-default-class",)
    return any(annotations.get(name) == "true" for name in names)


__all__ = ["COLUMNS", "UNKNOWN", "USUAL", "Cell", "Column"]
