"""The container images that nodes hold, as the snapshot of a scheduling cycle counts them.

Upstream: backend/cache/cache.go addNodeImageStates(), snapshot.go.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from engine.objects.objects import Node


@dataclass(slots=True)
class ImageState:
    """One image: its size in bytes where it was first seen, and the rows of the nodes that have it.

    The value of a row is the number of nodes that had the image when the row was last copied to
    the snapshot; 0 before that.
    """

    size: int
    rows: dict[int, int] = field(default_factory=dict[int, int])


class NodeImages:
    """The images of every row of the node table.

    `held` has, for each row, its images with the number of nodes that had them when the row's node
    was last read. `states` has the images by name in the order of arrival; `generation` grows when
    a score that depends on images may change.
    """

    def __init__(self, capacity: int) -> None:
        self.held: list[dict[str, int]] = [{} for _ in range(capacity)]
        self.states: dict[str, ImageState] = {}
        self.generation = 0
        # Rows with images whose node, or whose pods, changed since the last snapshot.
        self.changed_rows: dict[int, None] = {}
        # The number of changes of any node's images, and its value when each row was last read.
        self._changes = 0
        self._read_at: list[int] = [0] * capacity

    def grow(self, more: int) -> None:
        """Make room for *more* rows."""
        self.held.extend({} for _ in range(more))
        self._read_at.extend([0] * more)

    def read(self, row: int, node: Node) -> None:
        """Take over the images of *node*, which is new at *row*."""
        held: dict[str, int] = {}
        for name, size in node.image_sizes:
            state = self.states.get(name)
            if state is None:
                state = self.states[name] = ImageState(size)
            state.rows[row] = 0
            held.setdefault(name, len(state.rows))
        self.held[row] = held
        if held:
            self.generation += 1
            self._changes += 1
        self._read_at[row] = self._changes
        self.note_change(row)

    def update(self, row: int, old: Node, new: Node) -> None:
        """Take over the images of a newer version of the node at *row*."""
        if old.status.get("images") != new.status.get("images"):
            self.forget(row)
            self.read(row, new)
        elif self._read_at[row] != self._changes:
            self._count_again(row, new)

    def _count_again(self, row: int, node: Node) -> None:
        """The images are the same; read again how many nodes have them.

        For an image that no other node has, the size that this node reports now counts. Upstream:
        cache.go UpdateNode() takes the node's images out, and with its last node an image is
        forgotten, before they go in anew.
        """
        self._read_at[row] = self._changes
        # Of a name that comes twice the first size counts.
        sizes = dict(reversed(node.image_sizes))
        for name, size in sizes.items():
            state = self.states[name]
            if len(state.rows) == 1 and state.size != size:
                state.size = size
                self.generation += 1
        held = {name: len(self.states[name].rows) for name in self.held[row]}
        if held != self.held[row]:
            self.held[row] = held
            self.generation += 1

    def forget(self, row: int) -> None:
        """The node at *row* has none of its images any more."""
        for name in self.held[row]:
            state = self.states[name]
            state.rows.pop(row, None)
            if not state.rows:
                del self.states[name]
            self.generation += 1
            self._changes += 1
        self.held[row] = {}
        self.changed_rows.pop(row, None)

    def note_change(self, row: int) -> None:
        """The node at *row*, or a pod on it, has changed: the next snapshot copies it again."""
        if self.held[row]:
            self.changed_rows[row] = None

    def take_snapshot(self) -> None:
        """Count again, for the rows that changed since the last snapshot, who has their images.

        Of a node that has not changed, upstream's snapshot keeps its older copy with the older
        number. Upstream: UpdateSnapshot(), SnapshotConcrete().
        """
        for row in self.changed_rows:
            for name in self.held[row]:
                rows = self.states[name].rows
                if rows[row] != len(rows):
                    rows[row] = len(rows)
                    self.generation += 1
        self.changed_rows.clear()
