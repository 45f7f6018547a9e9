"""A pod as a client sees it, with what its containers know of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from engine.kernel.units import SECOND
from engine.objects.objects import Pod
from engine.objects.scripts.filling import Filling
from engine.objects.scripts.matching import scripts_for
from engine.objects.scripts.mounted_files import Sources
from engine.objects.scripts.script import Script
from kube.server.containers.found import FoundContainer
from kube.server.containers.sources import sources_at
from kube.server.objects.instants import Instant
from kube.server.reading import Read, found_object


@dataclass(frozen=True, slots=True)
class Seen:
    """A pod, what clocks show when it is so, in ns since EPOCH, and what its files are made of."""

    pod: Pod
    clock: int
    sources: Sources

    def filling_of(self, found: FoundContainer) -> Filling:
        """What fills the places in the answers of a container of the pod."""
        return Filling(self.pod, found.spec, self.sources)


async def pod_seen(read: Read, instant: Instant, scripts: Sequence[Script]) -> Seen:
    """The pod that *read* is about. Raises ApiError when there is none."""
    pod = Pod(await found_object(read, instant))
    clock = instant.at + read.ahead + read.shift * SECOND
    return Seen(pod, clock, await sources_at(read, instant, pod, scripts_for(pod, scripts)))
