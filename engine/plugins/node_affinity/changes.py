"""Changes after which a node is one that a pod selects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from engine.framework.explaining.fixes import SmallestFix
from engine.framework.explaining.label_changes import label_change
from engine.framework.explaining.labels import RENAMED
from engine.framework.explaining.manifests import REQUIRED, deep_copy, node_terms
from engine.framework.explaining.proposes import Proposal, pod_made_anew
from engine.framework.explaining.refusals import Refusals
from engine.kernel.sentences import say
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Node, Pod
from engine.objects.selectors import NodeSelector, int64


def label(node: str, numbers: Mapping[str, Any]) -> SmallestFix | None:
    """See `Fixes`: the first label that the pod wants, if its rule names values."""
    if "wanted" not in numbers:
        return None
    key, value = numbers["key"], numbers["wanted"][0]
    return SmallestFix(
        text=say(
            "Label {node} {key}={value} and it may fit there.", node=node, key=key, value=value
        ),
        object=f"node/{node}",
        patch={"metadata": {"labels": {key: value}}},
    )


def selector_changes(refusals: Refusals, added: Mapping[str, Any]) -> Iterator[Proposal]:
    """A label of a node, or another requirement; *added* is the scheduler's own affinity."""
    yield from _node_labels(refusals, added)
    yield from _selectors(refusals)


def _node_labels(refusals: Refusals, added: Mapping[str, Any]) -> Iterator[Proposal]:
    """One label on a node."""
    terms = items(section(added, REQUIRED), "nodeSelectorTerms")
    for _, node in refusals.near():
        wanted = {
            **_labels_for_selector(refusals, node),
            **_single_labels(terms, {}, node, refusals.others),
        }
        for key, value in wanted.items():
            change = label_change(node, key, value)
            if change is not None:
                yield change


def _labels_for_selector(refusals: Refusals, node: Node) -> dict[str, str | None]:
    """The label that would make the node one the pod selects, where a single one is enough."""
    pod = refusals.pod
    selector: dict[str, str] = pod.spec.get("nodeSelector") or {}
    missing: dict[str, str | None] = {
        key: value for key, value in selector.items() if node.labels.get(key) != value
    }
    return _single_labels(node_terms(pod) or [{}], missing, node, refusals.others)


def _single_labels(
    terms: list[Manifest], missing: dict[str, str | None], node: Node, others: int
) -> dict[str, str | None]:
    """The labels that each alone, on top of what is *missing*, make one of *terms* hold.

    Up to *others* more may be needed.
    """
    found: dict[str, str | None] = {}
    for term in terms:
        needed = {**missing}
        for expression in term.get("matchExpressions") or ():
            parsed = NodeSelector.parse({"nodeSelectorTerms": [{"matchExpressions": [expression]}]})
            if not parsed.matches(node.labels, node.name):
                needed[expression["key"]] = _satisfying(expression)
        if len(needed) <= 1 + others:
            for key, value in needed.items():
                found.setdefault(key, value)
    return found


def _satisfying(expression: Manifest) -> str | None:
    """A value of the label that satisfies the requirement; None for no such label."""
    operator, values = expression.get("operator"), list(expression.get("values") or ())
    if operator == "In":
        return str(values[0])
    if operator == "Exists":
        return "true"
    if operator in ("Gt", "Lt"):
        bound = int64(values[0])
        return None if bound is None else str(bound + (1 if operator == "Gt" else -1))
    return None


# What a machine must be for the pod's images to run there: no other value would do.
_OF_IMAGES: Final = frozenset(
    ("kubernetes.io/os", "kubernetes.io/arch", "beta.kubernetes.io/os", "beta.kubernetes.io/arch")
)


def _selectors(refusals: Refusals) -> Iterator[Proposal]:
    """One requirement of nodeSelector or node affinity: another value that nodes have, or none."""
    yield from _node_selectors(refusals)
    yield from _affinity_expressions(refusals)


def _node_selectors(refusals: Refusals) -> Iterator[Proposal]:
    pod = refusals.pod
    selector: dict[str, str] = dict(pod.spec.get("nodeSelector") or {})
    for key, value in sorted(selector.items()):
        newer = RENAMED.get(key, "")
        if any(node.labels.get(newer) == value for _, node in refusals.near()):
            renamed = {newer if name == key else name: wanted for name, wanted in selector.items()}
            text = say(
                "Select {newer}={value} instead of {key}={value}", newer=newer, value=value, key=key
            )
            yield pod_made_anew(pod, {"nodeSelector": renamed}, kind="selector", text=text)
        if key in _OF_IMAGES:
            continue
        others = {
            node.labels[key]: None
            for _, node in refusals.near()
            if node.labels.get(key, value) != value
        }
        for other in list(others)[:3]:
            yield pod_made_anew(
                pod,
                {"nodeSelector": {**selector, key: other}},
                kind="selector",
                text=say(
                    "Select {key}={other} instead of {key}={value}",
                    key=key,
                    other=other,
                    value=value,
                ),
            )
        rest = {name: wanted for name, wanted in selector.items() if name != key}
        yield pod_made_anew(
            pod,
            {"nodeSelector": rest},
            kind="selector",
            text=say("Do not select {key}={value}", key=key, value=value),
        )


def _affinity_expressions(refusals: Refusals) -> Iterator[Proposal]:
    pod = refusals.pod
    # A DaemonSet binds each of its pods to a node by the node's name.
    is_daemon = any(each.get("kind") == "DaemonSet" for each in pod.owner_references)
    parts = ("matchExpressions",) if is_daemon else ("matchExpressions", "matchFields")
    for place, term in enumerate(node_terms(pod)):
        for part in parts:
            for index, expression in enumerate(term.get(part) or ()):
                if expression.get("key") in _OF_IMAGES:
                    continue
                written = _expression(expression)
                wider = _wider(expression, refusals)
                if wider is not None:
                    yield pod_made_anew(
                        pod,
                        _with_expression(pod, place, part, index, wider),
                        kind="selector",
                        text=say(
                            "Let the node affinity accept {expression}",
                            expression=_expression(wider),
                        ),
                    )
                yield pod_made_anew(
                    pod,
                    _with_expression(pod, place, part, index, None),
                    kind="selector",
                    text=say("Drop {written} from the node affinity", written=written),
                )


def _wider(expression: Manifest, refusals: Refusals) -> Manifest | None:
    """The requirement with one more value, that of the closest node that has the label."""
    if expression.get("operator") != "In":
        return None
    values: list[str] = list(expression.get("values") or ())
    for _, node in refusals.near():
        found = node.labels.get(expression.get("key") or "")
        if found is not None and found not in values:
            return {**expression, "values": [*values, found]}
    return None


def _with_expression(
    pod: Pod, place: int, part: str, index: int, wanted: Manifest | None
) -> Manifest:
    """The pod's affinity with one requirement replaced, or left out."""
    affinity = deep_copy(pod.spec.get("affinity") or {})
    required: Manifest = affinity["nodeAffinity"][REQUIRED]
    terms: list[Manifest] = required["nodeSelectorTerms"]
    expressions: list[Manifest] = terms[place][part]
    expressions[index : index + 1] = [] if wanted is None else [wanted]
    if not terms[place].get("matchExpressions") and not terms[place].get("matchFields"):
        # A term without requirements matches nothing; what is meant is that nothing is required.
        del affinity["nodeAffinity"][REQUIRED]
    return {"affinity": affinity}


def _expression(expression: Manifest) -> str:
    operator, key = expression.get("operator"), expression.get("key")
    values: list[str] = list(expression.get("values") or ())
    if operator in ("Exists", "DoesNotExist"):
        return f"{key} {operator}"
    sign = {"Gt": ">", "Lt": "<"}.get(str(operator))
    return f"{key} {sign} {values[0]}" if sign else f"{key} {operator} {', '.join(values)}"
