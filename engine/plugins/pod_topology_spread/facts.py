"""PodTopologySpread: the pods per domain, the emptiest domain, and why the pod cannot go there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from engine.framework.explaining.case import FEW, Case, listed, nodes_text
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.framework.explaining.manifests import taint_text
from engine.framework.nodes.arrays import Codes
from engine.framework.pods.pod_template import SpreadConstraint
from engine.kernel.sentences import NOTHING, Sentence, enumerated, say, say_count, together
from engine.objects.manifest_parts import items
from engine.objects.objects import Node
from engine.plugins.pod_topology_spread.constraints import pods_matching
from engine.plugins.pod_topology_spread.domains import included
from engine.plugins.taint_toleration.facts import untolerated


def explain_spread(case: Case) -> Explanation:
    """The constraint that fails, with the counts behind it."""
    key = case.numbers.get("topologyKey")
    if not isinstance(key, str):
        return Explanation()
    place = _place(case, key)
    if "skew" not in case.numbers:
        return _without_label(case, key, place)
    because = _constraint_facts(case, key, place)
    counts = _counts(case, key)
    smallest = case.numbers["minimum"]
    emptiest = [name for name, (count, _) in counts.items() if count == smallest]
    counted = enumerated([f"{name}: {count}" for name, (count, _) in list(counts.items())[:FEW]])
    sentence = say(
        "{nodes}: with the pod the skew over {key} would be {skew}, and "
        "maxSkew is {max_skew} ({counted}).",
        nodes=nodes_text(case.names),
        key=key,
        skew=case.numbers["skew"],
        max_skew=case.numbers["maxSkew"],
        counted=counted,
    )
    because.extend(_domain_facts(key, counts))
    least = _least_domains(case, key)
    why = NOTHING
    if len(counts) < least:
        why = say_count(
            "There is only {count} domain of {key} and minDomains is {least}, so the minimum "
            "counts as 0.",
            "There are only {count} domains of {key} and minDomains is {least}, so the minimum "
            "counts as 0.",
            len(counts),
            key=key,
            least=least,
        )
    for name in () if why else emptiest:
        blocked = _why_closed(case, counts[name][1])
        if blocked:
            is_tainted = any(list(untolerated(case.pod, each)) for each in counts[name][1])
            honors = _taint_policy(case, place) if is_tainted and place is not None else NOTHING
            text = say(
                "Domain {domain} of {key} has {pods} and sets the minimum, but no pod can go "
                "there: {blocked}.",
                domain=name,
                key=key,
                pods=_counted(smallest),
                blocked=blocked[0],
            )
            why = together(text, honors)
            because.extend(blocked[1])
            break
    closed = why if because and len(counts) >= least else NOTHING
    return Explanation(sentence=sentence, lead=why, overall=closed, why=why, because=tuple(because))


def _without_label(case: Case, key: str, place: int | None) -> Explanation:
    """The nodes lack the topology key of the constraint."""
    because: list[Fact] = []
    if place is not None:
        path = ("spec", "topologySpreadConstraints", place, "topologyKey")
        because.append(fact(case.pod, path, say("The pod has to be spread over {key}.", key=key)))
    because.extend(
        fact(
            node,
            ("metadata", "labels", key),
            say("Node {node} has no label {key}.", node=node.name, key=key),
        )
        for node, _ in case.few()
    )
    values = sorted({node.labels[key] for _, node in case.world.nodes() if key in node.labels})
    why = say("The pod has to be spread over {key}, and no node has that label.", key=key)
    if values:
        shown = enumerated(values[:FEW])
        why = say("Other nodes have {key} in [{values}].", key=key, values=shown)
    return Explanation(lead=NOTHING if values else why, why=why, because=tuple(because))


def _counted(pods: int) -> Sentence:
    """How many pods match, in words."""
    if pods == 0:
        return say("no matching pod")
    return say_count("{count} matching pod", "{count} matching pods", pods)


def _domain_facts(key: str, counts: Mapping[str, tuple[int, list[Node]]]) -> Iterator[Fact]:
    """How many matching pods each domain has, by the label of one of its nodes."""
    for domain, (count, nodes) in list(counts.items())[:FEW]:
        pods = _counted(count)
        text = say(
            "Domain {domain} ({nodes}) has {pods}.",
            domain=domain,
            nodes=nodes_text([each.name for each in nodes]),
            pods=pods,
        )
        yield fact(nodes[0], ("metadata", "labels", key), text)


def _place(case: Case, key: str) -> int | None:
    """The place of the constraint on *key* in the pod's spec; None for a default one."""
    for at, raw in enumerate(items(case.pod.spec, "topologySpreadConstraints")):
        hard = raw.get("whenUnsatisfiable") != "ScheduleAnyway"
        if raw.get("topologyKey") == key and hard:
            return at
    return None


def _constraint_facts(case: Case, key: str, place: int | None) -> list[Fact]:
    if place is None:
        return []
    path = ("spec", "topologySpreadConstraints", place)
    raw = items(case.pod.spec, "topologySpreadConstraints")[place]
    most = raw.get("maxSkew")
    found = [
        fact(
            case.pod,
            (*path, "maxSkew"),
            say("The pod's constraint over {key} has maxSkew {most}.", key=key, most=most),
            compared_with=case.numbers["skew"],
        )
    ]
    if raw.get("minDomains"):
        text = say(
            "It counts the minimum as 0 below {min_domains} domains (minDomains).",
            min_domains=raw["minDomains"],
        )
        found.append(fact(case.pod, (*path, "minDomains"), text))
    return found


def _constraint(case: Case, key: str) -> SpreadConstraint | None:
    return next(
        (
            each
            for each in case.world.template().spread
            if each.topology_key == key and each.is_hard
        ),
        None,
    )


def _least_domains(case: Case, key: str) -> int:
    constraint = _constraint(case, key)
    return 1 if constraint is None else constraint.min_domains


def _counts(case: Case, key: str) -> dict[str, tuple[int, list[Node]]]:
    """Matching pods and nodes of each domain that is counted, the emptiest first."""
    constraint = _constraint(case, key)
    world = case.world
    template = world.template()
    allowed = None if constraint is None else included(world.table, template, constraint)
    keys = [each.topology_key for each in template.spread if each.is_hard]
    matching = _matching(case, constraint)
    found: dict[str, tuple[int, list[Node]]] = {}
    for row, node in world.nodes():
        domain = node.labels.get(key)
        # A node counts when it has the keys of all constraints and the policies include it.
        if domain is None or not all(each in node.labels for each in keys):
            continue
        if allowed is not None and not allowed[row]:
            continue
        count, nodes = found.get(domain, (0, []))
        nodes.append(node)
        found[domain] = (count + (0 if matching is None else matching.item(row)), nodes)
    return dict(sorted(found.items(), key=lambda entry: (entry[1][0], entry[0])))


def _matching(case: Case, constraint: SpreadConstraint | None) -> Codes | None:
    """How many pods the constraint counts on each row; None when it counts none at all."""
    if constraint is None or constraint.selector is None or constraint.selects_all:
        return None
    matcher = pods_matching(constraint.selector, case.pod.namespace, live_only=True)
    return case.world.table.pod_counts.counter(matcher).tally.counts


def _why_closed(case: Case, nodes: list[Node]) -> tuple[Sentence, list[Fact]] | None:
    """Why no pod can go to any of *nodes*; None where one can."""
    texts: list[Sentence] = []
    because: list[Fact] = []
    for node in nodes:
        refusal = case.everywhere.get(node.name)
        others = [] if refusal is None else [e for e in refusal.obstacles if e.name != case.plugin]
        if not others:
            return None
        taints = list(untolerated(case.pod, node))
        for place, taint in taints:
            text = say(
                "Node {node} has the taint {taint}, which the pod does not tolerate.",
                node=node.name,
                taint=taint_text(taint),
            )
            because.append(fact(node, ("spec", "taints", place), text))
        if node.unschedulable:
            because.append(
                fact(
                    node, ("spec", "unschedulable"), say("Node {node} is cordoned.", node=node.name)
                )
            )
        texts.append(say("{node} ({fault})", node=node.name, fault=others[0].detail.text))
    return listed(texts, 2), because


def _taint_policy(case: Case, place: int) -> Sentence:
    raw: dict[str, Any] = items(case.pod.spec, "topologySpreadConstraints")[place]
    policy = raw.get("nodeTaintsPolicy")
    if policy == "Honor":
        return NOTHING
    return say("The domain still counts, as nodeTaintsPolicy is Ignore.")
