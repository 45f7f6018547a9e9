"""What is attached when the controller starts, read from the API server.

Upstream: attach_detach_controller.go, populateActualStateOfWorld().
"""

from typing import cast

from engine.controllers.attach_detach.actual_state import ActualStateOfWorld
from engine.controllers.attach_detach.context import Context
from engine.objects.objects import Manifest
from engine.storage.plugins.spec import VolumeSpec, unique_volume_name


def populate_actual_state(
    context: Context, actual: ActualStateOfWorld, *, recovers_attachments: bool
) -> None:
    """Mark what the nodes' status reports as attached.

    With *recovers_attachments* also what VolumeAttachments name (since 1.21).
    """
    specs = _specs_by_unique_name(context)
    for node in context.store.objects("Node"):
        for attached in cast("list[Manifest]", node.status.get("volumesAttached") or ()):
            spec = specs.get(attached["name"])
            if spec is not None:
                path = attached.get("devicePath", "")
                actual.mark_volume_as_attached(attached["name"], node.name, spec, path)
    if recovers_attachments:
        _process_volume_attachments(context, actual)


def _process_volume_attachments(context: Context, actual: ActualStateOfWorld) -> None:
    """Mark as uncertain what no node reports: an attach or a detach was under way."""
    for found in context.store.objects("VolumeAttachment"):
        name, node = found.spec["source"].get("persistentVolumeName", ""), found.spec["nodeName"]
        volume = context.store.find("PersistentVolume", name)
        if volume is None:
            continue
        spec = VolumeSpec(persistent_volume=volume.raw)
        plugin = context.plugins.find_by_spec(spec)
        if plugin is None:
            continue
        unique = unique_volume_name(plugin, spec)
        if actual.find(unique, node) is None:
            actual.mark_volume_as_uncertain(unique, node, spec)


def _specs_by_unique_name(context: Context) -> dict[str, VolumeSpec]:
    specs: dict[str, VolumeSpec] = {}
    for volume in context.store.objects("PersistentVolume"):
        spec = VolumeSpec(persistent_volume=volume.raw)
        plugin = context.plugins.find_by_spec(spec)
        if plugin is not None and plugin.is_attachable(spec):
            specs[unique_volume_name(plugin, spec)] = spec
    return specs
