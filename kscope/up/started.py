"""What `up` has started so far, and which of it is started again when it ends by itself."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from kscope.up.children import Child

RESTARTS = 5
RESTART_WINDOW_S = 60.0


@dataclass(slots=True)
class Service:
    """A child that keeps nothing of its own, so that it can be started again: all but the servers."""

    start: Callable[[], Child]
    child: Child
    ended_at: list[float] = field(default_factory=list)
    """When it ended by itself, lately, on the monotonic clock."""

    def may_start_again(self) -> bool:
        """Whether it ended no more than RESTARTS times within RESTART_WINDOW_S, this time included."""
        now = time.monotonic()
        self.ended_at = [at for at in self.ended_at if now - at < RESTART_WINDOW_S] + [now]
        return len(self.ended_at) <= RESTARTS


@dataclass(slots=True)
class Started:
    """What runs so far, in the order in which it was started."""

    servers: list[Child] = field(default_factory=list)
    """PostgreSQL and Valkey, where they are our own."""
    services: list[Service] = field(default_factory=list)
    loader: Service | None = None

    @property
    def children(self) -> list[Child]:
        return [*self.servers, *(service.child for service in self._with_loader)]

    @property
    def _with_loader(self) -> list[Service]:
        """The services, after the one that they end with."""
        return [self.loader, *self.services] if self.loader else self.services

    def add_loader(self, start: Callable[[], Child]) -> Child:
        """Start the loader; *start* is called again whenever it is to be started again."""
        self.loader = Service(start, start())
        return self.loader.child

    def add_server(self, child: Child) -> None:
        """Note a server that was started."""
        self.servers.append(child)

    def add_service(self, start: Callable[[], Child]) -> Child:
        """Start a service; *start* is called again whenever it is to be started again."""
        child = start()
        self.services.append(Service(start, child))
        return child

    def dead_server(self) -> Child | None:
        """The first server that ended by itself."""
        return next((child for child in self.servers if child.exit_code() is not None), None)

    def dead_service(self) -> Service | None:
        """The first service that ended by itself; the loader before those that end with it."""
        ended = (each for each in self._with_loader if each.child.exit_code() is not None)
        return next(ended, None)

    def stop(self) -> None:
        """Stop in reverse order, those that use the servers all at once."""
        for service in self.services:
            service.child.ask()
        for child in reversed(self.children):
            child.stop()
