"""`expect:` of a scenario: what has to be true at its end, read and checked; a gate for CI.

expect:
- {pod: shop/web-0, node: n1}
- {pod: ml/train-0, refused: NodeResourcesFit}
- {pods: {namespace: ml, selector: app=train}, placed: 12}
- {claim: shop/data, volume: pv-1}
- {nodes: {selector: pool=a}, utilisation: {cpu: {atMost: 90%}}}
- {budget: shop/web, kept: true}
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from engine.api_server.validation.report import Report
from engine.kernel.sentences import Sentence, any_of, enumerated, grouped, say
from engine.objects.documents import Path
from engine.objects.values.durations import parse_duration
from engine.objects.values.shown import shown

Manifest = dict[str, Any]
About = Literal["pod", "pods", "claim", "nodes", "budget"]
# What may be expected of each, and what has to stand there.
_YES: Final = say("true or false")
_TEXT: Final = say("a text")
_TIME: Final = say("a duration")
_COUNT: Final = say("a count, or a mapping of atLeast and atMost")
_SHARES: Final = say("a mapping such as {example}", example="{cpu: {atLeast: 40%, atMost: 90%}}")
OF: Final[Mapping[str, Mapping[str, Sentence]]] = {
    "pod": {
        "bound": _YES,
        "node": _TEXT,
        "zone": _TEXT,
        "phase": _TEXT,
        "refused": say("true, a plugin, or a part of a reason"),
        "evicted": _YES,
        "waitsAtMost": _TIME,
    },
    "pods": {
        "placed": _COUNT,
        "waiting": _COUNT,
        "running": _COUNT,
        "evicted": _COUNT,
        "waitAtMost": _TIME,
    },
    "claim": {"bound": _YES, "volume": _TEXT},
    "nodes": {"utilisation": _SHARES},
    "budget": {"kept": _YES},
}
# By what the subjects of several objects are chosen.
_CHOSEN: Final = {"pods": ("namespace", "selector"), "nodes": ("selector",)}
_LIMITS: Final = ("atLeast", "atMost")
_MOST: Final = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """One thing that is expected of a pod, a claim, a budget, of some pods, or of some nodes.

    `key` names the one; `namespace` and `labels` choose some, "" and none for all. `wanted` is what
    `what` has to be: a bool, a text, a pair of counts (at least, at most), nanoseconds, or of a
    utilisation the pair in percent by resource.
    """

    about: About
    what: str
    wanted: Any
    key: str = ""
    namespace: str = ""
    labels: tuple[tuple[str, str], ...] = ()
    # Its place in the list of the file.
    place: int = 0


def parse_expectations(raw: Any, path: Path, report: Report) -> list[Expectation]:
    """The expectations of a list; what is wrong with it goes to *report*."""
    if raw is None:
        return []
    if not isinstance(raw, list):
        report.add(path, raw, say("expected a list, found {found}", found=shown(raw)))
        return []
    items = cast("list[Any]", raw)
    if len(items) > _MOST:
        report.add(
            path,
            None,
            say(
                "{count} expectations; at most {most} are read",
                count=grouped(len(items)),
                most=grouped(_MOST),
            ),
        )
        return []
    return [
        each
        for place, item in enumerate(items)
        for each in _item(item, (*path, place), place, report)
    ]


def _item(raw: Any, path: Path, place: int, report: Report) -> Iterator[Expectation]:
    """One entry: about one subject, one expectation or several."""
    if not isinstance(raw, dict):
        report.add(path, raw, say("expected a mapping, found {found}", found=shown(raw)))
        return
    item = cast("Manifest", raw)
    about = [each for each in OF if each in item]
    if len(about) != 1:
        wanted = enumerated([*OF])
        message = (
            say("expected one of {list}, found {found}", list=wanted, found=enumerated(about))
            if about
            else say("expected one of {list}, found none", list=wanted)
        )
        report.add(path, None, message)
        return
    subject = _subject(about[0], item[about[0]], (*path, about[0]), report)
    rest = {name: value for name, value in item.items() if name != about[0]}
    if not rest:
        report.add(
            path,
            None,
            say("nothing is expected: say one of {list}", list=enumerated([*OF[about[0]]])),
        )
    for name, value in rest.items():
        if name not in OF[about[0]]:
            message = say(
                "of a {value} one of {list} can be expected",
                value=about[0],
                list=enumerated([*OF[about[0]]]),
            )
            report.add((*path, name), value, message)
            continue
        wanted = _wanted(name, value, OF[about[0]][name], (*path, name), report)
        if subject is not None and wanted is not None:
            yield Expectation(
                about=cast("About", about[0]), what=name, wanted=wanted, place=place, **subject
            )


def _subject(about: str, raw: Any, path: Path, report: Report) -> Manifest | None:
    if about in _CHOSEN:
        return _chosen(raw, _CHOSEN[about], path, report)
    if not isinstance(raw, str) or not raw:
        report.add(path, raw, say("expected NAMESPACE/NAME, found {found}", found=shown(raw)))
        return None
    return {"key": raw if "/" in raw else f"default/{raw}"}


def _chosen(raw: Any, by: tuple[str, ...], path: Path, report: Report) -> Manifest | None:
    if not isinstance(raw, dict):
        words = (
            say("expected a mapping of namespace and selector, found {found}", found=shown(raw))
            if "namespace" in by
            else say("expected a mapping of selector, found {found}", found=shown(raw))
        )
        report.add(path, raw, words)
        return None
    given = cast("Manifest", raw)
    for name, value in given.items():
        if name not in by:
            report.add((*path, name), value, say("expected {list}", list=any_of(by)))
            return None
        if not isinstance(value, str):
            report.add(
                (*path, name), value, say("expected a text, found {found}", found=shown(value))
            )
            return None
    labels = [part.partition("=") for part in str(given.get("selector") or "").split(",") if part]
    if not all(sign and name.strip() for name, sign, _ in labels):
        report.add(
            (*path, "selector"),
            given["selector"],
            say("expected labels such as app=web,tier=front"),
        )
        return None
    found = tuple((name.strip(), value.strip()) for name, _, value in labels)
    return {"namespace": str(given.get("namespace") or ""), "labels": found}


def _wanted(name: str, value: Any, kind: str, path: Path, report: Report) -> Any:
    """What is wanted; None, and a problem, for what is of another kind."""
    found: Any = None
    if kind == _YES:
        found = value if isinstance(value, bool) else None
    elif kind == _TEXT:
        found = value if isinstance(value, str) and value else None
    elif kind == _TIME:
        found = _duration(value)
    elif name == "refused":
        found = value if value is True or (isinstance(value, str) and value) else None
    elif kind == _SHARES:
        found = _shares(value)
    else:
        found = _counts(value)
    if found is None:
        report.add(
            path, value, say("expected {kind}, found {found}", kind=kind, found=shown(value))
        )
    return found


def _duration(value: Any) -> int | None:
    try:
        return parse_duration(value) if isinstance(value, str) else None
    except ValueError:
        return None


def _counts(value: Any) -> tuple[int, int | None] | None:
    """At least so many, and at most so many, or any number."""
    if _is_count(value):
        return value, value
    if not isinstance(value, dict) or not value:
        return None
    limits = cast("Manifest", value)
    if not all(name in _LIMITS and _is_count(each) for name, each in limits.items()):
        return None
    return limits.get("atLeast", 0), limits.get("atMost")


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _shares(value: Any) -> dict[str, tuple[int, int | None]] | None:
    """By resource at least and at most so many percent."""
    if not isinstance(value, dict) or not value:
        return None
    found = {str(name): _share(limits) for name, limits in cast("Manifest", value).items()}
    return None if None in found.values() else cast("dict[str, tuple[int, int | None]]", found)


def _share(value: Any) -> tuple[int, int | None] | None:
    if not isinstance(value, dict) or not value:
        return None
    limits = {name: _percent(each) for name, each in cast("Manifest", value).items()}
    if None in limits.values() or not all(name in _LIMITS for name in limits):
        return None
    return limits.get("atLeast") or 0, limits.get("atMost")


def _percent(value: Any) -> int | None:
    number = value.removesuffix("%") if isinstance(value, str) and value.endswith("%") else ""
    return int(number) if number.isascii() and number.isdigit() else None
