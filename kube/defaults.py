"""An object as clients find it: with the defaults that a run does not store."""

from collections.abc import Mapping
from typing import Any

from engine.api_server.admission.defaults import with_defaults
from engine.objects.autoscalers import newest_manifest, v1_manifest
from engine.objects.custom.definition import CustomVersion
from engine.objects.custom.structural import unknown_fields, with_schema_defaults
from engine.objects.objects import Manifest
from engine.objects.openapi.fields import without
from kube.resources import AUTOSCALING_V1, Resource


def defaulted(resource: Resource, manifest: Mapping[str, Any]) -> Manifest:
    """The manifest with the defaults of its kind.

    *manifest* stays as it is. The metadata of what is returned may be changed, nothing below it.
    """
    # As a server writes it, whichever version of the group the file was written in.
    named = {"kind": resource.written_kind, "apiVersion": resource.api_version}
    found: Manifest = {**named, **manifest, **named, "metadata": {**manifest["metadata"]}}
    if resource.namespaced:
        found["metadata"].setdefault("namespace", "default")
    if resource.custom:
        return custom_form(resource.custom, found)
    if resource.api_version == AUTOSCALING_V1:
        stored = newest_manifest({**found, "apiVersion": manifest.get("apiVersion")})
        return v1_manifest(with_defaults(stored))
    return with_defaults(found)


def stored_form(resource: Resource, manifest: Manifest) -> Manifest:
    """An object as a run stores it, of which clients of *resource* see *manifest*."""
    return newest_manifest(manifest) if resource.api_version == AUTOSCALING_V1 else manifest


def custom_form(custom: CustomVersion, manifest: Manifest) -> Manifest:
    """An object of a custom kind as clients of a version find it.

    Versions differ by their schemas alone: what one does not have is not shown in it.
    """
    if not custom.schema:
        return manifest
    shown = manifest
    if not custom.is_stored:
        shown = without(manifest, unknown_fields(custom.schema, manifest))
    return with_schema_defaults(custom.schema, shown)
