"""The columns of nodes, namespaces and what else belongs to the cluster.

Upstream: printNode(), printResourceQuota() and their like.
"""

from kube.tables.columns import (
    AGE,
    NAME,
    NONE,
    Columns,
    Object,
    at_top,
    flag,
    in_spec,
    in_status,
    metadata_of,
    number,
    spec_of,
    status_of,
    text,
)
from kube.tables.durations import UNKNOWN

_ROLE = "node-role.kubernetes.io/"


def _node_status(node: Object) -> str:
    conditions = status_of(node).get("conditions") or []
    ready = [one.get("status") for one in conditions if one.get("type") == "Ready"]
    words = [("Ready" if ready[-1] == "True" else "NotReady") if ready else "Unknown"]
    if spec_of(node).get("unschedulable"):
        words.append("SchedulingDisabled")
    return ",".join(words)


def _roles(node: Object) -> str:
    found: dict[str, None] = {}
    for label, value in (metadata_of(node).get("labels") or {}).items():
        if label.startswith(_ROLE) and len(label) > len(_ROLE):
            found[label.removeprefix(_ROLE)] = None
        elif label == "kubernetes.io/role" and value:
            found[value] = None
    return ",".join(sorted(found)) or NONE


def _address(node: Object, type: str) -> str:
    for one in status_of(node).get("addresses") or []:
        if one.get("type") == type:
            return str(one.get("address"))
    return NONE


def _info(node: Object, name: str, default: str = UNKNOWN) -> str:
    return str((status_of(node).get("nodeInfo") or {}).get(name) or default)


def _quota(one: Object, *, of_limits: bool) -> str:
    """What is used of each limit. Upstream: printResourceQuota()."""
    status = status_of(one)
    hard, used = status.get("hard") or {}, status.get("used") or {}
    chosen = (name for name in sorted(hard) if name.startswith("limits.") == of_limits)
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in chosen)


CLUSTER: dict[str, Columns] = {
    "ConfigMap": (
        NAME,
        number(
            "Data",
            lambda one: len(one.get("data") or {}) + len(one.get("binaryData") or {}),
            type="string",
        ),
        AGE,
    ),
    "Lease": (NAME, text("Holder", in_spec("holderIdentity")), AGE),
    "Namespace": (NAME, text("Status", in_status("phase")), AGE),
    "Node": (
        NAME,
        text("Status", _node_status),
        text("Roles", _roles),
        AGE,
        text("Version", lambda one: _info(one, "kubeletVersion", "")),
        text("Internal-IP", lambda one: _address(one, "InternalIP"), wide=True),
        text("External-IP", lambda one: _address(one, "ExternalIP"), wide=True),
        text("OS-Image", lambda one: _info(one, "osImage"), wide=True),
        text("Kernel-Version", lambda one: _info(one, "kernelVersion"), wide=True),
        text("Container-Runtime", lambda one: _info(one, "containerRuntimeVersion"), wide=True),
    ),
    "PriorityClass": (
        NAME,
        number("Value", at_top("value")),
        flag("Global-Default", at_top("globalDefault")),
        AGE,
        text("PreemptionPolicy", at_top("preemptionPolicy")),
    ),
    "ResourceQuota": (
        NAME,
        text("Request", lambda one: _quota(one, of_limits=False)),
        text("Limit", lambda one: _quota(one, of_limits=True)),
        AGE,
    ),
    "RuntimeClass": (NAME, text("Handler", at_top("handler")), AGE),
    "Secret": (
        NAME,
        text("Type", at_top("type")),
        number("Data", lambda one: len(one.get("data") or {}), type="string"),
        AGE,
    ),
    "ServiceAccount": (
        NAME,
        number("Secrets", lambda one: len(one.get("secrets") or []), type="string"),
        AGE,
    ),
}
