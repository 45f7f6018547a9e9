"""The columns of kinds of which a run only keeps the data: networking, roles, requests of clients.

Upstream: printIngress(), printEndpoints(), printRoleBinding() and their like.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from kube.tables.columns import (
    AGE,
    NAME,
    NONE,
    Columns,
    Object,
    at_top,
    in_spec,
    labels_text,
    metadata_of,
    number,
    selector_text,
    spec_of,
    status_of,
    text,
)

_SHOWN = 3


def _list(items: Iterable[str], most: int = _SHOWN) -> str:
    """Upstream: the first few, and how many more there are."""
    found = [*dict.fromkeys(items)]
    more = f" + {len(found) - most} more..." if len(found) > most else ""
    return ",".join(found[:most]) + more if found else NONE


def _endpoints(one: Object) -> str:
    return _list(
        f"{address.get('ip')}:{port.get('port')}"
        for subset in one.get("subsets") or ()
        for port in subset.get("ports") or ()
        for address in subset.get("addresses") or ()
    )


def _slice_ports(one: Object) -> str:
    ports = (str(port.get("port") or "*") for port in one.get("ports") or ())
    return _list(ports) if one.get("ports") else "<unset>"


def _slice_endpoints(one: Object) -> str:
    found = _list(
        address for each in one.get("endpoints") or () for address in each.get("addresses") or ()
    )
    return "<unset>" if found == NONE else found


def _hosts(one: Object) -> str:
    hosts = [rule["host"] for rule in spec_of(one).get("rules") or () if rule.get("host")]
    return _list(hosts) if hosts else "*"


def _ingress_address(one: Object) -> str:
    balancer: Mapping[str, Any] = status_of(one).get("loadBalancer") or {}
    found = [each.get("ip") or each.get("hostname") for each in balancer.get("ingress") or ()]
    return ",".join(str(each) for each in found if each)


def _parameters(one: Object) -> str:
    given: Mapping[str, Any] = spec_of(one).get("parameters") or {}
    kind = ".".join(part for part in (given.get("kind"), given.get("apiGroup")) if part)
    return f"{kind}/{given.get('name')}" if given else NONE


def _role(one: Object) -> str:
    reference: Mapping[str, Any] = one.get("roleRef") or {}
    return f"{reference.get('kind')}/{reference.get('name')}"


def _subjects(one: Object, kind: str) -> str:
    found = [each for each in one.get("subjects") or () if each.get("kind") == kind]
    is_account = kind == "ServiceAccount"
    names = (
        f"{each.get('namespace')}/{each.get('name')}" if is_account else str(each.get("name"))
        for each in found
    )
    return ", ".join(names)


def _condition(one: Object) -> str:
    """Upstream: extractCSRStatus()."""
    status = status_of(one)
    found = [each.get("type") for each in status.get("conditions") or ()]
    words = [name for name in ("Approved", "Denied", "Failed") if name in found] or ["Pending"]
    return ",".join([*words, *(("Issued",) if status.get("certificate") else ())])


def _limited(one: Object, name: str) -> Any:
    return (spec_of(one).get("limited") or {}).get(name) or NONE


def _level(one: Object) -> str:
    return str((spec_of(one).get("priorityLevelConfiguration") or {}).get("name") or "")


def _labels(one: Object) -> Mapping[str, str]:
    template: Mapping[str, Any] = one.get("template") or {}
    return (template.get("metadata") or {}).get("labels") or {}


def _of_containers(one: Object, name: str) -> str:
    spec: Mapping[str, Any] = (one.get("template") or {}).get("spec") or {}
    return ",".join(str(each.get(name) or "") for each in spec.get("containers") or ())


_BINDING: Columns = (
    NAME,
    text("Role", _role),
    AGE,
    text("Users", lambda one: _subjects(one, "User"), wide=True),
    text("Groups", lambda one: _subjects(one, "Group"), wide=True),
    text("ServiceAccounts", lambda one: _subjects(one, "ServiceAccount"), wide=True),
)
_ROLE: Columns = (NAME, text("Created At", lambda one: metadata_of(one).get("creationTimestamp")))

NETWORK: dict[str, Columns] = {
    "CertificateSigningRequest": (
        NAME,
        AGE,
        text("SignerName", in_spec("signerName", NONE)),
        text("Requestor", in_spec("username")),
        text("RequestedDuration", in_spec("expirationSeconds", NONE)),
        text("Condition", _condition),
    ),
    "ClusterRole": _ROLE,
    "ClusterRoleBinding": _BINDING,
    "Endpoints": (NAME, text("Endpoints", _endpoints), AGE),
    "EndpointSlice": (
        NAME,
        text("AddressType", at_top("addressType")),
        text("Ports", _slice_ports),
        text("Endpoints", _slice_endpoints),
        AGE,
    ),
    "FlowSchema": (
        NAME,
        text("PriorityLevel", _level),
        number("MatchingPrecedence", in_spec("matchingPrecedence")),
        AGE,
    ),
    "Ingress": (
        NAME,
        text("Class", in_spec("ingressClassName", NONE)),
        text("Hosts", _hosts),
        text("Address", _ingress_address),
        text("Ports", lambda one: "80, 443" if spec_of(one).get("tls") else "80"),
        AGE,
    ),
    "IngressClass": (
        NAME,
        text("Controller", in_spec("controller")),
        text("Parameters", _parameters),
        AGE,
    ),
    "NetworkPolicy": (
        NAME,
        text("Pod-Selector", lambda one: selector_text(spec_of(one).get("podSelector"))),
        AGE,
    ),
    "PodTemplate": (
        NAME,
        text("Containers", lambda one: _of_containers(one, "name")),
        text("Images", lambda one: _of_containers(one, "image")),
        text("Pod Labels", lambda one: labels_text(_labels(one))),
    ),
    "PriorityLevelConfiguration": (
        NAME,
        text("Type", in_spec("type")),
        text("NominalConcurrencyShares", lambda one: _limited(one, "nominalConcurrencyShares")),
        AGE,
    ),
    "Role": _ROLE,
    "RoleBinding": _BINDING,
}
