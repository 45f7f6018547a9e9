"""Keyframes: the view state every few thousand events, of which what changed is written.

A keyframe is a list of levels. The first has all entities; each later one has those that changed
since the one before. What changed since the last keyframe becomes a level, together with the levels
on top that are no larger; where that is a quarter of all entities, everything becomes a new first
level. So an entity that changes is written some few times, whatever the size of the cluster.
"""

import zlib
from dataclasses import dataclass, field

import orjson

from engine.cluster.cluster import Cluster
from kscope.runs.history.chunks import level_made
from kscope.runs.history.states import entities_of
from kscope.runs.models import Keyframe, ViewChunk
from kscope.runs.record.parts import in_history, readers_of

# With what a slice adds, no two keyframes are further apart than 10,000 events.
KEYFRAME_EVENTS = 2_000
# A level with this part of all entities becomes a first one.
PART = 4


@dataclass(slots=True)
class Level:
    """A level that is kept: its digest, how many entities it has, and which, where that is known."""

    digest: str
    count: int
    entities: set[str] | None = None


@dataclass(frozen=True, slots=True)
class Frozen:
    """A keyframe to be written: its levels, and the texts that are new, by digest."""

    run_id: int
    seq: int
    at: int
    levels: list[tuple[str, int]]
    texts: dict[str, bytes] = field(repr=False)


class KeyframeSchedule:
    """Decides when one owner of a run keeps the next keyframe, and of which levels."""

    def __init__(self, run_id: int, head_seq: int) -> None:
        self._run_id = run_id
        found = (
            Keyframe.objects.filter(in_history(run_id))
            .filter(seq__lte=head_seq)
            .order_by("-seq")
            .first()
        )
        self._seq = -1 if found is None else found.seq
        self._levels = [Level(*each) for each in found.levels] if found else []

    def is_due(self, seq: int) -> bool:
        """Whether one is to be kept after event *seq*."""
        return self._seq < 0 or seq - self._seq >= KEYFRAME_EVENTS

    def take(self, engine: Cluster) -> Frozen:
        """A keyframe of the view of *engine* as it stands."""
        recorder = engine.recorder
        since = recorder.changed_since
        changed = recorder.note_changes()
        if changed is None or since > self._seq:
            self._levels = []
        level, texts = self._level_of(changed or set(), engine)
        self._levels.append(level)
        self._seq = recorder.seq
        listed = [(each.digest, each.count) for each in self._levels]
        return Frozen(self._run_id, self._seq, engine.now, listed, texts)

    def _level_of(self, changed: set[str], engine: Cluster) -> tuple[Level, dict[str, bytes]]:
        """The new level on top; levels that it takes in, and that it covers, are dropped."""
        view, levels = engine.view(), self._levels
        while len(levels) > 1 and levels[-1].count <= len(changed):
            changed |= self._entities(levels.pop())
        if not levels or len(changed) * PART >= len(view):
            levels.clear()
            changed = set(view)
        digest, texts = level_made(changed, view)
        return Level(digest, len(changed), changed if levels else None), texts

    def _entities(self, level: Level) -> set[str]:
        if level.entities is None:
            return entities_of(self._run_id, level.digest)
        return level.entities


def first_keyframe(run_id: int) -> int:
    """The event after which the run's first state stood; 0 where there is no keyframe."""
    seqs = Keyframe.objects.filter(in_history(run_id)).order_by("seq").values_list("seq", flat=True)
    return seqs.first() or 0


def keyframe_insert(frozen: Frozen) -> None:
    """Write it, and those of its texts that the run does not have yet."""
    digests = list(frozen.texts)
    known = ViewChunk.objects.filter(run_id=frozen.run_id, digest__in=digests)
    has = set(known.values_list("digest", flat=True))
    ViewChunk.objects.bulk_create(
        [
            ViewChunk(run_id=frozen.run_id, digest=digest, body=zlib.compress(text, 1))
            for digest, text in frozen.texts.items()
            if digest not in has
        ],
        batch_size=200,
        ignore_conflicts=True,
    )
    Keyframe.objects.bulk_create(
        [Keyframe(run_id=frozen.run_id, seq=frozen.seq, at=frozen.at, levels=frozen.levels)],
        ignore_conflicts=True,
    )


def chunks_forget(source: int) -> None:
    """Delete the chunks of the run *source* that no keyframe needs any more: its own, or of a fork.

    A fork keeps all chunks of its own levels, but takes over whole levels of its ancestors.
    """
    runs = (source, *readers_of(source))
    levels = {
        digest
        for found in Keyframe.objects.filter(run_id__in=runs).values_list("levels", flat=True)
        for digest, _ in found
    }
    own = ViewChunk.objects.filter(run_id=source)
    needed = set(levels)
    for body in own.filter(digest__in=levels).values_list("body", flat=True):
        needed.update(*orjson.loads(zlib.decompress(body)).values())
    own.exclude(digest__in=needed).delete()
