"""Where volumes are made: a class's allowedTopologies, and how claims spread over zones."""

from collections.abc import Iterator, Mapping
from typing import Final

from engine.objects.objects import Manifest


def matches_topologies(terms: list[Manifest] | None, node_labels: Mapping[str, str]) -> bool:
    """Whether a node's labels meet a class's allowedTopologies.

    Absent or empty terms allow every node; terms are alternatives; a term's expressions must all
    hold. Upstream: v1helper.MatchTopologySelectorTerms().
    """
    if not terms:
        return True
    return any(_matches_topology(term, node_labels) for term in terms)


def _matches_topology(term: Manifest, node_labels: Mapping[str, str]) -> bool:
    expressions = term.get("matchLabelExpressions") or ()
    # An empty term selects nothing.
    return bool(expressions) and all(
        node_labels.get(expression["key"]) in (expression.get("values") or ())
        for expression in expressions
    )


def spread(name: str) -> int:
    """A number by which claims spread over zones: those of one StatefulSet in turn, with one zone
    for all claims of one of its pods.

    Upstream: external-provisioner and pkg/volume/util, getPVCNameHashAndIndexOffset().
    """
    stem, dash, index = name.rpartition("-")
    if not (dash and index.isdecimal() and int(index) < 1 << 32):
        return _fnv_32(name)
    # A claim of a StatefulSet is named CLAIM-SET-INDEX; only the set is hashed.
    return (_fnv_32(stem.rpartition("-")[2]) + int(index)) % (1 << 32)


def _fnv_32(text: str) -> int:
    """The hash FNV-1. Upstream: Go's hash/fnv, New32()."""
    value = 0x811C9DC5
    for byte in text.encode():
        value = value * 0x01000193 % (1 << 32) ^ byte
    return value


_LEVELS: Final = ("zone", "region")


def _level_of(key: str) -> str:
    """Whether a label or topology key is about zones or regions; "" for neither.

    Drivers have keys of their own, such as topology.gke.io/zone.
    """
    last = key.rpartition("/")[2]
    return last if last in _LEVELS and "/" in key else ""


def zones_of_node(labels: Mapping[str, str]) -> dict[str, str]:
    """The zone and the region of a node by its labels, of either generation."""
    found: dict[str, str] = {}
    for level in _LEVELS:
        for prefix in ("topology.kubernetes.io", "failure-domain.beta.kubernetes.io"):
            value = labels.get(f"{prefix}/{level}")
            if value:
                found.setdefault(level, value)
    return found


def zones_of(volume: Manifest) -> Iterator[tuple[str, list[str]]]:
    """ "zone" or "region", and where a disk can be attached, by its labels and its node affinity.

    A label may name several zones ("a__b"). Terms of the affinity are alternatives: it binds only
    if each of them does.
    """
    labels: Mapping[str, str] = volume["metadata"].get("labels") or {}
    for level, value in zones_of_node(labels).items():
        yield level, value.split("__")
    spec: Manifest = volume.get("spec") or {}
    affinity: Manifest = spec.get("nodeAffinity") or {}
    required: Manifest = affinity.get("required") or {}
    terms: list[Manifest] = required.get("nodeSelectorTerms") or []
    for level in _LEVELS:
        allowed = [[*_values(term, level)] for term in terms]
        if allowed and all(allowed):
            yield level, [*dict.fromkeys(value for values in allowed for value in values)]


def _values(term: Manifest, level: str) -> Iterator[str]:
    for expression in term.get("matchExpressions") or ():
        if _level_of(expression.get("key", "")) == level and expression.get("operator") == "In":
            yield from expression.get("values") or ()
