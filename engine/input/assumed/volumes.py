"""Placeholders for claims, volumes, classes and snapshots that other objects are bound to."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from engine.input.assumed.placeholder import Placeholder, assumed
from engine.kernel.sentences import say
from engine.objects.manifest_parts import section

Manifest = dict[str, Any]

_PROVISIONERS: Final = (
    "volume.kubernetes.io/storage-provisioner",
    "volume.beta.kubernetes.io/storage-provisioner",
)
_MADE_BY: Final = "pv.kubernetes.io/provisioned-by"
_SELECTED: Final = "volume.kubernetes.io/selected-node"
_BOUND: Final = "Bound"
_ENDED: Final = ("Succeeded", "Failed")
_SNAPSHOTS: Final = "snapshot.storage.k8s.io"


class Storage:
    """What the files hold of storage; placeholders are added to it as they are made."""

    def __init__(self, objects: Sequence[Manifest], kept_aside: Sequence[Manifest]) -> None:
        self._objects = objects
        self.claims = _by_key(objects, "PersistentVolumeClaim")
        self.volumes = _by_key(objects, "PersistentVolume")
        self.classes = _by_key(objects, "StorageClass")
        self.snapshots = _by_key(kept_aside, "VolumeSnapshot")

    def placeholders(self) -> Iterator[Placeholder]:
        """Claims first: they name volumes and classes."""
        for make in (self._claims_of_volumes, self._claims_of_pods):
            for each in make():
                self.claims[each.key] = each.manifest
                yield each
        for each in self._volumes():
            self.volumes[each.key] = each.manifest
            yield each
        yield from self._classes()

    def absent_snapshots(self) -> Iterator[Placeholder]:
        """Snapshots from which a cluster has begun to restore a claim; where none is in the files."""
        if self.snapshots:
            return
        seen: dict[str, None] = {}
        for key, claim in self.claims.items():
            source = section(claim, "spec", "dataSourceRef") or section(claim, "spec", "dataSource")
            name, namespace = source.get("name"), key.partition("/")[0]
            if source.get("kind") != "VolumeSnapshot" or not name or f"{namespace}/{name}" in seen:
                continue
            if _is_stored(claim):
                seen[f"{namespace}/{name}"] = None
                yield _snapshot(namespace, str(name), key)

    def _claims_of_volumes(self) -> Iterator[Placeholder]:
        for name, volume in self.volumes.items():
            ref = section(volume, "spec", "claimRef")
            key = f"{ref.get('namespace')}/{ref.get('name')}"
            is_bound = section(volume, "status").get("phase") == _BOUND
            if (
                not is_bound
                or not ref.get("name")
                or not ref.get("namespace")
                or key in self.claims
            ):
                continue
            spec: Manifest = {
                "accessModes": section(volume, "spec").get("accessModes"),
                "resources": {"requests": {"storage": _capacity(volume)}},
                "storageClassName": section(volume, "spec").get("storageClassName") or "",
                "volumeName": name,
            }
            sentence = say(
                "PersistentVolumeClaim {key} is not in these files; it is assumed to be there and bound, because PersistentVolume {name} is bound to it.",
                key=key,
                name=name,
            )
            yield assumed(_claim(key, spec, ref.get("uid")), sentence)

    def _claims_of_pods(self) -> Iterator[Placeholder]:
        users: dict[str, str] = {}
        for pod in self._objects:
            if pod["kind"] == "Pod" and _is_on_node(pod):
                for key in _claim_keys(pod):
                    users.setdefault(key, pod["metadata"]["name"])
        for key, pod in users.items():
            if key in self.claims:
                continue
            name = f"assumed-{key.replace('/', '-')}"[:253].rstrip("-.")
            spec: Manifest = {
                "accessModes": ["ReadWriteMany"],
                "resources": {"requests": {"storage": "1Gi"}},
                "storageClassName": "",
                "volumeName": name,
            }
            sentence = say(
                "PersistentVolumeClaim {key} is not in these files; it is assumed to be bound, because pod {pod} has a node and uses it. Its size and its class are not known.",
                key=key,
                pod=pod,
            )
            yield assumed(_claim(key, spec, None), sentence)

    def _volumes(self) -> Iterator[Placeholder]:
        for key, claim in self.claims.items():
            name = str(section(claim, "spec").get("volumeName") or "")
            if not name or name in self.volumes or section(claim, "status").get("phase") != _BOUND:
                continue
            sentence = say(
                "PersistentVolume {name} is not in these files; it is assumed to be there, because PersistentVolumeClaim {key} is bound to it. Where it can be used is not known.",
                name=name,
                key=key,
            )
            yield assumed(self._volume(name, key, claim), sentence)

    def _volume(self, name: str, key: str, claim: Manifest) -> Manifest:
        spec, status = section(claim, "spec"), section(claim, "status")
        class_name = spec.get("storageClassName") or ""
        class_ = self.classes.get(str(class_name), {})
        driver = str(class_.get("provisioner") or _provisioner(claim))
        namespace, _, claim_name = key.partition("/")
        ref = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "namespace": namespace}
        uid = claim["metadata"].get("uid")
        return {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": _size(status, spec)},
                "accessModes": status.get("accessModes") or spec.get("accessModes"),
                "claimRef": {**ref, "name": claim_name, **({"uid": uid} if uid else {})},
                "persistentVolumeReclaimPolicy": class_.get("reclaimPolicy") or "Delete",
                "storageClassName": class_name,
                **({"volumeMode": spec["volumeMode"]} if spec.get("volumeMode") else {}),
                **_source(name, driver),
            },
            "status": {"phase": _BOUND},
        }

    def _classes(self) -> Iterator[Placeholder]:
        """Classes by which a provisioner was already chosen for a claim."""
        for key, claim in self.claims.items():
            name, provisioner = (
                str(section(claim, "spec").get("storageClassName") or ""),
                _provisioner(claim),
            )
            if not name or not provisioner or name in self.classes:
                continue
            waits = _SELECTED in section(claim, "metadata", "annotations")
            self.classes[name] = {}
            sentence = say(
                "StorageClass {name} is not in these files; it is assumed to be there with the provisioner {provisioner}, which PersistentVolumeClaim {key} names.",
                name=name,
                provisioner=provisioner,
                key=key,
            )
            manifest: Manifest = {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": name},
                "provisioner": provisioner,
                "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
            }
            yield assumed(manifest, sentence)
        yield from self._classes_of_volumes()

    def _classes_of_volumes(self) -> Iterator[Placeholder]:
        """The classes from which drivers have made volumes: their claims may ask for more."""
        for key, volume in self.volumes.items():
            name = str(section(volume, "spec").get("storageClassName") or "")
            driver = section(volume, "metadata", "annotations").get(_MADE_BY)
            if not name or not driver or name in self.classes:
                continue
            self.classes[name] = {}
            sentence = say(
                "StorageClass {name} is not in these files; it is assumed to be there with the provisioner {driver}, which has made PersistentVolume {volume} from it.",
                name=name,
                driver=str(driver),
                volume=key,
            )
            manifest: Manifest = {
                "apiVersion": "storage.k8s.io/v1",
                "kind": "StorageClass",
                "metadata": {"name": name},
                "provisioner": str(driver),
            }
            yield assumed(manifest, sentence)


def _by_key(objects: Sequence[Manifest], kind: str) -> dict[str, Manifest]:
    found: dict[str, Manifest] = {}
    for each in objects:
        if each["kind"] == kind:
            namespace, name = each["metadata"].get("namespace"), each["metadata"]["name"]
            found[f"{namespace}/{name}" if namespace else name] = each
    return found


def _is_stored(claim: Manifest) -> bool:
    return bool(claim["metadata"].get("uid") or section(claim, "status").get("phase"))


def _is_on_node(pod: Manifest) -> bool:
    status = section(pod, "status")
    is_stored = bool(pod["metadata"].get("uid") or status.get("phase"))
    return (
        is_stored
        and bool(section(pod, "spec").get("nodeName"))
        and status.get("phase") not in _ENDED
    )


def _claim_keys(pod: Manifest) -> Iterator[str]:
    """The keys of the claims that a pod uses, those of its ephemeral volumes with them."""
    namespace = pod["metadata"].get("namespace") or "default"
    for volume in section(pod, "spec").get("volumes") or ():
        name = section(volume, "persistentVolumeClaim").get("claimName")
        if name:
            yield f"{namespace}/{name}"


def _claim(key: str, spec: Manifest, uid: Any) -> Manifest:
    namespace, _, name = key.partition("/")
    metadata = {"name": name, "namespace": namespace, **({"uid": uid} if uid else {})}
    size = spec["resources"]["requests"]
    status = {"phase": _BOUND, "accessModes": spec["accessModes"], "capacity": size}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": metadata,
        "spec": spec,
        "status": status,
    }


def _capacity(volume: Manifest) -> str:
    return str(section(volume, "spec", "capacity").get("storage") or "1Gi")


def _size(status: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    told = section(status, "capacity").get("storage")
    return str(told or section(spec, "resources", "requests").get("storage") or "1Gi")


def _provisioner(claim: Manifest) -> str:
    annotations = section(claim, "metadata", "annotations")
    return next((str(annotations[name]) for name in _PROVISIONERS if annotations.get(name)), "")


def _source(name: str, driver: str) -> Manifest:
    """A volume of the driver, where it is known; else one that every node reaches."""
    if driver and not driver.startswith("kubernetes.io/"):
        return {"csi": {"driver": driver, "volumeHandle": name}}
    return {"nfs": {"server": "not-known.invalid", "path": f"/{name}"}}


def _snapshot(namespace: str, name: str, claim: str) -> Placeholder:
    sentence = say(
        "VolumeSnapshot {namespace}/{name} is not in these files, which hold no snapshots; it is assumed to be ready to use, because PersistentVolumeClaim {claim} restores it.",
        namespace=namespace,
        name=name,
        claim=claim,
    )
    manifest: Manifest = {
        "apiVersion": f"{_SNAPSHOTS}/v1",
        "kind": "VolumeSnapshot",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {"source": {}},
        "status": {"readyToUse": True, "boundVolumeSnapshotContentName": f"assumed-{name}"},
    }
    return assumed(manifest, sentence)
