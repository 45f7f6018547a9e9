"""The addresses of a run's nodes, asked for once in a while: pods name the one of theirs."""

from time import monotonic
from typing import Final

from kscope.runs.served.links import SnapshotLinks
from kscope.runs.served.nodes import nodes_of
from kube.resources import PODS, Resource
from kube.server.objects.network import NO_HOSTS, Hosts, hosts_of

# A node that came since has its pods without the address of their host for so long.
SECONDS: Final = 2.0
_MOST_RUNS: Final = 50


class KnownHosts:
    """The addresses of nodes by their names, of the runs that were asked about last.

    A watch keeps what it was given, which is brought up to date for all that have it.
    """

    def __init__(self, links: SnapshotLinks) -> None:
        self._links = links
        self._known: dict[int, tuple[float, dict[str, str]]] = {}

    async def of(self, run_id: int, resource: Resource) -> Hosts:
        """Those of a run; none where *resource* is not shown with any."""
        if resource != PODS:
            return NO_HOSTS
        until, hosts = self._known.pop(run_id, (0.0, dict[str, str]()))
        if until < monotonic():
            async with self._links.link() as link:
                hosts |= hosts_of(await nodes_of(link, run_id))
            until = monotonic() + SECONDS
        self._known[run_id] = until, hosts
        if len(self._known) > _MOST_RUNS:
            del self._known[next(iter(self._known))]
        return hosts
