"""What kubelets and drivers would refuse, read from the objects where no Event says it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.diagnosis.observed.evidence import Evidence
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest
from engine.objects.phases import SELECTED_NODE
from engine.objects.selectors import NodeSelector
from engine.objects.values.quantity import value

# Upstream: kube-controller-manager's rootcacertpublisher makes it in every namespace.
_MADE_FOR_ALL: Final = "kube-root-ca.crt"
# Upstream: pkg/volume/util, AnnMigratedTo.
_MIGRATED_TO: Final = "pv.kubernetes.io/migrated-to"
_SHARED_MODES: Final = frozenset(("ReadWriteMany", "ReadOnlyMany"))
# A refusal as a component would report it: reason and message.
Refusal = tuple[str, str]


def pod_refusal(evidence: Evidence, pod: Manifest) -> Refusal | None:
    """Why the kubelet of its node cannot start a pod, as far as its objects show."""
    return next(_pod_refusals(evidence, pod), None)


def _pod_refusals(evidence: Evidence, pod: Manifest) -> Iterator[Refusal]:
    yield from _missing_node(evidence, pod)
    yield from _missing_sources(evidence, pod)
    yield from _inline_volumes(evidence, pod)
    yield from _unreserved_claims(evidence, pod)
    yield from _unbound_claims(evidence, pod)
    for volume in _volumes(evidence, pod):
        yield from _unreachable(evidence, pod, volume)
        yield from _attached_elsewhere(evidence, pod, volume)


def _missing_node(evidence: Evidence, pod: Manifest) -> Iterator[Refusal]:
    """A pod of a node that is not there. Upstream: pkg/controller/podgc/gc_controller.go, gcOrphaned()."""
    name = str(section(pod, "spec").get("nodeName"))
    if evidence.has("Node") and evidence.find("Node", name) is None:
        yield "NodeNotFound", f'node "{name}" not found'


# -- Secrets and ConfigMaps ------------------------------------------------------------------------


def _missing_sources(evidence: Evidence, pod: Manifest) -> Iterator[Refusal]:
    """Upstream: kubelet volume plugins secret and configmap, SetUpAt(); kuberuntime environment."""
    namespace = pod["metadata"].get("namespace")
    for kind, name, where in sources(pod):
        is_told = bool(evidence.in_namespace(kind, namespace))
        if not is_told or name == _MADE_FOR_ALL or evidence.find(kind, f"{namespace}/{name}"):
            continue
        text = f'{kind.lower()} "{name}" not found'
        if where:
            yield "FailedMount", f'MountVolume.SetUp failed for volume "{where}" : {text}'
        else:
            yield "CreateContainerConfigError", text


def sources(pod: Manifest) -> Iterator[tuple[str, str, str]]:
    """Kind, name and volume of each Secret and ConfigMap that a pod cannot do without."""
    spec = section(pod, "spec")
    for volume in items(spec, "volumes"):
        where = str(volume.get("name"))
        secret, config = section(volume, "secret"), section(volume, "configMap")
        if secret.get("secretName") and not secret.get("optional"):
            yield "Secret", str(secret["secretName"]), where
        if config.get("name") and not config.get("optional"):
            yield "ConfigMap", str(config["name"]), where
        for source in items(section(volume, "projected"), "sources"):
            for field, kind in (("secret", "Secret"), ("configMap", "ConfigMap")):
                part = section(source, field)
                if part.get("name") and not part.get("optional"):
                    yield kind, str(part["name"]), where
    for container in (*items(spec, "initContainers"), *items(spec, "containers")):
        for entry in items(container, "env"):
            for field, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
                part = section(entry, "valueFrom", field)
                if part.get("name") and not part.get("optional"):
                    yield kind, str(part["name"]), ""
        for entry in items(container, "envFrom"):
            for field, kind in (("secretRef", "Secret"), ("configMapRef", "ConfigMap")):
                part = section(entry, field)
                if part.get("name") and not part.get("optional"):
                    yield kind, str(part["name"]), ""


# -- devices ---------------------------------------------------------------------------------------


def _unreserved_claims(evidence: Evidence, pod: Manifest) -> Iterator[Refusal]:
    """Upstream: kubelet/cm/dra/manager.go, prepareResources()."""
    metadata = pod["metadata"]
    for each in items(section(pod, "spec"), "resourceClaims"):
        name = each.get("resourceClaimName")
        claim = evidence.find("ResourceClaim", f"{metadata.get('namespace')}/{name}")
        if claim is None:
            continue
        status = section(claim, "status")
        if any(one.get("name") == metadata["name"] for one in items(status, "reservedFor")):
            continue
        yield (
            "FailedPrepareDynamicResources",
            "Failed to prepare dynamic resources: prepare dynamic resources: "
            f"pod {metadata['name']} ({metadata.get('uid', '')}) is not allowed to use ResourceClaim "
            f"{name} ({claim['metadata'].get('uid', '')})",
        )


# -- volumes ---------------------------------------------------------------------------------------


def _volumes(evidence: Evidence, pod: Manifest) -> Iterator[Manifest]:
    """The volumes that the claims of a pod are bound to."""
    namespace = pod["metadata"].get("namespace")
    for volume in items(section(pod, "spec"), "volumes"):
        name = section(volume, "persistentVolumeClaim").get("claimName")
        claim = evidence.find("PersistentVolumeClaim", f"{namespace}/{name}") if name else None
        if claim is not None:
            bound = evidence.find("PersistentVolume", str(section(claim, "spec").get("volumeName")))
            if bound is not None:
                yield bound


def _unbound_claims(evidence: Evidence, pod: Manifest) -> Iterator[Refusal]:
    """A claim that waits for a scheduler, which a pod that has its node does not meet any more.

    Upstream: kubelet/volumemanager/populator/desired_state_of_world_populator.go,
    getPVCExtractPV().
    """
    namespace = pod["metadata"].get("namespace")
    for volume in items(section(pod, "spec"), "volumes"):
        key = f"{namespace}/{section(volume, 'persistentVolumeClaim').get('claimName')}"
        claim = evidence.find("PersistentVolumeClaim", key)
        if claim is None or section(claim, "spec").get("volumeName"):
            continue
        if SELECTED_NODE in section(claim, "metadata", "annotations"):
            continue
        name = str(section(claim, "spec").get("storageClassName") or "")
        found = evidence.find("StorageClass", name)
        if found is not None and found.get("volumeBindingMode") == "WaitForFirstConsumer":
            yield "FailedMount", f"error processing PVC {key}: PVC is not bound"


def _unreachable(evidence: Evidence, pod: Manifest, volume: Manifest) -> Iterator[Refusal]:
    """The volume's node affinity, and its driver on the node.

    Upstream: kubelet operation_generator.go, checkNodeAffinity(); external-attacher,
    pkg/controller/csi_handler.go; kubelet csi_drivers_store.go.
    """
    node_name = str(section(pod, "spec").get("nodeName"))
    node, name = evidence.find("Node", node_name), volume["metadata"]["name"]
    required = section(volume, "spec", "nodeAffinity", "required")
    if node is not None and required:
        labels = section(node, "metadata", "labels")
        if not NodeSelector.parse(required).matches(labels, node_name):
            yield (
                "FailedMount",
                f'MountVolume.NodeAffinity check failed for volume "{name}" : no matching '
                "NodeSelectorTerms",
            )
    driver = _driver_of(volume)
    if not _lacks_driver(evidence, node_name, driver):
        return
    about = evidence.find("CSIDriver", driver)
    if about is None or section(about, "spec").get("attachRequired", True):
        yield (
            "FailedAttachVolume",
            f'AttachVolume.Attach failed for volume "{name}" : CSINode {node_name} does not '
            f"contain driver {driver}",
        )
    else:
        yield (
            "FailedMount",
            f'MountVolume.SetUp failed for volume "{name}" : kubernetes.io/csi: driver name '
            f"{driver} not found in the list of registered CSI drivers",
        )


def _driver_of(volume: Manifest) -> str:
    """The driver that serves a volume, also one of a plugin that was moved to a driver.

    Upstream: pkg/volume/csimigration, and annotation pv.kubernetes.io/migrated-to.
    """
    moved_to = section(volume, "metadata", "annotations").get(_MIGRATED_TO)
    return str(section(volume, "spec", "csi").get("driver") or moved_to or "")


def _lacks_driver(evidence: Evidence, node: str, driver: str) -> bool:
    """Whether the files say which drivers the node has, and that this one is not among them."""
    csi_node = evidence.find("CSINode", node)
    if not driver or csi_node is None:
        return False
    return all(each.get("name") != driver for each in items(section(csi_node, "spec"), "drivers"))


def _inline_volumes(evidence: Evidence, pod: Manifest) -> Iterator[Refusal]:
    """A driver of an ephemeral volume that is not on the node. Upstream: pkg/volume/csi/csi_mounter.go."""
    node = str(section(pod, "spec").get("nodeName"))
    for volume in items(section(pod, "spec"), "volumes"):
        driver = str(section(volume, "csi").get("driver") or "")
        if _lacks_driver(evidence, node, driver):
            yield (
                "FailedMount",
                f'MountVolume.SetUp failed for volume "{volume.get("name")}" : kubernetes.io/csi: '
                f"mounter.SetUpAt failed to get CSI client: driver name {driver} not found in the "
                "list of registered CSI drivers",
            )


def _attached_elsewhere(evidence: Evidence, pod: Manifest, volume: Manifest) -> Iterator[Refusal]:
    """Upstream: attach_detach_controller reconciler.go, reportMultiAttachError()."""
    modes = section(volume, "spec").get("accessModes") or ()
    name, node = str(volume["metadata"]["name"]), section(pod, "spec").get("nodeName")
    if _SHARED_MODES & set(modes):
        return
    ties = evidence.attachments(name)
    nodes = [section(each, "spec").get("nodeName") for each in ties]
    if ties and node not in nodes:
        yield (
            "FailedAttachVolume",
            f'Multi-Attach error for volume "{name}" Volume is already exclusively attached to one '
            "node and can't be attached to another",
        )


# -- claims ----------------------------------------------------------------------------------------


def claim_refusal(evidence: Evidence, claim: Manifest) -> Refusal | None:
    """Why a provisioner refuses: the chosen node is gone, or what is to be copied does not do.

    Upstream: external-provisioner, pkg/controller/controller.go getPVCSource(),
    getSnapshotSource().
    """
    chosen = section(claim, "metadata", "annotations").get(SELECTED_NODE)
    if chosen and evidence.has("Node") and evidence.find("Node", str(chosen)) is None:
        # Upstream: sig-storage-lib-external-provisioner, controller.go provisionClaimOperation().
        return "ProvisioningFailed", f'failed to get target node: node "{chosen}" not found'
    spec = section(claim, "spec")
    source = section(spec, "dataSource") or section(spec, "dataSourceRef")
    kind, name = str(source.get("kind") or ""), source.get("name")
    namespace = source.get("namespace") or claim["metadata"].get("namespace")
    found = evidence.find(kind, f"{namespace}/{name}")
    if kind == "PersistentVolumeClaim":
        return _clone_refusal(evidence, claim, str(name), found)
    if kind == "VolumeSnapshot" and (found is not None or evidence.has(kind)):
        return _restore_refusal(claim, str(name), found)
    return None


def _clone_refusal(
    evidence: Evidence, claim: Manifest, name: str, source: Manifest | None
) -> Refusal | None:
    failed = "ProvisioningFailed"
    if source is None:
        return failed, f'persistentvolumeclaims "{name}" not found'
    if section(source, "status").get("phase") != "Bound":
        return failed, f"the PVC DataSource {name} must have a status of Bound"
    if _wanted(claim) < _wanted(source):
        return failed, (
            "error, new PVC request must be greater than or equal in size to the specified PVC "
            f"data source, requested {_wanted(claim)} but source is {_wanted(source)}"
        )
    volume = evidence.find("PersistentVolume", str(section(source, "spec").get("volumeName")))
    class_name = str(section(claim, "spec").get("storageClassName") or "")
    storage_class = evidence.find("StorageClass", class_name)
    if volume is None or storage_class is None:
        return None
    if section(volume, "spec", "csi").get("driver") != storage_class.get("provisioner"):
        return failed, "claim in dataSource not bound or invalid"
    return None


def _restore_refusal(claim: Manifest, name: str, snapshot: Manifest | None) -> Refusal | None:
    failed = "ProvisioningFailed"
    if snapshot is None:
        return failed, f'volumesnapshots.snapshot.storage.k8s.io "{name}" not found'
    status = section(snapshot, "status")
    if not status.get("readyToUse"):
        return failed, f"snapshot {name} is not Ready"
    size = value(str(status.get("restoreSize") or 0))
    if _wanted(claim) < size:
        return failed, (
            f"requested volume size {_wanted(claim)} is less than the size {size} for the source "
            f"snapshot {name}"
        )
    return None


def _wanted(claim: Manifest) -> int:
    return value(str(section(claim, "spec", "resources", "requests").get("storage") or 0))
