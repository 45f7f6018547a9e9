"""Claims made for generic ephemeral volumes. Upstream: component-helpers storage/ephemeral."""

from engine.objects.objects import ApiObject, PersistentVolumeClaim, Pod


def owner_is(obj: ApiObject, uid: str) -> bool:
    """Whether *obj* is controlled by the object of that uid."""
    return any(ref.get("controller") and ref.get("uid") == uid for ref in obj.owner_references)


def ownership_fault(claim: PersistentVolumeClaim, pod: Pod) -> str:
    """Why *claim*, named like the claim of an ephemeral volume of *pod*, is not the pod's; "" if it is.

    Upstream: component-helpers storage/ephemeral, VolumeIsForPod().
    """
    if owner_is(claim, pod.uid):
        return ""
    return f"PVC {claim.key} was not created for pod {pod.key} (pod is not owner)"
