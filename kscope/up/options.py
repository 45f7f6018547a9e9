"""The options of `up`."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kscope.env import env_bool

LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class Options:
    """The options of `up`."""

    room: Path
    """The checkout: where manage.py is."""
    data: Path
    host: str
    port: int
    workers: int

    def is_local(self, env: Mapping[str, str]) -> bool:
        """Whether only this machine reaches kscope, which then does not ask for a login.

        Its own servers, an address of the loopback, and no sign of a proxy that would bring others.
        """
        is_proxied = env_bool(env, "KSCOPE_SECURE", False) or any(
            env.get(name) for name in ("KSCOPE_HOSTS", "KSCOPE_ORIGINS")
        )
        is_embedded = not (env.get("DATABASE_URL") or env.get("REDIS_URL"))
        return self.host in LOOPBACK and is_embedded and not is_proxied

    @property
    def address(self) -> str:
        """As people write it."""
        shown = "localhost" if self.host in ("127.0.0.1", "0.0.0.0", "::") else self.host
        return f"http://{f'[{shown}]' if ':' in shown else shown}:{self.port}/"

    @property
    def logs(self) -> Path:
        """The folder of the logs."""
        return self.data / "log"
