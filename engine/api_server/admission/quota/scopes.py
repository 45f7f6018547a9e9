"""The scopes of a quota: which pods and claims it is about.

Upstream: pkg/quota/v1/evaluator/core/pods.go (podMatchesScopeFunc), persistent_volume_claims.go
(pvcMatchesScopeFunc).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from engine.api_server.admission.rules import AdmissionRules
from engine.objects.attributes_classes import attributes_classes_of
from engine.objects.objects import ApiObject, Manifest
from engine.objects.phases import ATTRIBUTES_CLASS
from engine.objects.values.quantity import parse

_PRIORITY_CLASS: Final = "PriorityClass"
# What the quality of service of a pod depends on.
_QUALITY: Final = ("cpu", "memory")


def scopes_of(quota: ApiObject, rules: AdmissionRules) -> list[Manifest]:
    """The requirements of spec.scopes and spec.scopeSelector; all of them must hold.

    Upstream: getScopeSelectorsFromQuota().
    """
    scopes = [{"scopeName": name, "operator": "Exists"} for name in quota.spec.get("scopes") or ()]
    if not rules.scope_selectors:
        return scopes
    selector: Manifest = quota.spec.get("scopeSelector") or {}
    return [*scopes, *(selector.get("matchExpressions") or ())]


def pod_in_scope(pod: ApiObject, scope: Manifest, rules: AdmissionRules) -> bool:
    """Whether the pod meets one requirement."""
    name: str = scope.get("scopeName") or ""
    if name == _PRIORITY_CLASS:
        class_name = pod.spec.get("priorityClassName") or ""
        return _is_selected([class_name] if class_name else [], scope)
    if name == "CrossNamespacePodAffinity" and not rules.cross_namespace_scope:
        return False
    check = _POD_SCOPES.get(name)
    return check is not None and check(pod)


def claim_in_scope(claim: ApiObject, scope: Manifest, rules: AdmissionRules) -> bool:
    """Whether the claim meets one requirement; before v1.34 claims meet none."""
    if scope.get("scopeName") != ATTRIBUTES_CLASS or not rules.attributes_class_scope:
        return False
    return _is_selected(attributes_classes_of(claim), scope)


def _is_selected(names: list[str], scope: Manifest) -> bool:
    """Whether one of *names* meets the operator; with no name only its absence can."""
    operator, values = scope.get("operator"), scope.get("values") or ()
    if operator == "Exists":
        return bool(names)
    if operator == "DoesNotExist":
        return not names
    if operator == "In":
        return any(name in values for name in names)
    return not names or any(name not in values for name in names)


def is_terminating(pod: ApiObject) -> bool:
    """Whether the pod has a deadline, which is what scope Terminating means."""
    seconds = pod.spec.get("activeDeadlineSeconds")
    return seconds is not None and seconds >= 0


def _is_not_terminating(pod: ApiObject) -> bool:
    return not is_terminating(pod)


def _is_best_effort(pod: ApiObject) -> bool:
    """Whether nothing in the pod requests cpu or memory, or limits it. Upstream: GetPodQOS()."""
    return not any(
        parse(amounts[name]).nanos
        for amounts in _resource_lists(pod.spec)
        for name in _QUALITY
        if name in amounts
    )


def _is_not_best_effort(pod: ApiObject) -> bool:
    return not _is_best_effort(pod)


def _resource_lists(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    containers = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    for holder in (*containers, spec):
        resources: Manifest = holder.get("resources") or {}
        yield resources.get("requests") or {}
        yield resources.get("limits") or {}


def _has_cross_namespace_affinity(pod: ApiObject) -> bool:
    """Upstream: usesCrossNamespacePodAffinity()."""
    affinity: Manifest = pod.spec.get("affinity") or {}
    for kind in ("podAffinity", "podAntiAffinity"):
        rules: Manifest = affinity.get(kind) or {}
        required = rules.get("requiredDuringSchedulingIgnoredDuringExecution") or ()
        preferred = rules.get("preferredDuringSchedulingIgnoredDuringExecution") or ()
        weighted: list[Manifest] = [each.get("podAffinityTerm") or {} for each in preferred]
        for term in (*required, *weighted):
            if term.get("namespaces") or term.get("namespaceSelector") is not None:
                return True
    return False


_POD_SCOPES: Final[Mapping[str, Callable[[ApiObject], bool]]] = {
    "Terminating": is_terminating,
    "NotTerminating": _is_not_terminating,
    "BestEffort": _is_best_effort,
    "NotBestEffort": _is_not_best_effort,
    "CrossNamespacePodAffinity": _has_cross_namespace_affinity,
}
