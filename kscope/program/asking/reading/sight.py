"""How far kscope could see into a cluster, and what that means for an answer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from engine.input.formats.collection import Collection, SeenKind, read_of
from kscope.program.asking.reading.sources import Source, age_of
from kscope.program.live.whole import missing_of


@dataclass(frozen=True, slots=True)
class Sight:
    """What was seen; of files everything that there is."""

    collection: Collection | None = None

    @classmethod
    def of(cls, source: Source) -> Sight:
        """That of a source."""
        return cls(source.collection)

    @property
    def has_nodes(self) -> bool:
        """Whether there is a place to try anything."""
        return self.collection is None or self.collection.sees("Node")

    @property
    def missing(self) -> tuple[SeenKind, ...]:
        """The kinds that could not be looked at, and whose absence may change an answer."""
        return missing_of(self.collection) if self.collection else ()

    @property
    def narrowed(self) -> tuple[SeenKind, ...]:
        """The kinds that were seen in one namespace alone, though all are needed."""
        found = self.collection.narrowed if self.collection and not self.collection.asked else ()
        return found or self._pods_narrowed

    @property
    def _pods_narrowed(self) -> tuple[SeenKind, ...]:
        narrowed = self.collection.narrowed if self.collection else ()
        return tuple(each for each in narrowed if each.kind in ("Pod", "PersistentVolumeClaim"))

    @property
    def has_all_pods(self) -> bool:
        """Whether it is known who holds the room on the nodes."""
        narrowed = {each.kind for each in self.narrowed}
        return self.collection is None or ("Pod" not in narrowed and self.collection.sees("Pod"))

    @property
    def is_whole(self) -> bool:
        """Whether nothing is missing that may change an answer."""
        return not self.missing and not self.narrowed

    @property
    def kinds(self) -> str:
        """For the second line of an answer: "5 of 9 kinds seen"; "" where all were seen."""
        if self.collection is None or self.is_whole:
            return ""
        seen, served = read_of(self.collection.kinds)
        return f"{seen} of {served} kinds seen"

    @property
    def read_commands(self) -> Iterator[str]:
        """Who may grant what is missing, and how to ask for it."""
        if self.collection is None or not self.missing:
            return
        names = ",".join(each.resource for each in self.missing)
        user = f" --user {self.collection.user}" if self.collection.user else ""
        yield f"kscope rbac --read {names}{user}     # for who may grant it"
        yield f"kubectl auth can-i list {self.missing[0].resource}"

    def unseen_documents(self) -> list[dict[str, Any]]:
        """For `unseen` of a document: what was not seen, where, and what is not known without it."""
        parts = [(each, None) for each in self.missing]
        namespace = self.collection.namespace if self.collection else ""
        return [
            {"resource": each.resource, "seen_in_namespace": seen, "tells": each.tells or None}
            for each, seen in [*parts, *((each, namespace) for each in self.narrowed)]
        ]


def instant_words(source: Source, instant: str) -> str:
    """How the cluster stands: as its files have it, frozen at their newest time, or as it was read."""
    collection = source.collection
    if collection is not None:
        kinds = Sight.of(source).kinds
        parts = [
            f"context {collection.context}",
            f"read at {collection.read_at[11:]}{age_of(source)}",
        ]
        return " · ".join([*parts, *([kinds] if kinds else [])])
    files = "file" if len(source.names) == 1 else "files"
    if not instant:
        stands = "stands" if files == "file" else "stand"
        return f"as the {files} {stands}; nothing was played"
    return f"frozen at {instant[11:]}, the newest time in the {files}; nothing was played"
