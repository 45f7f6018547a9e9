"""The command that prints all of a cluster that kscope can read, for pages and documents.

It asks the cluster first which kinds it has: kubectl prints nothing at all where it is asked for one
that is missing. Secrets, ConfigMaps and ServiceAccounts are printed by their names alone.
"""

from typing import Final

from engine.api_server.validation.kinds import KINDS

# The API groups of the kinds that are played; other products have kinds of the same names.
_GROUPS: Final = (
    "apps",
    "autoscaling",
    "batch",
    "policy",
    r"(node|resource|scheduling|storage)\.k8s\.io",
)
# Kinds that are read as evidence and not played, with their groups.
_EVIDENCE: Final = (
    "events",
    r"leases\.coordination\.k8s\.io",
    r"volumesnapshot(s|contents|classes)\.snapshot\.storage\.k8s\.io",
    r"(validating|mutating)webhookconfigurations\.admissionregistration\.k8s\.io",
    r"(nodepools|nodeclaims|provisioners)\.karpenter\.sh",
    r"machinedeployments\.cluster\.x-k8s\.io",
    r"(workloads|localqueues|clusterqueues)\.kueue\.x-k8s\.io",
)
_NAMES: Final = """---
apiVersion: v1
kind: List
items:
{{range .items}}- {apiVersion: v1, kind: {{.kind}}, metadata: \
{name: {{printf "%q" .metadata.name}}, namespace: {{printf "%q" .metadata.namespace}} } }
{{end}}"""
# Kinds that many clusters do not have.
_NEWER: Final = frozenset(
    ("CSIStorageCapacity", "DeviceClass", "DeviceTaintRule", "PodGroup", "ResourceClaim")
    + ("ResourceClaimTemplate", "ResourceSlice", "VolumeAttributesClass", "Workload")
)


def recipe() -> str:
    """For a Unix shell: everything into cluster.yaml."""
    played = "|".join(sorted(map(_resource, KINDS)))
    kinds = "|".join([rf"({played})(\.({'|'.join(_GROUPS)}))?", *_EVIDENCE])
    found = f"kubectl api-resources --verbs=list -o name | grep -xE '{kinds}' | paste -sd, -"
    return (
        f'{{ kubectl get "$({found})" -A -o yaml\n'
        f"kubectl get secrets,configmaps,serviceaccounts -A -o go-template='{_NAMES}'\n"
        "echo ---\n"
        "kubectl get configmap cluster-autoscaler-status -n kube-system --ignore-not-found -o yaml\n"
        "} > cluster.yaml\n"
    )


def simple_recipe() -> str:
    """For any shell: what every cluster has, without the names of Secrets, ConfigMaps and others."""
    kinds = ",".join(sorted(["events", "leases", *map(_resource, KINDS.keys() - _NEWER)]))
    return f"kubectl get {kinds} -A -o yaml > cluster.yaml"


def _resource(kind: str) -> str:
    """The name of a kind's resource: "storageclasses"."""
    name = kind.lower()
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("s") else f"{name}s"
