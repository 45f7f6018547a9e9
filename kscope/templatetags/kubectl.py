"""Commands of kubectl that print the objects that kscope can read."""

from collections.abc import Iterable

from django import template

from kscope.sim.objects.validation.kinds import KINDS

register = template.Library()

NEWER_KINDS = frozenset(
    {
        "CSIStorageCapacity",
        "DeviceClass",
        "PodGroup",
        "ResourceClaim",
        "ResourceClaimTemplate",
        "ResourceSlice",
        "VolumeAttributesClass",
        "Workload",
    }
)
"""Kinds that many clusters do not have. Asked for one of them, kubectl there prints nothing at all."""

_NEWER_GROUPS = ("resource", "scheduling", "storage")


@register.simple_tag
def kubectl_get() -> str:
    """`{% kubectl_get %}` works with every cluster and in every shell: it leaves newer kinds out."""
    return f"kubectl get {_resources(KINDS.keys() - NEWER_KINDS, ',')} -A -o yaml > cluster.yaml"


@register.simple_tag
def kubectl_get_newer() -> str:
    """`{% kubectl_get_newer %}`, for a Unix shell, prints those newer kinds that the cluster has.

    It asks for them with their groups: other products have a `workloads` of their own.
    """
    newer = f"^({_resources(NEWER_KINDS, '|')})\\.({'|'.join(_NEWER_GROUPS)})\\.k8s\\.io$"
    known = f"kubectl api-resources --verbs=list -o name | grep -E '{newer}' | paste -sd, -"
    return f"kubectl get $({known}) -A -o yaml > newer.yaml"


def _resources(kinds: Iterable[str], separator: str) -> str:
    return separator.join(sorted(map(resource_name, kinds)))


def resource_name(kind: str) -> str:
    """The name of a kind's resource: "storageclasses"."""
    name = kind.lower()
    if name.endswith("y"):
        return f"{name[:-1]}ies"
    return f"{name}es" if name.endswith("s") else f"{name}s"
