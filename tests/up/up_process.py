"""`manage.py up` as a process under test."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any
from urllib.request import Request, urlopen

import psutil

from tests.waiting import HANG_SECONDS, wait_for

ROOM = Path(__file__).resolve().parents[2]
# What the tests' own processes have set, or people may have.
LEFT_OUT = (
    *("DATABASE_URL", "REDIS_URL", "KSCOPE_DATA", "PORT", "KSCOPE_PORT"),
    *("KSCOPE_DATABASE_POOL", "KSCOPE_LOADER"),
)


def free_port() -> int:
    """A port that nothing listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Up:
    """Starts `manage.py up` on *data*; a context manager that leaves nothing running."""

    def __init__(
        self,
        data: Path,
        port: int | None = None,
        *,
        workers: int = 1,
        env: Mapping[str, str] | None = None,
        output: int | None = None,
    ) -> None:
        """*env* adds to the environment; *output* replaces the file that `output` reads."""
        self.data = data
        self.port = port or free_port()
        self.output_file = data.parent / f"up-{self.port}.out"
        kept = {key: value for key, value in os.environ.items() if key not in LEFT_OUT}
        with self.output_file.open("wb") as file:
            self.process = subprocess.Popen(
                [
                    *(sys.executable, ROOM / "manage.py", "up"),
                    *("--data", data, "--port", str(self.port), "--workers", str(workers)),
                ],
                stdout=file if output is None else output,
                stderr=subprocess.STDOUT,
                env=kept | dict(env or {}),
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
        self.process.wait(HANG_SECONDS)

    @property
    def output(self) -> str:
        return self.output_file.read_text()

    def wait_until_serving(self) -> "Up":
        """Until the address is printed; AssertionError with the output when it ends before."""
        return self.wait_until_it_says("kscope is at")

    def wait_until_it_says(self, text: str, *, after: int = 0) -> "Up":
        """Until *text* is printed; AssertionError with the output when it ends before.

        The first *after* characters of the output do not count.
        """
        wait_for(
            lambda: text in self.output[after:] or self.process.poll() is not None,
            lambda: self.output,
        )
        assert text in self.output[after:], self.output
        return self

    def wait_for_end(self) -> int:
        return self.process.wait(HANG_SECONDS)

    def answers(self) -> bool:
        """Whether its address answers just now."""
        with (
            contextlib.suppress(OSError),
            urlopen(f"http://127.0.0.1:{self.port}/healthz", timeout=HANG_SECONDS) as response,
        ):
            return bool(response.status == 200)
        return False

    def family(self) -> list[psutil.Process]:
        """Every process below `up`, at any depth."""
        return psutil.Process(self.process.pid).children(recursive=True)

    def pid_of(self, name: str) -> int | None:
        """The process of a child as run.json has it; None once `up` has ended."""
        with contextlib.suppress(FileNotFoundError):
            children = self.noted("children")
            return next(int(child["pid"]) for child in children if child["name"] == name)
        return None

    def noted(self, name: str) -> Any:
        """What run.json has of that name. Raises FileNotFoundError once `up` has ended."""
        return json.loads((self.data / "run.json").read_text())[name]

    def child(self, name: str) -> psutil.Process:
        """The process of that name."""
        pid = self.pid_of(name)
        assert pid is not None
        return psutil.Process(pid)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait(HANG_SECONDS)

    def ask(self, path: str, body: Mapping[str, object] | None = None) -> dict[str, Any]:
        """What the API answers."""
        request = Request(
            f"http://127.0.0.1:{self.port}/api/v1/{path}",
            json.dumps(body).encode() if body else None,
            {"Content-Type": "application/json"},
        )
        with urlopen(request, timeout=HANG_SECONDS) as answer:
            found: dict[str, Any] = json.load(answer)
            return found

    def play_run(self) -> int:
        """A new run of the first demo, played at the speed of its own clock."""
        scenario = self.ask("scenarios/")["items"][0]["id"]
        return int(self.ask("runs/", {"scenario": scenario, "play": True, "speed": "1"})["id"])

    def wait_until_beyond(self, run: int, at: int) -> int:
        """The virtual time that the run has reached, once it is beyond *at*."""
        reached = [0]

        def is_beyond() -> bool:
            reached[0] = self.ask(f"runs/{run}/")["head_at"]
            return reached[0] > at

        wait_for(is_beyond, lambda: f"the run stands at {reached[0]}")
        return reached[0]


def wait_until_ended(processes: list[psutil.Process]) -> None:
    """Until none of *processes* runs; AssertionError with their command lines otherwise."""
    wait_for(
        lambda: not any(map(is_alive, processes)),
        lambda: "\n".join(" ".join(each.cmdline()) for each in processes if is_alive(each)),
    )


def is_alive(process: psutil.Process) -> bool:
    """Whether the process has not ended yet."""
    # In a container without an init, what ended stays as a zombie.
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False
