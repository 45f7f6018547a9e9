"""Whether a run has become what its scenario expects, and why not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from engine.cluster.cluster import Cluster
from engine.diagnosis.why import explain_object
from engine.framework.explaining.case import listed
from engine.objects.objects import PersistentVolumeClaim, Pod

Manifest = Mapping[str, Any]

_ZONES: Final = ("topology.kubernetes.io/zone", "failure-domain.beta.kubernetes.io/zone")


def failures(cluster: Cluster, expected: Sequence[Manifest]) -> list[str]:
    """A sentence for each of the expectations that does not hold; *cluster* is only read."""
    found: list[str] = []
    for each in expected:
        if "pods" in each:
            found += _count_failures(cluster, each["pods"])
        elif "pod" in each:
            found += _pod_failures(cluster, each)
        else:
            found += _claim_failures(cluster, each)
    return found


def _count_failures(cluster: Cluster, wanted: Manifest) -> Iterator[str]:
    live = (each for each in cluster.store.live(Pod.KIND).values() if isinstance(each, Pod))
    pods = [each for each in live if not each.is_terminated]
    bound = sum(bool(each.node_name) for each in pods)
    for name, number in (("bound", bound), ("waiting", len(pods) - bound)):
        if name in wanted and wanted[name] != number:
            yield f"{wanted[name]:,} pods should be {name}; {number:,} are."


def _pod_failures(cluster: Cluster, wanted: Manifest) -> Iterator[str]:
    key = wanted["pod"]
    pod = cluster.store.find(Pod.KIND, key)
    if not isinstance(pod, Pod):
        if wanted.get("exists", True):
            yield f"Pod {key} should be there; it is not."
        return
    if wanted.get("exists") is False:
        yield f"Pod {key} should not be there; it is."
        return
    facts = {"bound": bool(pod.node_name), "node": pod.node_name, "phase": pod.phase}
    facts["zone"] = _zone(cluster, pod.node_name)
    wrong = [name for name in ("bound", "node", "zone", "phase") if _differs(wanted, facts, name)]
    reason = _sentence(cluster, key) if wrong or "reason" in wanted else ""
    if "reason" in wanted and wanted["reason"] not in reason:
        yield f"Pod {key} should wait because of {wanted['reason']!r}; {reason}"
    if wrong:
        should = listed([f"{name} {_shown(wanted[name])}" for name in wrong])
        found = listed([f"{name} {_shown(facts[name])}" for name in wrong])
        yield f"Pod {key} should have {should}; it has {found}. {reason}".strip()


def _claim_failures(cluster: Cluster, wanted: Manifest) -> Iterator[str]:
    key = wanted["claim"]
    claim = cluster.store.find(PersistentVolumeClaim.KIND, key)
    if not isinstance(claim, PersistentVolumeClaim):
        if wanted.get("exists", True):
            yield f"PersistentVolumeClaim {key} should be there; it is not."
        return
    if wanted.get("exists") is False:
        yield f"PersistentVolumeClaim {key} should not be there; it is."
        return
    facts = {"phase": claim.phase, "volume": claim.volume_name, "bound": claim.phase == "Bound"}
    wrong = [name for name in facts if _differs(wanted, facts, name)]
    if wrong:
        should = listed([f"{name} {_shown(wanted[name])}" for name in wrong])
        found = listed([f"{name} {_shown(facts[name])}" for name in wrong])
        why = explain_object(cluster, PersistentVolumeClaim.KIND, key, tries_changes=False).sentence
        yield f"PersistentVolumeClaim {key} should have {should}; it has {found}. {why}"


def _differs(wanted: Manifest, facts: Manifest, name: str) -> bool:
    return name in wanted and wanted[name] != facts[name]


def _shown(value: Any) -> str:
    return {True: "true", False: "false", "": "none"}.get(value, str(value))


def _zone(cluster: Cluster, node: str) -> str:
    found = cluster.store.find("Node", node) if node else None
    labels = found.labels if found is not None else dict[str, str]()
    return next((labels[name] for name in _ZONES if labels.get(name)), "")


def _sentence(cluster: Cluster, key: str) -> str:
    """Why the pod is as it is, with the scheduler's own reasons."""
    found = explain_object(cluster, Pod.KIND, key, tries_changes=False)
    reasons = [reason for cause in found.causes for reason in cause.reasons]
    told = f" ({'; '.join(dict.fromkeys(reasons))})" if reasons else ""
    return f"{found.sentence}{told}"
