"""Objects as they were at an event: a part of the run is replayed, and each write is noted.

Rows hold only the newest manifests, and events carry what pages draw, not whole manifests. Replaying
from the checkpoint before gives every version again, in a process beside this one (aside), which
keeps the notes of a few stretches, so that looking at one object after the other, or stepping to and
fro, replays once.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from operator import itemgetter
from typing import Any

import orjson
from django.utils.translation import gettext

from engine.api_server.store.write_record import Written
from engine.cluster.cluster import Cluster
from engine.objects.objects import Manifest
from kscope.runs.app_registry import registry
from kscope.runs.aside import Question
from kscope.runs.drive.beginning.clusters import manifests_of
from kscope.runs.drive.replay import engine_at_seq
from kscope.runs.errors import ApplicationError
from kscope.runs.hidden_values import without_hidden
from kscope.runs.manifest_edits import without_managers
from kscope.runs.models import Run, RunEvent
from kscope.runs.selectors import check_seq
from kscope.runs.services import rows_wait

STRETCHES = 3  # kept; each holds the objects of its cluster
AHEAD = 1_000  # events noted down beyond the one asked for
_NEVER = Written(0, 0)


class ObjectLog(dict[str, Manifest | None]):
    """What an engine touches, like the dict it stands in for, with every version and its event.

    *objects* are the manifests when the log begins, *written* the events that wrote them. *seq*
    gives the engine's newest event: a write is put in just before its event is recorded.
    """

    def __init__(
        self,
        objects: dict[str, Manifest],
        written: Mapping[str, Written],
        seq: Callable[[], int],
    ) -> None:
        super().__init__()
        self._objects = objects
        self._written = written
        self._seq = seq
        self._versions: dict[str, list[tuple[int, Manifest | None]]] = {}

    def __setitem__(self, entity: str, manifest: Manifest | None) -> None:
        super().__setitem__(entity, manifest)
        self._versions.setdefault(entity, []).append((self._seq() + 1, manifest))

    def end(self) -> None:
        """Let go of the engine; what was noted down stays."""
        self._seq = int

    def at(self, entity: str, seq: int) -> Manifest | None:
        """The manifest after event *seq*; None when there was no such object."""
        return self.version_at(entity, seq)[1]

    def version_at(self, entity: str, seq: int) -> tuple[int, Manifest | None]:
        """The manifest after event *seq*, and the event that wrote it.

        The first events of a run wrote its first objects, all before the log begins.
        """
        versions = self._versions.get(entity, [])
        later = bisect_right(versions, seq, key=itemgetter(0))
        if later:
            return versions[later - 1]
        created, newest = self._written.get(entity, _NEVER)
        if created > seq:
            return 0, None
        return min(newest, seq), self._objects.get(entity)

    @property
    def entities(self) -> list[str]:
        """The ids of all that there ever was, in their order."""
        return sorted({*self._objects, *self._versions})

    def all_at(self, prefix: str, seq: int) -> list[Manifest]:
        """The manifests after event *seq* of all entities whose id begins with *prefix*, by id."""
        return [manifest for *_, manifest in self.versions_at(prefix, seq)]

    def versions_at(
        self, prefix: str, seq: int, after: str = ""
    ) -> Iterator[tuple[int, int, Manifest]]:
        """The same, each with the events that wrote and created it, of ids after *prefix* + *after*."""
        entities = self.entities
        for entity in islice(entities, bisect_right(entities, prefix + after), None):
            if not entity.startswith(prefix):
                return
            written, manifest = self.version_at(entity, seq)
            if manifest is not None:
                yield written, self.created_at(entity, seq), manifest

    def created_at(self, entity: str, seq: int) -> int:
        """The event that created what there was of that id after event *seq*.

        Of an object that has gone since, and was there before the log begins, its first version here.
        """
        created, _ = self._written.get(entity, _NEVER)
        if 0 < created <= seq:
            return created
        versions = self._versions.get(entity, [])
        place = bisect_right(versions, seq, key=itemgetter(0)) - 1
        while place > 0 and versions[place - 1][1] is not None:
            place -= 1
        return versions[place][0] if place >= 0 else 0


@dataclass(frozen=True, slots=True)
class Stretch:
    """The notes of a replay, good for the events *began* to *reached*."""

    began: int
    reached: int
    log: ObjectLog


_stretches: dict[tuple[int, int], Stretch] = {}


def object_at(run: Run, entity: str, *, seq: int) -> Manifest | Question | None:
    """The manifest of *entity* after event *seq*; None when it was not there.

    It is a question to an engine process, which replays from the checkpoint before, unless nothing
    happened to the object since. Raises ApplicationError when the run has no such event.
    """
    check_seq(run, seq)
    events = RunEvent.objects.filter(run_id=run.pk, object=entity)
    if not events.filter(seq__gt=seq).exists():
        rows_seq = Run.objects.filter(pk=run.pk).values_list("rows_seq", flat=True).first()
        found = _row(run, entity)
        # The run may have gone on meanwhile, and its rows may be those of an earlier event.
        has_changed = events.filter(seq__gt=seq if rows_seq is None else rows_seq).exists()
        if not has_changed and (found or rows_seq is None):
            return found
    if not events.filter(seq__lte=seq).exists():
        return None
    arguments = {"entity": entity, "seq": seq}
    return Question.about(run, object_replayed, arguments, lasts=True)


def object_replayed(run_id: int, entity: str, seq: int) -> Manifest | None:
    """The manifest of *entity* after event *seq*, from a replay that may be known already."""
    return log_replayed(run_id, seq).at(entity, seq)


def objects_replayed(
    run_id: int, prefix: str, seq: int, after: str, most: int
) -> list[dict[str, Any]]:
    """The objects after event *seq* of entities whose id begins with *prefix*, by id.

    At most so many, of ids that come after *after*: [{id, seq, manifest}].
    """
    log, found = log_replayed(run_id, seq), list[dict[str, Any]]()
    for entity in log.entities:
        if entity > after and entity.startswith(prefix):
            written, manifest = log.version_at(entity, seq)
            if manifest is not None:
                found.append({"id": entity, "seq": written, "manifest": manifest})
        if len(found) == most:
            break
    return found


def log_replayed(run_id: int, seq: int) -> ObjectLog:
    """The versions of all objects around event *seq*. For a process beside the web process."""
    found = _noted(run_id, seq)
    if found is None:
        found = _replay(Run.described().get(pk=run_id), seq)
    _stretches[run_id, found.began] = found
    while len(_stretches) > STRETCHES:
        del _stretches[next(iter(_stretches))]
    return found.log


def object_now(run: Run, entity: str) -> Manifest | None:
    """The newest manifest of *entity*, or None. Raises ApplicationError; see `rows_wait`."""
    rows_wait(run.pk)
    return _row(run, entity)


def as_shown(manifest: Manifest, *, sees_values: bool) -> Manifest:
    """*manifest* without managed fields, and without the values that only some people see unless *sees_values*.

    Keys are sorted, as kubectl prints them: an object reads the same from a row and from a replay.
    """
    found = without_managers(manifest)
    if not sees_values:
        found = without_hidden(found)
    return orjson.loads(orjson.dumps(found, option=orjson.OPT_SORT_KEYS))


def _row(run: Run, entity: str) -> Manifest | None:
    model, key = registry.place_of(entity)
    rows = model.objects.filter(run_id=run.pk, key=key)
    return rows.values_list("manifest", flat=True).first()


def _noted(run_id: int, seq: int) -> Stretch | None:
    """Take out the notes that cover event *seq*. Without a look at the database: an answer of an
    API server of the past asks again and again, and what was replayed stays so.
    """
    for (run, began), found in _stretches.items():
        if run == run_id and began <= seq <= found.reached:
            return _stretches.pop((run, began))
    return None


def _replay(run: Run, seq: int) -> Stretch:
    logs: list[tuple[int, ObjectLog]] = []
    reached = min(seq + AHEAD, run.head_seq)

    def begin(engine: Cluster) -> None:
        logs.append((engine.seq, _log_of(engine)))

    try:
        engine_at_seq(run, seq=reached, start=seq, begin=begin)
    except Exception as problem:  # whatever a pickle of another version raises
        raise ApplicationError(
            gettext("The past of this run cannot be computed again: {problem}").format(
                problem=problem
            ),
            status=409,
        ) from problem
    began, log = logs[0]
    log.end()
    # For a run from its beginning the log also knows what was written before it.
    return Stretch(min(began, seq), reached, log)


def _log_of(cluster: Cluster) -> ObjectLog:
    """Note down every version of every object that the cluster writes from now on."""
    manifests, record = manifests_of(cluster), cluster.store.record
    written = {entity: record.events_of(entity) for entity in manifests}
    log = ObjectLog(manifests, written, lambda: cluster.seq)
    record.touched = log
    return log
