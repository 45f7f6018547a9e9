"""What may not change of an object that is stored, by its kind; pods have `pod_updates`.

Upstream: the Validate…Update() of a kind, in pkg/apis/{apps,batch,core,scheduling,storage}/validation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from engine.api_server.validation.custom.definitions import definition_update
from engine.api_server.validation.report import field_error
from engine.api_server.validation.workloads import DEFAULTS_SELECTOR
from engine.objects.custom.definition import DEFINITION
from engine.objects.manifest_parts import items, section

Manifest = Mapping[str, Any]
# The field errors of an update, from the old and the new manifest.
Update = Callable[[Manifest, Manifest], Iterator[str]]

_IMMUTABLE: Final = "field is immutable"
_NULL: Final = f"Invalid value: null: {_IMMUTABLE}"
_WHEN_SET: Final = "Forbidden: field is immutable when `immutable` is set"
_ONCE: Final = 'node updates may not change {} except from "" to valid'
_OF_SETS: Final = (
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
)


def update_errors(old: Manifest, new: Manifest, *, job_resources: bool = False) -> list[str]:
    """What is wrong when *new* takes the place of *old*, each as "field: message".

    With *job_resources* a Job may change what its pods ask for while it is suspended.
    """
    if old["kind"] == "Job":
        return [*_job(old, new, job_resources)]
    update = _UPDATES.get(old["kind"])
    return [] if update is None else [*update(old, new)]


def _same(old: Any, new: Any) -> bool:
    """Upstream: equality.Semantic, for which what is empty is absent."""
    return old == new or (_is_empty(old) and _is_empty(new))


def _is_empty(value: Any) -> bool:
    return value is None or value in ("", [], {})


def _immutable(old: Manifest, new: Manifest, path: str, default: Any = None) -> Iterator[str]:
    """Upstream: ValidateImmutableField()."""
    before, after = (_at(one, path, default) for one in (old, new))
    if not _same(before, after):
        yield f"{path}: {_immutable_error(after)}"


def _immutable_error(value: Any) -> str:
    return field_error(value, _IMMUTABLE) if value is not None else _NULL


def _forbidden(old: Manifest, new: Manifest, path: str, default: Any = None) -> Iterator[str]:
    if not _same(_at(old, path, default), _at(new, path, default)):
        yield f"{path}: Forbidden: updates to {path} are forbidden."


def _at(manifest: Manifest, path: str, default: Any) -> Any:
    *sections, name = path.split(".")
    found = section(manifest, *sections).get(name)
    return default if found is None else found


def _selector(old: Manifest, new: Manifest) -> Iterator[str]:
    """The old versions of workloads let their selectors change."""
    if new.get("apiVersion") not in DEFAULTS_SELECTOR:
        yield from _immutable(old, new, "spec.selector")


def _stateful_set(old: Manifest, new: Manifest) -> Iterator[str]:
    defaults = {"podManagementPolicy": "OrderedReady"}
    before, after = ({**defaults, **section(one, "spec")} for one in (old, new))
    names = [name for name in {**before, **after} if name not in _OF_SETS]
    if not all(_same(before.get(name), after.get(name)) for name in names):
        *first, last = (f"'{name}'" for name in _OF_SETS)
        yield (
            "spec: Forbidden: updates to statefulset spec for fields other than "
            f"{', '.join(first)} and {last} are forbidden"
        )


def _job(old: Manifest, new: Manifest, frees_resources: bool) -> Iterator[str]:
    yield from _completions(section(old, "spec"), section(new, "spec"))
    yield from _immutable(old, new, "spec.selector")
    rests = frees_resources and _rests(old)
    free = rests or (section(old, "spec").get("suspend") and not _has_started(old))
    before, after = (
        _template(one, without_scheduling=bool(free), without_resources=rests) for one in (old, new)
    )
    if not _same(before, after):
        yield f"spec.template: {_immutable_error(section(new, 'spec', 'template'))}"
    yield from _immutable(old, new, "spec.completionMode", "NonIndexed")
    for name in ("podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        yield from _immutable(old, new, f"spec.{name}")


def _completions(old: dict[str, Any], new: dict[str, Any]) -> Iterator[str]:
    """Upstream: validateCompletions(). A Job that says nothing has one completion."""
    before, after = (
        one.get("completions", 1 if one.get("parallelism") is None else None) for one in (old, new)
    )
    if before == after:
        return
    if new.get("completionMode") != "Indexed":
        yield f"spec.completions: {_immutable_error(after)}"
    elif after is not None and after != new.get("parallelism", 1):
        tandem = "can only be modified in tandem with spec.parallelism"
        yield f"spec.completions: {field_error(after, tandem)}"


# What a suspended Job that has not started may change of its template.
_SCHEDULING: Final = ("nodeSelector", "tolerations", "schedulingGates")


def _has_started(job: Manifest) -> bool:
    return bool(section(job, "status").get("startTime"))


def _rests(job: Manifest) -> bool:
    """Whether a Job is suspended and has no pods left.

    Upstream: MutablePodResourcesForSuspendedJobs and MutableSchedulingDirectivesForSuspendedJobs.
    """
    status = section(job, "status")
    conditions: list[dict[str, Any]] = status.get("conditions") or []
    is_marked = any(
        one.get("type") == "Suspended" and one.get("status") == "True" for one in conditions
    )
    is_suspended = bool(section(job, "spec").get("suspend"))
    return is_suspended and not status.get("active") and (is_marked or not _has_started(job))


def _template(
    job: Manifest, *, without_scheduling: bool, without_resources: bool
) -> dict[str, Any]:
    """Upstream: validatePodTemplateUpdate()."""
    template = section(job, "spec", "template")
    if not without_scheduling:
        return template
    spec = {name: part for name, part in section(template, "spec").items() if not _is_empty(part)}
    affinity = {
        name: part for name, part in section(spec, "affinity").items() if name != "nodeAffinity"
    }
    kept = {name: part for name, part in spec.items() if name not in (*_SCHEDULING, "affinity")}
    for name in ("containers", "initContainers") if without_resources else ():
        kept[name] = [{**each, "resources": None} for each in items(kept, name)]
    return {"spec": {**kept, "affinity": affinity}}


def _storage_class(old: Manifest, new: Manifest) -> Iterator[str]:
    yield from _forbidden(old, new, "parameters")
    yield from _forbidden(old, new, "provisioner")
    yield from _forbidden(old, new, "reclaimPolicy", "Delete")
    yield from _immutable(old, new, "volumeBindingMode", "Immediate")


def _priority_class(old: Manifest, new: Manifest) -> Iterator[str]:
    if old.get("value", 0) != new.get("value", 0):
        yield "value: Forbidden: may not be changed in an update."
    yield from _immutable(old, new, "preemptionPolicy", "PreemptLowerPriority")


def _config_map(old: Manifest, new: Manifest) -> Iterator[str]:
    if not old.get("immutable"):
        return
    if not new.get("immutable"):
        yield f"immutable: {_WHEN_SET}"
    for name in ("data", "binaryData"):
        if not _same(old.get(name), new.get(name)):
            yield f"{name}: {_WHEN_SET}"


def _secret(old: Manifest, new: Manifest) -> Iterator[str]:
    yield from _immutable(old, new, "type", "Opaque")
    yield from _config_map(old, new)


def _resource_quota(old: Manifest, new: Manifest) -> Iterator[str]:
    before: list[str] = section(old, "spec").get("scopes") or []
    after: list[str] = section(new, "spec").get("scopes") or []
    if set(before) != set(after):
        yield f"spec.scopes: {_immutable_error(after)}"


def _node(old: Manifest, new: Manifest) -> Iterator[str]:
    before, after = (_pod_cidrs(section(one, "spec")) for one in (old, new))
    if before and before != after:
        yield f"spec.podCIDRs: Forbidden: {_ONCE.format('podCIDR')}"
    before, after = (section(one, "spec").get("providerID") for one in (old, new))
    if before and before != after:
        yield f"spec.providerID: Forbidden: {_ONCE.format('providerID')}"


def _pod_cidrs(spec: dict[str, Any]) -> list[str]:
    """Upstream: Convert_v1_NodeSpec_To_core_NodeSpec()."""
    first: str | None = spec.get("podCIDR")
    several: list[str] = spec.get("podCIDRs") or []
    return [first] if first and several[:1] != [first] else several


_UPDATES: Final[Mapping[str, Update]] = {
    "ConfigMap": _config_map,
    DEFINITION: definition_update,
    "DaemonSet": _selector,
    "Deployment": _selector,
    "Node": _node,
    "PriorityClass": _priority_class,
    "ReplicaSet": _selector,
    "ResourceQuota": _resource_quota,
    "Secret": _secret,
    "StatefulSet": _stateful_set,
    "StorageClass": _storage_class,
}
