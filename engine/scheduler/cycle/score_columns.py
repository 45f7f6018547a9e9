"""The scores of an attempt, as they are kept: a column for each plugin instead of a dict for each node."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self

from engine.framework.runtime import Scores

Columns = tuple[list[int], list[int], list[int]]


class ScoreColumns(Mapping[str, dict[str, Any]]):
    """By node, in their order by name, the scores of docs/evidence.md.

    Most evidence is never read: one dict for each node and plugin would take longer to make than
    the decision.
    """

    __slots__ = ("_nodes", "_places", "_plugins", "_totals")

    def __init__(self, nodes: list[str], totals: list[int], plugins: Mapping[str, Columns]) -> None:
        """The columns have an entry for each of *nodes*: raw, normalised and weighted scores."""
        self._nodes = nodes
        self._totals = totals
        self._plugins = plugins
        self._places: dict[str, int] | None = None

    @classmethod
    def of(cls, scores: Scores, names: list[str]) -> Self:
        """The *scores* of nodes with these names, in the order of their rows."""
        plugins = {
            one.name: (one.raw.tolist(), one.normalized.tolist(), one.weighted.tolist())
            for one in scores.plugins
        }
        return cls(names, scores.total.tolist(), plugins)

    def to_list(self) -> list[Any]:
        """The form in which they are stored."""
        return [self._nodes, self._totals, self._plugins]

    def __getitem__(self, node: str) -> dict[str, Any]:
        place = self._by_name[node]
        plugins = {
            name: [column[place] for column in columns] for name, columns in self._plugins.items()
        }
        return {"total": self._totals[place], "plugins": plugins}

    def __iter__(self) -> Iterator[str]:
        return iter(self._by_name)

    def __len__(self) -> int:
        return len(self._nodes)

    @property
    def _by_name(self) -> dict[str, int]:
        if self._places is None:
            places = {name: place for place, name in enumerate(self._nodes)}
            self._places = dict(sorted(places.items()))
        return self._places
