"""The view state: what every page draws, folded from the changes that events carry.

The state is a flat map `entity id → attributes`. An event's `changes` is a merge patch (RFC 7386)
on it. `static/js/model/shared/fold.js` is the same few lines for the browser.
"""

from typing import Any, cast

Attributes = dict[str, Any]
State = dict[str, Attributes]
Changes = dict[str, Attributes | None]


class NotComposable(ValueError):
    """Two merge patches have no single merge patch that does the work of both.

    Happens when the first one removes (or overwrites with a scalar) what the second one then
    fills with attributes: one patch would let the old attributes shine through.
    """


def merge(target: Any, patch: Any) -> Any:
    """*target* with the merge patch *patch* applied; neither is changed."""
    if not isinstance(patch, dict):
        return patch
    changes = cast("dict[str, Any]", patch)
    result: dict[str, Any] = {**target} if isinstance(target, dict) else {}
    for key, value in changes.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = merge(result.get(key), value)
        else:
            result[key] = value
    return result


def fold(state: State, changes: Changes) -> None:
    """Apply an event's *changes* to *state* in place. Attributes of an entity are replaced whole."""
    for entity, patch in changes.items():
        if patch is None:
            state.pop(entity, None)
            continue
        before = state.get(entity)
        # Attributes are never changed in place: those of a new entity are taken as they are.
        is_whole = before is None and _removes_nothing(patch)
        state[entity] = patch if is_whole else merge(before, patch)


def _removes_nothing(patch: Attributes) -> bool:
    for value in patch.values():
        if value is None or (value.__class__ is dict and not _removes_nothing(value)):
            return False
    return True


def compose(first: Any, second: Any) -> Any:
    """The patch that does what *first* and then *second* do. Raises NotComposable if none does."""
    if not isinstance(second, dict):
        return second
    if not isinstance(first, dict):
        raise NotComposable("the first patch removes what the second one fills")
    before = cast("dict[str, Any]", first)
    result: dict[str, Any] = dict(before)
    for key, value in cast("dict[str, Any]", second).items():
        result[key] = compose(before[key], value) if key in before else value
    return result


def diff(old: Attributes, new: Attributes) -> Attributes:
    """The smallest merge patch that turns *old* into *new*."""
    patch: Attributes = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if before == value and (before is not None or key in old):
            continue
        if isinstance(before, dict) and isinstance(value, dict):
            patch[key] = diff(cast("Attributes", before), cast("Attributes", value))
        else:
            patch[key] = value
    return patch
