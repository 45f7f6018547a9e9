"""Answers to writes: each is a command to the run's engine, or several.

A patch is applied to the object as the client sees it, and what that changes goes to the engine as a
merge patch that names the version it was made from. If the object has been written since, the same
is done again with the newer version, as an API server does, unless the client named a version.
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from channels.db import database_sync_to_async
from starlette.requests import Request
from starlette.responses import Response

from kscope.runs.engine import Manifest
from kscope.runs.errors import ApplicationError
from kscope.runs.models import Command, Run
from kscope.runs.services import command_submit
from kscope.sim.objects.kinds import entity_id
from kube import patching
from kube.addresses import Target
from kube.defaults import defaulted
from kube.resources import PODS, Resource
from kube.server.answers import answered
from kube.server.bodies import body_of, is_strict, object_of, patch_of
from kube.server.feed import Feed
from kube.server.instants import now
from kube.server.links import SnapshotLinks
from kube.server.reading import Read, shown
from kube.server.versions import Version
from kube.status import (
    ApiError,
    already_exists,
    bad_request,
    conflict,
    invalid,
    method_not_allowed,
    not_found,
    success,
    timed_out,
)
from kube.strict import patch_refusal, unknown_fields

WAIT_SECONDS = 5.0
LOOK_SECONDS = 0.25
TRIES = 6
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_CODES = {
    "AlreadyExists": 409,
    "Conflict": 409,
    "Forbidden": 403,
    "Invalid": 422,
    "NotFound": 404,
    "TooManyRequests": 429,
}
_NO_PROCESSES = "simulated containers run no processes"
_REFUSED = {
    "attach": _NO_PROCESSES,
    "ephemeralcontainers": _NO_PROCESSES,
    "exec": _NO_PROCESSES,
    "portforward": _NO_PROCESSES,
    "token": "a run issues no tokens; a client of it needs none",
}


@dataclass(frozen=True, slots=True)
class Writer:
    """Writes to one run for one request."""

    request: Request
    run: Run
    feed: Feed
    links: SnapshotLinks

    async def answer(self, target: Target) -> Response:
        """Do what the request says. Raises ApiError."""
        refused = _REFUSED.get(target.subresource)
        if refused:
            raise method_not_allowed(refused)
        match self.request.method, target.is_collection:
            case "POST", True:
                return await self._create(target)
            case "POST", False:
                return await self._create_part(target)
            case "PUT", False:
                return await self._replace(target)
            case "PATCH", False:
                return await self._patch(target)
            case "DELETE", False:
                return await self._delete(target)
            case "DELETE", True:
                return await self._delete_all(target)
            case _:
                raise method_not_allowed(
                    "the server does not allow this method on the requested resource"
                )

    @property
    def _is_tried(self) -> bool:
        """Whether nothing is to be written."""
        tried = self.request.query_params.getlist("dryRun")
        if any(one != "All" for one in tried):
            raise bad_request(f"Unsupported value: {tried[0]!r}: supported values: 'All'")
        return bool(tried)

    # -- creating --------------------------------------------------------------------------------

    async def _create(self, target: Target) -> Response:
        resource = target.resource
        manifest = _placed(await object_of(self.request, resource), target)
        if resource.kind == "Binding":
            return await self._bind(target, manifest)
        if resource.kind == "Event":
            return await self._note(resource, manifest)
        metadata = manifest["metadata"]
        if not metadata.get("name"):
            if not metadata.get("generateName"):
                raise invalid(
                    resource,
                    "",
                    [
                        (
                            "FieldValueRequired",
                            "Required value: name or generateName is required",
                            "metadata.name",
                        )
                    ],
                )
            suffix = "".join(secrets.choice(_SUFFIX) for _ in range(5))
            metadata["name"] = f"{metadata['generateName']}{suffix}"
        if self._is_tried:
            if await self._find(target, metadata["name"]) is not None:
                raise already_exists(resource, metadata["name"])
            return answered(shown(resource, Version(0, manifest)), 201)
        named = Target(resource, target.namespace, metadata["name"])
        for name in ("resourceVersion", "uid", "creationTimestamp", "managedFields", "selfLink"):
            metadata.pop(name, None)
        manifest.pop("status", None)
        await self._carry_out({"verb": "create", "manifest": manifest}, named)
        return await self._stored(named, 201)

    async def _create_part(self, target: Target) -> Response:
        body = await body_of(self.request, target.resource)
        match target.resource.kind, target.subresource:
            case "Pod", "binding":
                return await self._bind(target, body)
            case "Pod", "eviction":
                return await self._evict(target, body)
            case _:
                raise method_not_allowed(
                    "the server does not allow this method on the requested resource"
                )

    async def _bind(self, target: Target, body: Manifest) -> Response:
        node = (body.get("target") or {}).get("name")
        name = target.name or (body.get("metadata") or {}).get("name")
        if not isinstance(node, str) or not node or not isinstance(name, str):
            raise bad_request("a Binding needs metadata.name and target.name")
        command = {"verb": "bind", "object": f"pod/{target.namespace}/{name}", "node": node}
        uid = (body.get("metadata") or {}).get("uid")
        await self._carry_out(
            {**command, "uid": uid} if uid else command, Target(PODS, target.namespace, name)
        )
        created = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return answered({**created, "code": 201}, 201)

    async def _evict(self, target: Target, body: Manifest) -> Response:
        options = body.get("deleteOptions") or {}
        command: Manifest = {"verb": "evict", "object": _entity(target)}
        grace = options.get("gracePeriodSeconds")
        if grace is not None:
            command["grace_seconds"] = grace
        if not self._is_tried:
            await self._carry_out(command, target)
        created = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return answered({**created, "code": 201}, 201)

    async def _note(self, resource: Resource, manifest: Manifest) -> Response:
        about = manifest.get("involvedObject") or manifest.get("regarding") or {}
        entity = entity_id(
            str(about.get("kind", "")),
            "/".join(filter(None, (about.get("namespace"), about.get("name")))),
        )
        source = manifest.get("source") or manifest.get("deprecatedSource") or {}
        note = {
            "reason": str(manifest.get("reason") or ""),
            "message": str(manifest.get("message") or manifest.get("note") or "")[:1_024],
            "type": manifest.get("type") or "Normal",
            "component": str(
                manifest.get("reportingController")
                or manifest.get("reportingComponent")
                or source.get("component")
                or "client"
            ),
        }
        if not self._is_tried:
            await self._carry_out({"verb": "note", "object": entity, "patch": note}, None)
        metadata = manifest["metadata"]
        metadata["resourceVersion"] = str(self.run.head_seq)
        return answered({**manifest, "kind": "Event", "apiVersion": resource.api_version}, 201)

    # -- changing --------------------------------------------------------------------------------

    async def _replace(self, target: Target) -> Response:
        if target.subresource == "scale":
            scale = await body_of(self.request, target.resource)
            return await self._scale(target, lambda old: {**old, **scale})
        body = _placed(await object_of(self.request, target.resource), target)
        name = body["metadata"].get("name")
        if name != target.name:
            raise bad_request(
                f"the name of the object ({name}) does not match the name on the URL ({target.name})"
            )
        return await self._change(target, lambda old: body, _version_in(body))

    async def _patch(self, target: Target) -> Response:
        kind, patch = await patch_of(self.request)
        resource = target.resource

        def patched(old: Manifest) -> Manifest:
            match kind:
                case "json":
                    return patching.json_patched(old, patch)
                case "merge" | "apply":
                    return patching.merge_patched(old, patch)
                case _:
                    return patching.strategic_patched(resource, old, patch)

        if resource.kind == "Event":
            return answered(patch if isinstance(patch, dict) else {})
        if target.subresource == "scale":
            return await self._scale(target, patched)

        def checked(old: Manifest) -> Manifest:
            new = patched(old)
            if is_strict(self.request) and isinstance(new, dict):
                before = unknown_fields(resource, old)
                added = [one for one in unknown_fields(resource, new) if one not in before]
                if added:
                    raise patch_refusal(patch, added)
            return new

        return await self._change(target, checked, _version_in(patch))

    async def _change(
        self,
        target: Target,
        change: Callable[[Manifest], Manifest],
        version: str,
    ) -> Response:
        """Write what *change* makes of the object; *version* is the one that the client names."""
        for _ in range(TRIES):
            found = await self._find(target, target.name)
            if found is None:
                raise not_found(target.resource, target.name)
            old = shown(target.resource, found)
            if version and version != old["metadata"]["resourceVersion"]:
                raise conflict(target.resource, target.name, _MODIFIED)
            new = change(old)
            if not isinstance(new, dict) or not isinstance(new.get("metadata"), dict):
                raise bad_request("the patch leaves no object")
            # As a server does before it compares: what is absent, or written in another way, is no
            # change.
            new = defaulted(target.resource, new)
            patch = _part(patching.difference(old, new), target.subresource)
            if not patch or self._is_tried:
                return answered(patching.merge_patched(old, patch))
            verb = "resize" if target.subresource == "resize" else "patch"
            command = {"verb": verb, "object": _entity(target), "patch": patch, "expect": found.seq}
            try:
                await self._carry_out(command, target)
            except ApiError as error:
                if error.reason == "Conflict" and not version:
                    continue
                raise
            return await self._stored(target, 200)
        raise conflict(target.resource, target.name, _MODIFIED)

    async def _scale(self, target: Target, change: Callable[[Manifest], Manifest]) -> Response:
        found = await self._find(target, target.name)
        if found is None:
            raise not_found(target.resource, target.name)
        scale = scale_of(shown(target.resource, found))
        wanted = (change(scale).get("spec") or {}).get("replicas")
        if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted < 0:
            raise invalid(
                target.resource,
                target.name,
                [("FieldValueInvalid", "must be greater than or equal to 0", "spec.replicas")],
                "Scale",
            )
        if not self._is_tried:
            command = {"verb": "patch", "object": _entity(target)}
            await self._carry_out({**command, "patch": {"spec": {"replicas": wanted}}}, target)
        found = await self._find(target, target.name) or found
        return answered(scale_of(shown(target.resource, found)))

    # -- deleting --------------------------------------------------------------------------------

    async def _delete(self, target: Target) -> Response:
        if target.subresource:
            raise method_not_allowed(
                "the server does not allow this method on the requested resource"
            )
        found = await self._find(target, target.name)
        if found is None:
            raise not_found(target.resource, target.name)
        command = await self._deletion(target)
        if not self._is_tried:
            await self._carry_out(command, target)
            left = await self._find(target, target.name)
            if left is not None and _uid(left) == _uid(found):
                return answered(shown(target.resource, left))
        if target.resource.kind == "Pod":
            return answered(shown(target.resource, found))
        return answered(success(target.resource, target.name, _uid(found)))

    async def _deletion(self, target: Target) -> Manifest:
        """The command for the DeleteOptions in the body and in the query."""
        query = self.request.query_params
        options: Manifest = {}
        if await self.request.body():
            options = await body_of(self.request, target.resource)
        command: Manifest = {"verb": "delete", "object": _entity(target)}
        grace = options.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
        if grace is not None:
            if not str(grace).isdecimal():
                raise bad_request(f"invalid gracePeriodSeconds {grace!r}")
            command["grace_seconds"] = int(str(grace)[:12])
        propagation = options.get("propagationPolicy") or query.get("propagationPolicy")
        if propagation:
            command["propagation"] = propagation
        preconditions = options.get("preconditions") or {}
        if preconditions.get("uid"):
            command["uid"] = preconditions["uid"]
        if preconditions.get("resourceVersion"):
            command["expect"] = _seq(preconditions["resourceVersion"])
        return command

    async def _delete_all(self, target: Target) -> Response:
        read = Read.of(self.request, target)
        manifests: list[Manifest] = []
        async with now(self.links, self.run.pk) as instant:
            async for versions in instant.objects(target.resource, target.namespace):
                each = (shown(target.resource, version) for version in versions)
                manifests += [one for one in each if read.selection.matches(one)]
        if not self._is_tried:
            for one in manifests:
                metadata = one["metadata"]
                named = Target(target.resource, metadata.get("namespace", ""), metadata["name"])
                with contextlib.suppress(ApiError):
                    await self._carry_out(await self._deletion(named), named)
        head = {"kind": target.resource.list_kind, "apiVersion": target.resource.api_version}
        return answered({**head, "metadata": {}, "items": manifests})

    # -- the engine ------------------------------------------------------------------------------

    async def _find(self, target: Target, name: str) -> Version | None:
        async with now(self.links, self.run.pk) as instant:
            return await instant.find(target.resource, target.namespace, name)

    async def _stored(self, target: Target, status: int) -> Response:
        found = await self._find(target, target.name)
        if found is None:
            raise not_found(target.resource, target.name)
        return answered(shown(target.resource, found), status, self._warnings())

    def _warnings(self) -> dict[str, str]:
        """What a client prints beside the answer."""
        if self.run.status != Run.Status.PAUSED:
            return {}
        text = f"run {self.run.pk} is paused; play it for what follows from this"
        return {"Warning": f'299 - "{text}"'}

    async def _carry_out(self, body: Manifest, target: Target | None) -> None:
        """Have the engine do it. Raises ApiError when it refuses, or does not answer in time."""
        command_id = await self._submit(body)
        ends = time.monotonic() + WAIT_SECONDS
        while True:
            change = self.feed.change
            status, reason = await self._outcome(command_id)
            if status == Command.Status.APPLIED:
                return
            if status == Command.Status.REJECTED:
                raise _refusal(reason, target)
            left = ends - time.monotonic()
            if left <= 0:
                raise timed_out("the engine of the run has not answered yet; ask for the object")
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(min(left, LOOK_SECONDS)):
                    await change.wait()

    @database_sync_to_async
    def _submit(self, body: Manifest) -> int:
        try:
            return command_submit(run=self.run, body=body).pk
        except ApplicationError as refusal:
            raise ApiError(
                refusal.status if refusal.status != 400 else 422, "Invalid", refusal.message
            ) from refusal

    async def _outcome(self, command_id: int) -> tuple[str, str]:
        async with self.links.link() as link:
            found = await link.execute(
                "SELECT status, reason FROM runs_command WHERE id = %s", [command_id]
            )
            row = await found.fetchone()
        return (row[0], row[1]) if row else ("rejected", "NotFound: the run is gone")


_MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def _refusal(reason: str, target: Target | None) -> ApiError:
    """The engine's "Reason: message" as a Status."""
    name, _, message = reason.partition(": ")
    code = _CODES.get(name, 422)
    if target is None:
        return ApiError(code, name, message)
    details = {"name": target.name, "kind": target.resource.plural}
    if target.resource.group:
        details["group"] = target.resource.group
    return ApiError(code, name, message, details)


def _placed(manifest: Manifest, target: Target) -> Manifest:
    """The manifest with the kind and namespace of its address. Raises ApiError when it has others."""
    resource = target.resource
    kind = manifest.get("kind") or resource.kind
    version = manifest.get("apiVersion") or resource.api_version
    if (kind, version) != (resource.kind, resource.api_version):
        raise bad_request(
            f"{version}, Kind={kind} in the body does not match the expected "
            f"{resource.api_version}, Kind={resource.kind}"
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


def _part(patch: Manifest, subresource: str) -> Manifest:
    """What of a patch may be changed at this address; an object's status has one of its own."""
    kept = {**patch}
    if subresource == "status":
        return {"status": kept["status"]} if kept.get("status") else {}
    if subresource == "resize":
        return {"spec": kept["spec"]} if kept.get("spec") else {}
    for name in ("status", "kind", "apiVersion"):
        kept.pop(name, None)
    metadata = kept.get("metadata")
    if isinstance(metadata, dict):
        ours = ("resourceVersion", "uid", "creationTimestamp", "generation", "managedFields")
        metadata = {
            name: part for name, part in metadata.items() if name not in (*ours, "selfLink")
        }
        kept["metadata"] = metadata
        if not metadata:
            del kept["metadata"]
    return kept


def scale_of(one: Manifest) -> Manifest:
    """The subresource scale of a workload."""
    metadata = one["metadata"]
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    selector = (one.get("spec") or {}).get("selector") or {}
    labels = selector.get("matchLabels", selector)
    return {
        "kind": "Scale",
        "apiVersion": "autoscaling/v1",
        "metadata": {name: metadata[name] for name in names if name in metadata},
        "spec": {"replicas": (one.get("spec") or {}).get("replicas", 0)},
        "status": {
            "replicas": (one.get("status") or {}).get("replicas", 0),
            "selector": ",".join(f"{key}={value}" for key, value in sorted(labels.items())),
        },
    }


def _entity(target: Target) -> str:
    namespaced = target.resource.namespaced
    key = f"{target.namespace}/{target.name}" if namespaced else target.name
    return entity_id(target.resource.kind, key)


def _version_in(body: Any) -> str:
    metadata = body.get("metadata") if isinstance(body, Mapping) else None
    return (
        str((metadata or {}).get("resourceVersion") or "") if isinstance(metadata, Mapping) else ""
    )


def _uid(version: Version) -> str:
    return str(version.manifest["metadata"].get("uid") or "")


def _seq(version: Any) -> int:
    text = str(version)
    if not text.isdecimal() or len(text) > 18:
        raise bad_request(f"invalid resource version {text!r}")
    return int(text)


__all__ = ["Writer", "scale_of"]
