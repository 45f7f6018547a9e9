"""Answers to writes: each is a command to the run's engine, or several.

A patch is applied to the object as the client sees it, and what that changes goes to the engine as a
merge patch that names the version it was made from. If the object has been written since, the same
is done again with the newer version, as an API server does, unless the client named a version.
"""

import secrets
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any

from starlette.responses import Response

from kscope.runs.engine import Manifest
from kscope.runs.hidden_values import reads_values
from kscope.sim.api_server.metadata_update import metadata_faults, with_deletion_kept
from kscope.sim.input.cleaning import without_values
from kscope.sim.objects.openapi.fields import without
from kube import patching
from kube.addresses import Target
from kube.decoding import decoding_problem, fields_of
from kube.defaults import defaulted
from kube.resources import PODS, Resource
from kube.server.answers import answered
from kube.server.writes import engine_line
from kube.server.writes.applying import (
    check_writer,
    configuration_of,
    is_forced,
    scale_configuration,
    with_managers,
)
from kube.server.writes.bodies import body_of, is_strict, object_of, patch_of, warn, warns
from kube.server.writes.delete_options import DeleteOptions
from kube.server.writes.deleting import Deleter
from kube.server.writes.heavy import computed
from kube.server.writes.pod_writes import check_pod_update, completed
from kube.server.writes.run_objects import Promise, RunObjects
from kube.server.writes.written import (
    begun,
    changeable,
    check_place,
    entity_of,
    note_of,
    part_of,
    placed,
    scale_of,
    version_in,
)
from kube.status import (
    MODIFIED,
    ApiError,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    invalid,
    method_not_allowed,
    not_found,
    other_uid,
    timed_out,
)
from kube.strict import patch_refusal, unknown_fields

Change = Callable[[Manifest], Manifest]

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_NO_PROCESSES = "simulated containers run no processes"
_REFUSED = {
    "attach": _NO_PROCESSES,
    "ephemeralcontainers": _NO_PROCESSES,
    "exec": _NO_PROCESSES,
    "portforward": _NO_PROCESSES,
    "token": "a run issues no tokens; a client of it needs none",
}


_CREATED = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}


@dataclass(frozen=True, slots=True)
class Writer:
    """Creates and changes objects of a run for one request."""

    objects: RunObjects

    async def answer(self, target: Target) -> Response:
        """Do what the request says. Raises ApiError."""
        refused = _REFUSED.get(target.subresource)
        if refused:
            raise method_not_allowed(refused)
        if target.is_of_all_namespaces:
            raise method_not_allowed(
                "the server does not allow this method on the requested resource"
            )
        match self.objects.request.method, target.is_collection:
            case "POST", True:
                check_writer(self.objects.request)
                return await self._create(target)
            case "POST", False:
                return await self._create_part(target)
            case "PUT", False:
                check_writer(self.objects.request)
                return await self._replace(target)
            case "PATCH", False:
                return await self._patch(target)
            case "DELETE", False:
                return await Deleter(self.objects).delete(target)
            case "DELETE", True:
                return await Deleter(self.objects).delete_all(target)
            case _:
                raise method_not_allowed(
                    "the server does not allow this method on the requested resource"
                )

    # -- creating --------------------------------------------------------------------------------

    async def _create(self, target: Target) -> Response:
        resource = target.resource
        body = await object_of(self.objects.request, resource, self.objects.run.profile)
        manifest = placed(body, target)
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
        made = self.objects.fields(target).created
        metadata["managedFields"] = await self._computed(manifest, made, manifest)
        return await self._make(Target(resource, target.namespace, metadata["name"]), manifest)

    async def _make(self, named: Target, manifest: Manifest) -> Response:
        """Create the object *manifest*, which has its name and its managed fields."""
        resource = named.resource
        manifest = begun(manifest)
        if self.objects.is_tried:
            if await self.objects.find(named, named.name) is not None:
                raise already_exists(resource, named.name)
            return answered(self.objects.tried(resource, manifest), 201, self.objects.warnings())
        stored = self.objects.in_run_time(resource, manifest)
        place = (named.namespace, named.name)
        promise = Promise("object", 201, stored, self.objects.warnings(), places=(place,))
        return await self.objects.do({"verb": "create", "manifest": stored}, named, promise)

    async def _create_part(self, target: Target) -> Response:
        body = await body_of(self.objects.request, target.resource)
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
        pod = Target(PODS, target.namespace, name)
        if not self.objects.is_tried:
            named = {**command, "uid": uid} if uid else command
            return await self.objects.do(named, pod, Promise("whole", 201, _CREATED))
        if await self.objects.find(pod, name) is None:
            raise not_found(PODS, name)
        return answered(_CREATED, 201)

    async def _evict(self, target: Target, body: Manifest) -> Response:
        """Upstream: pkg/registry/core/pod/storage/eviction.go, Create()."""
        if part_of(body, "metadata").get("name") != target.name:
            raise bad_request("name in URL does not match name in Eviction object")
        options = DeleteOptions.of(part_of(body, "deleteOptions"))
        found = await self.objects.find(target, target.name)
        if found is None:
            raise not_found(target.resource, target.name)
        options.check(target, found)
        if self.objects.is_tried or options.is_trial:
            return answered(_CREATED, 201)
        command = {"verb": "evict", "object": entity_of(target), **options.command}
        return await self.objects.do(command, target, Promise("whole", 201, _CREATED))

    async def _note(self, resource: Resource, manifest: Manifest) -> Response:
        entity, note = note_of(manifest)
        event = {**manifest, "kind": "Event", "apiVersion": resource.api_version}
        if self.objects.is_tried:
            event["metadata"]["resourceVersion"] = str(self.objects.run.head_seq)
            return answered(event, 201)
        command = {"verb": "note", "object": entity, "patch": note}
        named = Target(resource, "", "")
        return await self.objects.do(command, named, Promise("event", 201, event))

    # -- changing --------------------------------------------------------------------------------

    async def _replace(self, target: Target) -> Response:
        if target.subresource == "scale":
            scale = await body_of(self.objects.request, target.resource)
            return await self._scale(target, lambda old: scale)
        request, profile = self.objects.request, self.objects.run.profile
        body = placed(await object_of(request, target.resource, profile), target)
        check_place(body, target)
        return await self._change(target, lambda old: body, version_in(body))

    async def _patch(self, target: Target) -> Response:
        kind, patch = await patch_of(self.objects.request)
        check_writer(self.objects.request, is_apply=kind == "apply")
        if kind == "json" and self.objects.hides and reads_values(patch):
            raise forbidden("copy, move and test read values that you are not shown")
        resource = target.resource
        if kind == "apply" and resource.kind != "Event":
            return await self._apply(target, patch)

        def patched(old: Manifest) -> Manifest:
            match kind:
                case "json":
                    return patching.json_patched(old, patch)
                case "merge":
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
            return self._checked(resource, patch, old, new) if isinstance(new, dict) else new

        return await self._change(target, checked, version_in(patch))

    def _checked(self, resource: Resource, patch: Any, old: Manifest, new: Manifest) -> Manifest:
        """*new* without fields that the run's version does not have. Raises ApiError."""
        request, profile = self.objects.request, self.objects.run.profile
        found = fields_of(resource, new, profile)
        if problem := decoding_problem(found):
            raise patch_refusal(patch, problem)
        if not found.unknown:
            return new
        before = fields_of(resource, old, profile)
        known = {one.path for one in before.unknown}
        added = replace(
            found, unknown=tuple(each for each in found.unknown if each.path not in known)
        )
        problems = unknown_fields(added)
        if problems and is_strict(request):
            raise patch_refusal(patch, f"strict decoding error: {', '.join(problems)}")
        if warns(request):
            warn(request, problems)
        return without(new, [one.path for one in added.unknown])

    async def _apply(self, target: Target, given: Any) -> Response:
        force = is_forced(self.objects.request)
        if target.subresource == "scale":
            scaled = scale_configuration(target, given)
            applying = self._applying(target, scaled, force)
            return await self._change(target, applying, is_apply=True)
        text = await self.objects.request.body()
        request = self.objects.request
        config = await self._computed(text, configuration_of, request, target, text, given)
        if not target.subresource and await self.objects.find(target, target.name) is None:
            applied = partial(self.objects.fields(target).applied, None, config, force=force)
            new = await self._computed(config, applied)
            return await self._make(target, placed(new, target))
        applying = self._applying(target, config, force)
        return await self._change(target, applying, version_in(config), is_apply=True)

    def _applying(self, target: Target, config: Manifest, force: bool) -> Change:
        return lambda old: self.objects.fields(target).applied(old, config, force=force)

    async def _change(
        self, target: Target, change: Change, version: str = "", *, is_apply: bool = False
    ) -> Response:
        """Write what *change* makes of the object; *version* is the one that the client names.

        Unless it names one, this is repeated until no other write comes between.
        Upstream: apiserver/pkg/storage/etcd3/store.go, GuaranteedUpdate().
        """
        give_up_at = monotonic() + engine_line.WAIT_SECONDS
        while monotonic() < give_up_at:
            found = await self.objects.find(target, target.name)
            if found is None:
                raise not_found(target.resource, target.name)
            old = self.objects.shown(target.resource, found)
            if version and version != old["metadata"]["resourceVersion"]:
                raise conflict(target.resource, target.name, MODIFIED)
            sizes = [old, await self.objects.request.body()]
            patch = await self._computed(sizes, self._patch_of, target, old, change, is_apply)
            if not patch or self.objects.is_tried:
                new = patching.merge_patched(old, patch)
                is_scale = target.subresource == "scale"
                return answered(scale_of(new) if is_scale else new, 200, self._warnings(target))
            verb = "resize" if target.subresource == "resize" else "patch"
            command = {
                "verb": verb,
                "object": entity_of(target),
                "patch": self.objects.in_run_time(target.resource, patch),
                "expect": found.seq,
            }
            changed = patching.merge_patched(found.manifest, command["patch"])
            form = "scale" if target.subresource == "scale" else "object"
            promise = Promise(form, 200, changed, self._warnings(target))
            try:
                return await self.objects.do(command, target, promise)
            except ApiError as error:
                if error.reason == "Conflict" and not version:
                    continue
                raise
        raise timed_out("request did not complete within the allotted timeout")

    def _warnings(self, target: Target) -> dict[str, str]:
        return {} if target.subresource == "scale" else self.objects.warnings()

    async def _computed(self, size_of: Any, function: Callable[..., Any], *given: Any) -> Any:
        return await computed(self.objects.request, size_of, function, *given)

    def _patch_of(self, target: Target, old: Manifest, change: Change, is_apply: bool) -> Manifest:
        """The merge patch that *change* comes to. Raises ApiError where it makes no object."""
        new = change(old)
        if not isinstance(new, dict) or not isinstance(new.get("metadata"), dict):
            raise bad_request("the patch leaves no object")
        check_place(new, target)
        if version_in(new) not in ("", old["metadata"]["resourceVersion"]):
            raise conflict(target.resource, target.name, MODIFIED)
        new = self._with_checked_metadata(target, old, new)
        # As a server does before it compares: what is absent, or written in another way, is no
        # change. Nor is what a run does not keep, such as a command.
        new = without_values(completed(target, old, new), target.resource.kind, keeps_copy=True)
        new = defaulted(target.resource, new)
        patch = changeable(patching.difference(old, new), target.subresource)
        patch = with_managers(self.objects.fields(target), patch, old, new, is_applied=is_apply)
        check_pod_update(target, old, patching.merge_patched(old, patch))
        return patch

    def _with_checked_metadata(self, target: Target, old: Manifest, new: Manifest) -> Manifest:
        """*new* with what no update changes of the metadata. Raises ApiError for other changes."""
        before, after = old["metadata"], new["metadata"]
        uid = after.get("uid")
        if uid and uid != before.get("uid"):
            if self.objects.request.method == "PUT" or target.subresource == "scale":
                raise other_uid(target.resource, target.name, uid, before.get("uid"))
            message = f'Invalid value: "{uid}": field is immutable'
            raise invalid(
                target.resource, target.name, [("FieldValueInvalid", message, "metadata.uid")]
            )
        metadata = with_deletion_kept(before, after)
        if faults := [*metadata_faults(before, metadata)]:
            raise invalid(target.resource, target.name, faults)
        return {**new, "metadata": metadata}

    async def _scale(self, target: Target, change: Change) -> Response:
        def scaled(old: Manifest) -> Manifest:
            scale = change(scale_of(old))
            wanted = part_of(scale, "spec").get("replicas", 0)
            if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted < 0:
                raise invalid(
                    target.resource,
                    target.name,
                    [("FieldValueInvalid", "must be greater than or equal to 0", "spec.replicas")],
                    "Scale",
                )
            # The fields of a Scale's metadata that name its object.
            given = part_of(scale, "metadata")
            named = {name: given.get(name) for name in ("name", "uid", "resourceVersion")}
            return {
                **old,
                "metadata": {**old["metadata"], **named},
                "spec": {**part_of(old, "spec"), "replicas": wanted},
            }

        return await self._change(target, scaled)


def _event_again(target: Target, patch: Any) -> Manifest:
    place = {"name": target.name, "namespace": target.namespace}
    kind = {"kind": "Event", "apiVersion": target.resource.api_version, "metadata": place}
    return {**(patch if isinstance(patch, dict) else {}), **kind}
