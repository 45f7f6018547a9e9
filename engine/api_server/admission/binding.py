"""The subresource `binding` of a pod: the node that a scheduler has chosen for it.

Upstream: pkg/registry/core/pod/storage/storage.go, BindingREST.
"""

from typing import Unpack

from engine.api_server.admission.rules import AdmissionRules
from engine.api_server.admission.topology_labels import topology_labels
from engine.api_server.store.store import ObjectStore
from engine.api_server.store.write_record import Note
from engine.kernel.errors import Conflict, NotFound
from engine.kernel.units import timestamp
from engine.objects.objects import ApiObject, Pod
from engine.objects.pods.conditions import with_condition


def bind(
    store: ObjectStore, pod: Pod, node: str, rules: AdmissionRules, **note: Unpack[Note]
) -> None:
    """Write the name of *node* to the newest version of *pod*.

    Raises NotFound when the pod is gone, and Conflict when another one has its name, or it is being
    deleted.
    """
    stored = store.find("Pod", pod.key)
    if not isinstance(stored, Pod):
        raise NotFound(f'pods "{pod.name}" not found')
    if stored.uid != pod.uid:
        raise Conflict(_uid_conflict(pod, stored))
    if stored.deletion_timestamp:
        raise Conflict(_refusal(pod, "is being deleted, cannot be assigned to a host"))
    scheduled = {"type": "PodScheduled", "status": "True"}
    scheduled["lastTransitionTime"] = timestamp(store.clock)
    status = {**stored.status, "conditions": with_condition(stored, scheduled)}
    if rules.clears_nomination:
        status.pop("nominatedNodeName", None)
    labels = topology_labels(store, node) if rules.topology_labels else ()
    store.bind(stored, node, status, labels, **note)


def check_unbound(pod: Pod) -> None:
    """Raises Conflict when the pod has a node already, or may not be scheduled yet."""
    if pod.node_name:
        raise Conflict(_refusal(pod, f'is already assigned to node "{pod.node_name}"'))
    if pod.spec.get("schedulingGates"):
        raise Conflict(_refusal(pod, "has non-empty .spec.schedulingGates"))


def _refusal(pod: Pod, why: str) -> str:
    return f'Operation cannot be fulfilled on pods/binding "{pod.name}": pod {pod.name} {why}'


def _uid_conflict(assumed: Pod, stored: ApiObject) -> str:
    """Another pod has this name now."""
    return (
        f'Operation cannot be fulfilled on pods "{assumed.name}": StorageError: invalid object, '
        f"Code: 4, Key: /registry/pods/{assumed.key}, ResourceVersion: 0, AdditionalErrorMsg: "
        f"Precondition failed: UID in precondition: {assumed.uid}, "
        f"UID in object meta: {stored.uid}"
    )
