"""What first took the place of each fact that stood in the files of a run: fields, and Events.

    fact stands ──(a write changes its field, an Event is emitted, the object goes)──▶ superseded

A fact that was superseded stays so, even if its field gets the old value back: what stands there
now is the simulation's. Nothing here changes what happens in a run.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

from engine.api_server.store.watches import WatchEvent
from engine.kernel.loop import EventLoop
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest, Node, from_manifest

# The Events about an object, as if they were a field of it.
EVENTS: Final = "events"
DELETED: Final = "metadata.deletionTimestamp"
# The whole object, which is gone.
_GONE: Final = "metadata"
# The parts of a status that are lists, and what tells their entries apart.
_LISTS: Final = {
    "conditions": "type",
    "containerStatuses": "name",
    "initContainerStatuses": "name",
}
# When a condition was looked at says nothing about what was seen.
_TIMES: Final = ("lastTransitionTime", "lastHeartbeatTime", "lastProbeTime", "lastUpdateTime")
# An Event of a file and one of the run may be word for word the same: then the next one counts.
_MOST_EVENTS: Final = 2


class Replacement(NamedTuple):
    """What took the place of a fact: the event of the run, its virtual time, and what it says."""

    seq: int
    at: int
    text: str


def entities_told(manifests: Iterable[Manifest]) -> Iterator[str]:
    """The ids of the objects of files of which a field may be a fact: see `facts_of`.

    Leases tell of nodes, so a node may have one without a status.
    """
    for each in manifests:
        is_deleted = "deletionTimestamp" in each["metadata"]
        if each.get("status") or is_deleted or each["kind"] == Node.KIND:
            yield from_manifest(each).id


class Superseding:
    """Notes what replaces the facts of the objects that were there when it began.

    Of the fields of an object of which the files tell none, nothing is noted.
    """

    __slots__ = ("_brought", "_created", "_events", "_fields", "_loop", "_texts", "_told")

    def __init__(
        self, loop: EventLoop, created: Mapping[str, int], brought: int, told: Iterable[str]
    ) -> None:
        """*created* are the events that created each object, *brought* is the last one so far.

        *told* are the objects that have facts among their fields, by id.
        """
        self._loop = loop
        self._created = created
        self._brought = brought
        self._told = frozenset(told)
        # Each text once: a checkpoint would have it as often as it is said.
        self._texts: dict[str, str] = {}
        # By the object's id.
        self._fields: dict[str, dict[str, Replacement]] = {}
        self._events: dict[str, list[Replacement]] = {}

    def written(self, write: WatchEvent, seq: int, fact: str) -> None:
        """Event *seq* of kind *fact* replaced an object."""
        old, new = write.old, write.new
        if old is None or not self._was_brought(new.id):
            return
        has_facts = new.id in self._told
        for field, value in _changed(old.raw, new.raw):
            has_moved_on = field in ("status.phase", DELETED)
            if not (has_facts or has_moved_on):
                continue
            replacement = Replacement(seq, self._loop.now, self._kept(_said(fact, value)))
            if has_facts:
                self._fields.setdefault(new.id, {}).setdefault(field, replacement)
            if has_moved_on:
                self._moved_on(new.id, replacement)

    def removed(self, entity: str, created: int, seq: int, fact: str) -> None:
        """Event *seq* of kind *fact* removed an object that event *created* had created."""
        if created <= self._brought:
            replacement = Replacement(seq, self._loop.now, fact)
            self._fields.setdefault(entity, {}).setdefault(_GONE, replacement)

    def emitted(self, entity: str, seq: int, reason: str, message: str) -> None:
        """A component emitted a Kubernetes Event about an object."""
        if self._was_brought(entity):
            text = f"{reason}: {message}" if message else reason
            self._moved_on(entity, Replacement(seq, self._loop.now, text))

    def of_field(self, entity: str, field: str) -> Replacement | None:
        """What took the place of a field of the files; None while it stands."""
        fields = self._fields.get(entity, {})
        found = [each for each in (fields.get(field), fields.get(_GONE)) if each is not None]
        return min(found, default=None)

    def of_event(self, entity: str, text: str) -> Replacement | None:
        """What came after an Event of the files that said *text*; None while nothing else did."""
        gone = self._fields.get(entity, {}).get(_GONE)
        later = (*self._events.get(entity, ()), *(() if gone is None else (gone,)))
        return next((each for each in later if each.text != text), None)

    def _kept(self, text: str) -> str:
        return self._texts.setdefault(text, text)

    def _was_brought(self, entity: str) -> bool:
        return 0 < self._created.get(entity, 0) <= self._brought

    def _moved_on(self, entity: str, replacement: Replacement) -> None:
        known = self._events.setdefault(entity, [])
        if len(known) < _MOST_EVENTS and all(each.text != replacement.text for each in known):
            known.append(replacement)


def _changed(old: Manifest, new: Manifest) -> Iterator[tuple[str, object]]:
    """The fields that are facts and that a write changed, each with its new value."""
    deleted = new["metadata"].get("deletionTimestamp")
    if old["metadata"].get("deletionTimestamp") != deleted:
        yield DELETED, deleted
    before, after = section(old, "status"), section(new, "status")
    if before is after:
        return
    for name in dict.fromkeys((*before, *after)):
        if name in _LISTS:
            yield from _changed_entries(name, before, after)
        elif before.get(name) != after.get(name):
            yield f"status.{name}", after.get(name)


def _changed_entries(name: str, before: Manifest, after: Manifest) -> Iterator[tuple[str, object]]:
    key = _LISTS[name]
    old = {str(each.get(key)): _timeless(each) for each in items(before, name)}
    new = {str(each.get(key)): _timeless(each) for each in items(after, name)}
    for entry in dict.fromkeys((*old, *new)):
        if old.get(entry) != new.get(entry):
            yield f"status.{name}[{entry}]", new.get(entry)


def _timeless(entry: Manifest) -> dict[str, Any]:
    return {name: value for name, value in entry.items() if name not in _TIMES}


def _said(fact: str, value: object) -> str:
    """ "PodRunning: Running", "NodeStatusReported: False, KubeletNotReady": the event and the value."""
    if isinstance(value, dict):
        entry = cast("Manifest", value)
        state = next(iter(section(entry, "state")), "")
        told = (entry.get("status"), state, entry.get("reason"))
        return f"{fact}: {', '.join(str(each) for each in told if each)}".rstrip(": ")
    return f"{fact}: {value}" if isinstance(value, str | int) else fact
