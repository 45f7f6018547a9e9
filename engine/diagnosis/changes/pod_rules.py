"""Changes of the pod's own rules: gates, tolerations, selectors, spreading, affinity."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from engine.diagnosis.candidates import (
    NODES,
    Candidate,
    Situation,
    patched,
    replaced,
    template_note,
)
from engine.diagnosis.world import World
from engine.framework.explaining.labels import RENAMED
from engine.framework.explaining.manifests import (
    CONDITION,
    PREFERRED,
    REQUIRED,
    deep_copy,
    node_terms,
    taint_text,
)
from engine.framework.pods.pod_info import AffinityTerm
from engine.framework.pods.pod_template import Taint
from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.plugins.taint_toleration.facts import origin_of

_AFFINITY_BREAKS = {
    "podAntiAffinity": "Pods that were to stay apart may then fail together.",
    "podAffinity": "It may then run far from the pods that it works with.",
}


def gates(situation: Situation) -> Iterator[Candidate]:
    """Take the gates off."""
    pod = situation.pod
    if situation.world.gates(pod) and pod.scheduling_gates:
        several = "s" if len(pod.scheduling_gates) > 1 else ""
        yield Candidate(
            kind="gate",
            text=f"Remove the scheduling gate{several} {', '.join(pod.scheduling_gates)}",
            command=patched(pod.id, {"spec": {"schedulingGates": []}}),
            note="What the gate waits for may not be ready: its controller should remove it.",
        )


def tolerations(situation: Situation) -> Iterator[Candidate]:
    """One toleration, for one taint of a close node."""
    pod = situation.pod
    taints: dict[Taint, None] = {}
    for each in situation.refused:
        node = situation.world.table.node(each.row)
        taints.update(dict.fromkeys(situation.untolerated(node)))
    for taint in list(taints)[:NODES]:
        if taint.key.startswith(CONDITION):
            continue
        toleration = {"key": taint.key, "effect": taint.effect, "operator": "Exists"}
        if taint.value:
            toleration |= {"operator": "Equal", "value": taint.value}
        old: list[Any] = list(pod.spec.get("tolerations") or ())
        yield Candidate(
            kind="toleration",
            text=f"Tolerate {taint_text(taint)}",
            command=patched(pod.id, {"spec": {"tolerations": [*old, toleration]}}),
            note=template_note(
                pod, breaks=f"{origin_of(taint)} The pod may then run on any node with it.".strip()
            ),
        )


def selectors(situation: Situation) -> Iterator[Candidate]:
    """One requirement of nodeSelector or node affinity: another value that nodes have, or none."""
    yield from _node_selectors(situation)
    yield from _affinity_expressions(situation)


def _node_selectors(situation: Situation) -> Iterator[Candidate]:
    pod = situation.pod
    selector: dict[str, str] = dict(pod.spec.get("nodeSelector") or {})
    for key, value in sorted(selector.items()):
        newer = RENAMED.get(key, "")
        if any(node.labels.get(newer) == value for _, node in situation.near()):
            renamed = {newer if name == key else name: wanted for name, wanted in selector.items()}
            text = f"Select {newer}={value} instead of {key}={value}"
            yield replaced(pod, {"nodeSelector": renamed}, kind="selector", text=text)
        others = {
            node.labels[key]: None
            for _, node in situation.near()
            if node.labels.get(key, value) != value
        }
        for other in list(others)[:3]:
            yield replaced(
                pod,
                {"nodeSelector": {**selector, key: other}},
                kind="selector",
                text=f"Select {key}={other} instead of {key}={value}",
            )
        rest = {name: wanted for name, wanted in selector.items() if name != key}
        yield replaced(
            pod, {"nodeSelector": rest}, kind="selector", text=f"Do not select {key}={value}"
        )


def _affinity_expressions(situation: Situation) -> Iterator[Candidate]:
    pod = situation.pod
    # A DaemonSet binds each of its pods to a node by the node's name.
    is_daemon = any(each.get("kind") == "DaemonSet" for each in pod.owner_references)
    parts = ("matchExpressions",) if is_daemon else ("matchExpressions", "matchFields")
    for place, term in enumerate(node_terms(pod)):
        for part in parts:
            for index, expression in enumerate(term.get(part) or ()):
                written = _expression(expression)
                wider = _wider(expression, situation)
                if wider is not None:
                    yield replaced(
                        pod,
                        _with_expression(pod, place, part, index, wider),
                        kind="selector",
                        text=f"Let the node affinity accept {_expression(wider)}",
                    )
                yield replaced(
                    pod,
                    _with_expression(pod, place, part, index, None),
                    kind="selector",
                    text=f"Drop {written} from the node affinity",
                )


def _wider(expression: Manifest, situation: Situation) -> Manifest | None:
    """The requirement with one more value, that of the closest node that has the label."""
    if expression.get("operator") != "In":
        return None
    values: list[str] = list(expression.get("values") or ())
    for _, node in situation.near():
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


def spreading(situation: Situation) -> Iterator[Candidate]:
    """Changes of a spread constraint: honor taints, the smallest skew that suffices, no minimum, a preference."""
    pod = situation.pod
    constraints: list[Manifest] = list(pod.spec.get("topologySpreadConstraints") or ())
    for place, constraint in enumerate(constraints):
        if constraint.get("whenUnsatisfiable", "DoNotSchedule") != "DoNotSchedule":
            continue
        key = constraint.get("topologyKey") or ""
        if constraint.get("nodeTaintsPolicy") != "Honor":
            text = f"Do not count nodes whose taints it does not tolerate over {key} (nodeTaintsPolicy: Honor)"
            yield _with_constraint(pod, constraints, place, {"nodeTaintsPolicy": "Honor"}, text)
        skew, allowed = _least_skew(situation, key), constraint.get("maxSkew") or 1
        if skew is not None and skew > allowed:
            text = f"Allow a skew of {skew} instead of {allowed} over {key}"
            yield _with_constraint(pod, constraints, place, {"maxSkew": skew}, text)
        if constraint.get("minDomains"):
            text = f"Ask for no minimum of domains of {key}"
            yield _with_constraint(pod, constraints, place, {"minDomains": None}, text)
        text = f"Let the spread over {key} be a preference (ScheduleAnyway)"
        changed = {"whenUnsatisfiable": "ScheduleAnyway", "minDomains": None}
        yield _with_constraint(pod, constraints, place, changed, text)


def _least_skew(situation: Situation, key: str) -> int | None:
    skews = [
        int(obstacle.detail.numbers["skew"])
        for each in situation.refused
        for obstacle in each.obstacles
        if obstacle.detail.numbers.get("topologyKey") == key and "skew" in obstacle.detail.numbers
    ]
    return min(skews, default=None)


def _with_constraint(
    pod: Pod, constraints: list[Manifest], place: int, changes: Manifest, text: str
) -> Candidate:
    changed = {k: v for k, v in {**constraints[place], **changes}.items() if v is not None}
    spread = [*constraints[:place], changed, *constraints[place + 1 :]]
    return replaced(
        pod,
        {"topologySpreadConstraints": spread},
        kind="spread",
        text=text,
        breaks="More of its kind may then fail with one domain.",
    )


def affinity_namespaces(situation: Situation) -> Iterator[Candidate]:
    """A required term of pod affinity looks where the pods are that it means, too."""
    pod = situation.pod
    affinity: Manifest = pod.spec.get("affinity") or {}
    raw = items(section(affinity, "podAffinity"), REQUIRED)
    for place, term in enumerate(situation.world.info().affinity.required):
        found = _namespaces_of_matching(situation.world, term)
        if place >= len(raw) or not found or found & term.namespaces:
            continue
        names = sorted({*term.namespaces, *found})
        changed = deep_copy(affinity)
        changed["podAffinity"][REQUIRED][place]["namespaces"] = names
        elsewhere = ", ".join(sorted(found))
        yield replaced(
            pod,
            {"affinity": changed},
            kind="affinity",
            text=f"Let the pod affinity look in namespace {elsewhere}, too (namespaces of its term)",
        )


def _namespaces_of_matching(world: World, term: AffinityTerm) -> set[str]:
    if term.selector is None:
        return set()
    return {
        info.pod.namespace
        for row, _ in world.nodes()
        for info in world.table.pods[row].values()
        if term.selector.matches(info.pod.labels)
    }


def pod_affinities(situation: Situation) -> Iterator[Candidate]:
    """One required term of pod affinity or anti-affinity becomes a preference."""
    pod = situation.pod
    affinity: Manifest = pod.spec.get("affinity") or {}
    for side, words in (("podAntiAffinity", "anti-affinity"), ("podAffinity", "affinity")):
        terms = items(section(affinity, side), REQUIRED)
        for place, term in enumerate(terms):
            changed = deep_copy(affinity)
            changed[side][REQUIRED] = [*terms[:place], *terms[place + 1 :]]
            preferred: list[Manifest] = changed[side].get(PREFERRED) or []
            changed[side][PREFERRED] = [*preferred, {"weight": 100, "podAffinityTerm": term}]
            yield replaced(
                pod,
                {"affinity": changed},
                kind="affinity",
                text=f"Prefer the pod {words} over {term.get('topologyKey')}, do not require it",
                breaks=_AFFINITY_BREAKS[side],
            )


def priorities(situation: Situation) -> Iterator[Candidate]:
    """A priority class that lets the pod evict others; the lowest that does."""
    world, pod = situation.world, situation.pod
    if not situation.refused:
        return
    higher = [
        each for each in world.listers.all("PriorityClass") if each.raw["value"] > pod.priority
    ]
    for each in sorted(higher, key=_value):
        fields: Manifest = {"priorityClassName": each.name, "priority": each.raw["value"]}
        if each.raw.get("preemptionPolicy"):
            fields["preemptionPolicy"] = each.raw["preemptionPolicy"]
        text = f"Give it the priority class {each.name} ({each.raw['value']}), so that it evicts others"
        yield replace(replaced(pod, fields, kind="priority", text=text), evicts=True)
    if pod.spec.get("preemptionPolicy") == "Never":
        fields = {"preemptionPolicy": "PreemptLowerPriority"}
        text = "Let it evict pods of lower priority (preemptionPolicy PreemptLowerPriority)"
        yield replace(replaced(pod, fields, kind="priority", text=text), evicts=True)


def _value(priority_class: ApiObject) -> tuple[int, str]:
    return priority_class.raw["value"], priority_class.name


def _expression(expression: Manifest) -> str:
    operator, key = expression.get("operator"), expression.get("key")
    values: list[str] = list(expression.get("values") or ())
    if operator in ("Exists", "DoesNotExist"):
        return f"{key} {operator}"
    sign = {"Gt": ">", "Lt": "<"}.get(str(operator))
    return f"{key} {sign} {values[0]}" if sign else f"{key} {operator} {', '.join(values)}"
