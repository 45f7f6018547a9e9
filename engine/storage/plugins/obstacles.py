"""Why a driver, or the kubelet, cannot do what a call asks for: what the cluster's objects say.

Upstream: kubernetes-csi/external-attacher, pkg/controller/csi_handler.go; kubernetes pkg/volume/csi,
pkg/volume/{secret,configmap,projected}. Answers of a cloud use the words of the CSI specification.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from engine.api_server.store.store import ObjectStore
from engine.objects.objects import ApiObject, Manifest, Node, Pod
from engine.objects.outside import Outside
from engine.objects.selectors import NodeSelector
from engine.storage.migration import IN_TREE
from engine.storage.plugins.attach_limits import limit_of
from engine.storage.plugins.spec import ErrorKind, VolumeError, VolumeSpec, text_at
from engine.storage.topology import zones_of, zones_of_node

# The message of the kubelet when the driver of a call is not registered.
_UNREGISTERED: Final[Mapping[str, str]] = {
    "MountDevice": "attacher.MountDevice failed to create newCsiDriverClient",
    "SetUp": "mounter.SetUpAt failed to get CSI client",
    "SetUpDevice": "blockMapper.SetUpDevice failed to get CSI client",
    "MapPodDevice": "blockMapper.MapPodDevice failed to get CSI client",
    "TearDown": "Unmounter.TearDownAt failed to get CSI client",
    "UnmountDevice": "attacher.UnmountDevice failed to create newCsiDriverClient",
    "UnmapPodDevice": "blockMapper.UnmapPodDevice failed to get CSI client",
    "TearDownDevice": "blockMapper.TearDownDevice failed to get CSI client",
}
# Kinds that a volume of a pod is made from: the source, its field with the name (in a projected
# volume it is always "name"), the kind, and how the API server calls one.
_NAMED: Final = (
    ("secret", "secretName", "Secret", "secret"),
    ("configMap", "name", "ConfigMap", "configmap"),
)
# Made by a controller in every namespace, also in one that the files do not have.
ALWAYS_THERE: Final = ("kube-root-ca.crt",)


class Obstacles:
    """What stands in the way of calls, by the objects of the cluster and by those *outside* of it.

    If it *migrates* in-tree volumes, their CSI drivers have to be registered as well.
    *out_of_reach* is what a kubelet says of a volume that its node cannot reach.
    """

    __slots__ = ("_migrates", "_out_of_reach", "_store", "found", "lost", "outside")

    def __init__(
        self, store: ObjectStore, outside: Outside, *, migrates: bool, out_of_reach: str
    ) -> None:
        self._store = store
        self._migrates = migrates
        self._out_of_reach = out_of_reach
        self.outside = outside
        # Named objects that are not there, or are there, whatever the files say, as
        # "KIND/NAMESPACE/NAME".
        self.lost: dict[str, None] = {}
        self.found: dict[str, None] = {}

    def lose(self, kind: str, key: str) -> None:
        """From now on the object is not there, whatever the files say."""
        self.found.pop(f"{kind}/{key}", None)
        self.lost[f"{kind}/{key}"] = None

    def bring(self, kind: str, key: str) -> None:
        """From now on the object is there, whatever the files say."""
        self.lost.pop(f"{kind}/{key}", None)
        self.found[f"{kind}/{key}"] = None

    def find(self, call: str, spec: VolumeSpec, pod: Pod | None, node: str) -> VolumeError | None:
        """Why the *call* fails for the volume on *node*, or None."""
        if call == "Attach":
            why = self._unattachable(spec, node)
            return None if why is None else VolumeError(why)
        if call == "CheckNodeAffinity":
            return VolumeError(self._out_of_reach) if self._is_out_of_reach(spec, node) else None
        if call == "SetUp" and pod is not None and spec.volume is not None:
            missing = [*self._missing(spec.volume, pod)]
            if missing:
                text = missing[0] if len(missing) == 1 else f"[{', '.join(missing)}]"
                return VolumeError(text)
        return self._unregistered(call, spec, node)

    def missing_for_containers(self, pod: Pod) -> str | None:
        """The first object of the environment of its containers that is not there, or None."""
        for group in ("initContainers", "containers"):
            containers: list[Manifest] = pod.spec.get(group) or []
            for container in containers:
                for source, kind, called in _environment(container):
                    if not source.get("optional") and self._lacks(kind, pod, source.get("name")):
                        return f'{called} "{source["name"]}" not found'
        return None

    # CSI drivers

    def csi_driver(self, spec: VolumeSpec) -> str:
        """The CSI driver that serves the volume, or ""."""
        named = text_at(spec.source, "csi", "driver")
        if named or not self._migrates or spec.persistent_volume is None:
            return named or ""
        source = spec.source
        return next((known.driver for known in IN_TREE.values() if known.source in source), "")

    def lacks_driver(self, driver: str, node: str) -> bool:
        """Whether the CSINode of *node* is there and has not the *driver*."""
        csi_node = self._store.find("CSINode", node)
        if csi_node is None or not driver:
            return False
        return all(each.get("name") != driver for each in _drivers(csi_node))

    def limit(self, driver: str, node: str) -> int | None:
        """How many volumes the *driver* can attach to *node*; None where nothing limits it."""
        return limit_of(self._store.find("CSINode", node), driver)

    def _unattachable(self, spec: VolumeSpec, node: str) -> str | None:
        driver = self.csi_driver(spec)
        if self.lacks_driver(driver, node):
            return f"CSINode {node} does not contain driver {driver}"
        found = self._store.find("Node", node)
        if isinstance(found, Node) and spec.persistent_volume is not None:
            return _out_of_zone(spec, found)
        return None

    def _is_out_of_reach(self, spec: VolumeSpec, node: str) -> bool:
        """Upstream: storagehelpers.CheckNodeAffinity()."""
        affinity: Manifest = spec.source.get("nodeAffinity") or {}
        required: Manifest | None = affinity.get("required")
        found = self._store.find("Node", node)
        if required is None or found is None or spec.persistent_volume is None:
            return False
        return not NodeSelector.parse(required).matches(found.labels, node)

    def _unregistered(self, call: str, spec: VolumeSpec, node: str) -> VolumeError | None:
        prefix, driver = _UNREGISTERED.get(call), self.csi_driver(spec)
        if prefix is None or not self.lacks_driver(driver, node):
            return None
        return VolumeError(
            f"kubernetes.io/csi: {prefix}: driver name {driver} not found in the list of registered "
            "CSI drivers",
            ErrorKind.TRANSIENT,
        )

    # Secrets, ConfigMaps and ServiceAccounts

    def _missing(self, volume: Manifest, pod: Pod) -> Iterator[str]:
        yield from self._missing_of(volume, pod, projected=False)
        projected: Manifest = volume.get("projected") or {}
        account = self.missing_account(pod)
        for source in projected.get("sources") or ():
            yield from self._missing_of(source, pod, projected=True)
            if account and source.get("serviceAccountToken") is not None:
                yield f'failed to fetch token: serviceaccounts "{account}" not found'

    def _missing_of(self, holder: Manifest, pod: Pod, *, projected: bool) -> Iterator[str]:
        for field, name_field, kind, called in _NAMED:
            source: Manifest | None = holder.get(field)
            if source is None or source.get("optional"):
                continue
            name = source.get("name" if projected else name_field)
            if self._lacks(kind, pod, name):
                yield f'{called} "{name}" not found'

    def missing_account(self, pod: Pod) -> str | None:
        """The ServiceAccount of the pod if it is not there; each namespace gets a default one."""
        account = pod.spec.get("serviceAccountName") or "default"
        is_missing = account != "default" and self._lacks("ServiceAccount", pod, account)
        return account if is_missing else None

    def _lacks(self, kind: str, pod: Pod, name: Any) -> bool:
        if not name or name in ALWAYS_THERE:
            return False
        key = f"{pod.namespace}/{name}"
        if f"{kind}/{key}" in self.found:
            return False
        lacks = f"{kind}/{key}" in self.lost or self.outside.lacks(kind, key)
        return lacks and self._store.find(kind, key) is None


def _environment(container: Manifest) -> Iterator[tuple[Manifest, str, str]]:
    """The Secrets and ConfigMaps that a container's environment is made from."""
    for source in container.get("envFrom") or ():
        yield from _references(source, "secretRef", "configMapRef")
    for entry in container.get("env") or ():
        yield from _references(entry.get("valueFrom") or {}, "secretKeyRef", "configMapKeyRef")


def _references(
    source: Manifest, secret: str, config_map: str
) -> Iterator[tuple[Manifest, str, str]]:
    if source.get(secret):
        yield source[secret], "Secret", "secret"
    if source.get(config_map):
        yield source[config_map], "ConfigMap", "configmap"


def _drivers(csi_node: ApiObject) -> list[Manifest]:
    return csi_node.spec.get("drivers") or []


def _out_of_zone(spec: VolumeSpec, node: Node) -> str | None:
    assert spec.persistent_volume is not None
    there = zones_of_node(node.labels)
    for level, allowed in zones_of(spec.persistent_volume):
        here = there.get(level)
        if here is not None and here not in allowed:
            return (
                f"rpc error: code = InvalidArgument desc = volume {spec.name} is in {level} "
                f"{' or '.join(allowed)}, node {node.name} is in {level} {here}"
            )
    return None
