"""The objects of a run, as one request that writes reads them and has them written."""

import json
import uuid
from dataclasses import dataclass

from starlette.requests import Request

from kscope.runs.engine import Manifest
from kscope.runs.models import Run
from kscope.runs.nudges import Outcome
from kscope.sim.kernel.units import SECOND, timestamp
from kube.addresses import Target
from kube.apply import ObjectFields
from kube.resources import Resource
from kube.server.objects import leases
from kube.server.objects.instants import Newest
from kube.server.objects.links import SnapshotLinks
from kube.server.objects.versions import Version
from kube.server.reading import shift_of, shown
from kube.server.writes.applying import fields_for
from kube.server.writes.bodies import problems_of
from kube.server.writes.delete_options import is_trial
from kube.server.writes.engine_line import EngineLine
from kube.timestamps import shifted, timestamps_of

# A header has its limits. Upstream: apiserver/pkg/endpoints/filters/warning.go.
_MOST_WARNINGS = 10
_LONGEST_WARNING = 256


@dataclass(frozen=True, slots=True)
class RunObjects:
    """Finds objects of a run for one request, and has its engine write them."""

    request: Request
    run: Run
    engine: EngineLine
    now: Newest
    hides: bool = False
    """Whether the client is not shown what may be secret; see `kscope/runs/hidden_values.py`."""

    @property
    def is_tried(self) -> bool:
        """Whether nothing is to be written. Raises ApiError."""
        return is_trial(self.request.query_params.getlist("dryRun"))

    @property
    def links(self) -> SnapshotLinks:
        """Connections to read from."""
        return self.now.links

    async def carry_out(self, command: Manifest, target: Target | None) -> Outcome:
        """Have the engine do it; returns what came of it. Raises ApiError.

        A Lease that is no part of the run is written at once.
        """
        if target is not None and target.resource.kind == leases.KIND:
            place = (target.resource, target.namespace, target.name)
            if await self.now.in_run(self.run.pk, *place) is None:
                version = await leases.carry_out(self.links, self.run, command, target)
                return Outcome(0, True, "", version)
        return await self.engine.carry_out(self.run, command, target)

    async def find(self, target: Target, name: str) -> Version | None:
        """One object as the run has it, or None."""
        return await self.now.find(self.run.pk, target.resource, target.namespace, name)

    async def left(self, target: Target, outcome: Outcome) -> Version | None:
        """The object as a command has left it, or as it is now; None if it is gone."""
        if outcome.left is None:
            return await self.find(target, target.name)
        seq, created, manifest = outcome.left
        return Version(seq, manifest, created)

    async def written(self, target: Target, outcome: Outcome, wanted: Manifest) -> Manifest:
        """The object as the API shows it after a write that makes *wanted* of it, in run time.

        The write may have taken the last finalizer away, and the object with it. Upstream:
        apiserver/pkg/registry/generic/registry/store.go, deleteWithoutFinalizers().
        """
        found = await self.left(target, outcome) or Version(outcome.seq, wanted)
        return self.shown(target.resource, found)

    def tried(self, resource: Resource, manifest: Manifest) -> Manifest:
        """A new object as the API shows it when nothing is written: it has no version."""
        made = {"uid": str(uuid.uuid4()), "creationTimestamp": timestamp(self._at)}
        found = shown(resource, Version(0, manifest))
        metadata = {**found["metadata"], **made}
        del metadata["resourceVersion"]
        return {**found, "metadata": metadata}

    def shown(self, resource: Resource, version: Version) -> Manifest:
        """An object of the run as the API shows it."""
        return shown(resource, version, shift_of(self.run))

    def in_run_time(self, resource: Resource, content: Manifest) -> Manifest:
        """An object or a patch of a client, by the clock of the run."""
        return shifted(timestamps_of(resource), content, -shift_of(self.run))

    def fields(self, target: Target) -> ObjectFields:
        """The managed fields of the object at *target*, for this request."""
        return fields_for(self.request, target, self._at)

    @property
    def _at(self) -> int:
        """Now, by the clock of clients."""
        return self.run.head_at + shift_of(self.run) * SECOND

    def warnings(self) -> dict[str, str]:
        """What a client prints beside the answer."""
        texts = problems_of(self.request)[:_MOST_WARNINGS]
        if not self.is_tried and self.run.status == Run.Status.PAUSED:
            texts = [*texts, f"run {self.run.pk} is paused; play it for what follows from this"]
        found = ", ".join(f"299 - {_quoted(text)}" for text in texts)
        return {"Warning": found} if found else {}


def _quoted(text: str) -> str:
    """A text as a header may have it: in ASCII, and without line breaks."""
    return json.dumps(text[:_LONGEST_WARNING])
