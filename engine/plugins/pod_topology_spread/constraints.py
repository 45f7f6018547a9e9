"""The topology spread constraints of a pod: its own, or the defaults of its profile.

Upstream: plugins/podtopologyspread/common.go, plugins/helper/spread.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engine.framework.framework import CycleState
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.listers import Listers
from engine.framework.nodes.pod_counts import PodMatcher, Tally
from engine.framework.pods.pod_info import AffinityTerm, PodInfo, labels_key
from engine.framework.pods.pod_template import SpreadConstraint, spread_constraint
from engine.objects.selectors import LabelSelector, Requirement

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"

_EVERYTHING = LabelSelector()
_SYSTEM_DEFAULTS = (
    SpreadConstraint(max_skew=3, topology_key=HOSTNAME, is_hard=False, selector=None),
    SpreadConstraint(max_skew=5, topology_key=ZONE, is_hard=False, selector=None),
)

# What default constraints depend on: namespace, labels, and the controller's kind and key.
Owned = tuple[str, bytes, str, str]
_OWNED_KEPT = 4_096
_OWNERS = ("Service", "ReplicationController", "ReplicaSet", "StatefulSet")
_OWNER_VERSIONS = {"ReplicationController": "v1", "ReplicaSet": "apps/v1", "StatefulSet": "apps/v1"}


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """The constraints that hold for a pod, and for each the live pods it counts.

    A constraint that counts no pods by definition has no tally.
    """

    hard: tuple[SpreadConstraint, ...] = ()
    soft: tuple[SpreadConstraint, ...] = ()
    hard_tallies: tuple[Tally | None, ...] = ()
    soft_tallies: tuple[Tally | None, ...] = ()


_NO_CONSTRAINTS = Constraints()


def has_defaults(arguments: Arguments) -> bool:
    """Whether a pod without constraints of its own gets some. Upstream: defaultConstraints."""
    return _are_system_defaults(arguments) or bool(arguments.get("defaultConstraints"))


def _are_system_defaults(arguments: Arguments) -> bool:
    return (arguments.get("defaultingType") or "System") == "System"


class PodConstraints:
    """Finds the constraints of a pod, with a tally of matching pods for each.

    `all_labels_required` says whether a node is ignored in scoring unless it has the labels of all
    default constraints. With *live_only*, pods that are being deleted do not count.
    """

    def __init__(self, arguments: Arguments, handle: Handle, *, live_only: bool) -> None:
        self._table = handle.table
        self._listers = handle.listers
        self._services = handle.listers.live("Service")
        self._live_only = live_only
        system_defaulted = _are_system_defaults(arguments)
        # v1.20 ignores nodes that lack a label of the system's defaults. Upstream:
        # kubernetes#105046, in 1.20.14.
        self.all_labels_required: bool = not system_defaulted or arguments.get(
            "defaults_need_all_labels", False
        )
        self._defaults = _SYSTEM_DEFAULTS if system_defaulted else _read_defaults(arguments)
        self._own: dict[int, Constraints] = {}
        self._defaulted: dict[Owned, tuple[tuple[int, ...], Constraints]] = {}

    def exist(self, state: CycleState) -> bool:
        """Whether the pod has a constraint, its own or a default."""
        if not state.template.spread and not (
            self._defaults and (self._services or state.pod.pod.owner_references)
        ):
            return False
        constraints = self.find(state)
        return bool(constraints.hard or constraints.soft)

    def find(self, state: CycleState) -> Constraints:
        """The pod's own constraints, or without any the defaults."""
        template = state.template
        if template.spread:
            own = self._own.get(template.number)
            if own is None:
                own = self._counted(template.spread, template.namespace)
                self._own[template.number] = own
            return own
        return self._by_default(state.pod) if self._defaults else _NO_CONSTRAINTS

    def hard_by_default(self, pod: PodInfo) -> tuple[SpreadConstraint, ...]:
        """The hard constraints of a pod without any of its own. Upstream: getConstraints()."""
        if not any(one.is_hard for one in self._defaults):
            return ()
        return self._by_default(pod).hard

    def _by_default(self, pod: PodInfo) -> Constraints:
        """The profile's constraints for the pod's owner; computed again when owners change."""
        if not (self._services or pod.pod.owner_references):
            return _NO_CONSTRAINTS  # The default selector is empty.
        stamp = tuple([self._listers.generation.get(kind, 0) for kind in _OWNERS])
        kind, owner = _controller(pod) or ("", "")
        key = (pod.pod.namespace, labels_key(pod.pod), kind, owner)
        known = self._defaulted.get(key)
        if known is not None and known[0] == stamp:
            return known[1]
        if len(self._defaulted) >= _OWNED_KEPT:
            self._defaulted.clear()
        selector = default_selector(pod, self._listers)
        found = _NO_CONSTRAINTS
        if not selector.empty:
            constraints = [replace(one, selector=selector) for one in self._defaults]
            found = self._counted(constraints, pod.pod.namespace)
        self._defaulted[key] = (stamp, found)
        return found

    def _counted(self, constraints: Sequence[SpreadConstraint], namespace: str) -> Constraints:
        hard = tuple(one for one in constraints if one.is_hard)
        soft = tuple(one for one in constraints if not one.is_hard)
        return Constraints(
            hard=hard,
            soft=soft,
            hard_tallies=tuple(self._tally(one, namespace) for one in hard),
            soft_tallies=tuple(self._tally(one, namespace) for one in soft),
        )

    def _tally(self, constraint: SpreadConstraint, namespace: str) -> Tally | None:
        """Matching live pods; None when there are none by definition.

        Upstream: countPodsMatchSelector(), which counts nothing for the empty selector.
        """
        if constraint.selector is None or constraint.selects_all:
            return None
        matcher = pods_matching(constraint.selector, namespace, live_only=self._live_only)
        return self._table.pod_counts.counter(matcher).tally


def pods_matching(selector: LabelSelector, namespace: str | None, *, live_only: bool) -> PodMatcher:
    """Pods of *namespace*, None for any, that *selector* selects."""
    term = AffinityTerm(
        namespaces=frozenset(() if namespace is None else (namespace,)),
        selector=selector,
        topology_key="",
        namespace_selector=_EVERYTHING if namespace is None else None,
    )
    return PodMatcher((term,), live_only=live_only)


def default_selector(pod: PodInfo, listers: Listers) -> LabelSelector:
    """The selectors of the services and controllers that select the pod, combined.

    Upstream: plugins/helper/spread.go DefaultSelector(). A ReplicationController's labels
    override those of services.
    """
    owners = pod.pod.owner_references
    if not owners and not listers.has("Service"):
        return _EVERYTHING
    pairs: dict[str, str] = {}
    labels = pod.pod.labels
    for service in listers.services_selecting(pod.pod.namespace, labels):
        selector: dict[str, str] = service.spec.get("selector") or {}
        if all(labels.get(key) == value for key, value in selector.items()):
            pairs.update(selector)
    requirements: tuple[Requirement, ...] = ()
    kind, key = _controller(pod) or ("", "")
    found = listers.get(kind, key) if kind else None
    if found is not None and kind == "ReplicationController":
        pairs.update(found.spec.get("selector") or {})
    elif found is not None:
        requirements = LabelSelector.parse(found.spec.get("selector")).requirements
    together = LabelSelector.from_labels(pairs).requirements + requirements
    return LabelSelector(tuple(dict.fromkeys(together)))


def _controller(pod: PodInfo) -> tuple[str, str] | None:
    """Kind and key of the controller that owns the pod, if its kind has a pod selector."""
    for ref in pod.pod.owner_references:
        if ref.get("controller"):
            kind = ref.get("kind") or ""
            if ref.get("apiVersion") != _OWNER_VERSIONS.get(kind, ""):
                return None
            return kind, f"{pod.pod.namespace}/{ref.get('name')}"
    return None


def _read_defaults(arguments: Arguments) -> tuple[SpreadConstraint, ...]:
    # Their selector is the default selector as it is; no labels are merged into it.
    return tuple(
        spread_constraint(entry, {}) for entry in arguments.get("defaultConstraints") or ()
    )
