"""The managed fields of the objects that a request writes, and configurations that it applies."""

from typing import Any

from starlette.requests import Request

from engine.input.cleaning import without_values
from engine.kernel.units import timestamp
from engine.objects.objects import Manifest
from kube import strict
from kube.addresses import Target
from kube.apply import ObjectFields, check_options, manager_of
from kube.patching import merge_patched
from kube.server.objects.secrets import data_of, is_secret
from kube.server.writes.bodies import is_strict, part_of, warn, warns
from kube.status import bad_request

_TRUE = ("true", "1")
_OPTIONS = {"POST": "CreateOptions", "PUT": "UpdateOptions", "PATCH": "PatchOptions"}


def check_writer(request: Request, *, is_apply: bool = False) -> None:
    """Raises ApiError for options that a client may not give: fieldManager and force."""
    kind = _OPTIONS.get(request.method)
    if kind is None:
        return
    query = request.query_params
    is_forced = kind == "PatchOptions" and "force" in query
    check_options(kind, query.get("fieldManager", ""), is_apply=is_apply, is_forced=is_forced)


def is_forced(request: Request) -> bool:
    """Whether the client takes over fields that others manage."""
    return request.query_params.get("force", "").lower() in _TRUE


def fields_for(request: Request, target: Target, at: int) -> ObjectFields:
    """The managed fields of the object at *target*, for a write at *at*, in nanoseconds since EPOCH."""
    given = request.query_params.get("fieldManager", "")
    manager = manager_of(given, request.headers.get("user-agent", ""))
    return ObjectFields(target.resource, target.subresource, manager, timestamp(at))


def configuration_of(request: Request, target: Target, text: bytes, given: Any) -> Manifest:
    """The configuration in the body of a request to apply it, without values that no run keeps.

    Raises ApiError for anything else.
    """
    if not isinstance(given, dict):
        raise bad_request("error decoding YAML: the patch is no object")
    if (is_strict(request) or warns(request)) and strict.repeated_fields(text):
        problems = strict.repeated_keys(text)
        if is_strict(request):
            why = f"error converting YAML to JSON: {strict.joined(problems)}"
            raise bad_request(f"error strict decoding YAML: {why}")
        warn(request, problems)
    metadata = part_of(given, "metadata")
    name = metadata.get("name", target.name)
    if name != target.name:
        raise bad_request(
            f"the name of the object ({name}) does not match the name on the URL ({target.name})"
        )
    namespace = metadata.get("namespace")
    if namespace and target.namespace and namespace != target.namespace:
        raise bad_request(
            "the namespace of the provided object does not match the namespace sent on the request"
        )
    kept = without_values(given, target.resource.written_kind, keeps_copy=True)
    if is_secret(target.resource) and (data := data_of(given)):
        kept["data"] = data
    return kept


def with_managers(
    fields: ObjectFields, patch: Manifest, old: Manifest, new: Manifest, *, is_applied: bool
) -> Manifest:
    """*patch* with what it changes of the managed fields of *old*.

    *new* is the object that the client wants; one that is applied has its managed fields.
    """
    if fields.subresource == "resize":
        # A command of its own, which takes nothing but resources.
        return patch
    patch = _without_managers(patch)
    before = old["metadata"].get("managedFields") or []
    wanted = new["metadata"].get("managedFields")
    if is_applied:
        managed = wanted or []
    elif before or wanted:
        after = merge_patched(old, patch)
        after = {**after, "metadata": {**after["metadata"], "managedFields": wanted}}
        managed = fields.updated(old, after)
    else:
        return patch
    if managed == before:
        return patch
    metadata = {**(patch.get("metadata") or {}), "managedFields": managed or None}
    return {**patch, "metadata": metadata}


def _without_managers(patch: Manifest) -> Manifest:
    """*patch* without the managed fields that a client has written: the server keeps them itself."""
    metadata = patch.get("metadata")
    if not isinstance(metadata, dict) or "managedFields" not in metadata:
        return patch
    kept = {name: part for name, part in metadata.items() if name != "managedFields"}
    rest = {name: part for name, part in patch.items() if name != "metadata"}
    return {**rest, "metadata": kept} if kept else rest
