"""The one idea of this room: keep an answer, and correct it only for what has changed since.

    Everything that is kept is right for one *generation* (the nodes, their labels and taints, the
    columns of the node table) and up to one *position* in a log of changes.

    same generation, and the log still has the changes ─▶ correct the answer for what changed
    otherwise, or after `forget`                       ─▶ compute the answer anew

An answer that follows two logs has a `Kept` for each. Nothing that is kept goes into a checkpoint
unless it is part of a result.
"""

from __future__ import annotations

from typing import Final, TypeVar

from engine.kernel.change_log import ChangeLog

Item = TypeVar("Item")

# Before the first position: a log never has the changes since then.
_NEVER: Final = -1


class Kept:
    """The generation and the log position for which an answer is right."""

    __slots__ = ("generation", "position")

    def __init__(self, generation: tuple[int, ...] = ()) -> None:
        """The answer of this *generation* has not been computed yet."""
        self.generation = generation
        self.position = _NEVER

    def is_current(self, log: ChangeLog[Item]) -> bool:
        """Whether nothing has changed since the answer was corrected."""
        return self.position == log.end

    def catch_up(self, log: ChangeLog[Item]) -> list[Item] | None:
        """The changes since the last call, in order, with repetitions; None to compute everything.

        From now on the answer counts as correct, so the caller has to correct it.
        """
        position, self.position = self.position, log.end
        return log.since(position)

    def forget(self) -> None:
        """Have the answer computed from scratch."""
        self.position = _NEVER
