"""The scores of two nodes in two runs, factor by factor, from the evidence of both attempts."""

from collections.abc import Mapping
from typing import Any, TypedDict

Json = Mapping[str, Any]


class Term(TypedDict):
    """A plugin's normalised score, its weight, and what both come to."""

    plugin: str
    score: int
    weight: int | None
    points: int


class Side(TypedDict):
    """The total of a node in one run, and its terms."""

    total: int
    terms: list[Term]


class Row(TypedDict):
    """A node in both runs."""

    node: str
    a: Side
    b: Side


class Calculation(TypedDict):
    """Two nodes in two runs: `fit` were scored, `changed` plugins have another score or weight."""

    fit: int
    rows: list[Row]
    changed: list[str]


def beside(left: str, right: str, a: Json | None, b: Json | None) -> Calculation | None:
    """How run *a* came to node *left* and run *b* to *right*; None where the evidence does not say.

    `rows` are the two nodes, each with its total and terms {plugin, score, weight, points} in both
    runs; `changed` names the plugins whose normalised score or weight differs between the runs.
    """
    if a is None or b is None or not left or not right or left == right:
        return None
    if any(node not in (each.get("scores") or {}) for each in (a, b) for node in (left, right)):
        return None
    rows = [Row(node=node, a=_of_node(node, a), b=_of_node(node, b)) for node in (left, right)]
    changed = {
        term["plugin"]: None
        for row in rows
        for term in (*row["a"]["terms"], *row["b"]["terms"])
        if _factors(row["a"], term["plugin"]) != _factors(row["b"], term["plugin"])
    }
    return Calculation(fit=len(a["scores"]), rows=rows, changed=list(changed))


def _of_node(node: str, evidence: Json) -> Side:
    scores, weights = evidence["scores"][node], evidence.get("weights") or {}
    terms = [
        Term(plugin=plugin, score=normalised, weight=weights.get(plugin), points=points)
        for plugin, (_, normalised, points) in scores["plugins"].items()
    ]
    return Side(total=scores["total"], terms=terms)


def _factors(side: Side, plugin: str) -> tuple[Any, Any] | None:
    found = (term for term in side["terms"] if term["plugin"] == plugin)
    term = next(found, None)
    return None if term is None else (term["score"], term["weight"])
