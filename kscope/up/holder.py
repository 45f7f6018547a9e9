"""Who holds the data directory, and what a killed `up` may have left behind.

`lock` is held with flock for as long as `up` lives: the kernel frees it whatever happens to us.
`run.json` says where the servers are and which processes belong to us.
"""

import fcntl
import json
import os
import shutil
import signal
import time
from collections.abc import Iterable
from pathlib import Path
from typing import IO, Any

from kscope.up.address import RUN_FILE, Servers
from kscope.up.children import Child, StartError


def hold(data: Path) -> IO[str]:
    """Take the data directory, or raise StartError saying which process has it.

    Keep the returned file open for as long as the directory is to be held.
    """
    data.mkdir(parents=True, exist_ok=True)
    lock = (data / "lock").open("a+")
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        lock.seek(0)
        pid = lock.read().strip() or "unknown"
        lock.close()
        raise StartError(_already_held(data, pid)) from None
    lock.seek(0)
    lock.truncate()
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock


def write_run_file(
    data: Path, servers: Servers, address: str, sockets: Path, children: Iterable[Child]
) -> None:
    """Write `run.json` in one step, so that a reader never sees half of it."""
    content = {
        "pid": os.getpid(),
        "address": address,
        "database_url": servers.database_url,
        "redis_url": servers.redis_url,
        "sockets": str(sockets),
        "children": [
            {"name": child.name, "pid": child.pid, "created": _created(child.pid)}
            for child in children
        ],
    }
    draft = data / f"{RUN_FILE}.new"
    draft.write_text(json.dumps(content, indent=1))
    draft.chmod(0o600)
    draft.replace(data / RUN_FILE)


def forget_run_file(data: Path) -> None:
    """Remove `run.json`: none of our processes runs any more."""
    (data / RUN_FILE).unlink(missing_ok=True)


def sweep(data: Path) -> list[str]:
    """End what an earlier `up` left running, and remove its sockets. Returns the names of the processes.

    A process is ours only if its pid *and* its time of creation are those on record.
    """
    try:
        left = json.loads((data / RUN_FILE).read_text())
    except (OSError, ValueError):
        return []
    swept = [
        entry["name"]
        for entry in reversed(left.get("children", []))
        if _created(entry["pid"]) == entry["created"] and _end(entry["pid"], entry["created"])
    ]
    sockets = Path(left.get("sockets", ""))
    if sockets.name.startswith("kscope-"):
        shutil.rmtree(sockets, ignore_errors=True)
    forget_run_file(data)
    return swept


def _already_held(data: Path, pid: str) -> str:
    where = ""
    try:
        content: dict[str, Any] = json.loads((data / RUN_FILE).read_text())
        where = f" and serves {content['address']}"
    except (OSError, ValueError, KeyError):
        pass  # That process is still starting and has not written the file.
    return (
        f"kscope is already running from this directory: pid {pid} holds {data}{where}.\n"
        f"Stop it with Ctrl-C in its terminal or `kill {pid}`, or set KSCOPE_DATA to another "
        "directory and PORT to another port for a second one."
    )


def _created(pid: int) -> float | None:
    # Imported here: an ordinary start and stop needs it once, a refused one not at all.
    import psutil

    try:
        process = psutil.Process(pid)
        return None if process.status() == psutil.STATUS_ZOMBIE else process.create_time()
    except psutil.Error:
        return None


def _end(pid: int, created: float, patience_s: float = 10.0) -> bool:
    """SIGINT (fast shutdown for PostgreSQL), then SIGKILL."""
    os.kill(pid, signal.SIGINT)
    deadline = time.monotonic() + patience_s
    while _created(pid) == created:
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)
    return True
