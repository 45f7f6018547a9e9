"""The names inside objects: each follows the rule that the API server has for it."""

from typing import Any

import pytest

from engine.api_server.validation.manifests import check_manifest
from engine.api_server.validation.report import Report

SUBDOMAIN = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    r"for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
LABEL = (
    "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and "
    "must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')"
)
SECRET = {"name": "s", "namespace": "n"}


def volume(**spec: Any) -> dict[str, Any]:
    csi = {"driver": "csi.example.com", "volumeHandle": "h", **spec.pop("csi", {})}
    needed = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "csi": csi}
    return made("PersistentVolume", "v1", spec={**needed, **spec})


def claim(**spec: Any) -> dict[str, Any]:
    needed = {"resources": {"requests": {"storage": "1Gi"}}, "accessModes": ["ReadWriteOnce"]}
    return made("PersistentVolumeClaim", "v1", spec={**needed, **spec})


def pod(**spec: Any) -> dict[str, Any]:
    return made("Pod", "v1", spec={"containers": [{"name": "c", "image": "i"}], **spec})


def made(kind: str, version: str, **fields: Any) -> dict[str, Any]:
    return {"kind": kind, "apiVersion": version, "metadata": {"name": "x"}, **fields}


def problems(manifest: dict[str, Any]) -> list[tuple[str, str]]:
    report = Report()
    check_manifest(manifest, (), report)
    return [(".".join(map(str, path)), message) for path, _, message in report.problems]


ATTACHMENT = {"attacher": "a", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
REQUEST = {"name": "r", "exactly": {"deviceClassName": "c"}}


@pytest.mark.parametrize(
    ("manifest", "path", "message"),
    [
        (volume(storageClassName="Bad_Name"), "spec.storageClassName", SUBDOMAIN),
        (volume(volumeAttributesClassName="Gold"), "spec.volumeAttributesClassName", SUBDOMAIN),
        (volume(csi={"driver": "bad_driver"}), "spec.csi.driver", SUBDOMAIN),
        (
            volume(csi={"nodeStageSecretRef": {**SECRET, "name": "S"}}),
            "spec.csi.nodeStageSecretRef.name",
            SUBDOMAIN,
        ),
        (
            volume(csi={"nodePublishSecretRef": {**SECRET, "namespace": "a.b"}}),
            "spec.csi.nodePublishSecretRef.namespace",
            LABEL,
        ),
        (claim(storageClassName="Bad_Name"), "spec.storageClassName", SUBDOMAIN),
        (claim(volumeAttributesClassName="Gold"), "spec.volumeAttributesClassName", SUBDOMAIN),
        (pod(nodeName="Node_1"), "spec.nodeName", SUBDOMAIN),
        (pod(runtimeClassName="gVisor"), "spec.runtimeClassName", SUBDOMAIN),
        (pod(priorityClassName="Very High"), "spec.priorityClassName", SUBDOMAIN),
        (pod(serviceAccountName="-me"), "spec.serviceAccountName", SUBDOMAIN),
        (pod(hostname="a.b"), "spec.hostname", LABEL),
        (pod(subdomain="A"), "spec.subdomain", LABEL),
        (
            pod(resourceClaims=[{"name": "gpu", "resourceClaimName": "My_Claim"}]),
            "spec.resourceClaims.0.resourceClaimName",
            SUBDOMAIN,
        ),
        (
            pod(resourceClaims=[{"name": "g.u", "resourceClaimTemplateName": "t"}]),
            "spec.resourceClaims.0.name",
            LABEL,
        ),
        (
            pod(volumes=[{"name": "v", "csi": {"driver": "a_b"}}]),
            "spec.volumes.0.csi.driver",
            SUBDOMAIN,
        ),
        (
            made("VolumeAttachment", "storage.k8s.io/v1", spec={**ATTACHMENT, "nodeName": "N"}),
            "spec.nodeName",
            SUBDOMAIN,
        ),
        (
            made("CSIStorageCapacity", "storage.k8s.io/v1", storageClassName="Fast"),
            "storageClassName",
            SUBDOMAIN,
        ),
        (
            made("CSINode", "storage.k8s.io/v1", spec={"drivers": [{"name": "d_", "nodeID": "x"}]}),
            "spec.drivers.0.name",
            SUBDOMAIN,
        ),
        (
            made(
                "ResourceClaim",
                "resource.k8s.io/v1",
                spec={"devices": {"requests": [{**REQUEST, "name": "R.1"}]}},
            ),
            "spec.devices.requests.0.name",
            LABEL,
        ),
    ],
)
def test_a_bad_name_gets_upstreams_words(manifest: dict[str, Any], path: str, message: str) -> None:
    assert problems(manifest) == [(path, message)]


def test_a_name_can_be_too_long() -> None:
    assert problems(volume(storageClassName="a" * 254)) == [
        ("spec.storageClassName", "must be no more than 253 characters")
    ]
    assert problems(volume(csi={"driver": "d" * 64})) == [
        ("spec.csi.driver", "may not be more than 63 bytes")
    ]


def test_a_secret_needs_name_and_namespace() -> None:
    secret = {"controllerPublishSecretRef": {"name": "s"}}
    assert problems(volume(csi=secret)) == [
        ("spec.csi.controllerPublishSecretRef.namespace", "is missing")
    ]


def test_a_volume_names_its_config_map_or_secret() -> None:
    """Upstream asks no more of these names than that they are there."""
    assert problems(pod(volumes=[{"name": "v", "configMap": {"optional": True}}])) == [
        ("spec.volumes.0.configMap.name", "is missing")
    ]
    assert problems(pod(volumes=[{"name": "v", "secret": {}}])) == [
        ("spec.volumes.0.secret.secretName", "is missing")
    ]
    assert problems(pod(volumes=[{"name": "v", "secret": {"secretName": "Any_Name"}}])) == []


def test_a_provisioner_is_a_qualified_name() -> None:
    for name in ("kubernetes.io/aws-ebs", "Example.com/Disk", "disk.csi.azure.com"):
        assert problems(made("StorageClass", "storage.k8s.io/v1", provisioner=name)) == []
    for name in ("a/b/c", "no spaces", "/x"):
        (found,) = problems(made("StorageClass", "storage.k8s.io/v1", provisioner=name))
        assert found[0] == "provisioner"
    gates = pod(schedulingGates=[{"name": "example.com/a b"}])
    assert [path for path, _ in problems(gates)] == ["spec.schedulingGates.0.name"]


def test_what_upstream_does_not_check_is_taken() -> None:
    """ValidatePersistentVolumeSpec() reads no claimRef, nor any pod's claim names a rule."""
    assert problems(volume(claimRef={"name": "Any_Name", "namespace": "Any"})) == []
    assert problems(claim(volumeName="Any_Name")) == []
    assert (
        problems(pod(volumes=[{"name": "v", "persistentVolumeClaim": {"claimName": "A_"}}])) == []
    )
    assert problems(pod(schedulerName="My Scheduler")) == []
    assert problems(volume(csi={"driver": "CSI.Example.com"})) == []


def test_an_empty_name_is_no_name() -> None:
    assert problems(volume(storageClassName="")) == []
    empty = dict.fromkeys(("nodeName", "priorityClassName", "serviceAccountName", "hostname"), "")
    assert problems(pod(**empty)) == []
