"""Admission: what the API server fills in before an object is stored, where decisions depend on it.

Upstream: plugin/pkg/admission/priority, plugin/pkg/admission/storage/storageclass/setdefault,
plugin/pkg/admission/runtimeclass,
plugin/pkg/admission/storage/storageobjectinuseprotection, plugin/pkg/admission/defaulttolerationseconds,
plugin/pkg/admission/nodetaint, pkg/apis/core/v1/defaults.go.
"""

from typing import Any

from kscope.sim.errors import Invalid, NamespaceTerminating
from kscope.sim.objects import (
    ApiObject,
    Manifest,
    Node,
    PersistentVolumeClaim,
    Pod,
    StorageClass,
)
from kscope.sim.store import ObjectStore
from scheduling.engine.defaulting import with_default_requests, with_default_selector
from volumes.engine.phases import protected

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

    With *default_tolerations* pods bear a node that is not ready for five minutes; while
    `taints_new_nodes` is set, nodes arrive with the taint that they are not ready. Until
    `watches_namespaces` is set, objects may be in a namespace that is being deleted: what a cluster
    holds at first came there before.
    """

    __slots__ = ("_default_tolerations", "_store", "taints_new_nodes", "watches_namespaces")

    def __init__(
        self,
        store: ObjectStore,
        *,
        default_tolerations: bool = False,
        taints_new_nodes: bool = False,
    ) -> None:
        self._store = store
        self._default_tolerations = default_tolerations
        self.taints_new_nodes = taints_new_nodes
        self.watches_namespaces = False

    def admit(self, obj: ApiObject) -> ApiObject:
        """*obj* as it would be stored.

        Raises Invalid when the API server would refuse it, NamespaceTerminating when its namespace
        is being deleted.
        """
        if self.watches_namespaces:
            self._refuse_in_terminating_namespace(obj)
        if isinstance(obj, Pod):
            return self._admit_pod(obj)
        if isinstance(obj, PersistentVolumeClaim):
            return protected(self._admit_claim(obj))
        if isinstance(obj, Node) and self.taints_new_nodes:
            return _not_ready(obj)
        obj = with_default_selector(obj)
        if obj.kind == "DaemonSet":
            return _with_template_generation(obj, max(1, template_generation(obj)))
        if obj.kind == "Namespace" and not obj.spec.get("finalizers"):
            return obj.patched(
                {"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
            )
        return protected(obj)

    def amend(self, old: ApiObject, new: ApiObject) -> ApiObject:
        """*new* as it would be stored in place of *old*: what users may not set is as it was.

        Upstream: pkg/registry/apps/daemonset/strategy.go, PrepareForUpdate().
        """
        new = with_default_selector(new)
        if old.kind != "DaemonSet":
            return new
        changed = old.spec.get("template") != new.spec.get("template")
        return _with_template_generation(new, template_generation(old) + changed)

    def _refuse_in_terminating_namespace(self, obj: ApiObject) -> None:
        """Upstream: apiserver/pkg/admission/plugin/namespace/lifecycle."""
        namespace = self._store.find("Namespace", obj.namespace) if obj.namespace else None
        if namespace is not None and namespace.deletion_timestamp:
            raise NamespaceTerminating(
                f'{obj.kind.lower()}s "{obj.name}" is forbidden: unable to create new content in '
                f"namespace {obj.namespace} because it is being terminated"
            )

    def _admit_pod(self, pod: Pod) -> ApiObject:
        pod = with_default_requests(pod)
        patch: dict[str, Any] = {}
        if pod.spec.get("priority") is None:
            patch.update(self._priority(pod))
        runtime_class = pod.spec.get("runtimeClassName")
        if runtime_class and "overhead" not in pod.spec:
            patch.update(self._overhead(runtime_class))
        if self._default_tolerations:
            patch.update(_tolerations(pod))
        if patch:
            pod = pod.patched({"spec": patch})
        if "phase" not in pod.status:
            pod = pod.patched({"status": {"phase": "Pending"}})
        return pod

    def _priority(self, pod: Pod) -> Manifest:
        name = pod.spec.get("priorityClassName") or ""
        if not name:
            default = self._default_priority_class()
            if default is None:
                return {"priority": 0}
            return {"priority": default.raw["value"], "priorityClassName": default.name}
        if name in SYSTEM_PRIORITIES:
            return {"priority": SYSTEM_PRIORITIES[name]}
        found = self._store.find("PriorityClass", name)
        if found is None:
            raise Invalid(f"no PriorityClass with name {name} was found")
        given = {"priority": found.raw["value"]}
        if found.raw.get("preemptionPolicy") and "preemptionPolicy" not in pod.spec:
            given["preemptionPolicy"] = found.raw["preemptionPolicy"]
        return given

    def _default_priority_class(self) -> ApiObject | None:
        """The global default; the lowest of several, as upstream."""
        defaults = [c for c in self._store.objects("PriorityClass") if c.raw.get("globalDefault")]
        return min(defaults, key=_priority_value, default=None)

    def _overhead(self, name: str) -> Manifest:
        found = self._store.find("RuntimeClass", name)
        if found is None:
            raise Invalid(f'pod rejected: RuntimeClass "{name}" not found')
        overhead: Manifest = found.raw.get("overhead") or {}
        fixed = overhead.get("podFixed")
        return {"overhead": fixed} if fixed else {}

    def _admit_claim(self, claim: PersistentVolumeClaim) -> ApiObject:
        if claim.storage_class_name is None and not claim.volume_name:
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


def template_generation(daemon_set: ApiObject) -> int:
    """How often the template was set; apps/v1 keeps it in an annotation. 0 when it is not said."""
    text = daemon_set.annotations.get(TEMPLATE_GENERATION) or ""
    return int(text) if text.isdecimal() else 0


def _with_template_generation(daemon_set: ApiObject, number: int) -> ApiObject:
    return daemon_set.patched({"metadata": {"annotations": {TEMPLATE_GENERATION: str(number)}}})


def _priority_value(priority_class: ApiObject) -> int:
    return priority_class.raw["value"]


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
