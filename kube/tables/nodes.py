"""What a table says of a node. Upstream: printNode()."""

from collections.abc import Mapping
from typing import Any

Object = Mapping[str, Any]

_ROLE = "node-role.kubernetes.io/"


def state(node: Object) -> str:
    """ "Ready", "NotReady,SchedulingDisabled"."""
    conditions = (node.get("status") or {}).get("conditions") or []
    ready = [one for one in conditions if one.get("type") == "Ready"]
    found = ["Ready" if one.get("status") == "True" else "NotReady" for one in ready] or ["Unknown"]
    if (node.get("spec") or {}).get("unschedulable"):
        found.append("SchedulingDisabled")
    return ",".join(found)


def roles(node: Object) -> str:
    """The roles that its labels name."""
    found: dict[str, None] = {}
    for label, value in (node["metadata"].get("labels") or {}).items():
        if label.startswith(_ROLE) and len(label) > len(_ROLE):
            found[label.removeprefix(_ROLE)] = None
        elif label == "kubernetes.io/role" and value:
            found[value] = None
    return ",".join(sorted(found)) or "<none>"


def address(node: Object, type: str) -> str:
    """The first address of a type."""
    for one in (node.get("status") or {}).get("addresses") or []:
        if one.get("type") == type:
            return str(one.get("address"))
    return "<none>"


def info(node: Object, name: str, default: str = "<unknown>") -> str:
    """A field of status.nodeInfo."""
    return str(((node.get("status") or {}).get("nodeInfo") or {}).get(name) or default)
