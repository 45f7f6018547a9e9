"""Admission: what the API server fills in before an object is stored, where decisions depend on it.

Upstream: plugin/pkg/admission/priority, plugin/pkg/admission/storage/storageclass/setdefault,
plugin/pkg/admission/runtimeclass,
plugin/pkg/admission/storage/storageobjectinuseprotection, plugin/pkg/admission/defaulttolerationseconds,
plugin/pkg/admission/nodetaint, pkg/apis/core/v1/defaults.go. LimitRanges are in `limit_ranger`,
ResourceQuotas in `quota`.
"""

from collections.abc import Sequence
from typing import Any

from engine.api_server.admission import pod_resize
from engine.api_server.admission.defaulting import (
    with_default_requests,
    with_default_selector,
    with_name_label,
    with_time_added,
)
from engine.api_server.admission.limit_ranger import KIND as LIMIT_RANGE
from engine.api_server.admission.limit_ranger import LimitRanger, with_item_defaults
from engine.api_server.admission.policy_admission import PolicyAdmission
from engine.api_server.admission.quota.quota_admission import KIND as RESOURCE_QUOTA
from engine.api_server.admission.quota.quota_admission import QuotaAdmission
from engine.api_server.admission.refusals import forbidden_unnamed
from engine.api_server.admission.rules import AdmissionRules
from engine.api_server.admission.topology_labels import topology_labels
from engine.api_server.custom.kinds import CustomKinds
from engine.api_server.store.store import ObjectStore
from engine.kernel.errors import Forbidden, NamespaceTerminating
from engine.kernel.units import timestamp
from engine.objects.autoscalers import AUTOSCALER, newest_form
from engine.objects.custom.definition import DEFINITION
from engine.objects.custom.objects import CustomObject
from engine.objects.device_taint_rules import DEVICE_TAINT_RULE
from engine.objects.objects import (
    ApiObject,
    Manifest,
    Node,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from engine.objects.outside import Outside
from engine.objects.phases import ATTRIBUTES_CLASS, protected
from engine.objects.pods.conditions import scheduling_gated, with_condition
from engine.objects.pods.pod_resources import NEWEST, ResourceRules
from engine.objects.scripts.script import Script

# The two classes that every cluster has. Upstream: pkg/apis/scheduling/types.go.
SYSTEM_PRIORITIES = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}


# Upstream: pkg/apis/apps/v1/conversion.go, apps.DeprecatedTemplateGeneration.
TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"

# How long a pod puts up with a node that is not ready, unless it says otherwise.
_TOLERATED_FOR = 300
_EXECUTES = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_NODE_TOLERATIONS: list[Manifest] = [
    {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": _TOLERATED_FOR}
    for key in _EXECUTES
]


class Admission:
    """Admits objects to a store, reading classes from that same store.

    With *default_tolerations* pods bear a node that is not ready for five minutes, with
    *labels_namespaces* a namespace bears its name as a label, and with *taints_new_nodes* a node
    arrives with the taint that it is not ready. Until `open` is called, nodes get no taint, and
    objects may be in a namespace that is being deleted, and beyond its limits and quotas: what a
    cluster holds at first came there before. *rules* are those of its version, *resources* those by
    which it counts requests, *outside* what the files say of ServiceAccounts, *scripts* what servers
    of webhooks in containers answer.
    """

    __slots__ = (
        "_default_tolerations",
        "_outside",
        "_labels_namespaces",
        "_limits",
        "_quotas",
        "_resources",
        "_scripts",
        "_store",
        "_is_open",
        "_taints_new_nodes",
        "custom",
        "policies",
        "rules",
    )

    def __init__(
        self,
        store: ObjectStore,
        *,
        default_tolerations: bool = False,
        taints_new_nodes: bool = False,
        labels_namespaces: bool = True,
        rules: AdmissionRules,
        resources: ResourceRules | None = None,
        outside: Outside | None = None,
        scripts: Sequence[Script] = (),
    ) -> None:
        self._store = store
        self._scripts = scripts
        self.custom = CustomKinds(store)
        self.policies = PolicyAdmission(store, self.custom, scripts=scripts)
        self._outside = outside or Outside()
        self._resources = resources or NEWEST
        self.rules = rules
        self._limits = LimitRanger(store, self.rules)
        self._quotas = QuotaAdmission(store, self.rules)
        self._default_tolerations = default_tolerations
        self._labels_namespaces = labels_namespaces
        self._taints_new_nodes = taints_new_nodes
        self._is_open = False

    def open(self) -> None:
        """From now on, objects come as they do to a cluster that runs."""
        self._is_open = True

    def of_store(self, store: ObjectStore) -> "Admission":
        """The same admission to another store."""
        other = Admission(
            store,
            default_tolerations=self._default_tolerations,
            taints_new_nodes=self._taints_new_nodes,
            labels_namespaces=self._labels_namespaces,
            rules=self.rules,
            resources=self._resources,
            outside=self._outside,
            scripts=self._scripts,
        )
        other._is_open = self._is_open
        return other

    def admit(self, obj: ApiObject, by: str = "") -> ApiObject:
        """*obj* as it would be stored; component *by* creates it, or a client.

        Raises NamespaceTerminating when its namespace is being deleted, and Forbidden when a class
        that it names is unknown, or a LimitRange or a ResourceQuota does not allow it.
        """
        if not self._is_open:
            return self._completed(obj)
        # Quotas come last: what another rule refuses is not charged.
        completed = self._completed_within_limits(obj, by)
        self._quotas.charge(completed)
        return completed

    def check(self, obj: ApiObject) -> ApiObject:
        """What `admit` returns or raises for *obj*, before it is created: no quota is charged."""
        completed = self._completed_within_limits(obj)
        self._quotas.check(completed)
        return completed

    def _completed_within_limits(self, obj: ApiObject, by: str = "") -> ApiObject:
        _refuse_in_terminating_namespace(self._store, obj)
        completed = self._completed(obj)
        if self._is_open:
            completed = self.policies.changed(None, completed, by=by)
        self._limits.check(completed)
        if self._is_open:
            self.policies.check(None, completed, by=by)
        return completed

    def charge(self, obj: ApiObject) -> None:
        """Add *obj*, which is created without further admission, to the quotas of its namespace.

        Raises Forbidden when one does not allow it.
        """
        self._quotas.charge(obj)

    def _completed(self, obj: ApiObject) -> ApiObject:
        """*obj* with all that admission fills in."""
        if isinstance(obj, Pod):
            return self._admit_pod(obj)
        if isinstance(obj, PersistentVolumeClaim):
            return protected(self._admit_claim(obj))
        if isinstance(obj, Node) and self._is_open and self._taints_new_nodes:
            return _not_ready(obj)
        if isinstance(obj, CustomObject):
            return obj.with_metadata(generation=obj.metadata.get("generation") or 1)
        if obj.kind == DEFINITION:
            return self.custom.admitted_definition(obj)
        obj = with_default_selector(obj)
        if obj.kind == "DaemonSet":
            return _with_template_generation(obj, max(1, template_generation(obj)))
        if obj.kind == DEVICE_TAINT_RULE:
            return with_time_added(obj, None, self._store.clock)
        if obj.kind == AUTOSCALER:
            return newest_form(obj)
        if obj.kind == "Namespace":
            return self._admit_namespace(obj)
        if obj.kind == RESOURCE_QUOTA and not self._is_open:
            return self._quotas.counted(obj)
        if obj.kind == ATTRIBUTES_CLASS and not self.rules.changes_attributes_class:
            # Nothing would take the finalizer off.
            return obj
        return with_item_defaults(obj) if obj.kind == LIMIT_RANGE else protected(obj)

    def amend(self, old: ApiObject, new: ApiObject) -> ApiObject:
        """*new* as it would be stored in place of *old*: what users may not set is as it was.

        Raises Forbidden when a LimitRange or a ResourceQuota does not allow it.
        Upstream: pkg/registry/apps/daemonset/strategy.go, PrepareForUpdate().
        """
        if isinstance(old, Pod) and old.spec != new.spec:
            new = new.with_metadata(generation=old.generation + 1)
        if isinstance(old, CustomObject):
            return self.custom.with_generation(old, new)
        if old.kind == DEFINITION:
            return self.custom.admitted_definition(new)
        new = with_default_selector(new)
        if isinstance(new, PersistentVolumeClaim) and not old.deletion_timestamp:
            self._limits.check(new)
        self._quotas.charge_update(old, new)
        if old.kind == LIMIT_RANGE:
            return with_item_defaults(new)
        if old.kind == DEVICE_TAINT_RULE:
            return with_time_added(new, old, self._store.clock)
        if old.kind == AUTOSCALER:
            return newest_form(new)
        if old.kind == "Namespace" and self._labels_namespaces:
            return with_name_label(new)
        if old.kind != "DaemonSet":
            return new
        changed = old.spec.get("template") != new.spec.get("template")
        return _with_template_generation(new, template_generation(old) + changed)

    def admit_resize(self, pod: Pod, new: Pod) -> None:
        """Raises Invalid or Forbidden where *pod* may not be resized to *new*."""
        pod_resize.check(pod, new, self.rules)
        if pod.node_name and self.rules.resize_fits_node:
            found = self._store.find("Node", pod.node_name)
            pod_resize.check_node(new, found if isinstance(found, Node) else None, self._resources)
        self._limits.check(new)
        self._quotas.charge_update(pod, new)

    def _admit_namespace(self, namespace: ApiObject) -> ApiObject:
        if self._labels_namespaces:
            namespace = with_name_label(namespace)
        if namespace.spec.get("finalizers"):
            return namespace
        return namespace.patched(
            {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        )

    def _refuse_without_account(self, pod: Pod) -> None:
        """Upstream: plugin/pkg/admission/serviceaccount. Every namespace gets the default one."""
        name: str = pod.spec.get("serviceAccountName") or "default"
        key = f"{pod.namespace}/{name}"
        if name == "default" or self._store.find("ServiceAccount", key) is not None:
            return
        if self._outside.lacks("ServiceAccount", key):
            why = f'error looking up service account {key}: serviceaccount "{name}" not found'
            raise forbidden_unnamed(pod, why)

    def _admit_pod(self, pod: Pod) -> ApiObject:
        if self._is_open:
            self._refuse_without_account(pod)
        pod = with_default_requests(pod)
        # The first objects may come from a cluster that has admitted them: they stay.
        is_old = not self._is_open and was_admitted(pod)
        if not is_old:
            pod = self._limits.with_defaults(pod)
        patch: dict[str, Any] = {}
        try:
            patch.update(self._priority(pod))
        except Forbidden:
            if not is_old:
                raise
            patch["priority"] = 0
        if self._default_tolerations:
            patch.update(_tolerations(pod))
        runtime_class = pod.spec.get("runtimeClassName")
        if runtime_class:
            borne: list[Manifest] = patch.get("tolerations") or pod.spec.get("tolerations") or []
            try:
                patch.update(self._of_runtime(pod, runtime_class, borne))
            except Forbidden:
                if not is_old:
                    raise
        changes: Manifest = {"spec": patch} if patch else {}
        if "phase" not in pod.status:
            changes["status"] = {"phase": "Pending"}
        if pod.scheduling_gates and self.rules.gated_condition and not is_old:
            condition = {**scheduling_gated(), "lastTransitionTime": timestamp(self._store.clock)}
            changes.setdefault("status", {})["conditions"] = with_condition(pod, condition)
        if pod.node_name and self.rules.topology_labels and not is_old:
            labels = dict(topology_labels(self._store, pod.node_name))
            if labels:
                changes["metadata"] = {"labels": {**labels, **pod.labels}}
        return pod.patched(changes) if changes else pod

    def _priority(self, pod: Pod) -> Manifest:
        if pod.spec.get("priority") is not None:
            return self._policy(pod)
        name = pod.spec.get("priorityClassName") or ""
        if not name:
            default = self._default_priority_class()
            if default is None:
                return {"priority": 0}
            given = {"priority": default.raw["value"], "priorityClassName": default.name}
            return {**given, **_policy_of(default, pod)}
        if name in SYSTEM_PRIORITIES:
            return {"priority": SYSTEM_PRIORITIES[name]}
        found = self._store.find("PriorityClass", name)
        if found is None:
            raise forbidden_unnamed(pod, f"no PriorityClass with name {name} was found")
        return {"priority": found.raw["value"], **_policy_of(found, pod)}

    def _policy(self, pod: Pod) -> Manifest:
        """The preemption policy of the class of a pod that has its priority already."""
        name = pod.spec.get("priorityClassName") or ""
        found = self._store.find("PriorityClass", name) if name else None
        return {} if found is None else _policy_of(found, pod)

    def _default_priority_class(self) -> ApiObject | None:
        """The global default; the lowest of several, as upstream."""
        defaults = self._store.grouped("PriorityClass").defaults()
        return min(defaults, key=_priority_value, default=None)

    def _of_runtime(self, pod: Pod, name: str, borne: list[Manifest]) -> Manifest:
        """What pods of the runtime cost beside their containers, and where they may run."""
        found = self._store.find("RuntimeClass", name)
        if found is None:
            raise forbidden_unnamed(pod, f'pod rejected: RuntimeClass "{name}" not found')
        given: Manifest = {}
        overhead: Manifest = found.raw.get("overhead") or {}
        if overhead.get("podFixed") and "overhead" not in pod.spec:
            given["overhead"] = overhead["podFixed"]
        scheduling: Manifest = found.raw.get("scheduling") or {}
        wanted: dict[str, str] = scheduling.get("nodeSelector") or {}
        if wanted:
            given["nodeSelector"] = _merged_selector(pod, wanted)
        if scheduling.get("tolerations"):
            given["tolerations"] = _merged_tolerations([*borne, *scheduling["tolerations"]])
        return given

    def _admit_claim(self, claim: PersistentVolumeClaim) -> ApiObject:
        # A pod that came from a cluster with its phase was admitted there, and may be bound.
        is_old = "phase" in claim.status or claim.is_bind_completed
        if claim.storage_class_name is None and not (claim.volume_name and is_old):
            defaults = [
                c
                for c in self._store.objects("StorageClass")
                if isinstance(c, StorageClass) and c.is_default
            ]
            if defaults:
                # The newest wins, and of equally new ones the first by name.
                newest = max(c.creation_timestamp for c in defaults)
                chosen = min(c.name for c in defaults if c.creation_timestamp == newest)
                claim = claim.patched({"spec": {"storageClassName": chosen}})
        return claim if "phase" in claim.status else claim.patched({"status": {"phase": "Pending"}})


def _refuse_in_terminating_namespace(store: ObjectStore, obj: ApiObject) -> None:
    """Upstream: apiserver/pkg/admission/plugin/namespace/lifecycle."""
    namespace = store.find("Namespace", obj.namespace) if obj.namespace else None
    if namespace is not None and namespace.deletion_timestamp:
        raise NamespaceTerminating(
            f'{_resource(obj)} "{obj.name}" is forbidden: unable to create new content in '
            f"namespace {obj.namespace} because it is being terminated"
        )


def _resource(obj: ApiObject) -> str:
    kind, separator, group = obj.kind.lower().partition(".")
    return f"{kind}s{separator}{group}"


def was_admitted(pod: Pod) -> bool:
    """Whether a pod as a file holds it has passed the admission of the cluster it comes from."""
    return bool(pod.status.get("phase") or pod.node_name)


def template_generation(daemon_set: ApiObject) -> int:
    """How often the template was set; apps/v1 keeps it in an annotation. 0 when it is not said."""
    text = daemon_set.annotations.get(TEMPLATE_GENERATION) or ""
    return int(text) if text.isdecimal() else 0


def _with_template_generation(daemon_set: ApiObject, number: int) -> ApiObject:
    return daemon_set.patched({"metadata": {"annotations": {TEMPLATE_GENERATION: str(number)}}})


def _priority_value(priority_class: ApiObject) -> int:
    return priority_class.raw["value"]


def _policy_of(priority_class: ApiObject, pod: Pod) -> Manifest:
    policy = priority_class.raw.get("preemptionPolicy")
    return {"preemptionPolicy": policy} if policy and "preemptionPolicy" not in pod.spec else {}


def _merged_selector(pod: Pod, wanted: dict[str, str]) -> dict[str, str]:
    """Upstream: runtimeclass/admission.go setScheduling(). Raises Forbidden where the two differ."""
    own: dict[str, str] = pod.spec.get("nodeSelector") or {}
    for key, value in wanted.items():
        if own.get(key, value) != value:
            raise forbidden_unnamed(
                pod,
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; "
                f"pod.spec.nodeSelector[{key}] = {own[key]}",
            )
    return {**own, **wanted}


def _merged_tolerations(tolerations: list[Manifest]) -> list[Manifest]:
    """Without those that others contain. Upstream: pkg/util/tolerations MergeTolerations()."""
    merged: list[Manifest] = []
    for place, each in enumerate(tolerations):
        later = (other for other in tolerations[place + 1 :] if _told(other) != _told(each))
        if not any(_contains(other, each) for other in (*merged, *later)):
            merged.append(each)
    return merged


def _told(toleration: Manifest) -> tuple[Any, ...]:
    names = ("key", "operator", "value", "effect")
    return (*(toleration.get(name) or "" for name in names), toleration.get("tolerationSeconds"))


def _contains(other: Manifest, each: Manifest) -> bool:
    """Whether whatever *each* tolerates *other* does as well. Upstream: isSuperset()."""
    key, operator, value, effect, seconds = _told(each)
    other_key, other_operator, other_value, other_effect, other_seconds = _told(other)
    if _told(each) == _told(other):
        return True
    if key != other_key and (other_key or other_operator != "Exists"):
        return False
    if other_effect not in (effect, ""):
        return False
    ends = other_effect == "NoExecute" and other_seconds is not None
    if ends and (seconds is None or seconds > other_seconds):
        return False
    if other_operator == "Exists":
        return True
    return operator in ("", "Equal") and value == other_value


def _tolerations(pod: Pod) -> Manifest:
    """Upstream: defaulttolerationseconds/admission.go."""
    given: list[Manifest] = pod.spec.get("tolerations") or []
    missing = [each for each in _NODE_TOLERATIONS if not _is_borne(each["key"], given)]
    return {"tolerations": [*given, *missing]} if missing else {}


def _is_borne(key: str, tolerations: list[Manifest]) -> bool:
    return any(
        each.get("key") in (key, None, "") and each.get("effect") in ("NoExecute", None, "")
        for each in tolerations
    )


def _not_ready(node: Node) -> Node:
    """Upstream: nodetaint/admission.go."""
    taint = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}
    if any(each.get("key") == taint["key"] for each in node.taints):
        return node
    return node.patched({"spec": {"taints": [*node.taints, taint]}})
