"""Labels of nodes and requirements on them, in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from engine.kernel.sentences import Sentence, enumerated, say
from engine.objects.objects import Node
from engine.objects.selectors import NodeSelector

# Labels that Kubernetes has renamed, and what they are called since.
RENAMED: Final[Mapping[str, str]] = {
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "node-role.kubernetes.io/master": "node-role.kubernetes.io/control-plane",
    "kubernetes.io/role": "node-role.kubernetes.io",
}


def described(requirement: Mapping[str, Any]) -> Sentence:
    """A requirement in the words of kubectl: "zone in [a, b]"."""
    key, operator = str(requirement.get("key")), str(requirement.get("operator"))
    values = enumerated([str(each) for each in requirement.get("values") or ()])
    if operator == "Exists":
        return say("a label {key}", key=key)
    if operator == "DoesNotExist":
        return say("no label {key}", key=key)
    if operator == "Gt":
        return say("{key} > {values}", key=key, values=values)
    if operator == "Lt":
        return say("{key} < {values}", key=key, values=values)
    if operator == "In":
        return say("{key} in [{values}]", key=key, values=values)
    return say("{key} not in [{values}]", key=key, values=values)


def holds(requirement: Mapping[str, Any], node: Node) -> bool:
    """Whether the labels of *node* meet one requirement."""
    return selector_of(requirement).matches(node.labels, node.name)


def selector_of(requirement: Mapping[str, Any]) -> NodeSelector:
    terms = {"nodeSelectorTerms": [{"matchExpressions": [dict(requirement)]}]}
    return NodeSelector.parse(terms)
