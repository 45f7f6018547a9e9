"""What kinds are called: in events and the view state, and by the API server."""

# The short names of kinds in the view state and in events.
_ID_PREFIX = {
    "PersistentVolumeClaim": "claim",
    "PersistentVolume": "volume",
    "StorageClass": "class",
}
_KIND_OF_PREFIX = {prefix: kind for kind, prefix in _ID_PREFIX.items()}

NAMESPACED = frozenset(
    {
        "Pod",
        "PersistentVolumeClaim",
        "PodDisruptionBudget",
        "Service",
        "ReplicationController",
        "ReplicaSet",
        "Deployment",
        "StatefulSet",
        "DaemonSet",
        "Job",
        "CronJob",
        "HorizontalPodAutoscaler",
        "CSIStorageCapacity",
        "ResourceClaim",
        "ResourceClaimTemplate",
        "PodGroup",
        "Workload",
        "ConfigMap",
        "Secret",
        "Lease",
        "Event",
        "ServiceAccount",
        "Endpoints",
        "LimitRange",
        "ResourceQuota",
        "ControllerRevision",
        "EndpointSlice",
        "Ingress",
        "NetworkPolicy",
        "PodTemplate",
        "Role",
        "RoleBinding",
    }
)

# Those that are in no namespace and have more than one capital.
_IN_THE_CLUSTER = (
    *("PersistentVolume", "StorageClass", "PriorityClass", "RuntimeClass", "DeviceClass"),
    *("CSINode", "CSIDriver", "VolumeAttachment", "ResourceSlice", "NodePool", "NodeClaim"),
    *("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"),
    *("ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"),
    *("MutatingAdmissionPolicy", "MutatingAdmissionPolicyBinding"),
)
_SPELLED = {kind.lower(): kind for kind in (*NAMESPACED, *_IN_THE_CLUSTER)}


def entity_id(kind: str, key: str) -> str:
    """How events and the view state call the object: "pod/default/web", "claim/default/data"."""
    return f"{_ID_PREFIX.get(kind) or kind.lower()}/{key}"


def split_entity_id(entity: str) -> tuple[str, str]:
    """The kind (or its lower-case form, if the id has only that) and key of an entity id."""
    prefix, _, key = entity.partition("/")
    return _KIND_OF_PREFIX.get(prefix, prefix), key


def spelled(kind: str) -> str:
    """A kind as Kubernetes writes it: StatefulSet of "statefulset", Gadget of an unknown "gadget"."""
    return _SPELLED.get(kind.lower()) or f"{kind[:1].upper()}{kind[1:]}"


def resource_of_kind(kind: str, api_version: str) -> str:
    """The resource of a kind, with its API group: Job of batch/v1 is jobs.batch.

    Upstream: apimachinery schema.GroupResource String(), meta.UnsafeGuessKindToResource().
    """
    name = kind.lower()
    if name == "endpoints":
        return name
    plural = (
        f"{name[:-1]}ies" if name.endswith("y") else f"{name}{'es' * name.endswith('s') or 's'}"
    )
    group, is_grouped, _ = api_version.partition("/")
    return f"{plural}.{group}" if is_grouped else plural
