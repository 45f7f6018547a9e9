"""The kinds that kscope reads of a cluster, where their API serves them, and what each tells.

`triage` and `collect` read all of them; `rbac` prints the rights to read them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from kscope.program.speech.errors import ProgramError, similar_help


@dataclass(frozen=True, slots=True)
class ReadKind:
    """One kind: its group, its versions with the newest first, and its resource.

    `tells` says what is not known without it. `names_only`: its objects are asked for as metadata.
    `is_extra`: not every cluster has it, and kscope does without.
    """

    group: str
    versions: tuple[str, ...]
    kind: str
    resource: str
    tells: str
    namespaced: bool = True
    names_only: bool = False
    is_extra: bool = False

    @property
    def title(self) -> str:
        """As kubectl calls it: "pods", "nodepools.karpenter.sh"."""
        return f"{self.resource}.{self.group}" if self.is_extra else self.resource

    def api_version(self, version: str) -> str:
        """As in manifests."""
        return f"{self.group}/{version}" if self.group else version

    def path(self, version: str, namespace: str = "", name: str = "") -> str:
        """The address of its list, in all namespaces or in one, or of one object."""
        root = f"/apis/{self.group}/{version}" if self.group else f"/api/{version}"
        parts = [root, *(("namespaces", namespace) if namespace else ()), self.resource]
        return "/".join([*parts, *((name,) if name else ())])


_V1: Final = ("v1",)
_STORAGE: Final = "storage.k8s.io"
_SNAPSHOT: Final = "snapshot.storage.k8s.io"
_RESOURCE: Final = "resource.k8s.io"
_DEVICES: Final = ("v1", "v1beta2", "v1beta1")
_WEBHOOKS: Final = "which webhooks refuse objects"
_DEVICES_TELL: Final = "which devices there are, and who has them"
_SNAPSHOTS_TELL: Final = "whether a claim can be restored from its snapshot"
_KUEUE_TELLS: Final = "why Kueue holds pods back"
_POOLS_TELL: Final = "which nodes an autoscaler would add"
_OWNERS_TELL: Final = "who made the pods, and how many are missing"

KINDS: Final = (
    ReadKind("", _V1, "Pod", "pods", "what waits, and who holds the room on the nodes"),
    ReadKind(
        "",
        _V1,
        "Node",
        "nodes",
        "which nodes there are, and how much room they have",
        namespaced=False,
    ),
    ReadKind("", _V1, "Event", "events", "what the cluster itself said, and since when"),
    ReadKind(
        "", _V1, "PersistentVolumeClaim", "persistentvolumeclaims", "which volumes the pods have"
    ),
    ReadKind(
        *("", _V1, "PersistentVolume", "persistentvolumes"),
        "to which zones and nodes the volumes are tied",
        namespaced=False,
    ),
    ReadKind("", _V1, "ResourceQuota", "resourcequotas", "which quotas are used up"),
    ReadKind("", _V1, "LimitRange", "limitranges", "which requests and limits pods are given"),
    ReadKind("", _V1, "ReplicationController", "replicationcontrollers", _OWNERS_TELL),
    ReadKind("", _V1, "Service", "services", "how pods are spread by default"),
    ReadKind(
        *("", _V1, "Namespace", "namespaces", "labels of namespaces, and which ones are going"),
        namespaced=False,
    ),
    ReadKind(
        *("", _V1, "ConfigMap", "configmaps", "whether a ConfigMap that a pod names is there"),
        names_only=True,
    ),
    ReadKind(
        *("", _V1, "ServiceAccount", "serviceaccounts", "whether the account of a pod is there"),
        names_only=True,
    ),
    ReadKind(
        *("", _V1, "Secret", "secrets", "whether a Secret that a pod names is there"),
        names_only=True,
    ),
    ReadKind("apps", _V1, "ReplicaSet", "replicasets", _OWNERS_TELL),
    ReadKind("apps", _V1, "Deployment", "deployments", _OWNERS_TELL),
    ReadKind("apps", _V1, "StatefulSet", "statefulsets", _OWNERS_TELL),
    ReadKind("apps", _V1, "DaemonSet", "daemonsets", _OWNERS_TELL),
    ReadKind("batch", _V1, "Job", "jobs", _OWNERS_TELL),
    ReadKind("batch", _V1, "CronJob", "cronjobs", "which Jobs are suspended on purpose"),
    ReadKind("policy", _V1, "PodDisruptionBudget", "poddisruptionbudgets", "which pods may go"),
    ReadKind(
        _STORAGE,
        _V1,
        "StorageClass",
        "storageclasses",
        "drivers and binding modes",
        namespaced=False,
    ),
    ReadKind(
        *(
            _STORAGE,
            _V1,
            "CSINode",
            "csinodes",
            "which drivers nodes have, and how many volumes fit",
        ),
        namespaced=False,
    ),
    ReadKind(_STORAGE, _V1, "CSIDriver", "csidrivers", "what the drivers can do", namespaced=False),
    ReadKind(
        *(_STORAGE, _V1, "CSIStorageCapacity", "csistoragecapacities"),
        "how much room the drivers have, and where",
    ),
    ReadKind(
        *(_STORAGE, _V1, "VolumeAttachment", "volumeattachments"),
        "to which nodes volumes are attached",
        namespaced=False,
    ),
    ReadKind(
        *(_STORAGE, ("v1", "v1beta1"), "VolumeAttributesClass", "volumeattributesclasses"),
        "to what volumes are being changed",
        namespaced=False,
        is_extra=True,
    ),
    ReadKind(
        *("scheduling.k8s.io", _V1, "PriorityClass", "priorityclasses", "who may evict whom"),
        namespaced=False,
    ),
    ReadKind(
        *("node.k8s.io", _V1, "RuntimeClass", "runtimeclasses"),
        "what the runtimes of pods take, and where they are",
        namespaced=False,
    ),
    ReadKind(
        *("coordination.k8s.io", _V1, "Lease", "leases"),
        "whether kubelets, schedulers and controllers are alive",
    ),
    ReadKind(_RESOURCE, _DEVICES, "ResourceClaim", "resourceclaims", _DEVICES_TELL, is_extra=True),
    ReadKind(
        *(_RESOURCE, _DEVICES, "ResourceClaimTemplate", "resourceclaimtemplates", _DEVICES_TELL),
        is_extra=True,
    ),
    ReadKind(
        *(_RESOURCE, _DEVICES, "ResourceSlice", "resourceslices", _DEVICES_TELL),
        namespaced=False,
        is_extra=True,
    ),
    ReadKind(
        *(_RESOURCE, _DEVICES, "DeviceClass", "deviceclasses", _DEVICES_TELL),
        namespaced=False,
        is_extra=True,
    ),
    ReadKind(
        *("admissionregistration.k8s.io", _V1, "ValidatingWebhookConfiguration"),
        *("validatingwebhookconfigurations", _WEBHOOKS),
        namespaced=False,
    ),
    ReadKind(
        *("admissionregistration.k8s.io", _V1, "MutatingWebhookConfiguration"),
        *("mutatingwebhookconfigurations", _WEBHOOKS),
        namespaced=False,
    ),
    ReadKind(
        *("apiregistration.k8s.io", _V1, "APIService", "apiservices"),
        "which parts of the API do not answer",
        namespaced=False,
    ),
    ReadKind(_SNAPSHOT, _V1, "VolumeSnapshot", "volumesnapshots", _SNAPSHOTS_TELL, is_extra=True),
    ReadKind(
        *(_SNAPSHOT, _V1, "VolumeSnapshotContent", "volumesnapshotcontents", _SNAPSHOTS_TELL),
        namespaced=False,
        is_extra=True,
    ),
    ReadKind(
        *("scheduling.k8s.io", ("v1alpha2", "v1alpha1"), "Workload", "workloads"),
        "which pods are scheduled together",
        is_extra=True,
    ),
    ReadKind(
        *("scheduling.k8s.io", ("v1alpha2",), "PodGroup", "podgroups"),
        "which pods are scheduled together",
        is_extra=True,
    ),
    ReadKind(
        *("karpenter.sh", ("v1", "v1beta1"), "NodePool", "nodepools", _POOLS_TELL),
        namespaced=False,
        is_extra=True,
    ),
    ReadKind(
        *("karpenter.sh", ("v1", "v1beta1"), "NodeClaim", "nodeclaims", _POOLS_TELL),
        namespaced=False,
        is_extra=True,
    ),
    ReadKind(
        *("cluster.x-k8s.io", ("v1beta2", "v1beta1"), "MachineDeployment", "machinedeployments"),
        _POOLS_TELL,
        is_extra=True,
    ),
    ReadKind(
        *("kueue.x-k8s.io", ("v1beta2", "v1beta1"), "Workload", "workloads", _KUEUE_TELLS),
        is_extra=True,
    ),
    ReadKind(
        *("kueue.x-k8s.io", ("v1beta2", "v1beta1"), "LocalQueue", "localqueues", _KUEUE_TELLS),
        is_extra=True,
    ),
    ReadKind(
        *("kueue.x-k8s.io", ("v1beta2", "v1beta1"), "ClusterQueue", "clusterqueues", _KUEUE_TELLS),
        namespaced=False,
        is_extra=True,
    ),
)
_BY_TITLE: Final = {each.title: each for each in KINDS}
# Short names. Upstream: the short names of the API's resources.
_SHORT: Final = {
    "po": "pods",
    "no": "nodes",
    "ev": "events",
    "pvc": "persistentvolumeclaims",
    "pv": "persistentvolumes",
    "quota": "resourcequotas",
    "limits": "limitranges",
    "rc": "replicationcontrollers",
    "svc": "services",
    "ns": "namespaces",
    "cm": "configmaps",
    "sa": "serviceaccounts",
    "rs": "replicasets",
    "deploy": "deployments",
    "sts": "statefulsets",
    "ds": "daemonsets",
    "cj": "cronjobs",
    "pdb": "poddisruptionbudgets",
    "sc": "storageclasses",
    "pc": "priorityclasses",
}
# In a cluster with autoscaler, a ConfigMap says what it does; it is read whole.
# Upstream: cluster-autoscaler, the default of its flag --status-config-map-name.
AUTOSCALER_STATUS: Final = ("kube-system", "cluster-autoscaler-status")


def kinds_named(text: str) -> tuple[ReadKind, ...]:
    """The kinds of a list such as "nodes,pv,nodepools.karpenter.sh". Raises ProgramError."""
    return tuple(kind_named(word) for word in text.split(",") if word.strip())


def kind_named(word: str) -> ReadKind:
    """The kind that a word names: a title, a short name, a kind. Raises ProgramError."""
    name = word.strip().lower()
    found = _BY_TITLE.get(_SHORT.get(name, name)) or _by_kind(name)
    if found:
        return found
    helps = similar_help("kind", name, [*_BY_TITLE, *_SHORT])
    raise ProgramError(f"kscope reads no kind called {word.strip()}", helps=helps)


def _by_kind(name: str) -> ReadKind | None:
    """By the kind or the resource alone, of whatever group."""
    return next((each for each in KINDS if name in (each.kind.lower(), each.resource)), None)


def of_kinds(*names: str) -> tuple[ReadKind, ...]:
    """Those whose kind is among *names*, in the order in which they are read."""
    return tuple(each for each in KINDS if each.kind in names)
