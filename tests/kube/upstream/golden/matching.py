"""Whether an answer is the one that was recorded, once what differs in each run is put in its place."""

import re
from collections.abc import Iterator, Mapping
from typing import Any

# What a recording names: "<uid 3>" is the same wherever it stands, "<time>" may be any time.
TOKEN = re.compile(r"<(?:uid|name|ip|port|version|token) \d+>|<(?:time|version|hash|any)>")
_KINDS = {
    "<time>": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z",
    "<version>": r"\d+",
    "<hash>": r"[0-9a-f]{8,}",
    "<any>": r"(?s:.*)",
}
# What a later version of kscope serves as well is no other answer.
_DISCOVERY = ("APIGroupDiscoveryList", "APIGroupList", "APIResourceList")
_NAMED = r"(?s:.+?)"

Names = dict[str, Any]


class Differs(Exception):
    """Where an answer is not what was recorded, and how."""

    def __init__(self, where: str, recorded: Any, found: Any) -> None:
        super().__init__(f"{where or '.'}: recorded {recorded!r}, found {found!r}"[:600])


def match(recorded: Any, found: Any, names: Mapping[str, Any]) -> Names:
    """*names* and what else must be meant for *found* to be as *recorded*. Raises Differs."""
    known = dict(names)
    _match(recorded, found, known, "")
    return known


def _match(recorded: Any, found: Any, names: Names, where: str) -> None:
    match recorded:
        case dict():
            # A name of a server may be the key of a label.
            recorded = {substituted(key, names): value for key, value in recorded.items()}
            if not isinstance(found, dict) or recorded.keys() != found.keys():
                raise _keys(recorded, found, where)
            for key, value in recorded.items():
                if recorded.get("kind") in _DISCOVERY and isinstance(value, list):
                    _match_some(value, found[key], names, f"{where}.{key}")
                else:
                    _match(value, found[key], names, f"{where}.{key}")
        case list():
            if not isinstance(found, list) or len(recorded) != len(found):
                raise Differs(where, _size(recorded), _size(found))
            _match_list(recorded, found, names, where)
        case str():
            _match_text(recorded, found, names, where)
        case _:
            if recorded != found or type(recorded) is not type(found):
                raise Differs(where, recorded, found)


def _match_list(recorded: list[Any], found: list[Any], names: Names, where: str) -> None:
    """Objects whose names a server makes are in the order of these, which differs."""
    if not any(_has_made_name(one) for one in recorded):
        for number, (one, other) in enumerate(zip(recorded, found, strict=True)):
            _match(one, other, names, f"{where}[{number}]")
        return
    _match_some(recorded, found, names, where)


def _match_some(recorded: list[Any], found: Any, names: Names, where: str) -> None:
    """Each that was recorded is found, in whatever order; others may be found as well."""
    left = list(found) if isinstance(found, list) else []
    last = Differs(where, "more", "no more")
    for number, one in enumerate(recorded):
        for other in left:
            try:
                known = match(one, other, names)
            except Differs as difference:
                last = difference
                continue
            names.update(known)
            left.remove(other)
            break
        else:
            raise Differs(f"{where}[{number}]", "one that matches", str(last))


def _has_made_name(one: Any) -> bool:
    return isinstance(one, dict) and bool(
        TOKEN.search(str((one.get("metadata") or {}).get("name") or one.get("name", "")))
    )


def _match_text(recorded: str, found: Any, names: Names, where: str) -> None:
    if recorded.startswith("<version ") and re.fullmatch(r"\d+", str(found)):
        # A controller may have written the same once more or less.
        names[recorded] = found
        return
    if TOKEN.fullmatch(recorded) and recorded not in _KINDS:
        # A number of a port is named by a text.
        if names.setdefault(recorded, found) != found:
            raise Differs(where, f"{recorded}, which is {names[recorded]!r}", found)
        return
    if not isinstance(found, str):
        raise Differs(where, recorded, found)
    if recorded == found:
        return
    new: list[str] = []
    told = re.fullmatch("".join(_pattern(recorded, names, new)), found)
    if told is None:
        raise Differs(where, substituted(recorded, names), found)
    names.update(zip(new, told.groups(), strict=True))


def _pattern(recorded: str, names: Names, new: list[str]) -> Iterator[str]:
    """The parts of a pattern that *recorded* stands for; *new* names are its groups."""
    end = 0
    for one in TOKEN.finditer(recorded):
        yield re.escape(recorded[end : one.start()])
        end, token = one.end(), one[0]
        if token in _KINDS:
            yield _KINDS[token]
        elif token in names:
            yield re.escape(str(names[token]))
        elif token in new:
            yield rf"\{new.index(token) + 1}"
        else:
            new.append(token)
            yield f"({_NAMED})"
    yield re.escape(recorded[end:])


def substituted(text: str, names: Mapping[str, Any]) -> str:
    """A text with what the names stand for, as far as they are known."""
    return TOKEN.sub(lambda one: str(names.get(one[0], one[0])), text)


def _keys(recorded: dict[str, Any], found: Any, where: str) -> Differs:
    if not isinstance(found, dict):
        return Differs(where, recorded, found)
    missing = {one: recorded[one] for one in recorded.keys() - found.keys()}
    more = {one: found[one] for one in found.keys() - recorded.keys()}
    if found.get("kind") == "Status":
        more = found
    return Differs(where, f"with {missing}", f"with {more}")


def _size(one: Any) -> str:
    return f"{len(one)} items" if isinstance(one, list) else repr(one)
