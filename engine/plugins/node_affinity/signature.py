"""What NodeAffinity reads of a pod. Upstream: NodeAffinitySigner(), NodeSelectorSigner()."""

from __future__ import annotations

from engine.framework.explaining.manifests import REQUIRED
from engine.framework.pods.pod_info import PodInfo
from engine.framework.pods.signing import SignFragment, in_any_order
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest

_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def signature_of(pod: PodInfo) -> tuple[SignFragment, ...]:
    """The selector, and terms and requirements in any order."""
    affinity = section(pod.pod.spec, "affinity", "nodeAffinity")
    required = in_any_order(
        _term(term) for term in items(section(affinity, REQUIRED), "nodeSelectorTerms")
    )
    preferred = in_any_order(
        [one.get("weight"), _term(section(one, "preference"))]
        for one in items(affinity, _PREFERRED)
    )
    selector = pod.pod.spec.get("nodeSelector") or None
    return (
        SignFragment("spec.affinity.nodeAffinity", [required, preferred]),
        SignFragment("spec.nodeSelector", selector),
    )


def _term(term: Manifest) -> list[list[str]]:
    return [
        in_any_order(
            {**one, "values": sorted(one.get("values") or ())} for one in term.get(kind) or ()
        )
        for kind in ("matchExpressions", "matchFields")
    ]
