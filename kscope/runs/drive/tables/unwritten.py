"""The objects of a run whose rows do not say yet what its engine says of them.

Rows of objects are for people and their tools: the admin, REST, the Kubernetes API. While a run plays
and nobody reads them, they are not written with each slice. See docs/adr/0056.
"""

import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import islice

from engine.api_server.store.write_record import Written
from engine.cluster.cluster import Cluster, Slice
from engine.objects.objects import Manifest
from kscope.runs.drive.beginning.clusters import manifests_of
from kscope.runs.drive.tables.dictionaries import dictionaries_of
from kscope.runs.history.keyframes import first_keyframe
from kscope.runs.manifests.packer import Packer
from kscope.runs.models import RemovedObject, Run
from kscope.runs.record.parts import in_history

# So long a run that plays, and that nobody reads, leaves rows behind.
MOST_SECONDS = 60.0
# A driver that leaves does not wait for more.
FEW = 10_000
# The rows of a larger first state are written after its events, so many in a slice.
STEP = 10_000

# By entity id: the manifest, or None for an object that is gone, and the events that wrote it.
Objects = Mapping[str, tuple[Manifest | None, Written]]


@dataclass(frozen=True, slots=True)
class Part:
    """Rows that are written with one slice: those of these *objects*.

    All rows are as of event *upto* then, None for the newest. Where they *are_new*, none of the
    objects had a row before.
    """

    objects: Objects
    upto: int | None = None
    are_new: bool = False


class Unwritten:
    """What is to be written to the rows of one run, as of its newest slice."""

    def __init__(self) -> None:
        self._objects: dict[str, tuple[Manifest | None, Written]] = {}
        # An earlier driver has left rows behind, even if there is nothing to write by now.
        self._is_behind = False
        # Objects of a large first state that have no row yet, and the events that created them.
        self._first: deque[tuple[str, int]] = deque()
        self._since = time.monotonic()
        self.packer = Packer()
        """Packs their manifests."""

    def begin(self, run: Run, engine: Cluster) -> None:
        """*engine* stands at the head of *run*, whose rows may be those of an earlier event."""
        self.packer = Packer(dictionaries_of(run.pk))
        if run.rows_seq is not None:
            self._is_behind = True
            self._objects |= _written_after(run, run.rows_seq, engine)
            self._plan(run.rows_seq, first_keyframe(run.pk))

    def __bool__(self) -> bool:
        return self._is_behind or bool(self._objects)

    def add(self, piece: Slice) -> None:
        """The objects that a slice touched."""
        if not self._objects:
            self._since = time.monotonic()
        for entity, manifest in piece.touched.items():
            self._objects[entity] = manifest, piece.written[entity]

    @property
    def objects(self) -> Objects:
        """All of them."""
        return self._objects

    def plan_first(self, seq: int) -> bool:
        """They are the first state, as of event *seq*; whether it is written in steps."""
        self._plan(-1, seq)
        return bool(self._first)

    def _plan(self, after: int, upto: int) -> None:
        """Have what events *after* to *upto* created, and has no row yet, written in steps."""
        made = [
            (entity, written.created)
            for entity, (manifest, written) in self._objects.items()
            if manifest is not None and after < written.created <= upto
        ]
        if len(made) > STEP:
            self._first.extend(sorted(made, key=lambda one: one[1]))

    def part(self, *, whole: bool = False) -> Part:
        """What is written next: a step of a large first state, or all, as in the end of a run."""
        if whole or not self._first:
            return Part(self._objects)
        step = [*islice(self._first, STEP)]
        found = {entity: self._objects[entity] for entity, _ in step}
        is_last = len(found) == len(self._objects)
        return Part(found, None if is_last else step[-1][1], are_new=True)

    def note_written(self, part: Part) -> None:
        """That is being written."""
        if part.are_new:
            for entity in part.objects:
                self._first.popleft()
                del self._objects[entity]
        else:
            self._objects = {}
            self._first.clear()
        self._is_behind = part.upto is not None

    @property
    def are_few(self) -> bool:
        """Whether there is something to write, and it is soon written."""
        return bool(self) and len(self._objects) <= FEW

    def is_due(self, at_once: bool) -> bool:
        """Whether they are to be written: *at_once*, or because they wait for long."""
        waited = time.monotonic() - self._since
        return bool(self) and (at_once or waited > MOST_SECONDS)


def _written_after(
    run: Run, seq: int, engine: Cluster
) -> dict[str, tuple[Manifest | None, Written]]:
    """What was written, or removed, after event *seq*: an earlier driver left it behind.

    Before the first rows *seq* is -1.
    """
    manifests, events_of = manifests_of(engine), engine.store.record.events_of
    found: dict[str, tuple[Manifest | None, Written]] = {}
    if seq >= 0:
        removed = RemovedObject.objects.filter(in_history(run.pk)).filter(seq__gt=seq)
        for entity in removed.values_list("object", flat=True):
            found[entity] = None, Written(0, 0)
    for entity, manifest in manifests.items():
        written = events_of(entity)
        if written.newest > seq:
            found[entity] = manifest, written
    return found
