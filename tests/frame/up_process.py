"""`manage.py up` as a process under test."""

import contextlib
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from types import TracebackType
from urllib.request import urlopen

import psutil

ROOM = Path(__file__).resolve().parents[2]
SERVER_VARIABLES = ("DATABASE_URL", "REDIS_URL", "KSCOPE_DATA", "PORT", "KSCOPE_PORT")


def free_port() -> int:
    """A port that nothing listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Up:
    """Starts `manage.py up` on *data*; a context manager that leaves nothing running."""

    def __init__(self, data: Path, port: int | None = None, **variables: str) -> None:
        self.data = data
        self.port = port or free_port()
        self.output_file = data.parent / f"up-{self.port}.out"
        env = {key: value for key, value in os.environ.items() if key not in SERVER_VARIABLES}
        env.update(variables)
        with self.output_file.open("wb") as output:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, ROOM / "manage.py", "up"),
                    *("--data", data, "--port", str(self.port), "--workers", "1"),
                ],
                stdout=output,
                stderr=subprocess.STDOUT,
                env=env,
                cwd=ROOM,
            )

    def __enter__(self) -> "Up":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            self.process.terminate()
        self.process.wait(30)

    @property
    def output(self) -> str:
        return self.output_file.read_text()

    def wait_until_serving(self, patience_s: float = 60) -> "Up":
        """Until the address is printed; AssertionError with the output when it ends before."""
        deadline = time.monotonic() + patience_s
        while "kscope is at" not in self.output:
            assert self.process.poll() is None, self.output
            assert time.monotonic() < deadline, self.output
            time.sleep(0.05)
        return self

    def wait_for_end(self, patience_s: float = 40) -> int:
        return self.process.wait(patience_s)

    def answers(self) -> bool:
        with urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=10) as response:
            return bool(response.status == 200)

    def family(self) -> list[psutil.Process]:
        """Every process below `up`, at any depth."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(10)


def still_running(processes: list[psutil.Process], patience_s: float = 10) -> list[str]:
    """Names of those of *processes* that have not ended after *patience_s*."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        left = [process for process in processes if _alive(process)]
        if not left:
            return []
        time.sleep(0.05)
    return [" ".join(process.cmdline()) for process in left]


def _alive(process: psutil.Process) -> bool:
    # In a container without an init, what ended stays as a zombie.
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
