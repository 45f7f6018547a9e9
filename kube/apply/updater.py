"""What an update or an application of a configuration makes of an object's managers.

Upstream: structured-merge-diff/merge/update.go. Objects are served in one version only, so managers
that name another one are dropped, as upstream drops those of versions that it does not have.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kube.apply.fields import NO_FIELDS, FieldSet, Path, in_order
from kube.apply.managers import Managed, Manager, Managers
from kube.apply.merging import merged, without
from kube.apply.schemas import Shape
from kube.apply.values import Comparison, compared, fields_of, with_named_fields

Object = Mapping[str, Any]


class Conflicts(Exception):
    """Fields that other managers have otherwise, by manager and path, in upstream's order."""

    def __init__(self, found: list[tuple[Manager, Path]]) -> None:
        super().__init__(f"{len(found)} conflicts")
        self.found = found


@dataclass(frozen=True, slots=True)
class Updater:
    """Updates and applies to objects of one shape in one version.

    `counts` says which fields are managed at all at the address that is written to.
    """

    shape: Shape
    api_version: str
    counts: Callable[[Path], bool]

    def update(
        self, live: Object, new: Object, managers: Managers, manager: Manager, time: str
    ) -> Managers:
        """Give *manager* what differs between *live* and *new*."""
        comparison = self._compared(live, new)
        others = {one: managed for one, managed in self._known(managers).items() if one != manager}
        mine = self._known(managers).get(manager)
        found = _taken(others, comparison)
        before = mine.fields if mine else NO_FIELDS
        after = (before - comparison.removed) | comparison.changed
        if after:
            # Without a change of its own, a manager keeps the time of its last one.
            is_older = mine is not None and not comparison.changed
            found[manager] = Managed(
                after, self.api_version, mine.time if mine and is_older else time
            )
        return found

    def apply(
        self, live: Object, config: Object, managers: Managers, manager: Manager, *, force: bool
    ) -> tuple[dict[str, Any], Managers]:
        """The object with *config*, and its managers; the time of *manager* stays as it was.

        Raises Conflicts, unless *force* takes the fields from the others.
        """
        known = self._known(managers)
        last = known.get(manager)
        wanted = self._counting(fields_of(self.shape, config))
        known[manager] = Managed(wanted, self.api_version, last.time if last else "")
        new = merged(self.shape, live, config)
        if last is not None and last.fields:
            new = self._pruned(new, known, last.fields)
        comparison = self._compared(live, new)
        mine = known.pop(manager)
        if not force:
            self._check(known, comparison)
        found = _taken(known, comparison)
        if mine.fields:
            found[manager] = mine
        return new, found

    def _known(self, managers: Managers) -> Managers:
        return {
            one: managed
            for one, managed in managers.items()
            if managed.api_version == self.api_version
        }

    def _compared(self, live: Object, new: Object) -> Comparison:
        found = compared(self.shape, live, new)
        return Comparison(
            self._counting(found.removed),
            self._counting(found.modified),
            self._counting(found.added),
        )

    def _counting(self, paths: FieldSet) -> FieldSet:
        return frozenset(path for path in paths if self.counts(path))

    def _check(self, others: Managers, comparison: Comparison) -> None:
        found = [
            (manager, path)
            for manager in sorted(others)
            for path in in_order(others[manager].fields & comparison.changed)
        ]
        if found:
            raise Conflicts(found)

    def _pruned(self, new: Any, managers: Managers, last: FieldSet) -> Any:
        """*new* without what was applied last, and neither is now nor belongs to another."""
        shape = self.shape
        last = with_named_fields(shape, last)
        pruned = without(shape, new, last) or {}
        everything = with_named_fields(shape, fields_of(shape, new))
        owned = frozenset(path for one in managers.values() for path in one.fields)
        kept = with_named_fields(shape, fields_of(shape, pruned)) | with_named_fields(shape, owned)
        pruned = without(shape, new, everything - kept) or {}
        # Fields inside removed items are not removed again: only fields that were applied last are removed.
        left = with_named_fields(shape, fields_of(shape, pruned))
        return without(shape, new, (everything - left) & last) or {}


def _taken(others: Managers, comparison: Comparison) -> Managers:
    """The managers without what has been changed or removed by another one."""
    gone = comparison.changed | comparison.removed
    left = {
        one: Managed(managed.fields - gone, managed.api_version, managed.time)
        for one, managed in others.items()
    }
    return {one: managed for one, managed in left.items() if managed.fields}
