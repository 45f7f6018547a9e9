"""The scheduling-relevant part of a pod's spec, parsed once for all pods made from it.

A `PodTemplate` is what per-template caches are keyed by: two pods with equal templates get the
same verdict from every plugin that looks at one node only.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import orjson

from engine.objects.pods.tolerations import Toleration
from engine.objects.selectors import Flaw, LabelSelector, NodeSelector

if TYPE_CHECKING:
    from engine.framework.pods.pod_info import PodInfo

Manifest = Mapping[str, Any]

_SPEC_KEYS = (
    "affinity",
    "hostNetwork",
    "nodeName",
    "nodeSelector",
    "overhead",
    "resources",
    "tolerations",
    "topologySpreadConstraints",
)
# The fields of a constraint before v1.24.
_FIRST_FIELDS = ("labelSelector", "maxSkew", "topologyKey", "whenUnsatisfiable")


@dataclass(frozen=True, slots=True)
class RequiredNodeAffinity:
    """`nodeSelector` and the required node affinity, which must both hold.

    `terms` is None when no required node affinity is written; an affinity without terms matches
    nothing. Upstream: component-helpers nodeaffinity.GetRequiredNodeAffinity().
    """

    node_selector: tuple[tuple[str, str], ...] = ()
    terms: NodeSelector | None = None

    @property
    def is_empty(self) -> bool:
        """Whether every node matches."""
        return not self.node_selector and self.terms is None

    def matches(self, labels: Mapping[str, str], name: str) -> bool:
        """Whether the node of these labels and this name is allowed."""
        if any(labels.get(key) != value for key, value in self.node_selector):
            return False
        return self.terms is None or self.terms.matches(labels, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class SpreadConstraint:
    """One topology spread constraint, defaults filled in, matchLabelKeys merged.

    `selects_all` says that the selector is empty and that, since v1.27, no pod is counted for it.
    """

    max_skew: int
    topology_key: str
    is_hard: bool
    selector: LabelSelector | None
    selects_all: bool = False
    min_domains: int = 1
    honors_affinity: bool = True
    honors_taints: bool = False


@dataclass(frozen=True, slots=True)
class Unreadable:
    """A *flaw* in a preferred requirement on *key* at *path*."""

    path: str
    key: str
    flaw: Flaw

    @property
    def alone(self) -> str:
        """In the words of v1.20 and before. Upstream: labels.validateLabelValue()."""
        flaw = self.flaw
        if not flaw.no_label:
            return flaw.problem
        return f'invalid label value: "{flaw.value}": at key: "{self.key}": {flaw.problem}'

    @property
    def with_path(self) -> str:
        """As field.Invalid() has it."""
        flaw = self.flaw
        path = f"{self.path}.values[{flaw.place}]{f'[{self.key}]' if flaw.no_label else ''}"
        return f'{path}: Invalid value: "{flaw.value}": {flaw.problem}'


@dataclass(frozen=True, slots=True, kw_only=True)
class PodTemplate:
    """The parsed part of a spec. `number`, the rank of first use in this engine, identifies it."""

    number: int
    namespace: str
    node_name: str
    tolerations: tuple[Toleration, ...]
    required_affinity: RequiredNodeAffinity
    preferred_nodes: tuple[tuple[int, NodeSelector], ...]
    # Invalid values in these preferences, which make scoring fail.
    unreadable_preferences: tuple[Unreadable, ...]
    named_nodes: frozenset[str] | None
    images: tuple[str, ...]
    """The image of each container."""
    image_volumes: tuple[str, ...]
    """The reference of each image volume."""
    container_count: int
    spread: tuple[SpreadConstraint, ...]
    asks_host_ports: bool


@dataclass(slots=True)
class TemplateRegistry:
    """All templates seen so far. Part of the engine's state."""

    known: dict[bytes, PodTemplate] = field(default_factory=dict[bytes, PodTemplate])
    keys: dict[bytes, bytes] = field(default_factory=dict[bytes, bytes])

    def of(self, pod: PodInfo) -> PodTemplate:
        """The template of *pod*, parsed when it is the first of its kind."""
        # The bytes stay with the manifest from version to version while the spec is the same.
        derived = pod.pod.template
        key: bytes | None = derived.get("scheduling_essence")
        if key is None:
            key = _essence(pod)
            # Ten thousand pods of one template share one key.
            key = derived["scheduling_essence"] = self.keys.setdefault(key, key)
        template = self.known.get(key)
        if template is None:
            template = self.known[key] = _parse(pod, len(self.known))
        return template


def _essence(pod: PodInfo) -> bytes:
    raw = pod.pod.raw
    spec: Manifest = raw.get("spec") or {}
    essence: dict[str, Any] = {name: spec[name] for name in _SPEC_KEYS if name in spec}
    essence["c"] = [
        (c.get("image"), c.get("ports"), c.get("resources")) for c in spec.get("containers") or ()
    ]
    if spec.get("initContainers"):
        essence["i"] = [
            (c.get("image"), c.get("ports"), c.get("resources"), c.get("restartPolicy"))
            for c in spec["initContainers"]
        ]
    image_volumes = _image_volumes(spec)
    if image_volumes:
        essence["v"] = image_volumes
    essence["n"] = pod.pod.namespace
    key = orjson.dumps(essence)
    if b"atchLabelKeys" in key:
        key += orjson.dumps(pod.pod.labels, option=orjson.OPT_SORT_KEYS)
    return key


def _parse(pod: PodInfo, number: int) -> PodTemplate:
    spec: Manifest = pod.pod.raw.get("spec") or {}
    affinity: Manifest = spec.get("affinity") or {}
    node_affinity: Manifest = affinity.get("nodeAffinity") or {}
    required: Manifest | None = node_affinity.get("requiredDuringSchedulingIgnoredDuringExecution")
    node_selector: dict[str, str] = spec.get("nodeSelector") or {}
    containers = [*(spec.get("initContainers") or ()), *(spec.get("containers") or ())]
    images = [container.get("image") or "" for container in containers]
    preferred_nodes = _preferred_nodes(node_affinity)
    return PodTemplate(
        number=number,
        namespace=pod.pod.namespace,
        node_name=spec.get("nodeName") or "",
        tolerations=parse_tolerations(spec, compares=pod.rules.compares_tolerations),
        required_affinity=RequiredNodeAffinity(
            node_selector=tuple(sorted(node_selector.items())),
            terms=None if required is None else NodeSelector.parse(required),
        ),
        preferred_nodes=preferred_nodes,
        unreadable_preferences=_unreadable(preferred_nodes),
        named_nodes=_named_nodes(required),
        images=tuple(images),
        image_volumes=_image_volumes(spec),
        container_count=len(containers),
        spread=spread_constraints(pod),
        asks_host_ports=bool(pod.ports),
    )


def _image_volumes(spec: Manifest) -> tuple[str, ...]:
    return tuple(
        volume["image"].get("reference") or ""
        for volume in spec.get("volumes") or ()
        if volume.get("image") is not None
    )


def parse_tolerations(spec: Manifest, *, compares: bool) -> tuple[Toleration, ...]:
    """The tolerations of a pod spec that may match; unless it *compares*, without Lt and Gt."""
    return tuple(
        Toleration.parse(entry)
        for entry in spec.get("tolerations") or ()
        if compares or entry.get("operator") not in ("Lt", "Gt")
    )


def _preferred_nodes(node_affinity: Manifest) -> tuple[tuple[int, NodeSelector], ...]:
    terms = node_affinity.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
    return tuple(
        (
            int(term.get("weight") or 0),
            NodeSelector.parse({"nodeSelectorTerms": [term.get("preference") or {}]}),
        )
        for term in terms
    )


def _unreadable(
    preferred_nodes: tuple[tuple[int, NodeSelector], ...],
) -> tuple[Unreadable, ...]:
    return tuple(
        Unreadable(f"[{place}].matchExpressions[{index}]", requirement.key, flaw)
        for place, (weight, selector) in enumerate(preferred_nodes)
        for index, requirement in enumerate(selector.terms[0].expressions)
        if weight
        for flaw in requirement.flaws
    )


def _named_nodes(required: Manifest | None) -> frozenset[str] | None:
    """The only nodes that metadata.name requirements leave, or None when they leave all.

    Upstream: plugins/nodeaffinity/node_affinity.go PreFilter().
    """
    terms = (required or {}).get("nodeSelectorTerms") or ()
    if not terms:
        return None
    named: set[str] = set()
    for term in terms:
        names: set[str] | None = None
        for requirement in term.get("matchFields") or ():
            if requirement.get("key") == "metadata.name" and requirement.get("operator") == "In":
                values = {str(value) for value in requirement.get("values") or ()}
                names = values if names is None else names & values
        if names is None:
            return None
        named |= names
    return frozenset(named)


def spread_constraints(pod: PodInfo) -> tuple[SpreadConstraint, ...]:
    """The constraints in the pod's spec, without the fields that its version does not know.

    Upstream: podtopologyspread/common.go filterTopologySpreadConstraints().
    """
    spec: Manifest = pod.pod.raw.get("spec") or {}
    entries: list[Manifest] = spec.get("topologySpreadConstraints") or []
    if not pod.rules.sums_exactly:
        entries = [{key: each[key] for key in _FIRST_FIELDS if key in each} for each in entries]
    found = tuple(spread_constraint(each, pod.pod.labels) for each in entries)
    # Upstream: since v1.27 countPodsMatchSelector() counts no pods for the empty selector.
    return (
        found if pod.rules.sums_exactly else tuple(replace(one, selects_all=False) for one in found)
    )


def spread_constraint(constraint: Manifest, labels: Mapping[str, str]) -> SpreadConstraint:
    """One constraint; *labels* are those of the pod it is for."""
    selector: Manifest | None = constraint.get("labelSelector")
    keys = constraint.get("matchLabelKeys") or ()
    if selector is not None and keys:
        pinned = [
            {"key": key, "operator": "In", "values": [labels[key]]} for key in keys if key in labels
        ]
        expressions = [*(selector.get("matchExpressions") or ()), *pinned]
        selector = {**selector, "matchExpressions": expressions}
    empty = selector is not None and not (
        selector.get("matchLabels") or selector.get("matchExpressions")
    )
    return SpreadConstraint(
        max_skew=int(constraint.get("maxSkew") or 1),
        topology_key=constraint.get("topologyKey") or "",
        is_hard=(constraint.get("whenUnsatisfiable") or "DoNotSchedule") == "DoNotSchedule",
        selector=None if selector is None else LabelSelector.parse(selector),
        selects_all=empty,
        min_domains=int(constraint.get("minDomains") or 1),
        honors_affinity=(constraint.get("nodeAffinityPolicy") or "Honor") == "Honor",
        honors_taints=(constraint.get("nodeTaintsPolicy") or "Ignore") == "Honor",
    )
