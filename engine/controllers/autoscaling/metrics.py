"""What the metrics of an autoscaler say, and what is missing where nothing says anything.

No metrics API is registered in a run; see engine.objects.autoscalers for what stands in for one.
Upstream: pkg/controller/podautoscaler/horizontal.go, replica_calculator.go, metrics/client.go.
"""

from typing import Final, NamedTuple

from engine.controllers.shared.manifests import part
from engine.controllers.shared.rules import WorkloadRules
from engine.objects.objects import ApiObject, Manifest

_FETCH: Final = "unable to fetch metrics from"
_RESOURCE_API: Final = (
    f"{_FETCH} resource metrics API: the server could not find the requested resource "
    "(get pods.metrics.k8s.io)"
)
_CUSTOM_API: Final = (
    f"{_FETCH} custom metrics API: no custom metrics API (custom.metrics.k8s.io) registered"
)
_EXTERNAL_API: Final = (
    f"{_FETCH} external metrics API: no external metrics API (external.metrics.k8s.io) registered"
)


class MetricError(NamedTuple):
    """Why a metric says nothing: the reason and message of its Event, and what the sum says of it."""

    reason: str
    message: str
    summed: str


def name_of(metric: Manifest) -> str:
    """What a rescale by *metric* is said to come from."""
    match metric["type"]:
        case "Resource" | "ContainerResource":
            return _resource_name(metric)
        case "Pods":
            return f"pods metric {_metric(metric, 'pods').get('name')}"
        case "Object" if not _averages(metric, "object"):
            described = part(metric, "object", "describedObject")
            return f"{described.get('kind')} metric {_metric(metric, 'object').get('name')}"
        case _:
            found = _metric(metric, "external" if metric["type"] == "External" else "object")
            return f"external metric {found.get('name')}({_selector(found)})"


def _resource_name(metric: Manifest) -> str:
    is_container = metric["type"] == "ContainerResource"
    source = part(metric, "containerResource" if is_container else "resource")
    if part(source, "target").get("averageValue") is not None:
        return f"{source.get('name')} resource"
    container = "container " if is_container else ""
    return f"{source.get('name')} {container}resource utilization (percentage of request)"


def error_of(metric: Manifest, autoscaler: ApiObject, rules: WorkloadRules) -> MetricError:
    """What upstream says where no API has the metric."""
    match metric["type"]:
        case "Resource":
            return _resource_error(part(metric, "resource"), rules)
        case "ContainerResource":
            return _container_error(part(metric, "containerResource"))
        case "Pods":
            name = _metric(metric, "pods").get("name")
            message = f"unable to get metric {name}: {_CUSTOM_API}"
            summed = f"failed to get pods metric value: {message}"
            return MetricError("FailedGetPodsMetric", message, summed)
        case "Object":
            return _object_error(metric, autoscaler)
        case _:
            return _external_error(metric, autoscaler, rules)


def _resource_error(source: Manifest, rules: WorkloadRules) -> MetricError:
    """Since v1.20 the Event says what for; later the sum says so twice."""
    name = source.get("name")
    plain = f"unable to get metrics for resource {name}: {_RESOURCE_API}"
    full = f"failed to get {name} {_amount(source)}: {plain}"
    summed = (
        f"failed to get {name} resource metric value: {full}" if rules.sums_up_metrics else full
    )
    message = full if rules.obeys_scaling_behavior else plain
    return MetricError("FailedGetResourceMetric", message, summed)


def _container_error(source: Manifest) -> MetricError:
    name = source.get("name")
    plain = f"unable to get metrics for resource {name}: {_RESOURCE_API}"
    message = f"failed to get {name} {_amount(source)}: {plain}"
    summed = f"failed to get {source.get('container')} container metric value: {message}"
    return MetricError("FailedGetContainerResourceMetric", message, summed)


def _amount(source: Manifest) -> str:
    return "usage" if part(source, "target").get("averageValue") is not None else "utilization"


def _object_error(metric: Manifest, autoscaler: ApiObject) -> MetricError:
    name = _metric(metric, "object").get("name")
    described = part(metric, "object", "describedObject")
    kind, place = described.get("kind"), f"{autoscaler.namespace}/{described.get('name')}"
    # Upstream mixes up the order of what it says.
    message = f"unable to get metric {name}: {kind} on {place.replace('/', ' ', 1)}/{_CUSTOM_API}"
    full = f"failed to get {name} object metric: {message}"
    summed = full if _averages(metric, "object") else message
    reason = "FailedGetObjectMetric"
    return MetricError(reason, message, f"failed to get object metric value: {summed}")


def _external_error(metric: Manifest, autoscaler: ApiObject, rules: WorkloadRules) -> MetricError:
    found = _metric(metric, "external")
    place = f"{autoscaler.namespace}/{found.get('name')}/{_selector(found)}"
    message = f"unable to get external metric {place}: {_EXTERNAL_API}"
    what = (
        f"{found.get('name')} external metric"
        if _averages(metric, "external")
        else f"external metric {found.get('name')}"
    )
    summed = f"failed to get {what}: {message}"
    if rules.sums_up_metrics:
        summed = f"failed to get {found.get('name')} external metric value: {summed}"
    return MetricError("FailedGetExternalMetric", message, summed)


def _metric(metric: Manifest, source: str) -> Manifest:
    return part(metric, source, "metric")


def _averages(metric: Manifest, source: str) -> bool:
    return part(metric, source, "target").get("averageValue") is not None


def _selector(metric: Manifest) -> str:
    """As Go prints a selector. Upstream: metav1.LabelSelector, String()."""
    selector: Manifest | None = metric.get("selector")
    if selector is None:
        return "nil"
    labels = "".join(
        f"{key}: {value}," for key, value in sorted(part(selector, "matchLabels").items())
    )
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{one.get('key')},Operator:{one.get('operator')},"
        f"Values:[{' '.join(one.get('values') or ())}],}},"
        for one in selector.get("matchExpressions") or ()
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{labels}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
