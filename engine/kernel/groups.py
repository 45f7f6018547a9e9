"""Keys by what they have in common, found without a look at all of them.

`with_labels` and `selecting` (engine/objects/selectors.py) name groups by which labels and selectors
find each other.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Group = tuple[str, ...]


class Groups(Generic[Key]):
    """Keys in groups; a key may be in several. Those found are in the order in which they came."""

    __slots__ = ("_count", "_members", "_places")

    def __init__(self) -> None:
        self._members: dict[Group, dict[Key, int]] = {}
        # The place of each key in the order, and its groups.
        self._places: dict[Key, tuple[int, tuple[Group, ...]]] = {}
        self._count = 0

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def put(self, key: Key, groups: Iterable[Group]) -> None:
        """Add the key, or give it other groups: it keeps its place."""
        wanted = tuple(groups)
        place, before = self._places.get(key, (0, ()))
        if place and before == wanted:
            return
        self.drop(key)
        if not place:
            self._count += 1
            place = self._count
        self._places[key] = place, wanted
        for group in wanted:
            self._members.setdefault(group, {})[key] = place

    def drop(self, key: Key) -> None:
        """Remove the key, if it is here."""
        _, groups = self._places.pop(key, (0, ()))
        for group in dict.fromkeys(groups):
            members = self._members[group]
            del members[key]
            if not members:
                del self._members[group]

    def of(self, groups: Iterable[Group]) -> list[Key]:
        """The keys in any of *groups*."""
        held = [found for group in groups if (found := self._members.get(group))]
        if not held:
            return []
        found = held[0] if len(held) == 1 else {key: at for one in held for key, at in one.items()}
        return sorted(found, key=found.__getitem__)

    def fewest(self, choices: Iterable[tuple[Group, ...]]) -> tuple[Group, ...]:
        """The one of the *choices* of groups in which the fewest keys are."""
        return min(
            choices, key=lambda groups: sum(len(self._members.get(one, ())) for one in groups)
        )
