"""InterPodAffinity: which pods keep this one away, or where those that it wants to join are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice

from engine.framework.explaining.case import FEW, Case, listed, pod_and_owner, sorted_by_name
from engine.framework.explaining.fact import Explanation, Fact, fact
from engine.framework.explaining.manifests import REQUIRED
from engine.framework.nodes.pod_counts import PodMatcher
from engine.framework.pods.pod_info import AffinityTerm, PodInfo, labels_key
from engine.kernel.sentences import (
    NOTHING,
    Phrase,
    Sentence,
    count_phrase,
    enumerated,
    phrase,
    say,
    say_count,
)
from engine.objects.objects import Node, Pod
from engine.plugins.inter_pod_affinity.terms import resolved_terms

_MOST_FACTS = 2 * FEW


def explain_pod_affinity(case: Case) -> Explanation:
    """By the reason: its own affinity, its own anti-affinity, or that of pods that are there."""
    reasons = " ".join(case.reasons)
    if "anti-affinity rules" in reasons and "existing" in reasons:
        return _refused_by_others(case)
    if "anti-affinity rules" in reasons:
        return _avoids(case)
    if "affinity rules" in reasons:
        return _joins(case)
    # Before v1.20 one reason stands for all.
    for each in (_refused_by_others, _avoids, _joins):
        found = each(case)
        if found.because:
            return found
    return Explanation()


def _matches(case: Case, term: AffinityTerm, pod: Pod) -> bool:
    labels = case.world.listers.namespace_labels(pod.namespace)
    return term.matches(pod.namespace, pod.labels, labels)


class _Matched:
    """Which pods a term matches, decided once for all pods with the same labels."""

    def __init__(self, case: Case, term: AffinityTerm) -> None:
        self._case, self._term = case, term
        self._known: dict[tuple[str, bytes], bool] = {}

    def __call__(self, info: PodInfo) -> bool:
        key = info.pod.namespace, labels_key(info.pod)
        known = self._known.get(key)
        if known is None:
            known = self._known[key] = _matches(self._case, self._term, info.pod)
        return known


def _refused_domains(case: Case, key: str) -> Mapping[str, None]:
    """The values that the nodes in question have for a topology key."""
    values = (case.node(each).labels.get(key) for each in case.refused)
    return {value: None for value in values if value is not None}


def _selected(term: AffinityTerm) -> str:
    """The pods that a term selects, in the words of kubectl: "app=web"."""
    requirements = () if term.selector is None else term.selector.requirements
    texts = [
        f"{each.key}={each.values[0]}"
        if each.operator == "In" and len(each.values) == 1
        else str(each)
        for each in requirements
    ]
    return ",".join(texts) or str(term.selector)


def _path(kind: str, place: int) -> tuple[str | int, ...]:
    return ("spec", "affinity", kind, REQUIRED, place)


def _avoids(case: Case) -> Explanation:
    because: list[Fact] = []
    met: list[str] = []
    for place, term in enumerate(case.world.info().affinity.required_anti):
        for here, info in _excluded(case, term):
            met.append(say("{info} on {here}", info=info.key, here=here.name))
            if len(because) >= _MOST_FACTS:
                continue
            text = say(
                "Pod {pod} on {here} matches {selected}, which the pod's "
                "anti-affinity excludes within one {topology_key}.",
                pod=pod_and_owner(info.pod),
                here=here.name,
                selected=_selected(term),
                topology_key=term.topology_key,
            )
            because.append(fact(info.pod, ("metadata", "labels"), text))
        if met:
            text = say(
                "The pod's anti-affinity excludes {selected} within one {topology_key}.",
                selected=_selected(term),
                topology_key=term.topology_key,
            )
            because.insert(0, fact(case.pod, _path("podAntiAffinity", place), text))
    kept_away = phrase("The pod's anti-affinity keeps it away from {pods}.")
    return _explained(met, kept_away, because)


def _refused_by_others(case: Case) -> Explanation:
    because: list[Fact] = []
    met: list[str] = []
    domains: dict[str, Mapping[str, None]] = {}
    for here, info in case.placed_pods():
        for place, term in enumerate(info.affinity.required_anti):
            key = term.topology_key
            if key not in domains:
                domains[key] = _refused_domains(case, key)
            if here.labels.get(key) in domains[key] and _matches(case, term, case.pod):
                met.append(say("{info} on {here}", info=info.key, here=here.name))
                if len(because) >= _MOST_FACTS:
                    continue
                text = say(
                    "Pod {pod} on {here} excludes {selected} within one "
                    "{topology_key}, and this pod matches.",
                    pod=pod_and_owner(info.pod),
                    here=here.name,
                    selected=_selected(term),
                    topology_key=term.topology_key,
                )
                because.append(fact(info.pod, _path("podAntiAffinity", place), text))
    if met:
        labels = enumerated([f"{key}={value}" for key, value in case.pod.labels.items()])
        text = (
            say("The pod has the labels {labels}.", labels=labels)
            if labels
            else say("The pod has no labels.")
        )
        because.insert(0, fact(case.pod, ("metadata", "labels"), text))
    kept_away = phrase("The pod is kept away by the anti-affinity of {pods}.")
    return _explained(met, kept_away, because)


def _explained(met: list[str], lead: Phrase, because: list[Fact]) -> Explanation:
    once = list(dict.fromkeys(met))
    why = lead.say(pods=listed(once, 3)) if once else NOTHING
    return Explanation(lead=why, why=why, because=tuple(because[:_MOST_FACTS]))


def _excluded(case: Case, term: AffinityTerm) -> Iterator[tuple[Node, PodInfo]]:
    """The pods that the term matches in the domains in question; those of one node by name."""
    domains, matches = _refused_domains(case, term.topology_key), _Matched(case, term)
    table, pods = case.world.table, case.world.table.pods
    matcher = PodMatcher(resolved_terms((term,), case.world.listers))
    counts = table.pod_counts.counter(matcher).tally.counts
    rows: list[int] = table.active[counts[table.active] > 0].tolist()
    for row in rows:
        here = table.node(row)
        if here.labels.get(term.topology_key) in domains:
            # Few of the pods match, so they are sorted afterwards.
            matching = [info for info in pods[row].values() if matches(info)]
            if matching:
                yield from ((here, info) for info in sorted_by_name(matching))


def _unmatched(term: AffinityTerm) -> Sentence:
    """That no pod matches a term in the namespaces in which it looks for pods."""
    selected = _selected(term)
    if term.namespace_selector is not None:
        return say(
            "No pod that has a node matches {selected} in the namespaces that its term selects, "
            "which the pod's affinity requires.",
            selected=selected,
        )
    names = sorted(term.namespaces)
    return say_count(
        "No pod that has a node matches {selected} in namespace {namespaces}, which the pod's "
        "affinity requires.",
        "No pod that has a node matches {selected} in namespaces {namespaces}, which the pod's "
        "affinity requires.",
        len(names),
        selected=selected,
        namespaces=listed(names, FEW),
    )


def _elsewhere(case: Case, term: AffinityTerm) -> Iterator[Fact]:
    """The pods that a term would match if it looked in their namespaces."""
    found = (
        (here, info)
        for here, info in case.placed_pods()
        if term.selector is not None and term.selector.matches(info.pod.labels)
    )
    for here, info in islice(found, FEW):
        text = say(
            "Pod {info} on {here} matches, but is in namespace {namespace}, where the "
            "term does not look.",
            info=info.key,
            here=here.name,
            namespace=info.pod.namespace,
        )
        yield fact(info.pod, ("metadata", "namespace"), text)


def _may_be_first(case: Case) -> bool:
    """Whether the pod may begin a domain: it matches all its own terms, and no other pod any.

    Upstream: interpodaffinity/filtering.go, satisfyPodAffinity().
    """
    terms = case.world.info().affinity.required
    if not all(_matches(case, term, case.pod) for term in terms):
        return False
    matched = [_Matched(case, term) for term in terms]
    return not any(matches(info) for _, info in case.placed_pods() for matches in matched)


def _unlabelled(case: Case, term: AffinityTerm) -> Sentence:
    """The label that no node has, where the pod could be the first of its kind there."""
    key = term.topology_key
    if any(key in node.labels for _, node in case.world.nodes()):
        return NOTHING
    return say(
        "No node has the label {key}. The pod matches {selected} itself, so it may be the first, "
        "but only on a node that has the label.",
        key=key,
        selected=_selected(term),
    )


def _joins(case: Case) -> Explanation:
    because: list[Fact] = []
    is_first = _may_be_first(case)
    why = NOTHING
    for place, term in enumerate(case.world.info().affinity.required):
        text = say(
            "The pod must be with {selected} within one {topology_key}.",
            selected=_selected(term),
            topology_key=term.topology_key,
        )
        matches = _Matched(case, term)
        matching = [(node, info) for node, info in case.placed_pods() if matches(info)]
        key = term.topology_key
        joined = {here.labels[key]: None for here, _ in matching if key in here.labels}
        if any(case.node(each).labels.get(key) not in joined for each in case.refused):
            because.append(fact(case.pod, _path("podAffinity", place), text))
        if not matching:
            why = why or (is_first and _unlabelled(case, term)) or _unmatched(term)
            because += _elsewhere(case, term)
            continue
        domains: dict[str, str] = {}
        for here, info in matching:
            domain = here.labels.get(term.topology_key)
            place_text = (
                f"{term.topology_key}={domain}"
                if domain
                else say("no {topology_key}", topology_key=term.topology_key)
            )
            domains.setdefault(place_text, info.key)
            if len(because) < _MOST_FACTS:
                text = say(
                    "Pod {pod} is on {here}, {place_text}.",
                    pod=pod_and_owner(info.pod),
                    here=here.name,
                    place_text=place_text,
                )
                because.append(fact(info.pod, ("spec", "nodeName"), text))
        why = why or say(
            "The pods that match {selected} are in {domains}.",
            selected=_selected(term),
            domains=listed(list(domains), 3),
        )
    overall = case.overall(
        count_phrase(
            "The pod's required pod affinity leaves only {nodes}, which refuses it: {faults}.",
            "The pod's required pod affinity leaves only {nodes}, which refuse it: {faults}.",
        )
    )
    return Explanation(lead=why, overall=overall, why=why, because=tuple(because))
