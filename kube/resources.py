"""The resources that a run serves: how each is called, and what belongs to it.

Upstream: what `kubectl api-resources` prints for a real server, for the kinds that a run holds.
"""

from dataclasses import dataclass, replace
from functools import cache

from engine.objects.custom.definition import CustomVersion, by_priority, written_kind
from engine.objects.openapi.names import OLDER, definition_of, kept_version

READ = ("get", "list", "watch")
WRITE = ("create", "delete", "deletecollection", "patch", "update")
# Questions about who may what: posting one changes nothing.
REVIEWS = (
    *("SelfSubjectAccessReview", "SelfSubjectRulesReview", "SelfSubjectReview"),
    *("LocalSubjectAccessReview", "SubjectAccessReview", "TokenReview"),
)
# The version of which objects are converted, as it has other fields than the one that is stored.
AUTOSCALING_V1 = "autoscaling/v1"


@dataclass(frozen=True, slots=True)
class Subresource:
    """A part of an object with an address of its own: pods/status, pods/binding."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    # Where the kind is of another group than the resource: "policy/v1" of Eviction.
    api_version: str = ""


@dataclass(frozen=True, slots=True)
class Resource:
    """A kind of object and its names in addresses, on the command line and in manifests.

    `kind` is what the run calls it: of a custom kind with its group (see CustomDefinition), so that
    it is never taken for another one. `list_kind` is the kind of a list of them. A resource without `list` among its verbs holds no
    objects: a client posts it to get an answer.
    """

    group: str
    version: str
    kind: str
    plural: str
    namespaced: bool
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = READ + WRITE
    subresources: tuple[Subresource, ...] = ()
    custom: CustomVersion | None = None
    """What a CustomResourceDefinition says of it; None for Kubernetes' own."""

    @property
    def written_kind(self) -> str:
        """The kind as manifests write it: "Pod"."""
        return written_kind(self.kind)

    @property
    def singular(self) -> str:
        """The name of one of them: "pod"."""
        return self.custom.definition.singular if self.custom else self.kind.lower()

    @property
    def list_kind(self) -> str:
        """The kind of a list: "PodList"."""
        return self.custom.definition.list_kind if self.custom else f"{self.kind}List"

    def definition_name(self, kind: str) -> str:
        """The name of the OpenAPI definition of its objects, or of lists of them, by their *kind*."""
        if self.custom is None:
            return definition_of(self.api_version, kind)
        reversed_group = ".".join(reversed(self.group.split(".")))
        return f"{reversed_group}.{self.version}.{kind}"

    @property
    def api_version(self) -> str:
        """As in manifests: "v1", "apps/v1"."""
        return f"{self.group}/{self.version}" if self.group else self.version

    @property
    def group_resource(self) -> str:
        """As in messages: "pods", "deployments.apps"."""
        return f"{self.plural}.{self.group}" if self.group else self.plural

    def subresource(self, name: str) -> Subresource | None:
        """The part of that name, or None."""
        return next((one for one in self.subresources if one.name == name), None)


_STATUS_VERBS = ("get", "patch", "update")


def status_of(kind: str) -> Subresource:
    """The status of objects of a kind, which is written by itself."""
    return Subresource("status", kind, _STATUS_VERBS)


SCALE = Subresource("scale", "Scale", _STATUS_VERBS, "autoscaling/v1")


def _kind(
    group_version: str,
    kind: str,
    plural: str,
    *short_names: str,
    namespaced: bool = True,
    status: bool = False,
    more: tuple[Subresource, ...] = (),
    categories: tuple[str, ...] = (),
    verbs: tuple[str, ...] = READ + WRITE,
) -> Resource:
    group, _, version = group_version.rpartition("/")
    parts = (*more, *((status_of(kind),) if status else ()))
    return Resource(group, version, kind, plural, namespaced, short_names, categories, verbs, parts)


_ADMISSION = "admissionregistration.k8s.io/v1"
_ALL = ("all",)
_EXTENSIONS = ("api-extensions",)
_FLOWCONTROL = "flowcontrol.apiserver.k8s.io/v1"
_RBAC = "rbac.authorization.k8s.io/v1"
_POST = ("create",)
# Namespaces are deleted one by one.
_NO_COLLECTION = tuple(verb for verb in READ + WRITE if verb != "deletecollection")

PODS = _kind(
    "v1",
    "Pod",
    "pods",
    "po",
    status=True,
    categories=_ALL,
    more=(
        Subresource("attach", "PodAttachOptions", ("create", "get")),
        Subresource("binding", "Binding", _POST),
        Subresource("ephemeralcontainers", "Pod", _STATUS_VERBS),
        Subresource("eviction", "Eviction", _POST, "policy/v1"),
        Subresource("exec", "PodExecOptions", ("create", "get")),
        Subresource("log", "Pod", ("get",)),
        Subresource("portforward", "PodPortForwardOptions", ("create", "get")),
        Subresource("proxy", "PodProxyOptions", ("get",)),
        Subresource("resize", "Pod", _STATUS_VERBS),
    ),
)

NODES = _kind("v1", "Node", "nodes", "no", namespaced=False, status=True)
CONFIG_MAPS = _kind("v1", "ConfigMap", "configmaps", "cm")
SECRETS = _kind("v1", "Secret", "secrets")
SERVICES = _kind("v1", "Service", "services", "svc", status=True, categories=_ALL)
NAMESPACES = _kind(
    "v1",
    "Namespace",
    "namespaces",
    "ns",
    namespaced=False,
    status=True,
    verbs=_NO_COLLECTION,
)

SERVED: tuple[Resource, ...] = (
    _kind("v1", "Binding", "bindings", verbs=_POST),
    CONFIG_MAPS,
    _kind("v1", "Endpoints", "endpoints", "ep"),
    _kind("v1", "Event", "events", "ev"),
    _kind("v1", "LimitRange", "limitranges", "limits"),
    NAMESPACES,
    NODES,
    _kind("v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", status=True),
    _kind("v1", "PersistentVolume", "persistentvolumes", "pv", namespaced=False, status=True),
    PODS,
    _kind("v1", "PodTemplate", "podtemplates"),
    _kind(
        "v1",
        "ReplicationController",
        "replicationcontrollers",
        "rc",
        status=True,
        categories=_ALL,
        more=(SCALE,),
    ),
    _kind("v1", "ResourceQuota", "resourcequotas", "quota", status=True),
    SECRETS,
    _kind(
        "v1",
        "ServiceAccount",
        "serviceaccounts",
        "sa",
        more=(Subresource("token", "TokenRequest", _POST, "authentication.k8s.io/v1"),),
    ),
    SERVICES,
    _kind(
        _ADMISSION,
        "MutatingAdmissionPolicyBinding",
        "mutatingadmissionpolicybindings",
        namespaced=False,
        categories=_EXTENSIONS,
    ),
    _kind(
        _ADMISSION,
        "MutatingAdmissionPolicy",
        "mutatingadmissionpolicies",
        namespaced=False,
        categories=_EXTENSIONS,
    ),
    _kind(
        _ADMISSION,
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        namespaced=False,
        categories=_EXTENSIONS,
    ),
    _kind(
        _ADMISSION,
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        namespaced=False,
        categories=_EXTENSIONS,
    ),
    _kind(
        _ADMISSION,
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        namespaced=False,
        status=True,
        categories=_EXTENSIONS,
    ),
    _kind(
        _ADMISSION,
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        namespaced=False,
        categories=_EXTENSIONS,
    ),
    _kind(
        "apiregistration.k8s.io/v1",
        "APIService",
        "apiservices",
        namespaced=False,
        status=True,
        categories=_EXTENSIONS,
    ),
    _kind("apps/v1", "ControllerRevision", "controllerrevisions"),
    _kind("apps/v1", "DaemonSet", "daemonsets", "ds", status=True, categories=_ALL),
    _kind(
        "apps/v1",
        "Deployment",
        "deployments",
        "deploy",
        status=True,
        categories=_ALL,
        more=(SCALE,),
    ),
    _kind(
        "apps/v1", "ReplicaSet", "replicasets", "rs", status=True, categories=_ALL, more=(SCALE,)
    ),
    _kind(
        "apps/v1",
        "StatefulSet",
        "statefulsets",
        "sts",
        status=True,
        categories=_ALL,
        more=(SCALE,),
    ),
    _kind(
        "apiextensions.k8s.io/v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "crd",
        "crds",
        namespaced=False,
        status=True,
        categories=_EXTENSIONS,
    ),
    _kind(
        "authentication.k8s.io/v1",
        "SelfSubjectReview",
        "selfsubjectreviews",
        namespaced=False,
        verbs=_POST,
    ),
    _kind(
        "authentication.k8s.io/v1",
        "TokenReview",
        "tokenreviews",
        namespaced=False,
        verbs=_POST,
    ),
    _kind(
        "authorization.k8s.io/v1",
        "LocalSubjectAccessReview",
        "localsubjectaccessreviews",
        verbs=_POST,
    ),
    _kind(
        "authorization.k8s.io/v1",
        "SelfSubjectAccessReview",
        "selfsubjectaccessreviews",
        namespaced=False,
        verbs=_POST,
    ),
    _kind(
        "authorization.k8s.io/v1",
        "SelfSubjectRulesReview",
        "selfsubjectrulesreviews",
        namespaced=False,
        verbs=_POST,
    ),
    _kind(
        "authorization.k8s.io/v1",
        "SubjectAccessReview",
        "subjectaccessreviews",
        namespaced=False,
        verbs=_POST,
    ),
    *(
        _kind(
            version,
            "HorizontalPodAutoscaler",
            "horizontalpodautoscalers",
            "hpa",
            status=True,
            categories=_ALL,
        )
        for version in ("autoscaling/v2", AUTOSCALING_V1)
    ),
    _kind("batch/v1", "CronJob", "cronjobs", "cj", status=True, categories=_ALL),
    _kind("batch/v1", "Job", "jobs", status=True, categories=_ALL),
    _kind(
        "certificates.k8s.io/v1",
        "CertificateSigningRequest",
        "certificatesigningrequests",
        "csr",
        namespaced=False,
        status=True,
        more=(Subresource("approval", "CertificateSigningRequest", _STATUS_VERBS),),
    ),
    _kind("coordination.k8s.io/v1", "Lease", "leases"),
    _kind("discovery.k8s.io/v1", "EndpointSlice", "endpointslices"),
    _kind("events.k8s.io/v1", "Event", "events", "ev"),
    _kind(_FLOWCONTROL, "FlowSchema", "flowschemas", namespaced=False, status=True),
    _kind(
        _FLOWCONTROL,
        "PriorityLevelConfiguration",
        "prioritylevelconfigurations",
        namespaced=False,
        status=True,
    ),
    _kind("networking.k8s.io/v1", "IngressClass", "ingressclasses", namespaced=False),
    _kind("networking.k8s.io/v1", "Ingress", "ingresses", "ing", status=True),
    _kind("networking.k8s.io/v1", "NetworkPolicy", "networkpolicies", "netpol"),
    _kind("node.k8s.io/v1", "RuntimeClass", "runtimeclasses", namespaced=False),
    _kind("policy/v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", status=True),
    _kind(_RBAC, "ClusterRoleBinding", "clusterrolebindings", namespaced=False),
    _kind(_RBAC, "ClusterRole", "clusterroles", namespaced=False),
    _kind(_RBAC, "RoleBinding", "rolebindings"),
    _kind(_RBAC, "Role", "roles"),
    _kind("resource.k8s.io/v1", "DeviceClass", "deviceclasses", namespaced=False),
    _kind(
        "resource.k8s.io/v1beta2",
        "DeviceTaintRule",
        "devicetaintrules",
        namespaced=False,
        status=True,
    ),
    _kind("resource.k8s.io/v1", "ResourceClaim", "resourceclaims", status=True),
    _kind("resource.k8s.io/v1", "ResourceClaimTemplate", "resourceclaimtemplates"),
    _kind("resource.k8s.io/v1", "ResourceSlice", "resourceslices", namespaced=False),
    _kind("scheduling.k8s.io/v1", "PriorityClass", "priorityclasses", "pc", namespaced=False),
    _kind("scheduling.k8s.io/v1alpha2", "PodGroup", "podgroups", status=True),
    _kind("scheduling.k8s.io/v1alpha2", "Workload", "workloads"),
    _kind("storage.k8s.io/v1", "CSIDriver", "csidrivers", namespaced=False),
    _kind("storage.k8s.io/v1", "CSINode", "csinodes", namespaced=False),
    _kind("storage.k8s.io/v1", "CSIStorageCapacity", "csistoragecapacities"),
    _kind("storage.k8s.io/v1", "StorageClass", "storageclasses", "sc", namespaced=False),
    _kind(
        "storage.k8s.io/v1",
        "VolumeAttributesClass",
        "volumeattributesclasses",
        "vac",
        namespaced=False,
    ),
    _kind(
        "storage.k8s.io/v1",
        "VolumeAttachment",
        "volumeattachments",
        namespaced=False,
        status=True,
    ),
)


@cache
def _by_address() -> dict[tuple[str, str, str], Resource]:
    return {
        (one.group, one.version, one.plural): one
        for version in (*group_versions(), *OLDER)
        for one in resources_of(version)
    }


def resources_of(api_version: str) -> list[Resource]:
    """The resources of a group and version, which may be one that is not listed."""
    group, _, version = api_version.rpartition("/")
    kept = (api_version, kept_version(api_version))
    return [replace(one, group=group, version=version) for one in SERVED if one.api_version in kept]


def found(group: str, version: str, plural: str) -> Resource | None:
    """The resource at /apis/GROUP/VERSION/PLURAL; the group of /api/v1 is ""."""
    return _by_address().get((group, version, plural))


def group_versions() -> list[str]:
    """All groups with their versions, the core first, then by name; preferred versions first."""
    known = dict.fromkeys((one.group, one.version) for one in SERVED)
    ordered = sorted(known, key=lambda one: (one[0], by_priority(one[1])))
    return [f"{group}/{version}" if group else version for group, version in ordered]
