"""Answers to deletions: of one object, or of those of a collection that a request selects."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from starlette.responses import Response

from engine.controllers.shared.deletion import (
    BACKGROUND,
    ORPHAN,
    PODS_ARE_KEPT,
    default_propagation,
)
from engine.objects.objects import Manifest
from kscope.runs.served.versions import Version
from kube.addresses import Target
from kube.server.answers import answered
from kube.server.listing import Page
from kube.server.objects import endpoints
from kube.server.objects.instants import now
from kube.server.objects.kubernetes_events import note_command
from kube.server.reading import Read
from kube.server.writes.delete_options import DeleteOptions
from kube.server.writes.policies import judged
from kube.server.writes.run_objects import Promise, RunObjects, warning_header
from kube.status import method_not_allowed, not_found, success


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
        if target.resource.kind == "Pod":
            gone = await self.objects.opened(target.resource, found)
        else:
            gone = success(target.resource, target.name, found.uid)
        if options.is_trial:
            await judged(self.objects, target, found.manifest, None)
        if options.is_trial or target.resource.kind in endpoints.KINDS and found.is_implied:
            # Endpoints are there again at once.
            return answered(gone, headers=self.objects.warnings())
        # What every cluster has is there again, too, as another object: clients wait for that.
        await self.objects.stored(target)
        command = _deletion(target, options, found.manifest)
        form = "whole" if target.resource.kind == "Event" else "left"
        promise = Promise(form, 200, gone, _warnings([command], target, options), found.uid)
        return await self.objects.do(command, target, promise)

    async def delete_all(self, target: Target) -> Response:
        """Delete those of a collection that the request selects, and answer with them."""
        if "deletecollection" not in target.resource.verbs:
            raise method_not_allowed(
                "the server does not allow this method on the requested resource"
            )
        read = Read.of(self.objects.request, target)
        options = await DeleteOptions.of_request(self.objects.request, target)
        held: list[Version] = []
        async with now(self.objects.links, self.objects.run.pk) as instant:
            read.check_version(instant.seq)
            page = Page(read, instant)
            async for chosen in page.chosen():
                held += [version for version, _ in chosen if not version.is_implied]
            rest = await page.rest()
        # No connection is held while others are waited for.
        manifests = await self.objects.all_opened(target.resource, held)
        head = {"kind": target.resource.list_kind, "apiVersion": target.resource.api_version}
        content = {**head, "metadata": rest, "items": manifests}
        metadata = [one["metadata"] for one in manifests]
        named = [Target(target.resource, one.get("namespace", ""), one["name"]) for one in metadata]
        if options.is_trial:
            for one, manifest in zip(named, manifests, strict=True):
                await judged(self.objects, one, manifest, None)
            return answered(content, headers=self.objects.warnings())
        pairs = zip(named, manifests, strict=True)
        in_run_time = partial(self.objects.in_run_time, target.resource)
        commands = [_deletion(one, options, in_run_time(manifest)) for one, manifest in pairs]
        places = [(one.namespace, one.name) for one in named]
        warnings = _warnings(commands, target, options)
        promise = Promise("whole", 200, content, warnings, places=places)
        return await self.objects.do_all(commands, named, promise)


def _deletion(target: Target, options: DeleteOptions, manifest: Manifest) -> Manifest:
    resource = target.resource
    if resource.kind == "Event":
        return note_command(manifest, is_gone=True)
    held: list[str] = manifest["metadata"].get("finalizers") or []
    usual = default_propagation(resource.api_version, resource.kind, held)
    given = {"propagation": usual} if usual != BACKGROUND else {}
    return {"verb": "delete", "object": target.entity, **given, **options.command}


def _warnings(
    commands: Sequence[Manifest], target: Target, options: DeleteOptions
) -> dict[str, str]:
    """Upstream: pkg/registry/batch/job/storage/storage.go, Delete()."""
    kept = [one for one in commands if one.get("propagation") == ORPHAN]
    is_unsaid = target.resource.kind == "Job" and "propagation" not in options.command
    return warning_header([PODS_ARE_KEPT]) if kept and is_unsaid else {}
