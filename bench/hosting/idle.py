"""What kscope takes of the machine's memory while nothing is asked of it."""

import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psutil

from bench.size import usual
from bench.table import Row

ROOM = Path(__file__).resolve().parents[2]
START_SECONDS = 300
# Until whoever starts late has started, and the first turns of the sweeper are over.
SETTLING_SECONDS = usual(20, least=1)
_MIB = 1_048_576


def bench(full: bool = False) -> list[Row]:
    """The memory of all processes that `manage.py up` starts, pages that they share counted once."""
    with tempfile.TemporaryDirectory(prefix="kscope-bench-") as folder:
        Path(folder).chmod(0o755)
        up = _up(Path(folder))
        try:
            time.sleep(SETTLING_SECONDS)
            family = [psutil.Process(up.pid), *psutil.Process(up.pid).children(recursive=True)]
            used = [each.memory_full_info() for each in family]
        finally:
            up.send_signal(signal.SIGTERM)
            up.wait()
    return [
        Row(
            name="idle",
            figure=sum(each.pss for each in used) / _MIB,
            unit="MiB",
            baseline=sum(each.rss for each in used) / _MIB,
            against="shared pages counted in each process",
            aim=200,
            at_least=False,
            note=f"{len(used)} processes, PostgreSQL and Valkey among them",
        )
    ]


def _up(folder: Path) -> "subprocess.Popen[str]":
    """Start it on a free port and wait for its address. Raises TimeoutError."""
    left_out = ("DATABASE_URL", "REDIS_URL", "KSCOPE_LOADER")
    environment = {name: value for name, value in os.environ.items() if name not in left_out}
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    up_here = ("up", "--data", folder / "data", "--port", str(port))
    words = [sys.executable, ROOM / "manage.py", *up_here]
    output = folder / "output"
    with output.open("wb") as file:
        up = subprocess.Popen(
            words, stdout=file, stderr=subprocess.STDOUT, env=environment, cwd=ROOM, text=True
        )
    deadline = time.monotonic() + START_SECONDS
    while not re.search("kscope is at", output.read_text()):
        if up.poll() is not None or time.monotonic() > deadline:
            up.kill()
            raise TimeoutError(output.read_text())
        time.sleep(0.2)
    return up
