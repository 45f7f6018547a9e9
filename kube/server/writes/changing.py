"""Answers to PUT and PATCH.

A patch is applied to the object as the client sees it, and what that changes goes to the engine as a
merge patch that names the version it was made from. If the object has been written since, the same
is done again with the newer version, as an API server does, unless the client named a version.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from time import monotonic
from typing import Any

from starlette.responses import Response

from engine.api_server.admission import strategy
from engine.api_server.admission.permissions import custom_permission, permission_at
from engine.api_server.validation.manifests import check_stored
from engine.api_server.validation.report import Report
from engine.input.cleaning import without_nulls, without_values
from engine.objects.objects import Manifest
from engine.objects.openapi.fields import without
from engine.objects.scripts.script import Script
from kscope.runs.hidden_values import reads_values
from kube import patching
from kube.addresses import Target
from kube.decoding import decoding_problem, fields_of
from kube.defaults import defaulted, stored_form
from kube.openapi.operations import patches_of
from kube.resources import AUTOSCALING_V1, PODS, Resource
from kube.server.answers import answered
from kube.server.objects.kubernetes_events import completed, note_command
from kube.server.objects.secrets import (
    Sealing,
    check_data,
    check_immutable,
    data_of,
    is_secret,
    new_token,
    token_of,
    with_data,
    with_token,
)
from kube.server.writes import engine_line
from kube.server.writes.applying import check_writer, configuration_of, is_forced, with_managers
from kube.server.writes.bodies import (
    body_of,
    is_strict,
    object_of,
    patch_of,
    warn,
    warn_of_lack,
    warns,
)
from kube.server.writes.creating import Creator, check_custom, check_event
from kube.server.writes.placing import check_place, placed, version_in
from kube.server.writes.policies import judged
from kube.server.writes.run_objects import Promise, RunObjects
from kube.server.writes.scaling import scale_configuration, scale_of, with_scale
from kube.status import (
    MODIFIED,
    ApiError,
    bad_request,
    cause_of,
    conflict,
    forbidden,
    invalid,
    not_found,
    other_uid,
    timed_out,
    unsupported_media_type,
)
from kube.strict import patch_refusal, unknown_fields

Change = Callable[[Manifest], Manifest]


@dataclass(frozen=True, slots=True)
class Changer:
    """Changes objects of a run for one request."""

    objects: RunObjects

    async def replace(self, target: Target) -> Response:
        """Put the object in the body in the place of what is there. Raises ApiError."""
        check_writer(self.objects.request)
        if target.subresource == "scale":
            scale = await body_of(self.objects.request, target.resource)
            return await self._change(target, lambda old: with_scale(target, old, scale))
        request, profile = self.objects.request, self.objects.run.profile
        body = placed(await object_of(request, target.resource, profile), target)
        check_place(body, target)
        if target.resource.kind == "Event":
            return await self._change_event(target, lambda old: body, version_in(body))
        return await self._change(target, lambda old: body, version_in(body))

    async def patch(self, target: Target) -> Response:
        """Change the object as the patch in the body says. Raises ApiError."""
        kind, patch = await patch_of(self.objects.request)
        check_writer(self.objects.request, is_apply=kind == "apply")
        if kind == "json" and self.objects.hides and reads_values(patch):
            raise forbidden("copy, move and test read values that you are not shown")
        resource = target.resource
        if kind == "strategic" and resource.custom is not None:
            raise unsupported_media_type(patches_of(resource))
        if kind == "apply" and resource.kind != "Event":
            is_custom = resource.custom is not None
            return await self._apply(
                target, patch if is_custom else await self.objects.marked(patch)
            )

        def patched(old: Manifest) -> Manifest:
            match kind:
                case "json":
                    return patching.json_patched(old, patch)
                case "merge" | "apply":
                    return patching.merge_patched(old, patch)
                case _:
                    return patching.strategic_patched(resource, old, patch)

        if resource.kind == "Event":
            return await self._change_event(target, patched, version_in(patch))
        if target.subresource == "scale":
            return await self._change(
                target, lambda old: with_scale(target, old, patched(scale_of(old, resource)))
            )

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

    async def _change_event(self, target: Target, change: Change, version: str) -> Response:
        """Keep an Event as *change* leaves it; the history has it as another one of the same name."""
        resource = target.resource
        found = await self.objects.find(target, target.name)
        if found is None:
            raise not_found(resource, target.name)
        old = self.objects.shown(resource, found)
        if version and version != old["metadata"]["resourceVersion"]:
            raise conflict(resource, target.name, MODIFIED)
        changed = placed(change(old), target)
        check_place(changed, target)
        check_event(target, changed)
        kept = {name: old["metadata"][name] for name in ("uid", "creationTimestamp")}
        new = completed(resource, {**changed, "metadata": {**changed["metadata"], **kept}})
        if new == old or self.objects.is_tried:
            return answered(new, 200, self.objects.warnings())
        command = note_command(self.objects.in_run_time(resource, new))
        return await self.objects.do(command, target, Promise("event", 200, new))

    async def _apply(self, target: Target, given: Any) -> Response:
        force = is_forced(self.objects.request)
        if target.subresource == "scale":
            scaled = scale_configuration(target, given)
            applying = self._applying(target, scaled, force)
            return await self._change(target, applying, is_apply=True)
        text = await self.objects.request.body()
        request = self.objects.request
        config = await self.objects.computed(text, configuration_of, request, target, text, given)
        if not target.subresource and await self.objects.find(target, target.name) is None:
            applied = partial(self.objects.fields(target).applied, None, config, force=force)
            new = await self.objects.computed(config, applied)
            return await Creator(self.objects).make(target, placed(new, target))
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
            found = await self.objects.stored(target)
            if found is None:
                raise not_found(target.resource, target.name)
            old = await self.objects.opened(target.resource, found)
            if version and version != old["metadata"]["resourceVersion"]:
                raise conflict(target.resource, target.name, MODIFIED)
            sizes = [old, await self.objects.request.body()]
            scripts = await self.objects.engine.scripts()
            patch = await self.objects.computed(
                sizes, self._patch_of, target, old, change, scripts, is_apply
            )
            sealing: Sealing | None = None
            whole = patching.merge_patched(stored_form(target.resource, old), patch)
            warn_of_lack(self.objects.request, target.resource, whole)
            if is_secret(target.resource):
                patch, sealing = _kept_of_secret(target, found.manifest, old, whole, patch)
            if not patch or self.objects.is_tried:
                new = defaulted(target.resource, whole)
                await self.objects.computed(sizes, _check_tried, target, old, new)
                if patch:
                    new = await judged(self.objects, target, old, new) or new
                is_scale = target.subresource == "scale"
                content = scale_of(new, target.resource) if is_scale else new
                return answered(content, 200, self._warnings(target))
            verb = "resize" if target.subresource == "resize" else "patch"
            command = {
                "verb": verb,
                "object": target.entity,
                "patch": self.objects.in_run_time(target.resource, patch),
                "expect": found.seq,
                "permission": permission_at(target.subresource).name,
            }
            changed = patching.merge_patched(found.manifest, command["patch"])
            form = "scale" if target.subresource == "scale" else "object"
            promise = Promise(form, 200, changed, self._warnings(target))
            write = partial(self.objects.do, command, target, promise)
            try:
                return await self.objects.sealing(sealing, write)
            except ApiError as error:
                if error.reason == "Conflict" and not version:
                    continue
                raise
        raise timed_out("request did not complete within the allotted timeout")

    def _warnings(self, target: Target) -> dict[str, str]:
        return {} if target.subresource == "scale" else self.objects.warnings()

    def _patch_of(
        self,
        target: Target,
        old: Manifest,
        change: Change,
        scripts: Sequence[Script],
        is_apply: bool,
    ) -> Manifest:
        """The merge patch that *change* comes to. Raises ApiError where it makes no object."""
        new = change(old)
        if target.resource.custom is None:
            new = self.objects.marked_by(scripts, new)
        if not isinstance(new, dict) or not isinstance(new.get("metadata"), dict):
            raise bad_request("the patch leaves no object")
        check_place(new, target)
        if version_in(new) not in ("", old["metadata"]["resourceVersion"]):
            raise conflict(target.resource, target.name, MODIFIED)
        new = self._with_checked_metadata(target, old, new)
        # As a server does before it compares: what is absent, or written in another way, is no
        # change. Nor is what a run does not keep, such as a command.
        resource, permission = target.resource, permission_at(target.subresource)
        if resource.custom is not None:
            permission = custom_permission(permission, resource.custom.definition)
        new = strategy.admitted(old, new, permission)
        kept = without_values(new, resource.written_kind, keeps_copy=True)
        new = defaulted(resource, with_data(kept, data_of(new)) if is_secret(resource) else kept)
        patch = strategy.permitted(resource.kind, patching.difference(old, new), permission)
        fields = self.objects.fields(target)
        patch = with_managers(fields, patch, old, new, is_applied=is_apply)
        if resource.api_version != AUTOSCALING_V1:
            return patch
        whole = stored_form(resource, patching.merge_patched(old, patch))
        return patching.difference(stored_form(resource, old), whole)

    def _with_checked_metadata(self, target: Target, old: Manifest, new: Manifest) -> Manifest:
        """*new* with what no update changes of the metadata. Raises ApiError for other changes."""
        given, uid = new["metadata"].get("uid"), old["metadata"].get("uid")
        is_whole = self.objects.request.method == "PUT" or target.subresource == "scale"
        if is_whole and given and given != uid:
            raise other_uid(target.resource, target.name, given, uid)
        new = strategy.prepare_for_update(old, new)
        if faults := strategy.update_faults(old, new, permission_at(target.subresource)):
            raise invalid(target.resource, target.name, faults)
        return new


def _kept_of_secret(
    target: Target, stored: Manifest, old: Manifest, new: Manifest, patch: Manifest
) -> tuple[Manifest, Sealing | None]:
    """The patch that the run keeps, without data, and the data where they change.

    Of a Secret *stored* clients have seen *old*, of which *patch* makes *new*. Raises ApiError.
    """
    data, token = data_of(new), token_of(stored)
    is_changed = data != data_of(old)
    if is_changed:
        check_data(target.resource, new)
    check_immutable(target.resource, target.name, old, is_changed)
    wanted = (new_token() if data else "") if is_changed else token
    kept = {name: part for name, part in patch.items() if name not in ("data", "stringData")}
    before, after = (
        one["metadata"].get("annotations") or {}
        for one in (with_token(old, token), with_token(new, wanted))
    )
    metadata = {
        name: part
        for name, part in (kept.pop("metadata", None) or {}).items()
        if name != "annotations"
    }
    if notes := patching.difference(before, after):
        metadata["annotations"] = notes
    kept = {**kept, "metadata": metadata} if metadata else kept
    sealing = Sealing(target.resource, target.name, data, wanted) if is_changed else None
    return kept, sealing


def _check_tried(target: Target, old: Manifest, new: Manifest) -> None:
    """Raises ApiError where the engine would refuse to make *new* of the pod *old*.

    It has the same rules, and also looks at what is not asked when nothing is to be written.
    """
    if target.resource.custom is not None:
        check_custom(target.resource, target.name, new, old)
        return
    report = Report()
    check_stored(new, (), report)
    if target.resource != PODS or report.problems:
        return
    permission = permission_at(target.subresource)
    if errors := strategy.pod_errors(old, without_nulls(new), permission):
        raise invalid(target.resource, target.name, map(cause_of, errors))
