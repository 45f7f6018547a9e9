"""What controllers ask about pods, and how they make one out of a template.

Upstream: pkg/api/v1/pod/util.go, pkg/controller/controller_utils.go.
"""

from typing import Any

from engine.api_server.admission.defaults import with_defaults
from engine.controllers.shared.manifests import part
from engine.controllers.shared.owners import controller_ref
from engine.kernel.units import SECOND, nanoseconds_of
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.pods.conditions import is_ready, ready_condition


def is_active(pod: Pod) -> bool:
    """Whether it runs or may come to run."""
    return not pod.is_terminated and not pod.deletion_timestamp


def is_running_and_ready(pod: Pod) -> bool:
    """Phase Running and ready."""
    return pod.phase == "Running" and is_ready(pod)


def ready_since(pod: Pod) -> int:
    """When it last became ready, in ns since EPOCH; 0 when that is not known."""
    condition = ready_condition(pod)
    return time_of((condition or {}).get("lastTransitionTime"))


def is_available(pod: Pod, min_ready_seconds: int, clock: int) -> bool:
    """Ready for at least that long, where clocks show *clock*."""
    if not is_ready(pod):
        return False
    return not min_ready_seconds or ready_since(pod) + min_ready_seconds * SECOND <= clock


def time_of(text: Any) -> int:
    """The nanoseconds from EPOCH to a timestamp; 0 when there is none."""
    try:
        return nanoseconds_of(text) if text else 0
    except ValueError:
        return 0


def pod_of_template(template: Manifest, owner: ApiObject, name: str) -> Manifest:
    """A pod of *owner* made of *template*; its name is not yet set when it ends in "-"."""
    metadata: Manifest = part(template, "metadata")
    made: Manifest = {
        "name": name,
        "namespace": owner.namespace,
        "ownerReferences": [controller_ref(owner)],
    }
    for field in ("labels", "annotations", "finalizers"):
        if metadata.get(field):
            made[field] = metadata[field]
    # The spec is shared, not copied: objects are never changed in place.
    return {"apiVersion": "v1", "kind": "Pod", "metadata": made, "spec": part(template, "spec")}


_SPEC_DEFAULTS: Manifest = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": 30,
    "dnsPolicy": "ClusterFirst",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "enableServiceLinks": True,
}
_CONTAINER_DEFAULTS: Manifest = {
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
    "resources": {},
}


def plain_template(template: Manifest, *, without_label: str = "") -> Manifest:
    """*template* without what the API server would have filled in: two that mean the same are equal."""
    metadata = dict(part(template, "metadata"))
    labels = dict(part(metadata, "labels"))
    labels.pop(without_label, None)
    kept = {"labels": labels, "annotations": metadata.get("annotations")}
    spec = {k: v for k, v in part(template, "spec").items() if _SPEC_DEFAULTS.get(k) != v}
    for field in ("containers", "initContainers"):
        if spec.get(field):
            spec[field] = [_plain_container(each) for each in spec[field]]
    if spec.get("serviceAccount") == spec.get("serviceAccountName"):
        spec.pop("serviceAccount", None)
    return {"metadata": {k: v for k, v in kept.items() if v}, "spec": spec}


def filled_template(template: Manifest, *, without_label: str = "") -> Manifest:
    """The same with all that an API server fills in: a client may have written back what it was shown."""
    workload: Manifest = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": {}}
    shown = with_defaults({**workload, "spec": {"template": template}})
    return plain_template(part(shown, "spec", "template"), without_label=without_label)


def _plain_container(container: Manifest) -> Manifest:
    kept = {k: v for k, v in container.items() if _CONTAINER_DEFAULTS.get(k) != v}
    image: str = container.get("image") or ""
    latest = ":" not in image.rpartition("/")[2] or image.endswith(":latest")
    if kept.get("imagePullPolicy") == ("Always" if latest else "IfNotPresent"):
        del kept["imagePullPolicy"]
    ports: list[Manifest] = kept.get("ports") or []
    if ports:
        kept["ports"] = [
            {k: v for k, v in port.items() if (k, v) != ("protocol", "TCP")} for port in ports
        ]
    return kept


def count_of(value: Any, total: int, *, round_up: bool) -> int:
    """A number, or a percentage of *total*. Upstream: intstr.GetScaledValueFromIntOrPercent()."""
    if isinstance(value, int):
        return value
    text = str(value)
    if not text.endswith("%"):
        return int(text)
    percent = int(text[:-1])
    return -(-percent * total // 100) if round_up else percent * total // 100
