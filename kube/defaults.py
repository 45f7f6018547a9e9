"""An object as clients find it: with the defaults that a run does not store."""

from collections.abc import Mapping
from typing import Any

from engine.api_server.admission.defaults import with_defaults
from engine.objects.objects import Manifest
from kube.resources import Resource


def defaulted(resource: Resource, manifest: Mapping[str, Any]) -> Manifest:
    """The manifest with the defaults of its kind.

    *manifest* stays as it is. The metadata of what is returned may be changed, nothing below it.
    """
    # As a server writes it, whichever version of the group the file was written in.
    named = {"kind": resource.kind, "apiVersion": resource.api_version}
    found: Manifest = {**named, **manifest, **named, "metadata": {**manifest["metadata"]}}
    if resource.namespaced:
        found["metadata"].setdefault("namespace", "default")
    return with_defaults(found)
