"""Where an object belongs: what its body says of that, and what the address says."""

from collections.abc import Mapping
from typing import Any

from engine.objects.objects import Manifest
from kube.addresses import Target
from kube.server.writes.bodies import part_of
from kube.status import bad_request


def placed(manifest: Manifest, target: Target) -> Manifest:
    """The manifest with the kind and namespace of its address. Raises ApiError when it has others."""
    resource = target.resource
    kind = manifest.get("kind") or resource.written_kind
    version = manifest.get("apiVersion") or resource.api_version
    if (kind, version) != (resource.written_kind, resource.api_version):
        raise bad_request(
            f"{version}, Kind={kind} in the body does not match the expected "
            f"{resource.api_version}, Kind={resource.written_kind}"
        )
    metadata = manifest.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise bad_request("metadata must be an object")
    given = metadata.get("namespace")
    if resource.namespaced and given and target.namespace and given != target.namespace:
        raise bad_request(
            f"the namespace of the provided object does not match the namespace sent on the "
            f"request ({given} and {target.namespace})"
        )
    place = {"namespace": target.namespace or given or "default"} if resource.namespaced else {}
    return {**manifest, "kind": kind, "apiVersion": version, "metadata": {**metadata, **place}}


def check_place(manifest: Manifest, target: Target) -> None:
    """Raises ApiError where the object is not the one on the URL.

    Upstream: apiserver/pkg/endpoints/handlers/rest.go, checkName().
    """
    metadata = part_of(manifest, "metadata")
    name, namespace = metadata.get("name"), metadata.get("namespace")
    if not name:
        raise bad_request(
            f"the name of the object ({target.name} based on URL) was undeterminable: "
            "name must be provided"
        )
    if name != target.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({target.name})"
        )
    if target.namespace and namespace and namespace != target.namespace:
        raise bad_request(
            f"the namespace of the object ({namespace}) does not match the namespace on the "
            f"request ({target.namespace})"
        )


def version_in(body: Any) -> str:
    """The resourceVersion that a body names, or ""; "0" stands for any, as without one.

    Upstream: apiserver/pkg/registry/generic/registry/store.go, Update(), doUnconditionalUpdate.
    """
    metadata: Any = body.get("metadata") if isinstance(body, Mapping) else None
    version: Any = metadata.get("resourceVersion") if isinstance(metadata, Mapping) else None
    return "" if version in (None, "0") else str(version)
