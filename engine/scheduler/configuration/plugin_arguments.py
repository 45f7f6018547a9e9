"""The arguments of the in-tree plugins, checked as upstream checks them.

Upstream: pkg/scheduler/apis/config/validation/validation_pluginargs.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from engine.framework import names
from engine.input.reading import ConfigurationError, Fields
from engine.objects.selectors import NodeSelector, SelectorError, label_key_fault
from engine.plugins.node_resources_fit.score import REQUESTED_TO_CAPACITY_RATIO, STRATEGIES

_META = ("kind", "apiVersion")
_CONSTRAINT = (
    "maxSkew",
    "topologyKey",
    "whenUnsatisfiable",
    "labelSelector",
    "minDomains",
    "nodeAffinityPolicy",
    "nodeTaintsPolicy",
    # Without effect: the selector is then replaced by the one that is deduced.
    "matchLabelKeys",
)


def check_arguments(plugin: str, fields: Fields) -> None:
    """Raise ConfigurationError where the arguments of *plugin* are not what it takes.

    A plugin that is not in-tree checks its own arguments.
    """
    kind = fields.text("kind")
    if kind and kind != f"{plugin}Args" and plugin in _CHECKS:
        raise fields.error("kind", f'"{kind}" is not {plugin}Args')
    check = _CHECKS.get(plugin)
    if check is not None:
        check(fields)


def _fit(fields: Fields) -> None:
    fields.only(*_META, "ignoredResources", "ignoredResourceGroups", "scoringStrategy")
    _label_names(fields, "ignoredResources")
    for place, group in enumerate(fields.texts("ignoredResourceGroups")):
        if "/" in group:
            path = f"{fields.at('ignoredResourceGroups')}[{place}]"
            raise ConfigurationError(path, group, "resource group name can't contain '/'")
    _label_names(fields, "ignoredResourceGroups")
    strategy = fields.mapping("scoringStrategy")
    if strategy is None:
        return
    strategy.only("type", "resources", "requestedToCapacityRatio")
    # Upstream: SetDefaults_NodeResourcesFitArgs() gives a strategy that is there no type.
    kind = strategy.one_of("type", STRATEGIES, "")
    _resources(strategy, 100)
    ratio = strategy.mapping("requestedToCapacityRatio")
    if ratio is not None:
        check_shape(ratio.only("shape"), "shape", 10)
    elif kind == REQUESTED_TO_CAPACITY_RATIO:
        raise strategy.error("requestedToCapacityRatio", "is missing; it holds the shape")


def _label_names(fields: Fields, name: str) -> None:
    """Upstream: metav1validation.ValidateLabelName()."""
    for place, text in enumerate(fields.texts(name)):
        fault = label_key_fault(text)
        if fault is not None:
            raise ConfigurationError(f"{fields.at(name)}[{place}]", text, fault)


def _resources(fields: Fields, highest: int) -> None:
    for resource in fields.items("resources"):
        resource.only("name", "weight")
        if not resource.text("name"):
            raise resource.error("name", "is missing")
        # Upstream: SetDefaults_NodeResourcesFitArgs() makes 1 of 0.
        resource.integer("weight", 1, low=0, high=highest)


def check_shape(fields: Fields, name: str, highest: int) -> None:
    """A function of utilization: at least one point, in order, each in 0..100."""
    points = fields.items(name)
    if not points:
        raise fields.error(name, "at least one point must be specified")
    last = -1
    for point in points:
        point.only("utilization", "score")
        utilization = point.integer("utilization", 0, low=0, high=100)
        if utilization <= last:
            raise point.error("utilization", "values must be sorted in increasing order")
        last = utilization
        point.integer("score", 0, low=0, high=highest)


def _allocated(fields: Fields) -> None:
    """NodeResourcesLeastAllocatedArgs and NodeResourcesMostAllocatedArgs, until 1.22."""
    _resources(fields.only(*_META, "resources"), 100)


def _balanced(fields: Fields) -> None:
    _resources(fields.only(*_META, "resources"), 1)
    seen: dict[str, None] = {}
    for resource in fields.items("resources"):
        name = resource.text("name")
        if name in seen:
            raise resource.error("name", f'Duplicate value: "{name}"')
        seen[name] = None


def _inter_pod(fields: Fields) -> None:
    fields.only(*_META, "hardPodAffinityWeight", "ignorePreferredTermsOfExistingPods")
    fields.integer("hardPodAffinityWeight", 1, low=0, high=100)
    fields.boolean("ignorePreferredTermsOfExistingPods")


def _node_affinity(fields: Fields) -> None:
    added = fields.only(*_META, "addedAffinity").mapping("addedAffinity")
    if added is None:
        return
    required = "requiredDuringSchedulingIgnoredDuringExecution"
    preferred = "preferredDuringSchedulingIgnoredDuringExecution"
    added.only(required, preferred)
    enforced = added.mapping(required)
    if enforced is not None:
        _selector(enforced, enforced.only("nodeSelectorTerms").raw)
    for term in added.items(preferred):
        # Upstream: NewPreferredSchedulingTerms() passes over what is empty or has no weight.
        term.only("weight", "preference")
        term.integer("weight", 0, low=-(1 << 31), high=(1 << 31) - 1)
        preference = term.mapping("preference")
        if preference is not None and term.get("weight"):
            _selector(preference, {"nodeSelectorTerms": [preference.raw]})


def _selector(fields: Fields, selector: Mapping[str, object]) -> None:
    try:
        parsed = NodeSelector.parse(dict(selector))
    except SelectorError as fault:
        raise ConfigurationError(fields.path, fields.raw, str(fault)) from fault
    for requirement in (one for term in parsed.terms for one in term.expressions):
        if requirement.flaws:
            problem = f"{requirement}: {requirement.flaws[0].problem}"
            raise ConfigurationError(fields.path, fields.raw, problem)


def _spread(fields: Fields) -> None:
    fields.only(*_META, "defaultConstraints", "defaultingType")
    # Upstream: SetDefaults_PodTopologySpreadArgs() makes "System" of "".
    kind = fields.one_of("defaultingType", ("System", "List", ""), "") or "System"
    constraints = fields.items("defaultConstraints")
    if kind == "System" and constraints:
        raise fields.error("defaultingType", "when .defaultConstraints are not empty")
    seen: dict[tuple[str, str], None] = {}
    for constraint in constraints:
        if constraint.get("labelSelector") is not None:
            raise constraint.error(
                "labelSelector",
                "constraint must not define a selector, as they deduced for each pod",
            )
        constraint.only(*_CONSTRAINT)
        constraint.integer("maxSkew", 0, low=1)
        # Upstream does not look into these any further.
        constraint.integer("minDomains", 1)
        constraint.texts("matchLabelKeys")
        for policy in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            constraint.text(policy)
        key = constraint.text("topologyKey")
        if not key:
            raise constraint.error("topologyKey", "can not be empty")
        fault = label_key_fault(key)
        if fault is not None:
            raise constraint.error("topologyKey", fault)
        action = constraint.one_of("whenUnsatisfiable", ("DoNotSchedule", "ScheduleAnyway"), "")
        pair = constraint.text("topologyKey"), action
        if pair in seen:
            raise constraint.error("topologyKey", f"duplicate of {pair[0]}, {pair[1]}")
        seen[pair] = None


def _preemption(fields: Fields) -> None:
    fields.only(*_META, "minCandidateNodesPercentage", "minCandidateNodesAbsolute")
    percentage = fields.integer("minCandidateNodesPercentage", 10, low=0, high=100)
    absolute = fields.integer("minCandidateNodesAbsolute", 100, low=0)
    if percentage == 0 and absolute == 0:
        raise fields.error(
            "minCandidateNodesAbsolute",
            "cannot be zero at the same time as minCandidateNodesPercentage",
        )


def _volume_binding(fields: Fields) -> None:
    fields.only(*_META, "bindTimeoutSeconds", "shape")
    fields.integer("bindTimeoutSeconds", 600, low=0)
    if fields.get("shape") is not None:
        check_shape(fields, "shape", 10)


def refuse_shape(fields: Fields) -> None:
    """Refuse what VolumeBinding takes behind the feature gate StorageCapacityScoring only.

    Upstream: ValidateVolumeBindingArgsWithOptions(), AllowStorageCapacityScoring.
    """
    if fields.get("shape") is not None:
        problem = "remove it or turn on the feature gate StorageCapacityScoring"
        raise fields.error("shape", f"unexpected field `shape`, {problem}")


def _dynamic(fields: Fields) -> None:
    timeout = fields.only(*_META, "filterTimeout").duration("filterTimeout", 0)
    if timeout < 0:
        # Upstream: ValidateDynamicResourcesArgs(), EnableDRASchedulerFilterTimeout.
        raise fields.error("filterTimeout", "must be zero or positive")


def _service_affinity(fields: Fields) -> None:
    labels = ("affinityLabels", "antiAffinityLabelsPreference")
    fields.only(*_META, *labels)
    for name in labels:
        fields.texts(name)


def _no_arguments(fields: Fields) -> None:
    fields.only(*_META)


_CHECKS: dict[str, Callable[[Fields], None]] = {
    names.NODE_RESOURCES_FIT: _fit,
    "NodeResourcesLeastAllocated": _allocated,
    "NodeResourcesMostAllocated": _allocated,
    names.NODE_RESOURCES_BALANCED_ALLOCATION: _balanced,
    names.INTER_POD_AFFINITY: _inter_pod,
    names.NODE_AFFINITY: _node_affinity,
    names.POD_TOPOLOGY_SPREAD: _spread,
    names.DEFAULT_PREEMPTION: _preemption,
    names.VOLUME_BINDING: _volume_binding,
    names.DYNAMIC_RESOURCES: _dynamic,
    names.SERVICE_AFFINITY: _service_affinity,
    names.NODE_UNSCHEDULABLE: _no_arguments,
    names.NODE_NAME: _no_arguments,
    names.TAINT_TOLERATION: _no_arguments,
    names.NODE_PORTS: _no_arguments,
    names.VOLUME_RESTRICTIONS: _no_arguments,
    names.NODE_VOLUME_LIMITS: _no_arguments,
    names.VOLUME_ZONE: _no_arguments,
    names.IMAGE_LOCALITY: _no_arguments,
}
