"""The defaults of nodes, namespaces and what else belongs to the cluster.

Upstream: SetDefaults_NodeStatus(), SetDefaults_Namespace(), SetDefaults_LimitRangeItem(),
pkg/apis/scheduling/v1/defaults.go.
"""

from engine.api_server.admission.defaults.pods import fill_template
from engine.api_server.admission.defaults.sections import (
    Fill,
    Manifest,
    each,
    section,
    write_amounts,
)

_LIMITS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")

_READY = {
    "type": "Ready",
    "status": "True",
    "reason": "KubeletReady",
    "message": "kubelet is posting ready status",
}


# What a kubelet says of a healthy node. Upstream: pkg/kubelet/nodestatus/setters.go.
_HEALTHY: list[Manifest] = [
    {"type": kind, "status": "False", "reason": reason, "message": f"kubelet has {message}"}
    for kind, reason, message in (
        ("MemoryPressure", "KubeletHasSufficientMemory", "sufficient memory available"),
        ("DiskPressure", "KubeletHasNoDiskPressure", "no disk pressure"),
        ("PIDPressure", "KubeletHasSufficientPID", "sufficient PID available"),
    )
]


def _namespace(found: Manifest) -> None:
    metadata = found["metadata"]
    name = {"kubernetes.io/metadata.name": metadata["name"]}
    metadata["labels"] = {**name, **(metadata.get("labels") or {})}
    is_ending = bool(metadata.get("deletionTimestamp"))
    if is_ending:
        # Its controller takes the finalizer away.
        section(found, "spec")
    else:
        section(found, "spec", finalizers=["kubernetes"])
    section(found, "status", phase="Terminating" if is_ending else "Active")


def _node(found: Manifest) -> None:
    section(found, "spec")
    status = section(found, "status")
    write_amounts(status, "capacity", "allocatable")
    if status.get("capacity") and not status.get("allocatable"):
        status["allocatable"] = status["capacity"]
    conditions: list[Manifest] = status.get("conditions") or []
    if not any(one.get("type") == "Ready" for one in conditions):
        # A run takes a node to be ready unless its conditions say otherwise, and so do its pages.
        since = found["metadata"].get("creationTimestamp")
        times = {"lastHeartbeatTime": since, "lastTransitionTime": since} if since else {}
        made = [_READY] if conditions else [*_HEALTHY, _READY]
        status["conditions"] = [*conditions, *({**one, **times} for one in made)]


def _priority_class(found: Manifest) -> None:
    found["metadata"].setdefault("generation", 1)
    found.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _secret(found: Manifest) -> None:
    found.setdefault("type", "Opaque")


def _resource_quota(found: Manifest) -> None:
    write_amounts(section(found, "spec"), "hard")
    write_amounts(section(found, "status"), "hard", "used")


def _limit_range(found: Manifest) -> None:
    for item in each(section(found, "spec"), "limits"):
        write_amounts(item, *_LIMITS)
        if item.get("type") != "Container":
            continue
        limits: Manifest = {**(item.get("max") or {}), **(item.get("default") or {})}
        # Upstream: what is absent is taken from the default limit first, then from the minimum.
        requests: Manifest = {
            **(item.get("min") or {}),
            **limits,
            **(item.get("defaultRequest") or {}),
        }
        for name, amounts in (("default", limits), ("defaultRequest", requests)):
            if amounts:
                item[name] = amounts


def _with_status(found: Manifest) -> None:
    section(found, "status")


def _first_generation(found: Manifest) -> None:
    found["metadata"].setdefault("generation", 1)


def _pod_template(found: Manifest) -> None:
    _first_generation(found)
    fill_template(found)


def _ingress(found: Manifest) -> None:
    _first_generation(found)
    section(found, "status", loadBalancer={})


def _network_policy(found: Manifest) -> None:
    """Upstream: pkg/apis/networking/v1/defaults.go."""
    _first_generation(found)
    spec = section(found, "spec")
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", *(("Egress",) if spec.get("egress") else ())]
    for direction in ("ingress", "egress"):
        for rule in each(spec, direction) if spec.get(direction) else ():
            for port in each(rule, "ports") if rule.get("ports") else ():
                port.setdefault("protocol", "TCP")


CLUSTER: dict[str, Fill] = {
    "LimitRange": _limit_range,
    "Namespace": _namespace,
    "Node": _node,
    "PriorityClass": _priority_class,
    "ResourceQuota": _resource_quota,
    "Secret": _secret,
    # Of these a run only keeps the data.
    "CertificateSigningRequest": _with_status,
    "FlowSchema": _first_generation,
    "Ingress": _ingress,
    "IngressClass": _first_generation,
    "NetworkPolicy": _network_policy,
    "PodTemplate": _pod_template,
    "PriorityLevelConfiguration": _first_generation,
}
