"""A process with hashes, addresses and caches of its own, which goes on with runs from checkpoints.

A restore within one process would find what the engine left there: kept answers, interned texts, an
order of hashes that happens to be the same.
"""

import os
import pickle
import struct
import subprocess
import sys
from dataclasses import dataclass
from typing import IO, Any

from engine.cluster.cluster import Cluster, Slice
from engine.cluster.commands import Command

_LENGTH = struct.Struct("!Q")
# pytest's own process has another one.
_HASHES = "20"


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a run: a command at its beginning, if any, and then so many callbacks at most."""

    command: Command | None
    until: int
    max_steps: int | None

    def play(self, cluster: Cluster) -> Slice:
        """Everything that is recorded in this part of the run."""
        if self.command is not None:
            cluster.apply(self.command)
        cluster.advance(self.until, max_steps=self.max_steps, rest=self.max_steps is None)
        return cluster.take()


class OtherProcess:
    """Plays pieces of runs, each from a checkpoint."""

    def __init__(self) -> None:
        self._child = subprocess.Popen(
            [sys.executable, "-m", "tests.properties.restores.other_process"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONHASHSEED": _HASHES},
        )

    def play(self, blob: bytes, piece: Piece) -> tuple[Slice, bytes]:
        """What the run of the checkpoint records in that piece, and the checkpoint after it."""
        child = self._child
        assert child.stdin is not None
        assert child.stdout is not None
        _put(child.stdin, (blob, piece))
        answer = _get(child.stdout)
        assert answer is not None, "the other process has ended"
        return answer

    def end(self) -> None:
        """Let it end."""
        self._child.communicate()


def main() -> None:
    """Play pieces from stdin, one after the other, until it is closed."""
    answers = os.fdopen(os.dup(1), "wb")
    # Stray prints must not come between the answers.
    os.dup2(2, 1)
    while (order := _get(sys.stdin.buffer)) is not None:
        blob, piece = order
        cluster = Cluster.restore(blob)
        taken = piece.play(cluster)
        _put(answers, (taken, cluster.checkpoint()))


def _put(pipe: IO[bytes], message: Any) -> None:
    text = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    pipe.write(_LENGTH.pack(len(text)) + text)
    pipe.flush()


def _get(pipe: IO[bytes]) -> Any:
    """The next message; None at the end."""
    head = pipe.read(_LENGTH.size)
    return pickle.loads(pipe.read(_LENGTH.unpack(head)[0])) if head else None


if __name__ == "__main__":
    main()
