"""The defaults of pods and of the templates that pods are made from.

Upstream: SetDefaults_Pod(), SetDefaults_PodSpec(), SetDefaults_Container() and their like in
pkg/apis/core/v1/defaults.go.
"""

from typing import Any, cast

from engine.api_server.admission.defaults.sections import (
    Manifest,
    each,
    present_section,
    section,
    write_amounts,
)
from engine.objects.pods.qos import qos_class

_FILE_MODE = 0o644
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_STATUSES = ("initContainerStatuses", "containerStatuses", "ephemeralContainerStatuses")
_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_VOLUMES: dict[str, Manifest] = {
    "azureDisk": {
        "cachingMode": "ReadWrite",
        "fsType": "ext4",
        "readOnly": False,
        "kind": "Shared",
    },
    "configMap": {"defaultMode": _FILE_MODE},
    "downwardAPI": {"defaultMode": _FILE_MODE},
    "hostPath": {"type": ""},
    "iscsi": {"iscsiInterface": "default"},
    "projected": {"defaultMode": _FILE_MODE},
    "rbd": {"pool": "rbd", "user": "admin", "keyring": "/etc/ceph/keyring"},
    "scaleIO": {"storageMode": "ThinProvisioned", "fsType": "xfs"},
    "secret": {"defaultMode": _FILE_MODE},
}


def fill_pod(found: Manifest) -> None:
    """Fill in a pod."""
    metadata: Manifest = found.get("metadata") or {}
    found["metadata"] = {"generation": 1, **metadata}
    spec = _fill_spec(found)
    # By admission, as of the ServiceAccount, unlike in templates.
    account = spec.get("serviceAccountName") or "default"
    spec["serviceAccountName"] = account
    spec.setdefault("serviceAccount", account)
    spec.setdefault("preemptionPolicy", "PreemptLowerPriority")
    spec.setdefault("priority", 0)
    for name in _CONTAINERS[:2]:
        for container in spec.get(name) or ():
            _request_limits(container)
    status = section(found, "status", phase="Pending")
    if status.get("startTime"):
        # Its kubelet has seen the newest spec at once.
        status.setdefault("observedGeneration", found["metadata"]["generation"])
    if not status.get("qosClass"):
        status["qosClass"] = qos_class(spec)
    for name in _STATUSES:
        # A server writes these also where they are empty, and typed clients insist on them.
        for one in each(status, name) if status.get(name) else ():
            one |= {"imageID": "", "lastState": {}, "state": {}} | one


def fill_template(spec: Manifest) -> None:
    """Fill in the template of the pods that a workload makes."""
    template = present_section(spec, "template")
    if template is not None:
        section(template, "metadata")
        _fill_spec(template)


def _fill_spec(found: Manifest) -> Manifest:
    spec = section(
        found,
        "spec",
        restartPolicy="Always",
        terminationGracePeriodSeconds=30,
        dnsPolicy="ClusterFirst",
        securityContext={},
        schedulerName="default-scheduler",
        enableServiceLinks=True,
    )
    if spec.get("serviceAccountName"):
        spec.setdefault("serviceAccount", spec["serviceAccountName"])
    for name in _CONTAINERS:
        if spec.get(name):
            for container in each(spec, name):
                _fill_container(container)
    if spec.get("volumes"):
        for volume in each(spec, "volumes"):
            fill_volume_source(volume)
            if len(volume) == 1:
                volume["emptyDir"] = {}
    write_amounts(spec, "overhead")
    return spec


def _fill_container(container: Manifest) -> None:
    resources = section(container, "resources")
    write_amounts(resources, "limits", "requests")
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = _pull_policy(str(container.get("image") or ""))
    for port in each(container, "ports") if container.get("ports") else ():
        port.setdefault("protocol", "TCP")
    for name in _PROBES:
        if name in container:
            _fill_probe(container, name)
    for one in each(container, "env") if container.get("env") else ():
        _fill_field(present_section(one, "valueFrom"))


def _pull_policy(image: str) -> str:
    tag = image.rpartition("/")[2].partition(":")[2]
    is_newest = "@" not in image and tag in ("", "latest")
    return "Always" if is_newest else "IfNotPresent"


def _fill_probe(container: Manifest, name: str) -> None:
    probe = present_section(
        container, name, timeoutSeconds=1, periodSeconds=10, successThreshold=1, failureThreshold=3
    )
    if probe is not None:
        present_section(probe, "httpGet", path="/", scheme="HTTP")
        present_section(probe, "grpc", service="")


def _fill_field(source: Manifest | None) -> None:
    """Upstream: SetDefaults_ObjectFieldSelector()."""
    if source is not None:
        present_section(source, "fieldRef", apiVersion="v1")


def _request_limits(container: Manifest) -> None:
    """A limit becomes the request as well. Upstream: SetDefaults_Pod()."""
    resources: Any = container["resources"]
    if not isinstance(resources, dict):
        return
    limits: Any = cast("Manifest", resources).get("limits")
    if limits:
        section(cast("Manifest", resources), "requests", **limits)


def fill_volume_source(volume: Manifest) -> None:
    """Fill in the source of a pod's volume, or of a PersistentVolume."""
    for name, defaults in _VOLUMES.items():
        if name in volume:
            present_section(volume, name, **defaults)
    _fill_files(volume.get("downwardAPI"))
    projected: Any = volume.get("projected")
    if isinstance(projected, dict):
        for source in each(cast("Manifest", projected), "sources"):
            present_section(source, "serviceAccountToken", expirationSeconds=3600)
            _fill_files(present_section(source, "downwardAPI"))
    ephemeral = present_section(volume, "ephemeral") if "ephemeral" in volume else None
    template = present_section(ephemeral, "volumeClaimTemplate") if ephemeral else None
    if template is not None:
        section(template, "metadata")
        claim = section(template, "spec", volumeMode="Filesystem")
        write_amounts(section(claim, "resources"), "limits", "requests")


def _fill_files(source: Any) -> None:
    if isinstance(source, dict):
        for item in each(cast("Manifest", source), "items"):
            _fill_field(item)
