"""Which VolumeAttributesClasses a claim speaks of."""

from engine.objects.objects import ApiObject, Manifest


def attributes_classes_of(claim: ApiObject) -> list[str]:
    """The VolumeAttributesClasses that *claim* names, has, or is being changed to."""
    modifying: Manifest = claim.status.get("modifyVolumeStatus") or {}
    names = (
        claim.spec.get("volumeAttributesClassName"),
        claim.status.get("currentVolumeAttributesClassName"),
        modifying.get("targetVolumeAttributesClassName"),
    )
    return [name for name in names if name]
