"""What `kscope collect` says of a cluster that it has read: when, as whom, and what it may not see.

The document stands beside the objects that were read. A kind that could not be listed is not one
of which the cluster has no objects, and all that was read is as it was at one instant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal, cast

from engine.api_server.validation.report import Report
from engine.input.instants import is_time
from engine.objects.documents import Path
from engine.objects.values.shown import shown

Manifest = dict[str, Any]

KIND: Final = "Collection"
API_VERSION: Final = "kscope.dev/v1"
# How much of a kind was seen: all, that of one namespace, none, or the cluster does not serve it.
Sight = Literal["all", "namespace", "none", "absent"]
_SIGHTS: Final = ("all", "namespace", "none", "absent")
_TEXTS: Final = ("context", "user", "namespace", "server_version", "read_at")
_MOST_KINDS: Final = 200


@dataclass(frozen=True, slots=True)
class SeenKind:
    """One kind: its resource as kubectl calls it, how much was seen, and what is not known without."""

    resource: str
    kind: str
    sight: Sight
    objects: int = 0
    tells: str = ""
    why: str = ""


@dataclass(frozen=True, slots=True)
class Collection:
    """What was read: from which context, as which user, at which time (RFC 3339), of which kinds.

    `namespace` is where was looked when all namespaces were forbidden. `asked` is the object that the
    reading was for: then it has what concerns that alone; "" for a whole cluster.
    """

    context: str
    user: str
    namespace: str
    server_version: str
    read_at: str
    kinds: tuple[SeenKind, ...]
    asked: str = ""

    @property
    def unseen(self) -> tuple[SeenKind, ...]:
        """The kinds that could not be looked at."""
        return tuple(each for each in self.kinds if each.sight == "none")

    @property
    def narrowed(self) -> tuple[SeenKind, ...]:
        """The kinds that were seen in one namespace alone."""
        return tuple(each for each in self.kinds if each.sight == "namespace")

    def sees(self, kind: str) -> bool:
        """Whether anything of a kind could be looked at, or there is nothing of it."""
        return all(each.kind != kind for each in self.unseen)

    def to_document(self) -> Manifest:
        """The form in which it stands in files."""
        return {
            "apiVersion": API_VERSION,
            "kind": KIND,
            **{name: getattr(self, name) for name in (*_TEXTS, "asked")},
            "kinds": [asdict(each) for each in self.kinds],
        }


def is_collection(manifest: Mapping[str, Any]) -> bool:
    """Whether a document says how a cluster was read."""
    return manifest.get("kind") == KIND and manifest.get("apiVersion") == API_VERSION


def read_collection(raw: Manifest, report: Report) -> Collection | None:
    """The document as a Collection; None, and problems in the *report*, where it is none."""
    before = len(report.problems)
    texts = {name: _text(raw, (name,), report) for name in (*_TEXTS, "asked")}
    if len(report.problems) == before and not is_time(texts["read_at"]):
        report.add(("read_at",), texts["read_at"], "expected a time such as 2026-01-02T10:00:00Z")
    kinds = raw.get("kinds")
    if not isinstance(kinds, list) or len(cast("list[Any]", kinds)) > _MOST_KINDS:
        report.add(("kinds",), kinds, f"expected a list of at most {_MOST_KINDS} kinds")
        return None
    found = [
        _seen(each, ("kinds", place), report) for place, each in enumerate(cast("list[Any]", kinds))
    ]
    if len(report.problems) > before:
        return None
    return Collection(**texts, kinds=tuple(each for each in found if each is not None))


def _text(raw: Manifest, path: Path, report: Report) -> str:
    value = raw.get(str(path[-1]), "")
    if not isinstance(value, str):
        report.add(path, value, f"expected a text, found {shown(value)}")
        return ""
    return value


def _seen(raw: Any, path: Path, report: Report) -> SeenKind | None:
    if not isinstance(raw, dict):
        report.add(path, raw, f"expected a mapping, found {shown(raw)}")
        return None
    given = cast("Manifest", raw)
    sight, objects = given.get("sight"), given.get("objects", 0)
    if sight not in _SIGHTS:
        report.add((*path, "sight"), sight, f"expected one of {', '.join(_SIGHTS)}")
        return None
    if not isinstance(objects, int) or isinstance(objects, bool) or objects < 0:
        report.add((*path, "objects"), objects, f"expected a count, found {shown(objects)}")
        return None
    names = ("resource", "kind", "tells", "why")
    texts = {name: _text(given, (*path, name), report) for name in names}
    return SeenKind(sight=sight, objects=objects, **texts)


def read_of(kinds: Sequence[SeenKind]) -> tuple[int, int]:
    """Of how many kinds something was seen, and of how many that the cluster serves."""
    served = [each for each in kinds if each.sight != "absent"]
    return sum(each.sight != "none" for each in served), len(served)
