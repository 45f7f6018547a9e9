"""The scores of two nodes in two runs, factor by factor, from the evidence of both attempts."""

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]


def beside(left: str, right: str, a: Json | None, b: Json | None) -> dict[str, Any] | None:
    """How run *a* came to node *left* and run *b* to *right*; None where the evidence does not say.

    `rows` are the two nodes, each with its total and terms {plugin, score, weight, points} in both
    runs; `changed` names the plugins whose normalised score or weight differs between the runs.
    """
    if a is None or b is None or not left or not right or left == right:
        return None
    if any(node not in (each.get("scores") or {}) for each in (a, b) for node in (left, right)):
        return None
    rows = [
        {"node": node, "a": _of_node(node, a), "b": _of_node(node, b)} for node in (left, right)
    ]
    changed = {
        term["plugin"]: None
        for row in rows
        for term in (*row["a"]["terms"], *row["b"]["terms"])
        if _factors(row["a"], term["plugin"]) != _factors(row["b"], term["plugin"])
    }
    return {"fit": len(a["scores"]), "rows": rows, "changed": list(changed)}


def _of_node(node: str, evidence: Json) -> dict[str, Any]:
    scores, weights = evidence["scores"][node], evidence.get("weights") or {}
    terms = [
        {"plugin": plugin, "score": normalised, "weight": weights.get(plugin), "points": points}
        for plugin, (_, normalised, points) in scores["plugins"].items()
    ]
    return {"total": scores["total"], "terms": terms}


def _factors(side: Json, plugin: str) -> tuple[Any, Any] | None:
    found = (term for term in side["terms"] if term["plugin"] == plugin)
    term = next(found, None)
    return None if term is None else (term["score"], term["weight"])
