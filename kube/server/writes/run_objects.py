"""The objects of a run, as one request that writes reads them and has them written."""

import asyncio
import uuid
from base64 import b64decode, b64encode
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal, cast

from starlette.requests import Request
from starlette.responses import Response

from engine.api_server.policies.told import warnings_in
from engine.input.header.command_marks import with_command_marks
from engine.input.header.job_marks import with_job_mark
from engine.kernel.units import SECOND, timestamp
from engine.objects.objects import Manifest
from engine.objects.scripts.script import Script
from engine.versions.registry import VERSIONS
from kscope.runs.nudges import Outcome
from kscope.runs.served.commands import left_by
from kscope.runs.served.links import SnapshotLinks
from kscope.runs.served.runs import Run
from kscope.runs.served.sealing import opened, sealed
from kscope.runs.served.versions import Version
from kscope.runs.write_keys import Held
from kube.addresses import Target
from kube.apply import ObjectFields
from kube.resources import Resource
from kube.server.answers import answered
from kube.server.clock import warning_of
from kube.server.handover import Handover, NotStored, Pledge
from kube.server.objects import leases
from kube.server.objects.hosts import NO_HOSTS, Hosts
from kube.server.objects.instants import Newest
from kube.server.objects.secrets import Sealing, Secrets, is_secret
from kube.server.reading import shift_of, shown
from kube.server.writes.applying import fields_for
from kube.server.writes.bodies import problems_of
from kube.server.writes.delete_options import is_trial
from kube.server.writes.engine_line import EngineLine, refusal_of
from kube.server.writes.heavy import computed
from kube.server.writes.scaling import scale_of
from kube.status import ApiError
from kube.timestamps import shifted, timestamps_of

# A header has its limits. Upstream: apiserver/pkg/endpoints/filters/warning.go.
_MOST_WARNINGS = 10
# What the promise of an answer with the data of Secrets is stored under (ADR 0054).
_SEALED = "sealed"
# The engine has not answered in time.
_MAY_BE_DONE = 504


@dataclass(frozen=True, slots=True)
class Promise:
    """What is answered once the commands of a request are carried out.

    `content` is what an "object", or the workload of a "scale", becomes, by the clock of the run;
    what is answered where no object with `uid` is "left"; the "event" but for its version; or the
    whole answer. It is stored with the commands of a request that has a key: whoever answers it
    after a crash need not know the request.
    """

    form: Literal["object", "scale", "left", "event", "whole"]
    status: int
    content: Manifest
    headers: dict[str, str] = field(default_factory=dict[str, str])
    uid: str = ""
    places: Sequence[Sequence[str]] = ()
    """Namespace and name of each object that is written, where the address does not say it."""

    def kept(self, held: Held, targets: Sequence[Target]) -> Manifest:
        """To be stored with the key; sealed where it is about Secrets."""
        told = asdict(self)
        if not any(is_secret(one.resource) for one in targets):
            return told
        return {_SEALED: b64encode(sealed(told, held.name)).decode()}

    @classmethod
    def of(cls, kept: Manifest, held: Held) -> "Promise":
        """The promise that is stored with the key. Raises OtherKey."""
        text = kept.get(_SEALED)
        return cls(**(kept if text is None else opened(b64decode(text), held.name)))


@dataclass(frozen=True, slots=True)
class RunObjects:
    """Finds objects of a run for one request, and has its engine write them."""

    request: Request
    run: Run
    engine: EngineLine
    now: Newest
    handover: Handover
    secrets: Secrets
    held: Held | None = None
    """What a request with a key holds; None without one."""
    hides: bool = False
    """Whether the client is not shown what may be secret; see `kscope/runs/hidden_values.py`."""
    hosts: Hosts = NO_HOSTS
    """The addresses of nodes by their names."""

    @property
    def is_tried(self) -> bool:
        """Whether nothing is to be written. Raises ApiError."""
        return is_trial(self.request.query_params.getlist("dryRun"))

    @property
    def links(self) -> SnapshotLinks:
        """Connections to read from."""
        return self.now.links

    async def do(self, command: Manifest, target: Target, promise: Promise) -> Response:
        """Have the engine carry a command out, and answer as promised. Raises ApiError."""
        return await self.do_all([command], [target], promise)

    async def do_all(
        self, commands: Sequence[Manifest], targets: Sequence[Target], promise: Promise
    ) -> Response:
        """The same for several, which are stored together; who finds nothing to do has done it."""
        pledge: Pledge | None = None
        if self.held is not None:
            kept = await asyncio.to_thread(promise.kept, self.held, targets)
            pledge = Pledge(self.held, kept)
        # The command names the written object; an Event may be about anything.
        is_note = bool(commands) and commands[0]["verb"] == "note"
        named = targets[0] if len(targets) == 1 and not is_note else None
        outcomes: list[Outcome] = []
        if commands:
            with self.handover.command():
                outcomes = await self._carried_out(commands, named, pledge)
                if not any(one.is_applied for one in outcomes):
                    check_outcomes(outcomes, targets, as_not_stored=True)
        return await self.as_promised(promise, targets, outcomes)

    async def _carried_out(
        self, commands: Sequence[Manifest], target: Target | None, pledge: Pledge | None
    ) -> list[Outcome]:
        """A Lease that is no part of the run is written at once."""
        if target is not None and target.resource.kind == leases.KIND:
            place = (target.resource, target.namespace, target.name)
            if await self.now.in_run(self.run.pk, *place) is None:
                return [await leases.carry_out(self.links, self.run, commands[0], target, pledge)]
        return await self.engine.carry_out(self.run, commands, target, pledge)

    async def as_promised(
        self, promise: Promise, targets: Sequence[Target], outcomes: Sequence[Outcome]
    ) -> Response:
        """The answer to a write whose commands are carried out. Raises ApiError."""
        check_outcomes(outcomes, targets)
        content = promise.content
        match promise.form:
            case "object" | "scale":
                new = await self._written(targets[0], outcomes[0], content)
                content = scale_of(new, targets[0].resource) if promise.form == "scale" else new
            case "left":
                left = await self._left(targets[0], outcomes[0])
                if left is not None and left.uid == promise.uid:
                    content = await self.opened(targets[0].resource, left)
            case "event":
                version = {"resourceVersion": str(outcomes[0].seq)}
                content = {**content, "metadata": {**content["metadata"], **version}}
            case _:
                pass
        return answered(content, promise.status, _with_warnings(promise.headers, outcomes))

    async def sealing(
        self, one: Sealing | None, write: Callable[[], Awaitable[Response]]
    ) -> Response:
        """What *write* answers, once the data of its Secret are sealed. Raises ApiError."""
        if one is None or not one.token:
            return await write()
        await self.secrets.keep(one)
        try:
            return await write()
        except ApiError as error:
            if error.code != _MAY_BE_DONE:
                await self.secrets.forget(one.token)
            raise

    async def find(self, target: Target, name: str) -> Version | None:
        """One object as the run has it, or None."""
        return await self.now.find(self.run.pk, target.resource, target.namespace, name)

    async def stored(self, target: Target) -> Version | None:
        """The object, as one of the run: what every cluster has is stored before it is changed."""
        found = await self.find(target, target.name)
        if found is None or not found.is_implied or self.is_tried:
            return found
        command = {"verb": "create", "manifest": found.manifest}
        outcomes = await self._carried_out([command], target, None)
        if not any(one.is_applied for one in outcomes):
            check_outcomes(outcomes, [target])
        return await self.find(target, target.name)

    async def _left(self, target: Target, outcome: Outcome) -> Version | None:
        """The object as a command has left it; None if it is gone."""
        left = outcome.left or await self._recorded(outcome.command)
        if left is not None:
            seq, created, manifest = left
            return Version(seq, manifest, created)
        found = await self.find(target, target.name)
        if found is None or not outcome.command or found.created <= outcome.seq:
            return found
        return None  # the object is gone, and another has its name now

    async def _recorded(self, command: int) -> Sequence[Any] | None:
        """What the database knows that a command has left; the message of a slice may be lost."""
        async with self.links.link() as link:
            return await left_by(link, command)

    async def _written(self, target: Target, outcome: Outcome, wanted: Manifest) -> Manifest:
        """The object as the API shows it after a write that makes *wanted* of it, in run time.

        The write may have taken the last finalizer away, and the object with it. Upstream:
        apiserver/pkg/registry/generic/registry/store.go, deleteWithoutFinalizers().
        """
        found = await self._left(target, outcome) or Version(outcome.seq, wanted)
        return await self.opened(target.resource, found)

    def tried(self, resource: Resource, manifest: Manifest) -> Manifest:
        """A new object as the API shows it when nothing is written: it has no version."""
        made = {"uid": str(uuid.uuid4()), "creationTimestamp": timestamp(self._at)}
        found = shown(resource, Version(0, manifest))
        metadata = {**found["metadata"], **made}
        del metadata["resourceVersion"]
        return {**found, "metadata": metadata}

    async def opened(self, resource: Resource, version: Version) -> Manifest:
        """An object of the run as the API shows it, a Secret with its data."""
        (found,) = await self.all_opened(resource, [version])
        return found

    async def all_opened(self, resource: Resource, versions: Sequence[Version]) -> list[Manifest]:
        """The same of several."""
        found = await self.secrets.shown(resource, versions)
        await self.hosts.reach(max((one.seq for one in found), default=0))
        return [self.shown(resource, one) for one in found]

    def shown(self, resource: Resource, version: Version) -> Manifest:
        """An object of the run as the API shows it, a Secret without its data."""
        return shown(resource, version, shift_of(self.run), self.hosts)

    def in_run_time(self, resource: Resource, content: Manifest) -> Manifest:
        """An object or a patch of a client, by the clock of the run."""
        return shifted(timestamps_of(resource), content, -shift_of(self.run))

    async def computed(self, size_of: Any, function: Callable[..., Any], *given: Any) -> Any:
        """What *function* makes of *given*, in a thread where *size_of* is large."""
        return await computed(self.request, size_of, function, *given)

    async def marked(self, given: Any) -> Any:
        """What a client has written, with marks at commands that the run's scenario scripts.

        And at Jobs that the controller of the run's version tracks only then.
        """
        return self.marked_by(await self.engine.scripts(), given)

    def marked_by(self, scripts: Sequence[Script], given: Any) -> Any:
        """The same, where the scripts have been read."""
        given = with_command_marks(given, scripts)
        if isinstance(given, dict) and VERSIONS[self.run.profile].workloads.tracks_marked_jobs:
            return with_job_mark(given, str(cast("Manifest", given).get("kind")))
        return given

    def fields(self, target: Target) -> ObjectFields:
        """The managed fields of the object at *target*, for this request."""
        return fields_for(self.request, target, self._at)

    @property
    def _at(self) -> int:
        """Now, by the clock of clients."""
        return self.run.clock + shift_of(self.run) * SECOND

    def warnings(self) -> dict[str, str]:
        """What a client prints beside the answer."""
        texts = problems_of(self.request)[:_MOST_WARNINGS]
        return warning_header(texts)


def check_outcomes(
    outcomes: Sequence[Outcome], targets: Sequence[Target], *, as_not_stored: bool = False
) -> None:
    """Raises the ApiError of the first command that the engine refused.

    One of several deletions that finds nothing counts as done. Upstream:
    apiserver/pkg/registry/generic/registry/store.go, DeleteCollection().
    """
    for number, outcome in enumerate(outcomes):
        is_gone = len(outcomes) > 1 and outcome.reason.startswith("NotFound: ")
        if not outcome.is_applied and not is_gone:
            error = refusal_of(outcome.reason, targets[number] if targets else None)
            if as_not_stored:
                raise NotStored from error
            raise error


def _with_warnings(headers: Mapping[str, str], outcomes: Iterable[Outcome]) -> dict[str, str]:
    """The headers with what admission policies warn of, of the commands of the answer."""
    told = (line for one in outcomes if one.is_applied for line in one.reason.splitlines())
    texts = [*warnings_in(told)]
    warned = [headers.get("Warning", ""), *warning_header(texts[:_MOST_WARNINGS]).values()]
    return {**headers, "Warning": ", ".join(filter(None, warned))} if texts else {**headers}


def warning_header(texts: Iterable[str]) -> dict[str, str]:
    """The header of an answer that has each of *texts* printed beside it."""
    found = ", ".join(map(warning_of, texts))
    return {"Warning": found} if found else {}
