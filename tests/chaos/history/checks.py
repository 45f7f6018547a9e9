"""What must hold of a history; each check names what contradicts it."""

from collections import defaultdict
from collections.abc import Iterator

from tests.chaos.history.linear import Undecided, is_linear
from tests.chaos.history.record import (
    ABSENT,
    OK,
    OPEN,
    Following,
    History,
    Listing,
    Operation,
)


def faults(history: History) -> list[str]:
    """Everything that is wrong with a history whose clients have all ended."""
    return [
        *operations_have_an_order(history),
        *versions_only_rise(history),
        *each_write_has_one_version(history),
        *acknowledged_writes_are_there(history),
        *watches_tell_all_once(history),
    ]


def operations_have_an_order(history: History) -> Iterator[str]:
    """The operations on each object are linearizable, with the last list as a reading of each."""
    told = {(name, value): version for name, value, version in _seen(history)}
    for name, operations in _by_name(history).items():
        mine = {value: version for (of, value), version in told.items() if of == name}
        try:
            if not is_linear(operations, mine):
                newest = "; ".join(map(str, operations[-12:]))
                yield f"{name}: no order explains its {len(operations)} operations: … {newest}"
        except Undecided:
            yield f"{name}: no order was found among its {len(operations)} operations in time"


def versions_only_rise(history: History) -> Iterator[str]:
    """What begins after an answer has a version that is no lower than the answer's.

    This holds for lists and for what is written, whichever object it is.
    """
    known = [
        (one.began, one.ended, one.version, str(one), one.is_write)
        for one in history.operations
        if one.outcome == OK and one.is_write and one.version
    ]
    known += [
        (one.began, one.ended, one.version, f"list at {one.version}", False)
        for one in _listings(history)
    ]
    by_end = sorted(known, key=lambda one: one[1])
    highest, passed = 0, 0
    for began, _, version, text, is_write in sorted(known):
        while passed < len(by_end) and by_end[passed][1] < began:
            highest = max(highest, by_end[passed][2])
            passed += 1
        if version < highest or (is_write and version == highest):
            yield f"{text} comes after version {highest} was told"


def each_write_has_one_version(history: History) -> Iterator[str]:
    """A value is that of one write, and an object has it at one version: no write happens twice."""
    found: dict[tuple[str, str], set[int]] = defaultdict(set)
    for name, value, version in _seen(history):
        found[name, value].add(version)
    for (name, value), versions in found.items():
        if len(versions) > 1:
            yield f"{name}={value} was written at {sorted(versions)}"
    by_version: dict[int, set[tuple[str, str]]] = defaultdict(set)
    for name, value, version in _seen(history):
        by_version[version].add((name, value))
    for version, values in by_version.items():
        if len(values) > 1:
            yield f"version {version} is of {sorted(values)}"
    sent = {(one.name, one.value) for one in history.operations if one.is_write}
    for name, value in found:
        if (name, value) not in sent:
            yield f"{name}={value} was never written"


def acknowledged_writes_are_there(history: History) -> Iterator[str]:
    """The last list has what was written last, unless something later may have taken it away."""
    assert history.final is not None
    newest: dict[str, Operation] = {}
    for one in history.operations:
        known = newest.get(one.name)
        if one.is_write and one.outcome == OK and (not known or one.version > known.version):
            newest[one.name] = one
    for name, one in newest.items():
        value, version = history.final.objects.get(name, ("", 0))
        if version >= one.version:
            continue
        taken = [
            each
            for each in history.operations
            if each.name == name and each.kind == "delete" and each.outcome in (OK, OPEN)
        ]
        if version or not any(each.ended >= one.began for each in taken):
            yield f"{one} is lost: {name} is {value or 'not there'} at {version}"


def watches_tell_all_once(history: History) -> Iterator[str]:
    """Each change after the list, in order, once, as it was made; nothing is left out."""
    for number, following in enumerate(history.followings):
        for text in _faults_of(following, history):
            yield f"watch {number}: {text}"


def _faults_of(following: Following, history: History) -> Iterator[str]:
    """With what it holds at its end compared with the last list."""
    final = history.final
    assert final is not None
    held = {**following.began.objects}
    before, at_the_end = following.began.version, {**held}
    for change in following.changes:
        text = f"{change.kind} {change.name}={change.value} at {change.version}"
        if change.version <= before:
            yield f"{text} comes after {before}"
        before = max(before, change.version)
        if (change.kind == "ADDED") == (change.name in held):
            yield f"{text} though it is {'' if change.name in held else 'not '}there"
        if change.kind == "DELETED":
            held.pop(change.name, None)
        else:
            held[change.name] = (change.value, change.version)
        if change.version <= final.version:
            at_the_end = {**held}
    yield from _left_out(following, history)
    if following.upto >= history.last and at_the_end != final.objects:
        names = sorted({*at_the_end, *final.objects})
        other = [name for name in names if at_the_end.get(name) != final.objects.get(name)]
        yield f"holds something else than the last list of {other}"


def _left_out(following: Following, history: History) -> Iterator[str]:
    """Acknowledged writes that no change tells."""
    told = {(change.name, change.version) for change in following.changes}
    for one in history.operations:
        if not (one.is_write and one.outcome == OK):
            continue
        is_due = following.began.version < one.version <= following.upto
        if is_due and (one.name, one.version) not in told:
            yield f"{one} is left out"


def _by_name(history: History) -> dict[str, list[Operation]]:
    found: dict[str, list[Operation]] = defaultdict(list)
    for one in history.operations:
        found[one.name].append(one)
    final = history.final
    assert final is not None
    for name, operations in found.items():
        value, version = final.objects.get(name, ("", 0))
        outcome = OK if version else ABSENT
        times = {"began": final.began, "ended": final.ended}
        operations.append(Operation(-1, "get", name, value, 0, outcome, version, **times))
    return found


def _listings(history: History) -> list[Listing]:
    assert history.final is not None
    return [*history.listings, history.final]


def _seen(history: History) -> Iterator[tuple[str, str, int]]:
    """Everything that somebody was told of an object: name, value and version."""
    for one in history.operations:
        if one.outcome == OK and one.version:
            yield one.name, one.value, one.version
    for listing in _listings(history):
        for name, (value, version) in listing.objects.items():
            yield name, value, version
    for following in history.followings:
        for change in following.changes:
            # A deletion has a version of its own.
            if change.kind != "DELETED":
                yield change.name, change.value, change.version
