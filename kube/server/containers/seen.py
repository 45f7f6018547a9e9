"""A pod as a client sees it, with what its containers know of it."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from engine.kernel.units import SECOND
from engine.objects.objects import Pod
from engine.objects.scripts.filling import Filling
from engine.objects.scripts.matching import scripts_for
from engine.objects.scripts.output import FillingAt
from engine.objects.scripts.script import Script
from kube.server.containers.found import FoundContainer, time_of
from kube.server.containers.sources import Epoch, Past, epochs_of
from kube.server.objects.instants import Instant
from kube.server.reading import Read, found_object


@dataclass(frozen=True, slots=True)
class Seen:
    """A pod, what clocks show when it is so, in ns since EPOCH, and what its files were made of."""

    pod: Pod
    clock: int
    epochs: Sequence[Epoch]

    def filling_of(self, found: FoundContainer) -> Filling:
        """What fills the places in the answers of a container of the pod now."""
        started = time_of(found.state[1], "startedAt", self.clock)
        return self.filling_since(found, started)(self.clock)

    def filling_since(self, found: FoundContainer, started: int) -> FillingAt:
        """What fills them at any time, of the run of the container that *started* then."""
        first = self.epochs[self._place(started)].sources
        made = [Filling(self.pod, found.spec, one.sources, first) for one in self.epochs]
        return lambda at: made[self._place(at)]

    def _place(self, at: int) -> int:
        """The epoch of a time; the first one counts for what was before."""
        return max(bisect_right(self.epochs, at, key=lambda one: one.clock) - 1, 0)


async def pod_seen(
    read: Read, instant: Instant, scripts: Sequence[Script], past: Past | None
) -> Seen:
    """The pod that *read* is about, with its files since it began if there is a *past*. Raises ApiError."""
    pod = Pod(await found_object(read, instant))
    clock = instant.at + read.ahead + read.shift * SECOND
    return Seen(pod, clock, await epochs_of(read, instant, pod, scripts_for(pod, scripts), past))
