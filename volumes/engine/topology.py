"""Where volumes are made: a class's allowedTopologies, and how claims spread over zones."""

import zlib
from collections.abc import Mapping

from kscope.sim.objects.objects import Manifest


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
    """A number by which claims spread over zones, those of one StatefulSet in turn.

    Upstream: pkg/volume/util, getPVCNameHashAndIndexOffset(), with another hash.
    """
    stem, dash, index = name.rpartition("-")
    if dash and index.isdigit():
        return zlib.crc32(stem.encode()) + int(index)
    return zlib.crc32(name.encode())
