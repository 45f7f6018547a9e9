"""The record of writes: each write is one event, with the changes that pages show."""

from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple, Required, TypedDict, cast

from engine.api_server.store.faults import PV_CONTROLLER, WRITE_REFUSED
from engine.api_server.store.superseding import Superseding
from engine.api_server.store.watches import WatchEvent
from engine.kernel.loop import EventLoop
from engine.kernel.recorder import Recorder
from engine.kernel.view import Attributes, Changes, diff, merge
from engine.objects.manifest_parts import section
from engine.objects.objects import ApiObject, Manifest, Pod
from engine.objects.pods.pod_resources import ResourceRules
from engine.objects.pods.told_containers import told_on_pages
from engine.objects.projection import advanced, bound


class Note(TypedDict, total=False):
    """What the event of a write says beside the write itself.

    `by` is the author. `event` is the event's kind; without it, one is made of the object's kind
    and the verb. `changes` are laid over what the object itself shows.
    """

    by: Required[str]
    event: str
    message: str
    data: dict[str, Any] | None
    changes: Changes | None


class Written(NamedTuple):
    """The events that wrote an object: the one that created it, and the newest. Both are seqs."""

    created: int
    newest: int


# As Written(…), but faster than the constructor of NamedTuple.
_new: Callable[..., Written] = cast("Any", tuple).__new__

# An object after a write: the events that wrote and created it, and its manifest.
Left = tuple[int, int, Manifest]


class Removal(NamedTuple):
    """An object that is gone: the events that removed and created it, its id, its last manifest."""

    seq: int
    created: int
    entity: str
    manifest: Manifest


class Deletion(NamedTuple):
    """How an object went: event *seq* at *at* ns of virtual time removed it, *by* that component.

    `asked_by` is who had asked for it, the same one where nothing held the object; "" if unknown.
    `phase` and `node` are its last ones.
    """

    seq: int
    at: int
    by: str
    asked_by: str
    message: str
    phase: str
    node: str


# So many of the newest deletions are remembered. Up to twice as many are kept, because a dict that
# loses its first key again and again looks for the next one among what is gone.
_MOST_DELETIONS: Final = 1_000


class WriteRecord:
    """Records each write as an event, with a patch from what pages showed of the object before.

    *rules* compute the requests of pods that pages show; None means those of the newest version.
    Clocks are *ahead* of virtual time.
    """

    __slots__ = (
        "_ahead",
        "_causes",
        "_created",
        "_deletions",
        "_doomed",
        "_recorder",
        "_removals",
        "_rules",
        "_shown",
        "superseding",
        "touched",
    )

    def __init__(self, recorder: Recorder, rules: ResourceRules | None, ahead: int) -> None:
        self._ahead = ahead
        self._recorder = recorder
        self._rules = rules
        # By the object's id: what pages show of it, the event that created it, and its newest event.
        self._shown: dict[str, Attributes] = {}
        self._created: dict[str, int] = {}
        self._causes: dict[str, int] = {}
        # Who asked for the deletion of an object that is held; and how the newest ones went.
        self._doomed: dict[str, str] = {}
        self._deletions: dict[str, Deletion] = {}
        # What was removed since the last `take_removals`.
        self._removals: list[Removal] = []
        # The newest manifest of each object written since the last `take_touched`; None if it is gone.
        self.touched: dict[str, Manifest | None] = {}
        # What took the place of the facts of the files; None in a run that is not asked about them.
        self.superseding: Superseding | None = None

    def begin_superseding(self, loop: EventLoop, told: Iterable[str]) -> None:
        """From now on note what takes the place of the facts of the objects that are there.

        *told* are the ids of those that have facts among their fields.
        """
        # The ids that there are: a checkpoint has each of them once.
        named = {*told}
        kept = [each for each in self._created if each in named]
        self.superseding = Superseding(loop, self._created, self._recorder.seq, kept)
        self._recorder.heard = self.superseding.emitted

    def cause(self, obj: ApiObject) -> int:
        """The sequence number of the newest event of *obj*; 0 without one."""
        return self._causes.get(obj.id, 0)

    def with_causes(self, objects: Iterable[ApiObject]) -> list[tuple[int, ApiObject]]:
        """*objects*, each with its `cause`."""
        causes = self._causes
        return [(causes.get(obj.id, 0), obj) for obj in objects]

    def take_touched(self) -> dict[str, Manifest | None]:
        """The newest manifests of what was written since the last call."""
        taken, self.touched = self.touched, {}
        return taken

    def take_removals(self) -> list[Removal]:
        """What was removed since the last call, in the order of the events."""
        taken, self._removals = self._removals, []
        return taken

    def events_of(self, entity: str) -> Written:
        """The events that wrote the object; zeros when it is not there."""
        return Written(self._created.get(entity, 0), self._causes.get(entity, 0))

    def written_of(self, entities: Iterable[str]) -> dict[str, Written]:
        """The same of many objects."""
        created, causes = self._created, self._causes
        return {
            each: _new(Written, (created.get(each, 0), causes.get(each, 0))) for each in entities
        }

    def deletion_of(self, entity: str) -> Deletion | None:
        """How an object that was there has gone, if that is remembered."""
        return self._deletions.get(entity)

    def left(self, entity: str) -> Left | None:
        """The object as its newest event left it, if that is not taken yet; None if it is gone."""
        manifest = self.touched.get(entity)
        if manifest is None:
            return None
        created, newest = self.events_of(entity)
        return newest, created, manifest

    def refused(self, entity: str, by: str, why: str) -> None:
        """Record that a write of a component was refused."""
        message = f"a write of {by} was refused: {why}"
        self._recorder.record(WRITE_REFUSED, entity, "apiserver", message)

    def written(self, write: WatchEvent, fact: str, note: Note) -> None:
        """Record that an object was created or replaced."""
        old, new = write.old, write.new
        entity = new.id
        before = self._shown.get(entity)
        self._shown[entity], patch = advanced(before, old, new, self._rules, self._ahead)
        self.touched[entity] = new.raw
        recorder = self._recorder
        if old is not None and (recorder.told or recorder.troubles):
            patch = {**patch, **self._of_files_and_troubles(new, note["by"])}
        shown: Changes = {entity: patch} if patch or old is None else {}
        changes = note.get("changes")
        if changes:
            for other, change in changes.items():
                shown[other] = merge(shown.get(other), change)
        self._causes[entity] = seq = recorder.record(
            fact, entity, note["by"], note.get("message", ""), note.get("data"), shown or None
        )
        if old is None:
            self._created[entity] = seq
            self._deletions.pop(entity, None)
        elif new.deletion_timestamp and not old.deletion_timestamp:
            self._doomed[entity] = note["by"]
        if self.superseding is not None:
            self.superseding.written(write, seq, fact)

    def _of_files_and_troubles(self, new: ApiObject, by: str) -> Attributes:
        """What a write changes of what the files told of the object, and of what failed before."""
        told = self._told_anew(new) if new.id in self._recorder.told else {}
        if new.id in self._recorder.troubles:
            return {**told, **self._write_came_to_pass(new.id, by)}
        return told

    def _write_came_to_pass(self, entity: str, by: str) -> Attributes:
        """A write of the author whose writes of the object were refused before ends that trouble."""
        if by != PV_CONTROLLER or self._recorder.troubles[entity]["name"] != WRITE_REFUSED:
            return {}
        del self._recorder.troubles[entity]
        return {"trouble": None}

    def _told_anew(self, pod: ApiObject) -> Attributes:
        """What a write changes of what the status of a pod told of its containers."""
        known, now = self._recorder.told[pod.id], told_on_pages(pod, self._ahead)
        if now is None:
            del self._recorder.told[pod.id]
            return {"told": None} if known else {}
        self._recorder.told[pod.id] = now
        return {} if now == known else {"told": diff(known, now)}

    def bound(self, write: WatchEvent, fact: str, note: Note) -> None:
        """Record that a pod was bound, of which only the node and the conditions changed."""
        new = write.new
        assert isinstance(new, Pod), f"{new.id} is not a pod"
        entity = new.id
        self._shown[entity], patch = bound(self._shown[entity], new)
        self.touched[entity] = new.raw
        self._causes[entity] = seq = self._recorder.record(
            fact, entity, note["by"], note.get("message", ""), note.get("data"), {entity: patch}
        )
        if self.superseding is not None:
            self.superseding.written(write, seq, fact)

    def removed(self, write: WatchEvent, fact: str, note: Note) -> None:
        """Record that an object is gone."""
        entity = write.new.id
        self._shown.pop(entity, None)
        created = self._created.pop(entity, 0)
        self._causes.pop(entity, None)
        self.touched[entity] = None
        changes = {**(note.get("changes") or {}), entity: None}
        seq = self._recorder.record(
            fact, entity, note["by"], note.get("message", ""), note.get("data"), changes
        )
        if self.superseding is not None:
            self.superseding.removed(entity, created, seq, fact)
        # What the object keeps once it is read would be kept of something that is gone.
        manifest = write.new.raw
        self._removals.append(Removal(seq, created, entity, manifest))
        by = note["by"]
        asked_by = self._doomed.pop(entity, None)
        if asked_by is None:
            asked_by = "" if manifest["metadata"].get("deletionTimestamp") else by
        self._deletions[entity] = Deletion(
            seq,
            self._recorder.now,
            by,
            asked_by,
            note.get("message", ""),
            section(manifest, "status").get("phase") or "",
            section(manifest, "spec").get("nodeName") or "",
        )
        if len(self._deletions) > 2 * _MOST_DELETIONS:
            self._deletions = dict(list(self._deletions.items())[-_MOST_DELETIONS:])
