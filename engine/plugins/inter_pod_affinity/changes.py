"""Changes after which other pods no longer keep a pod from a node."""

from __future__ import annotations

from collections.abc import Iterator

from engine.framework.explaining.label_changes import topology_labels
from engine.framework.explaining.manifests import PREFERRED, REQUIRED, deep_copy
from engine.framework.explaining.proposes import Proposal, pod_made_anew
from engine.framework.explaining.refusals import Refusals
from engine.framework.explaining.view import View
from engine.framework.pods.pod_info import AffinityTerm
from engine.kernel.sentences import enumerated, say
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest

_BREAKS = {
    "podAntiAffinity": say("Pods that were to stay apart may then fail together."),
    "podAffinity": say("It may then run far from the pods that it works with."),
}


def pod_affinity_changes(refusals: Refusals) -> Iterator[Proposal]:
    """A topology label of a node, more namespaces for a term, or a preference instead of it."""
    yield from topology_labels(refusals)
    yield from _more_namespaces(refusals)
    yield from _preferences(refusals)


def _more_namespaces(refusals: Refusals) -> Iterator[Proposal]:
    """A required term of pod affinity looks where the pods are that it means, too."""
    pod = refusals.pod
    affinity: Manifest = pod.spec.get("affinity") or {}
    raw = items(section(affinity, "podAffinity"), REQUIRED)
    for place, term in enumerate(refusals.world.info().affinity.required):
        found = _namespaces_of_matching(refusals.world, term)
        if place >= len(raw) or not found or found & term.namespaces:
            continue
        names = sorted({*term.namespaces, *found})
        changed = deep_copy(affinity)
        changed["podAffinity"][REQUIRED][place]["namespaces"] = names
        elsewhere = enumerated(sorted(found))
        yield pod_made_anew(
            pod,
            {"affinity": changed},
            kind="namespaces",
            text=say(
                "Let the pod affinity look in namespace {elsewhere}, too (namespaces of its term)",
                elsewhere=elsewhere,
            ),
        )


def _namespaces_of_matching(world: View, term: AffinityTerm) -> set[str]:
    if term.selector is None:
        return set()
    return {
        info.pod.namespace
        for row, _ in world.nodes()
        for info in world.table.pods[row].values()
        if term.selector.matches(info.pod.labels)
    }


def _preferences(refusals: Refusals) -> Iterator[Proposal]:
    """One required term of pod affinity or anti-affinity becomes a preference."""
    pod = refusals.pod
    affinity: Manifest = pod.spec.get("affinity") or {}
    for side, words in (("podAntiAffinity", "anti-affinity"), ("podAffinity", "affinity")):
        terms = items(section(affinity, side), REQUIRED)
        for place, term in enumerate(terms):
            changed = deep_copy(affinity)
            changed[side][REQUIRED] = [*terms[:place], *terms[place + 1 :]]
            preferred: list[Manifest] = changed[side].get(PREFERRED) or []
            changed[side][PREFERRED] = [*preferred, {"weight": 100, "podAffinityTerm": term}]
            yield pod_made_anew(
                pod,
                {"affinity": changed},
                kind="affinity",
                text=say(
                    "Prefer the pod {words} over {topology_key}, do not require it",
                    words=words,
                    topology_key=term.get("topologyKey"),
                ),
                breaks=_BREAKS[side],
            )
