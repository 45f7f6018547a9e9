"""Answers to POST: a new object, a binding, an eviction, or an Event."""

import secrets
from dataclasses import dataclass

from starlette.responses import Response

from engine.api_server.admission import strategy
from engine.api_server.admission.permissions import OBJECT, custom_permission
from engine.api_server.custom.kinds import formed
from engine.input.cleaning import without_values
from engine.objects.objects import Manifest
from kube.addresses import Target
from kube.resources import PODS, Resource
from kube.server.answers import answered
from kube.server.objects import furniture
from kube.server.objects.kubernetes_events import completed, note_command
from kube.server.objects.secrets import (
    Sealing,
    check_data,
    data_of,
    is_secret,
    new_token,
    with_data,
    with_token,
)
from kube.server.writes.applying import check_writer
from kube.server.writes.bodies import body_of, object_of, part_of, warn_of_lack
from kube.server.writes.delete_options import DeleteOptions
from kube.server.writes.placing import placed
from kube.server.writes.policies import judged
from kube.server.writes.run_objects import Promise, RunObjects
from kube.status import (
    already_exists,
    bad_request,
    cause_of,
    invalid,
    method_not_allowed,
    not_found,
)

_SUFFIX = "bcdfghjklmnpqrstvwxz2456789"
_CREATED = {
    "kind": "Status",
    "apiVersion": "v1",
    "metadata": {},
    "status": "Success",
    "code": 201,
}


@dataclass(frozen=True, slots=True)
class Creator:
    """Creates objects of a run for one request."""

    objects: RunObjects

    async def create(self, target: Target) -> Response:
        """Create the object in the body. Raises ApiError."""
        check_writer(self.objects.request)
        resource = target.resource
        body = await object_of(self.objects.request, resource, self.objects.run.profile)
        manifest = placed(body, target)
        if resource.kind == "Binding":
            return await self._bind(target, manifest)
        if resource.kind == "Event":
            return await self._note(resource, manifest)
        metadata = manifest["metadata"]
        _name(resource, metadata)
        made = self.objects.fields(target).created
        metadata["managedFields"] = await self.objects.computed(manifest, made, manifest)
        return await self.make(Target(resource, target.namespace, metadata["name"]), manifest)

    async def make(self, named: Target, manifest: Manifest) -> Response:
        """Create the object *manifest*, which has its name and its managed fields."""
        resource = named.resource
        custom = resource.custom.definition if resource.custom else None
        if custom is None:
            manifest = await self.objects.marked(manifest)
        manifest = strategy.prepare_for_create(manifest, custom_permission(OBJECT, custom))
        if custom is not None and custom.is_terminating:
            raise method_not_allowed(
                "create not allowed while custom resource definition is terminating"
            )
        data: dict[str, str] | None = None
        if is_secret(resource):
            check_data(resource, manifest)
            data = data_of(manifest)
            manifest = with_data(manifest, data)
        is_looked_up = self.objects.is_tried or furniture.is_named(
            resource.kind, named.namespace, named.name
        )
        if is_looked_up and await self.objects.find(named, named.name) is not None:
            raise already_exists(resource, named.name)
        warn_of_lack(self.objects.request, resource, manifest)
        if self.objects.is_tried:
            check_custom(resource, named.name, manifest)
            tried = await judged(self.objects, named, None, self.objects.tried(resource, manifest))
            return answered(tried, 201, self.objects.warnings())
        if data is not None:
            token = new_token() if data else ""
            sealing = Sealing(resource, named.name, data, token)
            kept = with_token(manifest, token)
            return await self.objects.sealing(sealing, lambda: self._made(named, kept))
        return await self._made(named, manifest)

    async def _made(self, named: Target, manifest: Manifest) -> Response:
        resource = named.resource
        stored = self.objects.in_run_time(resource, manifest)
        place = (named.namespace, named.name)
        # With a key it is kept in the database, where no value is that the run does not have.
        is_kept = self.objects.held is not None
        wanted = (
            without_values(stored, resource.written_kind, keeps_copy=True) if is_kept else stored
        )
        promise = Promise("object", 201, wanted, self.objects.warnings(), places=(place,))
        command = {"verb": "create", "manifest": stored, "permission": OBJECT.name}
        return await self.objects.do(command, named, promise)

    async def create_part(self, target: Target) -> Response:
        """Create the subresource in the body. Raises ApiError."""
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
        command = {"verb": "evict", "object": target.entity, **options.command}
        return await self.objects.do(command, target, Promise("whole", 201, _CREATED))

    async def _note(self, resource: Resource, manifest: Manifest) -> Response:
        metadata = manifest["metadata"]
        _name(resource, metadata)
        named = Target(resource, metadata["namespace"], metadata["name"])
        check_event(named, manifest)
        bare = completed(resource, strategy.prepare_for_create(manifest, OBJECT))
        event = self.objects.tried(resource, bare)
        if await self.objects.find(named, named.name) is not None:
            raise already_exists(resource, named.name)
        if self.objects.is_tried:
            return answered(event, 201)
        command = note_command(self.objects.in_run_time(resource, event))
        return await self.objects.do(command, named, Promise("event", 201, event))


def _name(resource: Resource, metadata: Manifest) -> None:
    """Name the object as its generateName says, where it has no name. Raises ApiError."""
    if not metadata.get("name"):
        if not metadata.get("generateName"):
            message = "Required value: name or generateName is required"
            raise invalid(resource, "", [("FieldValueRequired", message, "metadata.name")])
        suffix = "".join(secrets.choice(_SUFFIX) for _ in range(5))
        metadata["name"] = f"{metadata['generateName']}{suffix}"
    if not isinstance(metadata["name"], str) or "/" in metadata["name"]:
        raise bad_request(f"metadata.name is no name: {metadata['name']!r}")


def check_custom(
    resource: Resource, name: str, manifest: Manifest, old: Manifest | None = None
) -> None:
    """Raises ApiError for an object of a custom kind that the engine would refuse by its schema.

    *old* is the object that it is to replace.
    """
    if resource.custom is not None:
        _, errors = formed(resource.custom.definition, manifest, old)
        if errors:
            raise invalid(resource, name, map(cause_of, errors))


def check_event(target: Target, manifest: Manifest) -> None:
    """Raises ApiError for an Event that a server would not keep.

    Upstream: pkg/apis/core/validation/events.go, legacyValidateEvent().
    """
    field = "regarding" if target.resource.group else "involvedObject"
    namespace = part_of(manifest, field).get("namespace") or ""
    if namespace and namespace != target.namespace:
        message = f'Invalid value: "{namespace}": does not match event.namespace'
        cause = ("FieldValueInvalid", message, "involvedObject.namespace")
        raise invalid(target.resource, target.name, [cause])
