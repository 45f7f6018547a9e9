"""The host ports that pods have taken on each node.

Upstream: pkg/scheduler/framework/types.go HostPortInfo.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engine.objects.pods.pod_resources import HostPort

_ANY_ADDRESS = "0.0.0.0"


class NodePorts:
    """The taken ports: (protocol, number) → row → addresses.

    A port is taken once even if several pods of a node claim it, and it is free when the first of
    them leaves: HostPortInfo is a set, not a count.
    """

    def __init__(self) -> None:
        self._taken: dict[tuple[str, int], dict[int, dict[str, None]]] = {}

    def take(self, row: int, ports: Iterable[HostPort]) -> None:
        """A pod that claims *ports* is now on the node at *row*."""
        for port in ports:
            rows = self._taken.setdefault((port.protocol, port.port), {})
            rows.setdefault(row, {})[port.ip] = None

    def free(self, row: int, ports: Iterable[HostPort]) -> None:
        """A pod that claims *ports* has left the node at *row*."""
        for port in ports:
            rows = self._taken.get((port.protocol, port.port), {})
            addresses = rows.get(row)
            if addresses is not None:
                addresses.pop(port.ip, None)
                if not addresses:
                    del rows[row]

    def at(self, row: int) -> list[HostPort]:
        """The ports taken on the node at *row*."""
        return [
            HostPort(ip=ip, protocol=protocol, port=number)
            for (protocol, number), rows in self._taken.items()
            for ip in rows.get(row, ())
        ]

    def reset(self, row: int, ports: Iterable[HostPort]) -> None:
        """Make *ports* the ones taken at *row*, after pods were moved on trial."""
        self.free(row, self.at(row))
        self.take(row, ports)

    def conflicts(self, ports: Sequence[HostPort]) -> dict[int, HostPort]:
        """The rows where one of *ports* is taken, with the first such port.

        0.0.0.0 conflicts with every address. Upstream: HostPortInfo.CheckConflict().
        """
        found: dict[int, HostPort] = {}
        for port in ports:
            for row, addresses in self._taken.get((port.protocol, port.port), {}).items():
                if port.ip == _ANY_ADDRESS or port.ip in addresses or _ANY_ADDRESS in addresses:
                    found.setdefault(row, port)
        return found
