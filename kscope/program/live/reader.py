"""Lists of one cluster, page by page, and in the namespace where all of them may not be listed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

import orjson

from kscope.program.live.connection import Connection, Refusal
from kscope.program.live.kinds import ReadKind

# As kubectl asks for pages; upstream: cli-runtime, DefaultChunkSize.
PAGE: Final = 500
WHOLE: Final = "application/json"
# Upstream: apimachinery meta/v1, PartialObjectMetadata; the last is for servers that have none.
NAMES: Final = (
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,"
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1beta1"
)
_AGGREGATED: Final = ",".join(
    f"application/json;g=apidiscovery.k8s.io;{version};as=APIGroupDiscoveryList"
    for version in ("v=v2", "v=v2beta1")
)
_GONE: Final = 410
_NONE_SUCH: Final = (404, 406)

Manifest = dict[str, Any]
# How much of a kind was seen: all, that of the namespace, none, or the cluster does not have it.
Sight = Literal["all", "namespace", "none", "absent"]


@dataclass(frozen=True, slots=True)
class Listed:
    """The objects of a kind, or why they were not seen; `version` is the list's resourceVersion."""

    kind: ReadKind
    sight: Sight
    items: list[Manifest] = field(default_factory=list[Manifest])
    api_version: str = ""
    version: str = ""
    why: str = ""

    @property
    def is_seen(self) -> bool:
        """Whether any of it could be looked at, or there is none to look at."""
        return self.sight != "none"


@dataclass(frozen=True, slots=True)
class Served:
    """The versions of each resource that a cluster serves, by group and resource; the best first."""

    versions: Mapping[tuple[str, str], tuple[str, ...]]
    # Every resource by each of its names: plural, singular, short, with and without its group.
    by_name: Mapping[str, ReadKind] = field(default_factory=dict[str, ReadKind])
    # Where it may not be asked, everything is tried.
    is_known: bool = True

    def kind_called(self, word: str) -> ReadKind | None:
        """The kind of any resource that the cluster serves."""
        return self.by_name.get(word.lower())

    def versions_of(self, kind: ReadKind) -> tuple[str, ...]:
        """The versions in which to ask for a kind, in turn; none where the cluster does not have it."""
        if not self.is_known:
            return kind.versions
        served = self.versions.get((kind.group, kind.resource), ())
        return tuple(each for each in kind.versions if each in served)[:1]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A list that is asked for."""

    kind: ReadKind
    version: str
    namespace: str
    fields: str


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads from a connection; *namespace* is where it looks when it may not look everywhere."""

    connection: Connection
    namespace: str = ""
    page: int = PAGE
    # Whether the first page is enough.
    is_probe: bool = False

    def served(self) -> Served:
        """What there is to ask for. Raises Refusal (not for 403), NotReached."""
        found: dict[tuple[str, str], tuple[str, ...]] = {}
        names: dict[str, ReadKind] = {}
        try:
            for path in ("/api", "/apis"):
                accept = f"{_AGGREGATED},application/json"
                document = orjson.loads(self.connection.get(path, accept=accept))
                if document.get("kind") != "APIGroupDiscoveryList":
                    # Servers before 1.26: each version of each group would be a request of its own.
                    return Served({}, is_known=False)
                for kind, words in _discovered(document):
                    key = kind.group, kind.resource
                    found[key] = (*found.get(key, ()), *kind.versions)
                    for word in words:
                        names.setdefault(word.lower(), kind)
        except Refusal as refusal:
            if not refusal.is_forbidden:
                raise
            return Served({}, is_known=False)
        return Served(found, names)

    def server_version(self) -> str:
        """Such as "v1.34.2"; "" where it does not say."""
        try:
            return str(orjson.loads(self.connection.get("/version", accept=WHOLE))["gitVersion"])
        except (Refusal, KeyError, orjson.JSONDecodeError):
            return ""

    def one(self, kind: ReadKind, version: str, namespace: str, name: str) -> Manifest | None:
        """One object by its name; None where there is none. Raises Refusal, NotReached."""
        try:
            body = self.connection.get(kind.path(version, namespace, name), accept=WHOLE)
        except Refusal as refusal:
            if refusal.status == 404:
                return None
            raise
        return orjson.loads(body)

    def listed(
        self, kind: ReadKind, versions: Sequence[str], *, namespace: str = "", fields: str = ""
    ) -> Listed:
        """The objects of a kind: of a *namespace*, or all; of the reader's own where that is forbidden.

        *fields* is a field selector. Raises NotReached, and Refusal for what is neither forbidden nor
        absent.
        """
        for version in versions:
            found = self._listed(_Wanted(kind, version, namespace, fields))
            if found.sight != "absent":
                return found
        return Listed(kind, "absent")

    def _listed(self, wanted: _Wanted) -> Listed:
        try:
            return self._pages(wanted)
        except Refusal as refusal:
            if refusal.status in _NONE_SUCH:
                return Listed(wanted.kind, "absent")
            if not refusal.is_forbidden:
                raise
            why = refusal.message
        if not wanted.namespace and wanted.kind.namespaced and self.namespace:
            return self._listed(replace(wanted, namespace=self.namespace))
        return Listed(wanted.kind, "none", why=why)

    def _pages(self, wanted: _Wanted) -> Listed:
        try:
            return self._all(wanted, self.page)
        except Refusal as refusal:
            if refusal.status != _GONE:
                raise
            # The list has changed for too long: once more, in one piece. Upstream: client-go, pager.List.
            return self._all(wanted, 0)

    def _all(self, wanted: _Wanted, limit: int) -> Listed:
        kind, items = wanted.kind, list[Manifest]()
        path = kind.path(wanted.version, wanted.namespace)
        asked = {"fieldSelector": wanted.fields} if wanted.fields else {}
        query = asked | ({"limit": str(limit)} if limit else {})
        while True:
            accept = NAMES if kind.names_only else WHOLE
            document = orjson.loads(self.connection.get(path, query, accept=accept))
            items += document.get("items") or ()
            metadata = document.get("metadata") or {}
            token = metadata.get("continue")
            if not token or self.is_probe:
                seen = str(metadata.get("resourceVersion") or "")
                sight: Sight = "namespace" if wanted.namespace else "all"
                return Listed(kind, sight, items, kind.api_version(wanted.version), seen)
            query = asked | {"limit": str(limit), "continue": str(token)}


def _discovered(document: Manifest) -> Iterator[tuple[ReadKind, list[str]]]:
    """Each resource that can be listed, and its names. Upstream: apidiscovery/v2."""
    for group in document.get("items") or ():
        name = str(group["metadata"].get("name") or "")
        for version in group.get("versions") or ():
            for resource in version.get("resources") or ():
                if "list" in (resource.get("verbs") or ()):
                    yield _resource(name, str(version["version"]), resource)


def _resource(group: str, version: str, resource: Manifest) -> tuple[ReadKind, list[str]]:
    plural, kind = str(resource["resource"]), str((resource.get("responseKind") or {}).get("kind"))
    found = ReadKind(
        *(group, (version,), kind, plural, ""),
        namespaced=resource.get("scope") == "Namespaced",
        is_extra=True,
    )
    words = [plural, f"{plural}.{group}", kind, str(resource.get("singularResource") or plural)]
    return found, [*words, *map(str, resource.get("shortNames") or ())]
