"""The custom kinds of runs, read again when a CustomResourceDefinition has been written."""

from collections import OrderedDict
from typing import Final

from engine.objects.custom.definition import DEFINITION
from engine.objects.objects import Manifest
from kscope.runs.served.links import SnapshotLinks
from kscope.runs.served.objects import objects_at, place_of, versions_of
from kube.custom_kinds import NO_CUSTOM, CustomResources
from kube.resources import found as found_resource
from kube.server.objects.instants import Instant

# Runs of which the kinds are kept.
_RUNS: Final = 64
_DEFINITIONS = found_resource("apiextensions.k8s.io", "v1", "customresourcedefinitions")
# What a server reads of it: the paths at which such a kind may be.
_ROOTS: Final = ("/apis", "/openapi")


def may_be_custom(path: str) -> bool:
    """Whether the custom kinds of a run have a part in the answer at *path*."""
    return path.startswith(_ROOTS) or path in ("", "/")


class KnownKinds:
    """The custom kinds of runs as they are now."""

    def __init__(self, links: SnapshotLinks) -> None:
        self._links = links
        self._known: OrderedDict[int, tuple[dict[str, int], CustomResources]] = OrderedDict()

    async def of(self, run_id: int) -> CustomResources:
        """Those of a run."""
        async with self._links.link() as link:
            versions = await versions_of(link, run_id, DEFINITION)
            if not versions:
                return NO_CUSTOM
            known = self._known.get(run_id)
            if known is None or known[0] != versions:
                places = [place_of(run_id, DEFINITION, key) for key in versions]
                found = await objects_at(link, places)
                read = [found[place].manifest for place in places if place in found]
                known = versions, CustomResources.of(read)
        self._known[run_id] = known
        self._known.move_to_end(run_id)
        while len(self._known) > _RUNS:
            self._known.popitem(last=False)
        return known[1]


async def custom_at(instant: Instant) -> CustomResources:
    """Those of a run as it was."""
    assert _DEFINITIONS is not None
    found: list[Manifest] = []
    async for versions in instant.objects(_DEFINITIONS):
        found += [one.manifest for one in versions]
    return CustomResources.of(found)
