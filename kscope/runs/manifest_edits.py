"""What users see of a manifest, and what they changed in it, as the patch of a command."""

from typing import Any, Final

_LISTS: Final = ("containers", "initContainers")
# What of a container the subresource resize changes.
_RESIZABLE: Final = ("resources", "resizePolicy")


def difference(old: Any, new: Any) -> dict[str, Any]:
    """The merge patch from one manifest to another."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, dict) and isinstance(value, dict):
            inner = difference(before, value)
            if inner:
                patch[key] = inner
        elif before != value:
            patch[key] = value
    return patch


def change_body(entity: str, stored: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """The command by which *patch* changes the *stored* object; of a placed pod it may be a resize."""
    is_placed = stored.get("kind") == "Pod" and bool((stored.get("spec") or {}).get("nodeName"))
    if is_placed and is_resize(stored, patch):
        return {"verb": "resize", "object": entity, "patch": resize_patch(stored, patch)}
    return {"verb": "patch", "object": entity, "patch": patch}


def without_managers(manifest: dict[str, Any]) -> dict[str, Any]:
    """The manifest without its managed fields, which people do not read or edit."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return manifest
    kept: dict[str, Any] = {key: part for key, part in metadata.items() if key != "managedFields"}
    return {**manifest, "metadata": kept}


def is_resize(manifest: dict[str, Any], patch: dict[str, Any]) -> bool:
    """Whether *patch* of a pod changes nothing but the resources of its containers."""
    spec = patch.get("spec")
    if patch.keys() != {"spec"} or not spec or not spec.keys() <= set(_LISTS):
        return False
    return all(
        _without_resources(manifest["spec"].get(name)) == _without_resources(containers)
        for name, containers in spec.items()
    )


def resize_patch(manifest: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    """What *patch*, which replaces lists, is for the subresource resize, which merges them by name."""
    return {
        "spec": {
            name: [
                {
                    "name": new["name"],
                    **difference(
                        {key: old[key] for key in _RESIZABLE if key in old},
                        {key: new[key] for key in _RESIZABLE if key in new},
                    ),
                }
                for old, new in zip(manifest["spec"][name], containers, strict=True)
            ]
            for name, containers in patch["spec"].items()
        }
    }


def _without_resources(containers: Any) -> Any:
    if not isinstance(containers, list) or not all(isinstance(each, dict) for each in containers):
        return None
    return [
        {key: part for key, part in each.items() if key not in _RESIZABLE} for each in containers
    ]
