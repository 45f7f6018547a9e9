"""The defaults of an object of any kind."""

from collections.abc import Mapping
from typing import Any

from kube.defaults.cluster import CLUSTER
from kube.defaults.pods import fill_pod
from kube.defaults.sections import Fill, Manifest
from kube.defaults.storage import STORAGE
from kube.defaults.workloads import WORKLOADS
from kube.resources import Resource

_FILL: dict[str, Fill] = {"Pod": fill_pod, **CLUSTER, **STORAGE, **WORKLOADS}


def defaulted(resource: Resource, manifest: Mapping[str, Any]) -> Manifest:
    """The manifest with the defaults of its kind.

    *manifest* stays as it is. The metadata of what is returned may be changed, nothing below it.
    """
    # As a server writes it, whichever version of the group the file was written in.
    named = {"kind": resource.kind, "apiVersion": resource.api_version}
    found: Manifest = {**named, **manifest, **named, "metadata": {**manifest["metadata"]}}
    if resource.namespaced:
        found["metadata"].setdefault("namespace", "default")
    fill = _FILL.get(resource.kind)
    if fill is not None:
        fill(found)
    return found
