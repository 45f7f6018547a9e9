"""Where the servers are: given by the environment, or those that `up` wrote down.

Needs only the standard library, because settings import it.
"""

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

RUN_FILE = "run.json"


@dataclass(frozen=True, slots=True)
class Servers:
    """The two addresses that everything else is configured from."""

    database_url: str
    redis_url: str


def known_servers(env: Mapping[str, str], data: Path) -> Servers:
    """What DATABASE_URL and REDIS_URL say; else what a running `up` wrote into *data*.

    Without either, the addresses point at sockets that do not exist: commands that need no server
    work, the others say which socket is missing.
    """
    written = read_run_file(data)
    database_url = env.get("DATABASE_URL") or written.get("database_url")
    redis_url = env.get("REDIS_URL") or written.get("redis_url")
    nowhere = "/nonexistent/kscope-is-not-up"
    return Servers(
        database_url=database_url or f"postgresql:///kscope?host={nowhere}",
        redis_url=redis_url or f"unix://{nowhere}/valkey.sock",
    )


def read_run_file(data: Path) -> dict[str, str]:
    """The addresses in `run.json`; empty when there is none or it is cut short."""
    try:
        content = json.loads((data / RUN_FILE).read_text())
    except (OSError, ValueError):
        return {}
    return {
        key: value
        for key, value in content.items()
        if key in ("database_url", "redis_url") and isinstance(value, str)
    }


def running_at(data: Path) -> str:
    """Where the `up` that holds *data* serves, as it wrote it down; "" where its process is gone."""
    try:
        content = json.loads((data / RUN_FILE).read_text())
        os.kill(int(content["pid"]), 0)
        return str(content["address"])
    except (OSError, ValueError, KeyError, TypeError):
        return ""
