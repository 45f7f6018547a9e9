"""What an autoscaler scales. Upstream: the subresource scale of pkg/registry/apps, client-go/scale."""

from typing import Final, NamedTuple

from engine.api_server.store.store import ObjectStore
from engine.controllers.shared.controller import replicas_of, status_number
from engine.controllers.shared.manifests import part
from engine.kernel.errors import ApiError
from engine.objects.objects import ApiObject, Manifest
from engine.objects.selectors import LabelSelector

# By group and kind: how a server names the scale of such an object that it does not have.
_SCALES: Final = {
    ("apps", "Deployment"): "deployments/scale.apps",
    ("apps", "ReplicaSet"): "replicasets/scale.apps",
    ("apps", "StatefulSet"): "statefulsets.apps",
    ("", "ReplicationController"): "replicationcontrollers/scale.autoscaling",
}
# The group of a Deployment in the oldest manifests.
_EXTENSIONS: Final = "extensions"
_WITHOUT_SCALE: Final = frozenset(
    (("apps", "DaemonSet"), ("batch", "Job"), ("batch", "CronJob"), ("", "Pod"))
)


class Scale(NamedTuple):
    """The target, how many replicas it should have and has, and the selector of its pods."""

    target: ApiObject
    wanted: int
    found: int
    selector: LabelSelector
    selector_text: str


def scale_of(store: ObjectStore, autoscaler: ApiObject, *, has_extensions: bool) -> Scale:
    """What *autoscaler* scales. Raises ApiError."""
    reference = part(autoscaler.spec, "scaleTargetRef")
    version: str = reference.get("apiVersion") or ""
    if version.count("/") > 1:
        raise ApiError(f"unexpected GroupVersion string: {version}")
    group, kind = version.rpartition("/")[0], reference["kind"]
    group = "apps" if has_extensions and group == _EXTENSIONS else group
    if (group, kind) in _WITHOUT_SCALE:
        raise ApiError("the server could not find the requested resource")
    if (group, kind) not in _SCALES:
        raise ApiError(f'no matches for kind "{kind}" in group "{group}"')
    target = store.find(kind, f"{autoscaler.namespace}/{reference['name']}")
    if target is None:
        raise ApiError(f'{_SCALES[group, kind]} "{reference["name"]}" not found')
    return _scale(target)


def _scale(target: ApiObject) -> Scale:
    given: Manifest | None = target.spec.get("selector")
    selector = (
        LabelSelector.from_labels(given)
        if target.kind == "ReplicationController"
        else LabelSelector.parse(given)
    )
    found = status_number(target, "replicas")
    return Scale(target, replicas_of(target), found, selector, _text(target, selector))


def _text(target: ApiObject, selector: LabelSelector) -> str:
    """Upstream: labels.Selector, String()."""
    given: Manifest = target.spec.get("selector") or {}
    labels = given if target.kind == "ReplicationController" else part(given, "matchLabels")
    return ",".join(
        f"{one.key}={labels[one.key]}" if labels.get(one.key) in one.values else str(one)
        for one in sorted(selector.requirements, key=lambda one: one.key)
    )
