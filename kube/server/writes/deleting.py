"""Answers to deletions: of one object, or of those of a collection that a request selects."""

import contextlib
from dataclasses import dataclass

from starlette.responses import Response

from kscope.runs.engine import Manifest
from kube.addresses import Target
from kube.server.answers import answered
from kube.server.objects.instants import now
from kube.server.reading import Read
from kube.server.writes.bodies import body_of
from kube.server.writes.run_objects import RunObjects
from kube.server.writes.written import entity_of, part_of, seq_of, uid_of
from kube.status import ApiError, bad_request, method_not_allowed, not_found, success


@dataclass(frozen=True, slots=True)
class Deleter:
    """Deletes objects of a run for one request."""

    objects: RunObjects

    async def delete(self, target: Target) -> Response:
        """Delete one object. Raises ApiError."""
        if target.subresource:
            raise method_not_allowed(
                "the server does not allow this method on the requested resource"
            )
        found = await self.objects.find(target, target.name)
        if found is None:
            raise not_found(target.resource, target.name)
        command = await self._deletion(target)
        if not self.objects.is_tried:
            outcome = await self.objects.carry_out(command, target)
            left = await self.objects.left(target, outcome)
            if left is not None and uid_of(left) == uid_of(found):
                return answered(self.objects.shown(target.resource, left))
        if target.resource.kind == "Pod":
            return answered(self.objects.shown(target.resource, found))
        return answered(success(target.resource, target.name, uid_of(found)))

    async def _deletion(self, target: Target) -> Manifest:
        """The command for the DeleteOptions in the body and in the query."""
        query = self.objects.request.query_params
        options: Manifest = {}
        if await self.objects.request.body():
            options = await body_of(self.objects.request, target.resource)
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

    async def delete_all(self, target: Target) -> Response:
        """Delete those of a collection that the request selects, and answer with them."""
        read = Read.of(self.objects.request, target)
        manifests: list[Manifest] = []
        async with now(self.objects.links, self.objects.run.pk) as instant:
            async for versions in instant.objects(target.resource, target.namespace):
                each = (self.objects.shown(target.resource, version) for version in versions)
                manifests += [one for one in each if read.selection.matches(one)]
        if not self.objects.is_tried:
            for one in manifests:
                metadata = one["metadata"]
                named = Target(target.resource, metadata.get("namespace", ""), metadata["name"])
                with contextlib.suppress(ApiError):
                    await self.objects.carry_out(await self._deletion(named), named)
        head = {"kind": target.resource.list_kind, "apiVersion": target.resource.api_version}
        return answered({**head, "metadata": {}, "items": manifests})
