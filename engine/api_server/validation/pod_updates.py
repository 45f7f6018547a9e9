"""What a client may change of a pod that is stored.

Pages and scenarios may change more: what a waiting pod asks for, to see what would follow. A client
of the Kubernetes API finds what an API server allows.

Upstream: pkg/apis/core/validation/validation.go, ValidatePodUpdate().
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from engine.api_server.validation.report import field_error
from engine.objects.manifest_parts import items

Spec = Mapping[str, Any]

_CONTAINERS: Final = ("containers", "initContainers")
# Upstream: updatablePodSpecFields.
_UPDATABLE: Final = ",".join(
    (
        "`spec.containers[*].image`",
        "`spec.initContainers[*].image`",
        "`spec.activeDeadlineSeconds`",
        "`spec.tolerations` (only additions to existing tolerations)",
        "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
    )
)
# What admission has filled in, and fills in again where an update leaves it out.
_ADMITTED: Final = ("priority", "preemptionPolicy")
_DEADLINE: Final = "activeDeadlineSeconds"
_GRACE: Final = "terminationGracePeriodSeconds"
_NODE_TAINTS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def update_errors(old: Spec, new: Spec) -> list[str]:
    """What is wrong when *new* is written over the spec *old*, each as "field: message"."""
    return [*_errors(old, new)]


def added_gate_error(old: Spec, new: Spec) -> str:
    """The same of the scheduling gates. Upstream: validateOnlyDeletedSchedulingGates()."""
    known = {gate.get("name") for gate in items(old, "schedulingGates")}
    for index, gate in enumerate(items(new, "schedulingGates")):
        if gate.get("name") not in known:
            return (
                f"spec.schedulingGates[{index}].name: Forbidden: only deletion is allowed, but found "
                f"new scheduling gate '{gate.get('name')}'"
            )
    return ""


def with_admitted(old: Spec, new: Spec) -> dict[str, Any]:
    """The spec *new* of a pod with what admission fills in again when it is left out.

    Upstream: plugin/pkg/admission/priority and plugin/pkg/admission/defaulttolerationseconds.
    """
    kept = {name: old[name] for name in _ADMITTED if name in old and new.get(name) is None}
    borne = [_without_seconds(each) for each in items(new, "tolerations")]
    missing = [
        each
        for each in items(old, "tolerations")
        if each.get("key") in _NODE_TAINTS and _without_seconds(each) not in borne
    ]
    if missing:
        kept["tolerations"] = [*items(new, "tolerations"), *missing]
    return {**new, **kept}


def _errors(old: Spec, new: Spec) -> Iterator[str]:
    for name in _CONTAINERS:
        if len(items(old, name)) != len(items(new, name)):
            yield f"spec.{name}: Forbidden: pod updates may not add or remove containers"
            return
    yield from _deadline_errors(old.get(_DEADLINE), new.get(_DEADLINE))
    yield from _toleration_errors(items(old, "tolerations"), items(new, "tolerations"))
    gate = added_gate_error(old, new)
    if gate:
        yield gate
    before, after = _settled(old), _settled(_with_free_fields(old, new))
    if before != after:
        diff = "\n".join(difflib.unified_diff(_lines(before), _lines(after), lineterm=""))
        yield f"spec: Forbidden: pod updates may not change fields other than {_UPDATABLE}\n{diff}"


def _lines(spec: Any) -> list[str]:
    """A spec as the difference between two of them shows it. Upstream: util/diff toPrettyJSON()."""
    return json.dumps(spec, indent=1, sort_keys=True).splitlines()


def _deadline_errors(old: int | None, new: int | None) -> Iterator[str]:
    if new is None:
        if old is not None:
            why = "must not update from a positive integer to nil value"
            yield f"spec.{_DEADLINE}: Invalid value: null: {why}"
    elif old is not None and new > old:
        why = "must be less than or equal to previous value"
        yield f"spec.{_DEADLINE}: {field_error(new, why)}"


def _toleration_errors(old: list[dict[str, Any]], new: list[dict[str, Any]]) -> Iterator[str]:
    """Upstream: validateOnlyAddedTolerations()."""
    kept = [_without_seconds(each) for each in new]
    if any(_without_seconds(each) not in kept for each in old):
        yield (
            "spec.tolerations: Forbidden: existing toleration can not be modified except its "
            "tolerationSeconds"
        )


def _without_seconds(toleration: dict[str, Any]) -> dict[str, Any]:
    told = {name: part for name, part in toleration.items() if part not in ("", None)}
    told.pop("tolerationSeconds", None)
    return {"operator": "Equal", **told}


def _with_free_fields(old: Spec, new: Spec) -> dict[str, Any]:
    """*new* with the old values of the fields that may change."""
    kept = {**new}
    for name in _CONTAINERS:
        pairs = zip(items(old, name), items(new, name), strict=True)
        kept[name] = [{**after, "image": before.get("image")} for before, after in pairs]
    names = [_DEADLINE, "tolerations", "schedulingGates"]
    if (old.get(_GRACE) or 0) < 0 and new.get(_GRACE) == 1:
        names.append(_GRACE)
    return {**kept, **{name: old.get(name) for name in names}}


def _settled(value: Any) -> Any:
    """A value without what is empty, which is the same as absent. Upstream: equality.Semantic."""
    if isinstance(value, Mapping):
        parts = cast("Mapping[str, Any]", value)
        found = {name: _settled(part) for name, part in parts.items()}
        # An empty source of a volume says something: emptyDir, or a policy of containers.
        return {name: part for name, part in found.items() if part not in (None, "", [])}
    if isinstance(value, list):
        return [_settled(each) for each in cast("list[Any]", value)]
    return value
