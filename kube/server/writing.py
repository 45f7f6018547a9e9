"""Answers to writes: each is a command to the run's engine, or several.

A patch is applied to the object as the client sees it, and what that changes goes to the engine as a
merge patch that names the version it was made from. If the object has been written since, the same
is done again with the newer version, as an API server does, unless the client named a version.
"""

import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from starlette.requests import Request
from starlette.responses import Response

from kscope.runs.engine import Manifest
from kscope.runs.models import Run
from kube import patching
from kube.addresses import Target
from kube.defaults import defaulted
from kube.resources import PODS, Resource
from kube.server.answers import answered
from kube.server.bodies import body_of, is_strict, object_of, patch_of
from kube.server.engine_line import EngineLine
from kube.server.instants import now
from kube.server.reading import Read, shown
from kube.server.versions import Version
from kube.server.written import (
    changeable,
    entity_of,
    note_of,
    part_of,
    placed,
    scale_of,
    seq_of,
    uid_of,
    version_in,
)
from kube.status import (
    ApiError,
    already_exists,
    bad_request,
    conflict,
    invalid,
    method_not_allowed,
    not_found,
    success,
)
from kube.strict import patch_refusal, unknown_fields

TRIES = 6
_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
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
    engine: EngineLine

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
        manifest = placed(await object_of(self.request, resource), target)
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
        if not isinstance(metadata["name"], str) or "/" in metadata["name"]:
            raise bad_request(f"metadata.name is no name: {metadata['name']!r}")
        if self._is_tried:
            if await self._find(target, metadata["name"]) is not None:
                raise already_exists(resource, metadata["name"])
            return answered(shown(resource, Version(0, manifest)), 201)
        named = Target(resource, target.namespace, metadata["name"])
        for name in ("resourceVersion", "uid", "creationTimestamp", "managedFields", "selfLink"):
            metadata.pop(name, None)
        manifest.pop("status", None)
        await self.engine.carry_out({"verb": "create", "manifest": manifest}, named)
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
        node = part_of(body, "target").get("name")
        name = target.name or part_of(body, "metadata").get("name")
        if not isinstance(node, str) or not node or not isinstance(name, str):
            raise bad_request("a Binding needs metadata.name and target.name")
        command = {"verb": "bind", "object": f"pod/{target.namespace}/{name}", "node": node}
        uid = part_of(body, "metadata").get("uid")
        if not self._is_tried:
            await self.engine.carry_out(
                {**command, "uid": uid} if uid else command, Target(PODS, target.namespace, name)
            )
        created = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return answered({**created, "code": 201}, 201)

    async def _evict(self, target: Target, body: Manifest) -> Response:
        options = part_of(body, "deleteOptions")
        command: Manifest = {"verb": "evict", "object": entity_of(target)}
        grace = options.get("gracePeriodSeconds")
        if grace is not None:
            command["grace_seconds"] = grace
        if not self._is_tried:
            await self.engine.carry_out(command, target)
        created = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success"}
        return answered({**created, "code": 201}, 201)

    async def _note(self, resource: Resource, manifest: Manifest) -> Response:
        entity, note = note_of(manifest)
        if not self._is_tried:
            await self.engine.carry_out({"verb": "note", "object": entity, "patch": note}, None)
        metadata = manifest["metadata"]
        metadata["resourceVersion"] = str(self.engine.run.head_seq)
        return answered({**manifest, "kind": "Event", "apiVersion": resource.api_version}, 201)

    # -- changing --------------------------------------------------------------------------------

    async def _replace(self, target: Target) -> Response:
        if target.subresource == "scale":
            scale = await body_of(self.request, target.resource)
            return await self._scale(target, lambda old: {**old, **scale})
        body = placed(await object_of(self.request, target.resource), target)
        name = body["metadata"].get("name")
        if name != target.name:
            raise bad_request(
                f"the name of the object ({name}) does not match the name on the URL ({target.name})"
            )
        return await self._change(target, lambda old: body, version_in(body))

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
            # A series goes on: the history counts for itself how often an Event was seen.
            return answered(_event_again(target, patch))
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

        return await self._change(target, checked, version_in(patch))

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
            patch = changeable(patching.difference(old, new), target.subresource)
            if not patch or self._is_tried:
                return answered(patching.merge_patched(old, patch))
            verb = "resize" if target.subresource == "resize" else "patch"
            command = {
                "verb": verb,
                "object": entity_of(target),
                "patch": patch,
                "expect": found.seq,
            }
            try:
                await self.engine.carry_out(command, target)
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
        wanted = part_of(change(scale), "spec").get("replicas")
        if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted < 0:
            raise invalid(
                target.resource,
                target.name,
                [("FieldValueInvalid", "must be greater than or equal to 0", "spec.replicas")],
                "Scale",
            )
        if not self._is_tried:
            command = {"verb": "patch", "object": entity_of(target)}
            await self.engine.carry_out(
                {**command, "patch": {"spec": {"replicas": wanted}}}, target
            )
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
            await self.engine.carry_out(command, target)
            left = await self._find(target, target.name)
            if left is not None and uid_of(left) == uid_of(found):
                return answered(shown(target.resource, left))
        if target.resource.kind == "Pod":
            return answered(shown(target.resource, found))
        return answered(success(target.resource, target.name, uid_of(found)))

    async def _deletion(self, target: Target) -> Manifest:
        """The command for the DeleteOptions in the body and in the query."""
        query = self.request.query_params
        options: Manifest = {}
        if await self.request.body():
            options = await body_of(self.request, target.resource)
        command: Manifest = {"verb": "delete", "object": entity_of(target)}
        grace = options.get("gracePeriodSeconds", query.get("gracePeriodSeconds"))
        if grace is not None:
            if not str(grace).isdecimal():
                raise bad_request(f"invalid gracePeriodSeconds {grace!r}")
            command["grace_seconds"] = int(str(grace)[:12])
        propagation = options.get("propagationPolicy") or query.get("propagationPolicy")
        if propagation:
            command["propagation"] = propagation
        preconditions = part_of(options, "preconditions")
        if preconditions.get("uid"):
            command["uid"] = preconditions["uid"]
        if preconditions.get("resourceVersion"):
            command["expect"] = seq_of(preconditions["resourceVersion"])
        return command

    async def _delete_all(self, target: Target) -> Response:
        read = Read.of(self.request, target)
        manifests: list[Manifest] = []
        async with now(self.engine.links, self.engine.run.pk) as instant:
            async for versions in instant.objects(target.resource, target.namespace):
                each = (shown(target.resource, version) for version in versions)
                manifests += [one for one in each if read.selection.matches(one)]
        if not self._is_tried:
            for one in manifests:
                metadata = one["metadata"]
                named = Target(target.resource, metadata.get("namespace", ""), metadata["name"])
                with contextlib.suppress(ApiError):
                    await self.engine.carry_out(await self._deletion(named), named)
        head = {"kind": target.resource.list_kind, "apiVersion": target.resource.api_version}
        return answered({**head, "metadata": {}, "items": manifests})

    # -- the engine ------------------------------------------------------------------------------

    async def _find(self, target: Target, name: str) -> Version | None:
        async with now(self.engine.links, self.engine.run.pk) as instant:
            return await instant.find(target.resource, target.namespace, name)

    async def _stored(self, target: Target, status: int) -> Response:
        found = await self._find(target, target.name)
        if found is None:
            raise not_found(target.resource, target.name)
        return answered(shown(target.resource, found), status, self._warnings())

    def _warnings(self) -> dict[str, str]:
        """What a client prints beside the answer."""
        if self.engine.run.status != Run.Status.PAUSED:
            return {}
        text = f"run {self.engine.run.pk} is paused; play it for what follows from this"
        return {"Warning": f'299 - "{text}"'}


_MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def _event_again(target: Target, patch: Any) -> Manifest:
    place = {"name": target.name, "namespace": target.namespace}
    kind = {"kind": "Event", "apiVersion": target.resource.api_version, "metadata": place}
    return {**(patch if isinstance(patch, dict) else {}), **kind}
