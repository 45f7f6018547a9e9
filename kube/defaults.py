"""What an API server fills in before it stores an object, filled in on the way out.

A run keeps manifests as they came; clients rely on the defaults (a pod without `spec.schedulerName`
belongs to no scheduler). Upstream: pkg/apis/core/v1/defaults.go and those of the other groups, and
the admission plugins that set plain values (ServiceAccount, Priority).
"""

from collections.abc import Callable, Mapping
from typing import Any

from kscope.sim.objects.qos import qos_class
from kube.resources import Resource

Manifest = dict[str, Any]

_MODE = 0o644


def defaulted(resource: Resource, manifest: Mapping[str, Any]) -> Manifest:
    """The manifest with the defaults of its kind; its metadata may be changed, nothing below."""
    found: Manifest = {"kind": resource.kind, "apiVersion": resource.api_version, **manifest}
    # As a server writes it, whichever version of the group the file was written in.
    found["kind"], found["apiVersion"] = resource.kind, resource.api_version
    metadata: Manifest = {**manifest["metadata"]}
    if resource.namespaced:
        metadata.setdefault("namespace", "default")
    found["metadata"] = metadata
    fill = _FILLERS.get(resource.kind)
    if fill is not None:
        fill(found)
    return found


def _section(found: Manifest, name: str, **defaults: Any) -> Manifest:
    """A copy of a section, put in its place, with *defaults* for what is absent."""
    section = found[name] = {**defaults, **(found.get(name) or {})}
    return section


def _nested(found: Manifest, name: str, **defaults: Any) -> None:
    """The same for a section that is only completed where it is present."""
    if isinstance(found.get(name), Mapping):
        _section(found, name, **defaults)


# -- pods ----------------------------------------------------------------------------------------


def _pod(found: Manifest) -> None:
    _pod_spec(found)
    spec = found["spec"]
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    spec.setdefault("priority", 0)
    status = _section(found, "status", phase="Pending")
    if "qosClass" not in status:
        status["qosClass"] = qos_class(spec)


def _template(spec: Manifest) -> None:
    if isinstance(spec.get("template"), Mapping):
        template = spec["template"] = {**spec["template"]}
        template["metadata"] = {"creationTimestamp": None, **(template.get("metadata") or {})}
        _pod_spec(template)


def _pod_spec(found: Manifest) -> None:
    given = found.get("spec") or {}
    account = given.get("serviceAccountName") or "default"
    spec = _section(
        found,
        "spec",
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        dnsPolicy="ClusterFirst",
        serviceAccountName=account,
        serviceAccount=account,
        securityContext={},
        schedulerName="default-scheduler",
        enableServiceLinks=True,
    )
    for name in ("initContainers", "containers"):
        if given.get(name):
            spec[name] = [_container(one) for one in given[name]]
    if given.get("volumes"):
        spec["volumes"] = [_volume(one) for one in given["volumes"]]


def _container(given: Mapping[str, Any]) -> Manifest:
    image = given.get("image") or ""
    tag = image.rpartition("/")[2].partition(":")[2]
    is_newest = "@" not in image and tag in ("", "latest")
    container: Manifest = {
        "resources": {},
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "imagePullPolicy": "Always" if is_newest else "IfNotPresent",
        **given,
    }
    limits = (given.get("resources") or {}).get("limits")
    if limits:
        resources = container["resources"] = {**given["resources"]}
        resources["requests"] = {**limits, **(resources.get("requests") or {})}
    if given.get("ports"):
        container["ports"] = [{"protocol": "TCP", **port} for port in given["ports"]]
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        _probe(container, name)
    return container


def _probe(container: Manifest, name: str) -> None:
    if not isinstance(container.get(name), Mapping):
        return
    probe = _section(
        container, name, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3
    )
    _nested(probe, "httpGet", path="/", scheme="HTTP")
    _nested(probe, "grpc", service="")


_VOLUME_DEFAULTS: dict[str, Manifest] = {
    "secret": {"defaultMode": _MODE},
    "configMap": {"defaultMode": _MODE},
    "downwardAPI": {"defaultMode": _MODE},
    "projected": {"defaultMode": _MODE},
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "azureDisk": {
        "cachingMode": "ReadWrite",
        "fsType": "ext4",
        "readOnly": False,
        "kind": "Shared",
    },
}


def _volume(given: Mapping[str, Any]) -> Manifest:
    volume = {**given}
    for source, defaults in _VOLUME_DEFAULTS.items():
        _nested(volume, source, **defaults)
    if len(volume) == 1:
        volume["emptyDir"] = {}
    if isinstance(volume.get("ephemeral"), Mapping):
        ephemeral = volume["ephemeral"] = {**volume["ephemeral"]}
        _nested(ephemeral, "volumeClaimTemplate")
        template = ephemeral.get("volumeClaimTemplate")
        if template:
            _section(template, "spec", volumeMode="Filesystem")
    return volume


# -- workloads -----------------------------------------------------------------------------------


def _generation(found: Manifest) -> None:
    found["metadata"].setdefault("generation", 1)


def _deployment(found: Manifest) -> None:
    _generation(found)
    spec = _section(found, "spec", replicas=1, revisionHistoryLimit=10, progressDeadlineSeconds=600)
    strategy = _section(spec, "strategy", type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _section(strategy, "rollingUpdate", maxUnavailable="25%", maxSurge="25%")
    _template(spec)
    _section(found, "status")


def _replica_set(found: Manifest) -> None:
    _generation(found)
    _template(_section(found, "spec", replicas=1))
    _section(found, "status", replicas=0)


def _replication_controller(found: Manifest) -> None:
    _generation(found)
    given = found.get("spec") or {}
    labels = ((given.get("template") or {}).get("metadata") or {}).get("labels") or {}
    _template(_section(found, "spec", replicas=1, selector=labels))
    _section(found, "status", replicas=0)


def _stateful_set(found: Manifest) -> None:
    _generation(found)
    spec = _section(
        found,
        "spec",
        replicas=1,
        podManagementPolicy="OrderedReady",
        revisionHistoryLimit=10,
        persistentVolumeClaimRetentionPolicy={"whenDeleted": "Retain", "whenScaled": "Retain"},
    )
    strategy = _section(spec, "updateStrategy", type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _section(strategy, "rollingUpdate", partition=0)
    _template(spec)
    if spec.get("volumeClaimTemplates"):
        templates = [
            {"kind": "PersistentVolumeClaim", "apiVersion": "v1", **one}
            for one in spec["volumeClaimTemplates"]
        ]
        for template in templates:
            _claim(template)
        spec["volumeClaimTemplates"] = templates
    _section(found, "status", replicas=0, availableReplicas=0)


def _daemon_set(found: Manifest) -> None:
    _generation(found)
    spec = _section(found, "spec", revisionHistoryLimit=10)
    strategy = _section(spec, "updateStrategy", type="RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        _section(strategy, "rollingUpdate", maxUnavailable=1, maxSurge=0)
    _template(spec)
    names = ("currentNumberScheduled", "numberMisscheduled", "desiredNumberScheduled")
    _section(found, "status", **dict.fromkeys((*names, "numberReady"), 0))


def _job(found: Manifest) -> None:
    _generation(found)
    spec = _section(
        found,
        "spec",
        backoffLimit=6,
        completionMode="NonIndexed",
        suspend=False,
        manualSelector=False,
        podReplacementPolicy="TerminatingOrFailed",
    )
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    _template(spec)
    _section(found, "status")


# -- storage -------------------------------------------------------------------------------------


def _claim(found: Manifest) -> None:
    _section(found, "spec", volumeMode="Filesystem")
    _section(found, "status", phase="Pending")


def _volume_object(found: Manifest) -> None:
    _section(found, "spec", volumeMode="Filesystem", persistentVolumeReclaimPolicy="Retain")
    _section(found, "status", phase="Pending")


def _storage_class(found: Manifest) -> None:
    found.setdefault("reclaimPolicy", "Delete")
    found.setdefault("volumeBindingMode", "Immediate")


def _csi_driver(found: Manifest) -> None:
    _section(
        found,
        "spec",
        attachRequired=True,
        podInfoOnMount=False,
        storageCapacity=False,
        fsGroupPolicy="ReadWriteOnceWithFSType",
        volumeLifecycleModes=["Persistent"],
        requiresRepublish=False,
        seLinuxMount=False,
    )


# -- everything else -----------------------------------------------------------------------------


def _namespace(found: Manifest) -> None:
    metadata = found["metadata"]
    name = {"kubernetes.io/metadata.name": metadata["name"]}
    metadata["labels"] = {**name, **(metadata.get("labels") or {})}
    _section(found, "spec", finalizers=["kubernetes"])
    _section(found, "status", phase="Active")


def _node(found: Manifest) -> None:
    _section(found, "spec")
    _section(found, "status")


def _service(found: Manifest) -> None:
    spec = _section(found, "spec", sessionAffinity="None", type="ClusterIP")
    if spec["type"] != "ExternalName":
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec.get("ports"):
        spec["ports"] = [
            {"protocol": "TCP", "targetPort": port.get("port"), **port} for port in spec["ports"]
        ]
    _section(found, "status", loadBalancer={})


def _budget(found: Manifest) -> None:
    _generation(found)
    _section(
        found,
        "status",
        disruptionsAllowed=0,
        currentHealthy=0,
        desiredHealthy=0,
        expectedPods=0,
    )


def _priority_class(found: Manifest) -> None:
    found.setdefault("preemptionPolicy", "PreemptLowerPriority")


def _resource_claim(found: Manifest) -> None:
    _device_requests(_section(found, "spec"))
    _section(found, "status")


def _resource_claim_template(found: Manifest) -> None:
    spec = _section(found, "spec")
    _device_requests(_section(spec, "spec"))


def _device_requests(spec: Manifest) -> None:
    devices = spec.get("devices")
    if not isinstance(devices, Mapping) or not devices.get("requests"):
        return
    requests = [{**one} for one in devices["requests"]]
    for request in requests:
        _exactly(request, "exactly")
        if request.get("firstAvailable"):
            request["firstAvailable"] = [_counted(one) for one in request["firstAvailable"]]
    spec["devices"] = {**devices, "requests": requests}


def _exactly(request: Manifest, name: str) -> None:
    if isinstance(request.get(name), Mapping):
        request[name] = _counted(request[name])


def _counted(given: Mapping[str, Any]) -> Manifest:
    found: Manifest = {"allocationMode": "ExactCount", **given}
    if found["allocationMode"] == "ExactCount":
        found.setdefault("count", 1)
    return found


_FILLERS: dict[str, Callable[[Manifest], None]] = {
    "CSIDriver": _csi_driver,
    "DaemonSet": _daemon_set,
    "Deployment": _deployment,
    "Job": _job,
    "Namespace": _namespace,
    "Node": _node,
    "PersistentVolume": _volume_object,
    "PersistentVolumeClaim": _claim,
    "Pod": _pod,
    "PodDisruptionBudget": _budget,
    "PriorityClass": _priority_class,
    "ReplicaSet": _replica_set,
    "ReplicationController": _replication_controller,
    "ResourceClaim": _resource_claim,
    "ResourceClaimTemplate": _resource_claim_template,
    "Service": _service,
    "StatefulSet": _stateful_set,
    "StorageClass": _storage_class,
}
