"""The world around kscope, which fails as well: its disk, its clocks, its lines to the servers.

What a machine does not permit raises NotPermitted with the reason, and is counted as skipped.
"""

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

from tests.waiting import wait_for

Direction = Literal["requests", "answers"]
_CHUNK: Final = 1 << 16


class NotPermitted(Exception):
    """This machine does not let a test do that; the message says why."""


class Disk:
    """A small disk of its own, which can be full, stand still or become read-only."""

    def __init__(self, folder: Path, megabytes: int = 768) -> None:
        """Mount it at *folder*/disk. Raises NotPermitted."""
        self.path = folder / "disk"
        self._image = folder / "disk.img"
        self.path.mkdir()
        with self._image.open("wb") as image:
            image.truncate(megabytes << 20)
        # A journal would keep a disk that became read-only from being mounted again at once.
        _run("mkfs.ext4", "-q", "-O", "^has_journal", self._image)
        self._mount()

    def _mount(self) -> None:
        _run("mount", "-o", "loop,errors=remount-ro", self._image, self.path)
        self.path.chmod(0o755)

    def fill(self) -> None:
        """Write until no byte more fits."""
        with contextlib.suppress(OSError), (self.path / "filler").open("wb", buffering=0) as file:
            while file.write(bytes(_CHUNK)):
                pass

    def free(self) -> None:
        """Give back what `fill` took."""
        (self.path / "filler").unlink(missing_ok=True)

    def freeze(self) -> None:
        """Let every write wait."""
        _run("fsfreeze", "--freeze", self.path)

    def thaw(self) -> None:
        """Let what waits go on."""
        _run("fsfreeze", "--unfreeze", self.path)

    def fail(self) -> None:
        """Have the kernel find an error, and make the disk read-only."""
        source = subprocess.run(
            ["findmnt", "-no", "SOURCE", self.path], stdout=subprocess.PIPE, check=True, text=True
        ).stdout.strip()
        trigger = Path("/sys/fs/ext4", Path(source).name, "trigger_fs_error")
        if not trigger.exists():
            raise NotPermitted("the kernel cannot be made to find an error on a disk")
        trigger.write_text("1")

    def mount_again(self) -> None:
        """As a new start of the machine does; nothing may use the disk."""
        _run("umount", self.path)
        # Another mount namespace may hold a copy, for as long as its processes are there: the new
        # mount would be the same disk, which is read-only.
        wait_for(lambda: not self._is_attached(), "another program has this disk mounted as well")
        # Without it the kernel soon finds what was not written, and makes the disk read-only again.
        _run("e2fsck", "-fy", self._image, mended=True)
        self._mount()

    def _is_attached(self) -> bool:
        found = subprocess.run(["losetup", "-j", self._image], stdout=subprocess.PIPE, check=True)
        return bool(found.stdout.strip())

    def close(self) -> None:
        """Unmount it for good."""
        subprocess.run(["umount", self.path], check=False, capture_output=True)
        self._image.unlink(missing_ok=True)


@dataclass(frozen=True, slots=True)
class Clock:
    """The clock of some processes, by libfaketime; the time that passes stays right."""

    file: Path
    library: Path = field(default_factory=lambda: _faketime())

    def set(self, seconds: int) -> None:
        """Let it be so many seconds later than the machine's."""
        draft = self.file.with_suffix(".new")
        draft.write_text(f"{seconds:+d}")
        draft.chmod(0o644)
        draft.replace(self.file)

    def try_python(self) -> None:
        """Raises NotPermitted where this libfaketime keeps Python from sleeping (0.9.10 does)."""
        words = [sys.executable, "-c", "import time; time.sleep(0.001)"]
        done = subprocess.run(
            words, env={**os.environ, **self.env}, check=False, stderr=subprocess.PIPE
        )
        if done.returncode:
            raise NotPermitted("with this libfaketime Python cannot sleep")

    @property
    def env(self) -> Mapping[str, str]:
        """What its processes need in their environment."""
        return {
            "LD_PRELOAD": str(self.library),
            "FAKETIME_TIMESTAMP_FILE": str(self.file),
            "FAKETIME_CACHE_DURATION": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }


def _faketime() -> Path:
    for found in sorted(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1")):
        return found
    raise NotPermitted("libfaketime is not installed")


class Line:
    """A unix socket in front of that of a server, where one direction can be cut."""

    def __init__(self, here: Path, there: Path) -> None:
        self.there = there
        here.parent.mkdir(exist_ok=True)
        here.unlink(missing_ok=True)
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(here))
        self._listener.listen(128)
        self._ends: list[socket.socket] = []
        self._is_open: dict[Direction, threading.Event] = {
            "requests": threading.Event(),
            "answers": threading.Event(),
        }
        self.mend()
        self._start(self._accept)

    def cut(self, direction: Direction) -> None:
        """Let nothing through that way, as packets that are lost on their way."""
        self._is_open[direction].clear()

    def mend(self) -> None:
        """Let through what has waited, and what comes."""
        for gate in self._is_open.values():
            gate.set()

    def break_all(self) -> None:
        """End every connection."""
        ends, self._ends = self._ends, []
        for end in ends:
            _end(end)

    def close(self) -> None:
        """End it for good."""
        _end(self._listener)
        self.mend()
        self.break_all()

    def _start(self, target: Callable[..., None], *arguments: object) -> None:
        threading.Thread(target=target, args=arguments, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                server = socket.socket(socket.AF_UNIX)
                self._ends += (client, server)
                try:
                    server.connect(str(self.there))
                except OSError:
                    _end(client)
                    continue
                self._start(self._forward, client, server, "requests")
                self._start(self._forward, server, client, "answers")

    def _forward(self, source: socket.socket, target: socket.socket, direction: Direction) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(_CHUNK):
                self._is_open[direction].wait()
                target.sendall(data)
        _end(source)
        _end(target)


def _end(end: socket.socket) -> None:
    """Also for who waits in it just now."""
    with contextlib.suppress(OSError):
        end.shutdown(socket.SHUT_RDWR)
    end.close()


def _run(*command: str | Path, mended: bool = False) -> None:
    """Raises NotPermitted with what the command says; *mended*: 1 says that it has mended a disk."""
    if shutil.which(command[0]) is None:
        raise NotPermitted(f"there is no {command[0]}")
    done = subprocess.run(command, capture_output=True, check=False, text=True)
    if done.returncode > mended:
        raise NotPermitted(f"{command[0]}: {done.stderr.strip() or done.returncode}")
