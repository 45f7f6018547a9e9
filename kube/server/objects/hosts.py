"""The addresses of the nodes of a run, which its pods name as those of their hosts.

A pod's host is the node that had its name when the newest event of the pod was, whatever has become of
that node: so lists, watches and pasts of the same version agree. Where a node gets another address in
its life, that holds only for servers that have followed it.
"""

from __future__ import annotations

import asyncio
from bisect import bisect_right
from collections.abc import Iterable
from typing import Final

from kscope.runs.served.links import SnapshotLinks
from kscope.runs.served.nodes import NodeRow, nodes_since
from kube.resources import PODS, Resource
from kube.server.objects.network import address_of

_MOST_RUNS: Final = 50


class Hosts:
    """The addresses that nodes have had, by their names, as far as event `upto`."""

    def __init__(self, nodes: Iterable[NodeRow] = ()) -> None:
        self.upto = 0
        # Each with the event from which on a node of the name has it, in their order.
        self._of: dict[str, list[tuple[int, str]]] = {}
        self._note(nodes)

    def address(self, node: str, seq: int) -> str:
        """That of the node as of event *seq*; "" where there is none.

        Objects of the first state may name a node that is made after them.
        """
        known = self._of.get(node)
        if not known:
            return ""
        return known[max(bisect_right(known, (seq, "\U0010ffff")) - 1, 0)][1]

    async def reach(self, seq: int) -> None:
        """Learn of all nodes up to event *seq*, as far as they are written."""

    def _note(self, nodes: Iterable[NodeRow]) -> None:
        for node in nodes:
            known, address = self._of.setdefault(node.name, []), address_of(node)
            before = known[-1][1] if known else ""
            if address != before:
                first = node.created if not known or known[-1][0] < node.created else node.seq
                known.append((first, address))
                known.sort()


NO_HOSTS: Final = Hosts()


class HostsOfRun(Hosts):
    """Those of a run, which go on."""

    def __init__(self, run_id: int, links: SnapshotLinks) -> None:
        super().__init__()
        self._run_id = run_id
        self._links = links
        self._reading = asyncio.Lock()

    async def reach(self, seq: int) -> None:
        """See Hosts."""
        if seq <= self.upto:
            return
        async with self._reading:
            if seq > self.upto:
                async with self._links.snapshot() as link:
                    upto, nodes = await nodes_since(link, self._run_id, self.upto)
                self._note(nodes)
                self.upto = upto


class KnownHosts:
    """The hosts of the runs that were asked about last."""

    def __init__(self, links: SnapshotLinks) -> None:
        self._links = links
        self._known: dict[int, HostsOfRun] = {}

    def of(self, run_id: int, resource: Resource) -> Hosts:
        """Those of a run; none where *resource* is not shown with any."""
        if resource != PODS:
            return NO_HOSTS
        hosts = self._known.pop(run_id, None) or HostsOfRun(run_id, self._links)
        self._known[run_id] = hosts
        if len(self._known) > _MOST_RUNS:
            del self._known[next(iter(self._known))]
        return hosts
