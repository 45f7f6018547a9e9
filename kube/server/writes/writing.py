"""Answers to writes: each is a command to the run's engine, or several."""

from collections.abc import Callable
from dataclasses import dataclass

from starlette.responses import Response

from engine.objects.objects import Manifest, Pod
from kscope.runs.served.runs import Run
from kube.addresses import Target
from kube.server.containers.commands import (
    NO_PROCESSES,
    NO_UPGRADE,
    container_for,
    refused_upgrade,
)
from kube.server.handover import Handover
from kube.server.objects.instants import Newest, now
from kube.server.writes.changing import Changer
from kube.server.writes.creating import Creator
from kube.server.writes.deleting import Deleter
from kube.server.writes.engine_line import EngineLine, refusal_of
from kube.server.writes.policies import check_connection
from kube.server.writes.run_objects import RunObjects
from kube.status import MODIFIED, conflict, method_not_allowed, not_found

# By the part of an object, why it is not served.
REFUSED_PARTS = {
    "attach": NO_PROCESSES,
    "ephemeralcontainers": NO_PROCESSES,
    "portforward": NO_PROCESSES,
    "token": "a run issues no tokens; a client of it needs none",
}

# By which clients connect to containers.
CONNECTED_PARTS = ("attach", "exec", "portforward")
_MOST_TRIES = 5


@dataclass(frozen=True, slots=True)
class Writer:
    """Creates and changes objects of a run for one request."""

    objects: RunObjects

    async def answer(self, target: Target) -> Response:
        """Do what the request says. Raises ApiError."""
        if target.subresource in CONNECTED_PARTS and self.objects.request.method == "POST":
            async with now(self.objects.links, self.objects.run.pk) as instant:
                scripts = await self.objects.engine.scripts()
                await check_connection(self.objects.request, instant, target, scripts)
        if target.subresource == "exec":
            return await self._refused_command(target)
        refused = REFUSED_PARTS.get(target.subresource)
        if refused:
            raise method_not_allowed(refused)
        if target.is_of_all_namespaces or target.subresource == "proxy":
            raise method_not_allowed(
                "the server does not allow this method on the requested resource"
            )
        match self.objects.request.method, target.is_collection:
            case "POST", True:
                return await Creator(self.objects).create(target)
            case "POST", False:
                return await Creator(self.objects).create_part(target)
            case "PUT", False:
                return await Changer(self.objects).replace(target)
            case "PATCH", False:
                return await Changer(self.objects).patch(target)
            case "DELETE", False:
                return await Deleter(self.objects).delete(target)
            case "DELETE", True:
                return await Deleter(self.objects).delete_all(target)
            case _:
                raise method_not_allowed(
                    "the server does not allow this method on the requested resource"
                )

    async def _refused_command(self, target: Target) -> Response:
        """Why a command is not answered to a POST, by which clients ask for SPDY. Raises ApiError."""
        objects = self.objects
        found = await objects.now.find(
            objects.run.pk, target.resource, target.namespace, target.name
        )
        if found is None:
            raise not_found(target.resource, target.name)
        query, scripts = objects.request.query_params, await objects.engine.scripts()
        container_for(Pod(found.manifest), query, scripts)
        if "upgrade" not in objects.request.headers:
            raise NO_UPGRADE
        return refused_upgrade(objects.request)


async def pod_told(
    line: EngineLine, run: Run, newest: Newest, target: Target, patch_of: Callable[[Pod], Manifest]
) -> None:
    """Write what a command in a container has done to its pod, as the pod is now. Raises ApiError."""
    for _ in range(_MOST_TRIES):
        found = await newest.find(run.pk, target.resource, target.namespace, target.name)
        if found is None:
            raise not_found(target.resource, target.name)
        patch = patch_of(Pod(found.manifest))
        command = {"verb": "patch", "object": target.entity, "patch": patch, "expect": found.seq}
        with Handover("exec").command():
            (outcome,) = await line.carry_out(run, [command], target)
        if outcome.is_applied:
            return
        error = refusal_of(outcome.reason, target)
        if error.reason != "Conflict":
            raise error
    raise conflict(target.resource, target.name, MODIFIED)
