"""One patch that leads from the state after any event to that after any other, on or back.

Between two events that are near to each other only what the events between changed can differ.
Further apart, the keyframes before both are compared: levels that they share are not looked at.
"""

from itertools import chain
from typing import Any

import orjson

from engine.kernel.garbage import collector_paused
from engine.kernel.view import State, diff, fold
from kscope.runs.history.changes import changes_between
from kscope.runs.history.chunks import Part, Texts, text_of
from kscope.runs.history.states import (
    Base,
    base_before,
    entities_of,
    folded,
    laid_over,
    read,
    texts_from,
)

NEAR = 5_000
"""So many events apart, or fewer, all events between are read."""
FEW = 50_000
"""So many entities are compared sooner than those that may differ are looked up."""


def patch_between(
    run_id: int, origin: int, target: int, part: Part | None = None
) -> dict[str, Any]:
    """The merge patch that makes of the state after event *origin* that after event *target*.

    It is the smallest: {entity: attributes that differ, or None where it is gone}, of a *part* of the
    states or of all. Attributes of an entity that is new are JSON already (`orjson.Fragment`).
    """
    earlier, later = min(origin, target), max(origin, target)
    read_between = _near if later - earlier <= NEAR else _far
    # What is made here is tens of thousands of small dicts, and none of them garbage.
    with collector_paused():
        before, after = read_between(run_id, earlier, later, part)
        return _difference(before, after) if origin <= target else _difference(after, before)


def _near(run_id: int, earlier: int, later: int, part: Part | None) -> tuple[Texts, Texts]:
    between = [
        changes
        if part is None
        else {entity: patch for entity, patch in changes.items() if entity in part}
        for _, _, changes in changes_between(run_id, earlier, later)
    ]
    changed = set(chain.from_iterable(between))
    before = _some(base_before(run_id, earlier), earlier, changed)
    after: State = {}
    for entity, text in before.items():
        shown = read(text)
        if shown is not None:
            after[entity] = shown
    for changes in between:
        fold(after, changes)
    return before, {entity: text_of(shown) for entity, shown in after.items()}


def _far(run_id: int, earlier: int, later: int, part: Part | None) -> tuple[Texts, Texts]:
    start, end = base_before(run_id, earlier), base_before(run_id, later)
    shares = start.levels[:1] == end.levels[:1] != []
    if part or not shares or end.count <= FEW:
        return texts_from(start, earlier, part), texts_from(end, later, part)
    changed = {
        entity
        for level in set(start.levels) ^ set(end.levels)
        for entity in entities_of(run_id, level)
    }
    for base, seq in ((start, earlier), (end, later)):
        for _, _, changes in changes_between(run_id, base.seq, seq):
            changed.update(changes)
    return _some(start, earlier, changed), _some(end, later, changed)


def _some(base: Base, seq: int, entities: set[str]) -> Texts:
    """Those of *entities* that are there after event *seq*."""
    texts = base.some(entities)
    return laid_over(texts, folded(base, seq, texts, entities))


def _difference(before: Texts, after: Texts) -> dict[str, Any]:
    patch: dict[str, Any] = {entity: None for entity in before if entity not in after}
    # The pods of a node change alike: a far jump has a dozen entities for each of these.
    known: dict[tuple[bytes, bytes], Any] = {}
    for entity, text in after.items():
        old = before.get(entity)
        if old is None:
            patch[entity] = orjson.Fragment(text)
        elif old != text:
            pair = old, text
            if pair not in known:
                known[pair] = diff(orjson.loads(old), orjson.loads(text))
            patch[entity] = known[pair]
    return patch
