"""The defaults of what makes pods, of Services and of disruption budgets.

Upstream: pkg/apis/apps/v1/defaults.go, pkg/apis/batch/v1/defaults.go, SetDefaults_Service().
"""

from typing import Any, cast

from engine.api_server.admission.defaults.pods import fill_template
from engine.api_server.admission.defaults.sections import (
    Fill,
    Manifest,
    each,
    present_section,
    section,
)
from engine.api_server.admission.defaults.storage import fill_claim
from engine.objects.autoscalers import DEFAULT_METRICS, SCALE_DOWN, SCALE_UP

_UNLIMITED = 2**31 - 1
_CLIENT_IP_SECONDS = 3 * 60 * 60


def _generation(found: Manifest) -> None:
    found["metadata"].setdefault("generation", 1)


def _deployment(found: Manifest) -> None:
    _generation(found)
    spec = section(found, "spec", replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = section(spec, "strategy", type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        section(strategy, "rollingUpdate", maxUnavailable="25%", maxSurge="25%")
    fill_template(spec)
    section(found, "status")


def _replica_set(found: Manifest) -> None:
    _generation(found)
    fill_template(section(found, "spec", replicas=1))
    section(found, "status", replicas=0)


def _replication_controller(found: Manifest) -> None:
    _generation(found)
    given: Manifest = found.get("spec") or {}
    template: Manifest = given.get("template") or {}
    metadata: Manifest = template.get("metadata") or {}
    labels: Any = metadata.get("labels")
    selector: Manifest = {"selector": labels} if labels else {}
    fill_template(section(found, "spec", replicas=1, **selector))
    section(found, "status", replicas=0)


def _stateful_set(found: Manifest) -> None:
    _generation(found)
    spec = section(
        found,
        "spec",
        replicas=1,
        podManagementPolicy="OrderedReady",
        revisionHistoryLimit=10,
    )
    policy = "persistentVolumeClaimRetentionPolicy"
    section(spec, policy, whenDeleted="Retain", whenScaled="Retain")
    strategy = section(spec, "updateStrategy", type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        section(strategy, "rollingUpdate", partition=0)
    fill_template(spec)
    for template in each(spec, "volumeClaimTemplates"):
        template.setdefault("kind", "PersistentVolumeClaim")
        template.setdefault("apiVersion", "v1")
        section(template, "metadata")
        fill_claim(template)
    section(found, "status", replicas=0, availableReplicas=0)


def _daemon_set(found: Manifest) -> None:
    _generation(found)
    spec = section(found, "spec", revisionHistoryLimit=10)
    strategy = section(spec, "updateStrategy", type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        section(strategy, "rollingUpdate", maxUnavailable=1, maxSurge=0)
    fill_template(spec)
    names = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled")
    section(found, "status", **dict.fromkeys((*names, "numberReady"), 0))


def _job(found: Manifest) -> None:
    _generation(found)
    given: Manifest = found.get("spec") or {}
    each_index = given.get("backoffLimitPerIndex") is not None
    replaced = "Failed" if given.get("podFailurePolicy") is not None else "TerminatingOrFailed"
    spec = section(
        found,
        "spec",
        backoffLimit=_UNLIMITED if each_index else 6,
        completionMode="NonIndexed",
        suspend=False,
        manualSelector=False,
        podReplacementPolicy=replaced,
    )
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    fill_template(spec)
    if not spec["manualSelector"] and found["metadata"].get("uid"):
        _generate_selector(found["metadata"], spec)
    section(found, "status")


def _generate_selector(metadata: Manifest, spec: Manifest) -> None:
    """Upstream: pkg/registry/batch/job/strategy.go, generateSelector()."""
    generated = {"controller-uid": metadata["uid"], "job-name": metadata["name"]}
    newer = {f"batch.kubernetes.io/{name}": value for name, value in generated.items()}
    template = present_section(spec, "template")
    if template is None:
        return
    own = section(template, "metadata")
    section(own, "labels", **newer, **generated)
    if not spec.get("selector"):
        name = "batch.kubernetes.io/controller-uid"
        spec["selector"] = {"matchLabels": {name: metadata["uid"]}}


def _cron_job(found: Manifest) -> None:
    _generation(found)
    spec = section(
        found,
        "spec",
        concurrencyPolicy="Allow",
        suspend=False,
        successfulJobsHistoryLimit=3,
        failedJobsHistoryLimit=1,
    )
    template = section(spec, "jobTemplate")
    section(template, "metadata")
    fill_template(section(template, "spec"))
    section(found, "status")


def _autoscaler(found: Manifest) -> None:
    """Upstream: pkg/apis/autoscaling/v2/defaults.go."""
    spec = section(found, "spec", minReplicas=1)
    spec["metrics"] = spec.get("metrics") or DEFAULT_METRICS
    if spec.get("behavior") is not None:
        behavior = section(spec, "behavior")
        section(behavior, "scaleUp", **SCALE_UP)
        section(behavior, "scaleDown", **SCALE_DOWN)
    section(found, "status", desiredReplicas=0, currentMetrics=None)


def _revision(found: Manifest) -> None:
    """A controller compares the text of a revision with that of its defaulted template.

    Upstream: pkg/controller/daemon/update.go, Match(), and getPatch(), whose names are sorted.
    """
    data = section(found, "data")
    fill_template(section(data, "spec"))
    found["data"] = _in_order(data)


def _in_order(value: Any) -> Any:
    if isinstance(value, dict):
        parts = cast("Manifest", value)
        return {name: _in_order(parts[name]) for name in sorted(parts)}
    return (
        [_in_order(one) for one in cast("list[Any]", value)] if isinstance(value, list) else value
    )


def _service(found: Manifest) -> None:
    spec = section(found, "spec", sessionAffinity="None", type="ClusterIP")
    if spec["sessionAffinity"] == "ClientIP":
        config = section(spec, "sessionAffinityConfig")
        section(config, "clientIP", timeoutSeconds=_CLIENT_IP_SECONDS)
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] in ("NodePort", "LoadBalancer"):
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)
    for port in each(spec, "ports"):
        port.setdefault("protocol", "TCP")
        port.setdefault("targetPort", port.get("port"))
    section(found, "status", loadBalancer={})


def _budget(found: Manifest) -> None:
    _generation(found)
    names = ("disruptionsAllowed", "currentHealthy", "desiredHealthy", "expectedPods")
    section(found, "status", **dict.fromkeys(names, 0))


WORKLOADS: dict[str, Fill] = {
    "ControllerRevision": _revision,
    "CronJob": _cron_job,
    "HorizontalPodAutoscaler": _autoscaler,
    "DaemonSet": _daemon_set,
    "Deployment": _deployment,
    "Job": _job,
    "PodDisruptionBudget": _budget,
    "ReplicaSet": _replica_set,
    "ReplicationController": _replication_controller,
    "Service": _service,
    "StatefulSet": _stateful_set,
}
