"""The options of a deletion, which clients send in a body or in the query.

Upstream: metav1.DeleteOptions; apimachinery/pkg/apis/meta/v1/validation, ValidateDeleteOptions().
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request

from engine.objects.objects import Manifest
from kscope.runs.served.versions import Version
from kube.addresses import Target
from kube.server.writes.bodies import body_of, part_of
from kube.status import MODIFIED, bad_request, conflict, other_uid

_IN_QUERY = ("gracePeriodSeconds", "propagationPolicy", "orphanDependents")
_BOOLEANS = {"true": True, "1": True, "false": False, "0": False}


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How objects are to be deleted; of a *trial*, nothing is written."""

    is_trial: bool = False
    command: Manifest = field(default_factory=dict[str, Any])
    """What a command to delete, or to evict, has besides its verb and its object."""

    @classmethod
    async def of_request(cls, request: Request, target: Target) -> "DeleteOptions":
        """Those of a DELETE: of the body, or else of the query. Raises ApiError.

        Upstream: apiserver/pkg/endpoints/handlers/delete.go, DeleteResource().
        """
        if await request.body():
            return cls.of(await body_of(request, target.resource))
        query = request.query_params
        given: Manifest = {name: query[name] for name in _IN_QUERY if name in query}
        if "orphanDependents" in given:
            given["orphanDependents"] = _BOOLEANS.get(given["orphanDependents"].lower())
        return cls.of({**given, "dryRun": query.getlist("dryRun")})

    @classmethod
    def of(cls, options: Mapping[str, Any]) -> "DeleteOptions":
        """Those of a body. Raises ApiError."""
        command: Manifest = {}
        grace = options.get("gracePeriodSeconds")
        if grace is not None:
            if not str(grace).isdecimal():
                raise bad_request(f"invalid gracePeriodSeconds {grace!r}")
            command["grace_seconds"] = int(str(grace)[:12])
        if propagation := _propagation_of(options):
            command["propagation"] = propagation
        preconditions = part_of(options, "preconditions")
        if preconditions.get("uid"):
            command["uid"] = preconditions["uid"]
        if preconditions.get("resourceVersion"):
            command["expect"] = _seq_of(preconditions["resourceVersion"])
        return cls(is_trial(options.get("dryRun")), command)

    def check(self, target: Target, found: Version) -> None:
        """Raises ApiError where the object is another one than the client believes.

        The engine looks again when it carries the command out.
        """
        wanted, uid = self.command.get("uid"), found.uid
        if wanted is not None and wanted != uid:
            raise other_uid(target.resource, target.name, wanted, uid)
        if self.command.get("expect", found.seq) != found.seq:
            raise conflict(target.resource, target.name, MODIFIED)


def is_trial(dry_run: Any) -> bool:
    """Whether the option dryRun says that nothing is to be written. Raises ApiError."""
    if dry_run is None:
        return False
    if not isinstance(dry_run, Iterable) or isinstance(dry_run, (str, Mapping)):
        raise bad_request("dryRun must be a list")
    stages = [*dry_run]
    for one in stages:
        if one != "All":
            raise bad_request(f"Unsupported value: {one!r}: supported values: 'All'")
    return bool(stages)


def _propagation_of(options: Mapping[str, Any]) -> str:
    """What becomes of the dependents; "" where the client leaves it to the server.

    Upstream: apiserver/pkg/registry/generic/registry/store.go, shouldOrphanDependents() and
    shouldDeleteDependents().
    """
    policy, orphans = options.get("propagationPolicy"), options.get("orphanDependents")
    if policy and orphans is not None:
        raise bad_request("orphanDependents and deletionPropagation cannot be both set")
    if orphans is not None:
        return "Orphan" if orphans else "Background"
    return str(policy or "")


def _seq_of(version: Any) -> int:
    text = str(version)
    if not text.isdecimal() or len(text) > 18:
        raise bad_request(f"invalid resource version {text!r}")
    return int(text)
