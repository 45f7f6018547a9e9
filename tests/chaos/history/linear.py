"""Whether the operations on one object could have happened one after the other.

A search after Wing and Gong, with what Lowe added: states that were seen are not searched again.
An order is looked for in which each operation takes effect at one moment between its request and
its answer, and in which each answer is right. One whose outcome is open takes effect once, at any
moment after its request, or never.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tests.chaos.history.record import ABSENT, CONFLICT, EXISTS, OK, OPEN, Operation

# Beyond this the search gives up, and says so.
MOST_STATES = 400_000
UNSEEN = "?"


@dataclass(frozen=True, slots=True)
class Register:
    """An object: its value and version; 0 for a version that nobody was told."""

    value: str
    version: int


State = Register | None


class Undecided(Exception):
    """The search took too long."""


def is_linear(operations: Sequence[Operation], told: Mapping[str, int] | None = None) -> bool:
    """Whether there is such an order. Raises Undecided.

    *told* are versions of values, as anybody saw them: a write that nobody answered, and whose
    value was seen, has happened. Versions say in which order writes took effect.
    """
    ops = sorted(operations, key=lambda one: (one.began, one.number))
    ops = [_as_seen(one, told or {}) for one in ops]
    values = {one.version: one.value for one in ops if one.version and one.value}
    wanted = _mask(ops, lambda one: one.outcome != OPEN or one.version > 0)
    written = [one.is_write and one.version > 0 for one in ops]
    before = [
        _mask(ops, lambda other, one=one: other.is_write and 0 < other.version < one.version)
        if is_written
        else _mask(ops[:place], lambda other, one=one: _is_like(other, one))
        for place, (one, is_written) in enumerate(zip(ops, written, strict=True))
    ]
    seen: set[tuple[int, State]] = set()
    stack: list[tuple[int, State]] = [(0, None)]
    while stack:
        done, state = stack.pop()
        if done & wanted == wanted:
            return True
        if (done, state) in seen:
            continue
        seen.add((done, state))
        if len(seen) > MOST_STATES:
            raise Undecided
        for place in _next(ops, done):
            if before[place] & ~done:
                continue
            for after in _after(state, ops[place], values):
                stack.append((done | 1 << place, after))
    return False


def _mask(ops: Sequence[Operation], holds: Callable[[Operation], bool]) -> int:
    """The places of those for which it holds, as bits."""
    return sum(1 << place for place, one in enumerate(ops) if holds(one))


def _as_seen(one: Operation, told: Mapping[str, int]) -> Operation:
    """An open write with the version that somebody was told of its value; all others write the same."""
    if one.outcome != OPEN or not one.is_write:
        return one
    if one.value in told:
        return replace(one, version=told[one.value])
    return replace(one, value=UNSEEN)


def _is_like(other: Operation, one: Operation) -> bool:
    """Whether both are open and do the same, unseen. The one that began first may do it for both."""
    if one.outcome != OPEN or one.version or other.outcome != OPEN or other.version:
        return False
    return (other.kind, other.expect) == (one.kind, one.expect)


def _next(ops: Sequence[Operation], done: int) -> Iterator[int]:
    """Those that may come first: which began before any other that is left has ended.

    What must be tried first comes last: the stack turns it around.
    """
    left = [place for place in range(len(ops)) if not done >> place & 1]
    first_end = min((ops[place].ended for place in left), default=float("inf"))
    found = [place for place in left if ops[place].began <= first_end]
    yield from sorted(found, key=lambda place: ops[place].outcome != OPEN)


def _after(state: State, one: Operation, values: dict[int, str]) -> Iterator[State]:
    """The states after *one*; none where its answer is wrong."""
    match one.outcome:
        case "ok":
            yield from _done(state, one, values)
        case "open":
            yield from _done(state, one, values)
        case reason if reason == ABSENT:
            if state is None:
                yield state
        case reason if reason == EXISTS:
            if state is not None:
                yield state
        case reason if reason == CONFLICT:
            if state is not None and not (one.expect and one.expect == state.version):
                yield state
        case _:
            yield state


def _done(state: State, one: Operation, values: dict[int, str]) -> Iterator[State]:
    if one.kind == "create":
        if state is None:
            yield Register(one.value, one.version)
        return
    if state is None:
        return
    if one.kind == "delete":
        yield None
    elif one.kind == "get":
        is_same = state.value == one.value and state.version in (0, one.version)
        if is_same and one.outcome == OK:
            yield Register(one.value, one.version)
    elif _is_expected(state, one, values) and (not one.version or one.version > state.version):
        yield Register(one.value, one.version)


def _is_expected(state: Register, one: Operation, values: dict[int, str]) -> bool:
    """Whether an update names the version of the object; that of an open write is known by its value."""
    if not one.expect:
        return True
    if state.version:
        return one.expect == state.version
    return values.get(one.expect) == state.value
