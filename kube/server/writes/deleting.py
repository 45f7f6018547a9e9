"""Answers to deletions: of one object, or of those of a collection that a request selects."""

import contextlib
from dataclasses import dataclass

from starlette.responses import Response

from kscope.runs.engine import Manifest
from kube.addresses import Target
from kube.server.answers import answered
from kube.server.objects.instants import now
from kube.server.reading import Read
from kube.server.writes.delete_options import DeleteOptions
from kube.server.writes.run_objects import RunObjects
from kube.server.writes.written import entity_of, uid_of
from kube.status import ApiError, method_not_allowed, not_found, success


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
        options = await DeleteOptions.of_request(self.objects.request, target)
        options.check(target, found)
        if not options.is_trial:
            outcome = await self.objects.carry_out(_deletion(target, options), target)
            left = await self.objects.left(target, outcome)
            if left is not None and uid_of(left) == uid_of(found):
                return answered(self.objects.shown(target.resource, left))
        if target.resource.kind == "Pod":
            return answered(self.objects.shown(target.resource, found))
        return answered(success(target.resource, target.name, uid_of(found)))

    async def delete_all(self, target: Target) -> Response:
        """Delete those of a collection that the request selects, and answer with them."""
        if "deletecollection" not in target.resource.verbs:
            raise method_not_allowed(
                "the server does not allow this method on the requested resource"
            )
        read = Read.of(self.objects.request, target)
        options = await DeleteOptions.of_request(self.objects.request, target)
        manifests: list[Manifest] = []
        async with now(self.objects.links, self.objects.run.pk) as instant:
            async for versions in instant.objects(target.resource, target.namespace):
                each = (self.objects.shown(target.resource, version) for version in versions)
                manifests += [one for one in each if read.selection.matches(one)]
        if not options.is_trial:
            for one in manifests:
                metadata = one["metadata"]
                named = Target(target.resource, metadata.get("namespace", ""), metadata["name"])
                with contextlib.suppress(ApiError):
                    await self.objects.carry_out(_deletion(named, options), named)
        head = {"kind": target.resource.list_kind, "apiVersion": target.resource.api_version}
        return answered({**head, "metadata": {}, "items": manifests})


def _deletion(target: Target, options: DeleteOptions) -> Manifest:
    return {"verb": "delete", "object": entity_of(target), **options.command}
