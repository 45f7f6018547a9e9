"""What people choose when they import files: which objects, which nodes beside them, and how."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal

from engine.input.machines.wanted import WantedNodes, parse_wanted
from engine.kernel.sentences import enumerated, grouped, said_by, say
from engine.objects.selectors import DOES_NOT_EXIST, EXISTS, IN, NOT_IN, Requirement
from engine.objects.values.quantity import QuantityError, parse

Manifest = dict[str, Any]
# How the versions of objects that a watch prints are read: see formats/watches.py.
Watch = Literal["recording", "newest"]
WATCHES: Final[tuple[Watch, ...]] = ("recording", "newest")

# What an import may be given, in forms and requests.
NAMES: Final = (
    *("nodes", "namespaces", "kinds", "selector"),
    *("ignore_unknown_plugins", "watch", "case", "seed"),
)
_LONGEST: Final = 20_000  # characters of a list
_KEY: Final = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE: Final = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_EQUAL: Final = re.compile(rf"(?P<key>{_KEY})\s*(?P<sign>==?|!=)\s*(?P<value>{_VALUE})", re.ASCII)
_SET: Final = re.compile(
    rf"(?P<key>{_KEY})\s+(?P<word>in|notin)\s*\((?P<values>[^()]*)\)", re.ASCII
)
_THERE: Final = re.compile(rf"(?P<no>!?)\s*(?P<key>{_KEY})", re.ASCII)
_PART: Final = re.compile(r"[^,()]+(?:\([^()]*\))?")


class OptionFault(ValueError):
    """An option that cannot be read; `option` is its name, without dashes."""

    def __init__(self, option: str, message: str) -> None:
        super().__init__(message)
        self.option = option


class SelectorFault(ValueError):
    """A label selector that cannot be read; `part` is what is wrong with it."""

    def __init__(self, part: str, message: str) -> None:
        super().__init__(message)
        self.part = part


@dataclass(frozen=True, slots=True, kw_only=True)
class IntakeOptions:
    """The choices. Empty filters let everything in."""

    nodes: tuple[WantedNodes, ...] = ()
    namespaces: frozenset[str] = frozenset()
    kinds: frozenset[str] = frozenset()
    selector: tuple[Requirement, ...] = ()
    # Says which plugins kscope knows, where unknown ones are to be left out; None refuses them.
    known_plugin: Callable[[str], bool] | None = None
    watch: Watch = "recording"
    # The test case of a scheduler_perf file: "CASE/WORKLOAD".
    case: str = ""
    # Of the ends of generated names; None for the scenario's.
    seed: int | None = None
    # Files of fewer bytes are read as a whole: that is as fast, and every line is known.
    whole_bytes: int = 4 << 20

    @classmethod
    def read(
        cls, given: Mapping[str, str], known_plugin: Callable[[str], bool] | None = None
    ) -> IntakeOptions:
        """The options in the words of a form: those of NAMES.

        *known_plugin* says which plugins kscope knows. Raises OptionFault naming what is wrong.
        """
        for name, text in given.items():
            if len(text) > _LONGEST:
                raise OptionFault(
                    name, say("has more than {longest} characters", longest=grouped(_LONGEST))
                )
        return cls(
            nodes=tuple(_read("nodes", parse_wanted, given)),
            namespaces=frozenset(_words(given.get("namespaces", ""))),
            kinds=frozenset(each.lower() for each in _words(given.get("kinds", ""))),
            selector=_read("selector", parse_selector, given),
            known_plugin=known_plugin if _is_on(given, "ignore_unknown_plugins") else None,
            watch=_watch(given.get("watch", "")),
            case=given.get("case", "").strip(),
            seed=_read("seed", _seed, given),
        )

    @property
    def filters(self) -> bool:
        """Whether some objects are left out."""
        return bool(self.namespaces or self.kinds or self.selector)

    def admits(self, manifest: Manifest) -> bool:
        """Whether the filters let a cleaned manifest in.

        Namespaces bear on what has one; labels on pods and what is like them, not on what a cluster
        consists of: nodes, classes, volumes.
        """
        metadata = manifest["metadata"]
        namespace = metadata.get("namespace")
        if self.namespaces and namespace and namespace not in self.namespaces:
            return False
        if self.namespaces and manifest["kind"] == "Namespace":
            return metadata["name"] in self.namespaces
        if self.kinds and self.kinds.isdisjoint(_names_of(manifest)):
            return False
        if not self.selector or not namespace:
            return True
        labels: dict[str, str] = metadata.get("labels") or {}
        return all(each.matches(labels) for each in self.selector)


def parse_size(text: str) -> int:
    """A number of bytes: 500000000, 512Mi, 4Gi. Raises ValueError."""
    try:
        size = parse(text).value
    except QuantityError:
        size = 0
    if size < 1024 or "m" in text:
        raise ValueError(f"{text[:40]!r} is no size; write it as 512Mi or 4Gi")
    return size


def _is_on(given: Mapping[str, str], name: str) -> bool:
    return given.get(name, "").lower() in ("on", "true", "1", "yes")


def _read(name: str, parse: Any, given: Mapping[str, str]) -> Any:
    try:
        return parse(given.get(name, ""))
    except ValueError as error:
        raise OptionFault(name, said_by(error)) from None


def _words(text: str) -> list[str]:
    return [each for each in re.split(r"[\s,]+", text) if each]


def _watch(text: str) -> Watch:
    for known in WATCHES:
        if text in ("", known):
            return known
    raise OptionFault(
        "watch", say("{text} is not one of {list}", text=repr(text), list=enumerated(WATCHES))
    )


def _seed(text: str) -> int | None:
    if not text.strip():
        return None
    if not re.fullmatch(r"-?\d{1,40}", text.strip(), re.ASCII):
        raise ValueError(say("{value} is no whole number", value=repr(text[:40])))
    return int(text)


def _names_of(manifest: Manifest) -> Iterable[str]:
    """How people may call the kind: pod, pods, pod.v1, deployment.apps."""
    kind = manifest["kind"].lower()
    group = str(manifest.get("apiVersion") or "").rpartition("/")[0]
    ending = "es" if kind.endswith("s") else "s"
    plural = f"{kind[:-1]}ies" if kind.endswith("y") else f"{kind}{ending}"
    return (kind, plural, f"{kind}.{group}", f"{plural}.{group}")


def parse_selector(text: str) -> tuple[Requirement, ...]:
    """A label selector as kubectl takes it: `app=web,tier in (a,b),!old`. Raises SelectorFault."""
    rest = _PART.sub("", text).replace(",", "").strip()
    if rest:
        message = say(
            "{text} is no label selector: {value} is not expected",
            text=repr(text),
            value=repr(rest[0]),
        )
        raise SelectorFault(text, message)
    return tuple(_requirement(part.strip()) for part in _PART.findall(text) if part.strip())


def _requirement(part: str) -> Requirement:
    if match := _EQUAL.fullmatch(part):
        return Requirement(match["key"], NOT_IN if match["sign"] == "!=" else IN, (match["value"],))
    if match := _SET.fullmatch(part):
        values = tuple(each.strip() for each in match["values"].split(","))
        return Requirement(match["key"], IN if match["word"] == "in" else NOT_IN, values)
    if match := _THERE.fullmatch(part):
        return Requirement(match["key"], DOES_NOT_EXIST if match["no"] else EXISTS)
    message = say(
        "{part} is no part of a label selector such as app=web or tier in (a,b)", part=repr(part)
    )
    raise SelectorFault(part, message)
