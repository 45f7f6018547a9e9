"""What the scheduler needs to know of a pod, worked out once and shared.

Two pods made from one template have equal specs but for `nodeName`; they share one `PodResources`
and one tuple of affinity terms, so that filling a cluster from a handful of templates parses a
handful of specs.
engine/objects/pods/pod_resources.py adds up the requests of a pod.

Upstream: pkg/scheduler/framework/types.go NewPodInfo().
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

import orjson

from engine.objects.manifest_parts import section
from engine.objects.pods.pod_resources import (
    LONGEST_KEPT,
    HostPort,
    PodResources,
    ResourceRules,
    may_resize,
    requests_and_ports,
    resized_parts,
)
from engine.objects.selectors import LabelSelector

if TYPE_CHECKING:
    from engine.objects.objects import Pod

Manifest = Mapping[str, Any]

# The fields of a term of pod affinity before v1.21.
_FIRST_TERM_FIELDS = ("labelSelector", "namespaces", "topologyKey")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


@dataclass(frozen=True, slots=True, kw_only=True)
class AffinityTerm:
    """One term of pod (anti-)affinity with its namespaces resolved against the pod's own.

    `weight` is 0 for a required term. Upstream: framework.AffinityTerm.
    """

    namespaces: frozenset[str]
    selector: LabelSelector | None
    topology_key: str
    namespace_selector: LabelSelector | None
    weight: int = 0
    # The hash, computed once: terms are keys of counts that every pod reads.
    _hash: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        identity = self.namespaces, self.selector, self.topology_key, self.namespace_selector
        object.__setattr__(self, "_hash", hash((*identity, self.weight)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[Any, ...]:
        # Another process hashes strings differently.
        identity = self.namespaces, self.selector, self.topology_key, self.namespace_selector
        return _remade_term, (*identity, self.weight)

    def matches(
        self,
        namespace: str,
        labels: Mapping[str, str],
        namespace_labels: Mapping[str, str] | None = None,
    ) -> bool:
        """Whether a pod with these labels in this namespace matches the term."""
        if namespace not in self.namespaces and not (
            self.namespace_selector is not None
            and self.namespace_selector.matches(namespace_labels or {})
        ):
            return False
        # A term without a selector selects nothing. Upstream: LabelSelectorAsSelector(nil).
        return self.selector is not None and self.selector.matches(labels)


def _remade_term(
    namespaces: frozenset[str],
    selector: LabelSelector | None,
    topology_key: str,
    namespace_selector: LabelSelector | None,
    weight: int,
) -> AffinityTerm:
    return AffinityTerm(
        namespaces=namespaces,
        selector=selector,
        topology_key=topology_key,
        namespace_selector=namespace_selector,
        weight=weight,
    )


class PodInfo:
    """A pod with everything that is parsed from its spec; `pod` is the manifest it came from."""

    __slots__ = (
        "affinity",
        "key",
        "node_name",
        "pod",
        "ports",
        "priority",
        "resources",
        "rules",
        "uid",
    )

    def __init__(self, pod: Pod, rules: ResourceRules, *, node_name: str | None = None) -> None:
        self.pod = pod
        self.key = pod.key
        self.uid = pod.uid
        self.rules = rules
        self.node_name: str = pod.node_name if node_name is None else node_name
        self.priority: int = pod.priority
        # What it asks of its node, and its own terms of pod affinity and anti-affinity.
        self.resources, self.ports, self.affinity = _parsed(pod, rules)

    def assigned_to(self, node_name: str) -> PodInfo:
        """The same pod with another node name; everything parsed is shared."""
        return self._copy(self.pod, node_name)

    def updated(self, pod: Pod) -> PodInfo:
        """The info of a newer version of this pod."""
        if self.is_made_like(pod):
            return self._copy(pod, pod.node_name)
        return PodInfo(pod, self.rules)

    def is_made_like(self, pod: Pod) -> bool:
        """Whether all that is parsed is the same for *pod*.

        Only its node and its status differ, and the labels that it got when it was bound.
        """
        template = self.pod.template
        return (pod.template is template or pod.template.unlabelled is template) and not (
            may_resize(pod.status) or may_resize(self.pod.status)
        )

    def _copy(self, pod: Pod, node_name: str) -> PodInfo:
        info = PodInfo.__new__(PodInfo)
        info.pod = pod
        info.key = self.key
        info.uid = pod.uid
        info.rules = self.rules
        info.node_name = node_name
        info.priority = self.priority
        info.resources = self.resources
        info.ports = self.ports
        info.affinity = self.affinity
        return info

    def __repr__(self) -> str:
        return f"PodInfo({self.key!r}, node_name={self.node_name!r})"


@dataclass(frozen=True, slots=True, kw_only=True)
class PodAffinity:
    """The four lists of pod (anti-)affinity terms of one pod."""

    present: bool = False
    required: tuple[AffinityTerm, ...] = ()
    preferred: tuple[AffinityTerm, ...] = ()
    required_anti: tuple[AffinityTerm, ...] = ()
    preferred_anti: tuple[AffinityTerm, ...] = ()


NO_AFFINITY = PodAffinity()
PRESENT_BUT_EMPTY = PodAffinity(present=True)


def requests_changed(old: Pod, new: Pod, rules: ResourceRules) -> bool:
    """Whether a resize that only the status shows has changed what the pod requests."""
    if not rules.sums_exactly or not (may_resize(old.status) or may_resize(new.status)):
        return False
    return PodInfo(old, rules).resources != PodInfo(new, rules).resources


def labels_key(pod: Pod) -> bytes:
    """The pod's labels in a form that can be looked up; kept with the pod's template."""
    key: bytes | None = pod.template.get("labels_key")
    if key is None:
        key = pod.template["labels_key"] = orjson.dumps(pod.labels, option=orjson.OPT_SORT_KEYS)
    return key


def parse_affinity(
    affinity: Manifest, namespace: str, labels: Mapping[str, str] | None
) -> PodAffinity:
    """Read the podAffinity and podAntiAffinity of a spec.affinity.

    *labels* are the pod's own: matchLabelKeys and mismatchLabelKeys take their values from them.
    None is for versions before v1.21, which know neither these nor namespaceSelector.
    """
    if not affinity.get("podAffinity") and affinity.get("podAntiAffinity") is None:
        return NO_AFFINITY if affinity.get("podAffinity") is None else PRESENT_BUT_EMPTY
    essence = orjson.dumps((affinity.get("podAffinity"), affinity.get("podAntiAffinity")))
    parsed = _parse_affinity if len(essence) <= LONGEST_KEPT else _parse_affinity.__wrapped__
    if labels is None:
        return parsed(essence, namespace, None)
    if b"atchLabelKeys" not in essence:
        labels = {}
    return parsed(essence, namespace, tuple(sorted(labels.items())))


@lru_cache(maxsize=16384)
def _parse_affinity(
    essence: bytes, namespace: str, label_items: tuple[tuple[str, str], ...] | None
) -> PodAffinity:
    wanted, unwanted = orjson.loads(essence)
    labels = None if label_items is None else dict(label_items)
    return PodAffinity(
        present=True,
        required=_required_terms(wanted, namespace, labels),
        preferred=_preferred_terms(wanted, namespace, labels),
        required_anti=_required_terms(unwanted, namespace, labels),
        preferred_anti=_preferred_terms(unwanted, namespace, labels),
    )


def _parsed(
    pod: Pod, rules: ResourceRules
) -> tuple[PodResources, tuple[HostPort, ...], PodAffinity]:
    """Everything derived from the spec, kept on the pod for its later versions."""
    name = rules.memo
    known = pod.template.get(name)
    # A resize shows its requests in the status, so they cannot be kept with the template.
    resized = resized_parts(pod.raw, rules)
    if known is not None and resized is None:
        return known
    spec = pod.spec
    affinity = section(spec, "affinity")
    parsed = (
        *requests_and_ports(spec, rules, resized),
        parse_affinity(affinity, pod.namespace, pod.labels if rules.sums_exactly else None)
        if affinity
        else NO_AFFINITY,
    )
    if resized is None:
        pod.template[name] = parsed
    return parsed


def _required_terms(
    side: Manifest | None, namespace: str, labels: Mapping[str, str] | None
) -> tuple[AffinityTerm, ...]:
    terms = (side or {}).get(_REQUIRED) or ()
    return tuple(_term(term, namespace, labels, 0) for term in terms)


def _preferred_terms(
    side: Manifest | None, namespace: str, labels: Mapping[str, str] | None
) -> tuple[AffinityTerm, ...]:
    terms = (side or {}).get(_PREFERRED) or ()
    return tuple(
        _term(
            term.get("podAffinityTerm") or {},
            namespace,
            labels,
            term.get("weight") or 0,
        )
        for term in terms
    )


def _term(
    term: Manifest, namespace: str, labels: Mapping[str, str] | None, weight: int
) -> AffinityTerm:
    if labels is None:
        labels, term = {}, {key: term[key] for key in _FIRST_TERM_FIELDS if key in term}
    namespaces: Sequence[str] = term.get("namespaces") or ()
    namespace_selector: Manifest | None = term.get("namespaceSelector")
    if not namespaces and namespace_selector is None:
        namespaces = (namespace,)
    selector: Manifest | None = term.get("labelSelector")
    return AffinityTerm(
        namespaces=frozenset(namespaces),
        selector=(
            None
            if selector is None
            else LabelSelector.parse(_with_label_keys(term, selector, labels))
        ),
        topology_key=term.get("topologyKey") or "",
        namespace_selector=(
            None if namespace_selector is None else LabelSelector.parse(namespace_selector)
        ),
        weight=weight,
    )


def _with_label_keys(term: Manifest, selector: Manifest, labels: Mapping[str, str]) -> Manifest:
    """Merge (mis)matchLabelKeys into the selector, as the API server does at creation.

    Upstream: registry/core/pod/strategy.go applyMatchLabelKeysAndMismatchLabelKeys(); a key that
    the pod does not carry is passed over. A manifest that was read back from a real cluster is
    already merged, and merging it again would only repeat a requirement.
    """
    merged: list[Any] = list(cast("Iterable[Any]", selector.get("matchExpressions") or ()))
    for keys, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(keys) or ():
            if key in labels:
                requirement = {
                    "key": key,
                    "operator": operator,
                    "values": [labels[key]],
                }
                if requirement not in merged:
                    merged.append(requirement)
    if not merged:
        return selector
    return {**selector, "matchExpressions": merged}
