"""Node labels and taints as numpy columns, and which nodes a selector matches."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from engine.framework.nodes.arrays import BoolArray, Codes
from engine.objects.objects import Node
from engine.objects.pods.tolerations import Taint
from engine.objects.selectors import IN, NodeSelector, Requirement

_MATCH_LIMIT = 4_096


class NodeMatcher(Protocol):
    """A hashable question about a node's labels and name."""

    def matches(self, labels: Mapping[str, str], name: str, /) -> bool:
        """Whether the node with these labels and this name matches."""
        ...

    def __hash__(self) -> int: ...


@dataclass(slots=True)
class TopologyColumn:
    """The value of one node label as a code per row; -1 where the label is absent."""

    key: str
    codes: Codes
    values: list[str] = field(default_factory=list[str])
    index: dict[str, int] = field(default_factory=dict[str, int])

    def code_of(self, value: str | None) -> int:
        """The code of *value*, made when it is new."""
        if value is None:
            return -1
        code = self.index.get(value)
        if code is None:
            code = self.index[value] = len(self.values)
            self.values.append(value)
        return code


class NodeLabels:
    """The columns of the labels and selectors that were ever asked for.

    It shares *nodes* (by row) and *active* (the rows in use, in the order of arrival) with the
    table. `generation` grows when a node comes or goes or changes its labels.
    """

    def __init__(self, nodes: list[Node | None], active: dict[int, None]) -> None:
        self._nodes = nodes
        self._active = active
        self._topologies: dict[str, TopologyColumn] = {}
        self._matches: dict[Any, BoolArray] = {}
        self.generation = 0

    def topology(self, key: str) -> TopologyColumn:
        """The column of the values of label *key*."""
        column = self._topologies.get(key)
        if column is None:
            column = TopologyColumn(key, np.full(len(self._nodes), -1, np.int32))
            self._topologies[key] = column
            for row in self._active:
                column.codes[row] = column.code_of(self._node(row).labels.get(key))
        return column

    def matching(self, matcher: NodeMatcher) -> BoolArray:
        """Which rows *matcher* accepts; kept, and recomputed for a node whose labels change."""
        column = self._matches.get(matcher)
        if column is None:
            if len(self._matches) >= _MATCH_LIMIT:
                self._matches.clear()
            column = self._matches[matcher] = self._evaluate(matcher)
        return column

    def read(self, row: int, node: Node) -> None:
        """Store the labels of *node*, which is new or has changed."""
        labels = node.labels
        for key, column in self._topologies.items():
            column.codes[row] = column.code_of(labels.get(key))
        for matcher, match in self._matches.items():
            match[row] = matcher.matches(labels, node.name)
        self.generation += 1

    def forget(self, row: int) -> None:
        """The row has no node any more."""
        for column in self._topologies.values():
            column.codes[row] = -1
        for match in self._matches.values():
            match[row] = False
        self.generation += 1

    def grow(self, more: int) -> None:
        """Make room for *more* rows."""
        for column in self._topologies.values():
            column.codes = np.pad(column.codes, (0, more), constant_values=-1)
        for matcher, match in self._matches.items():
            self._matches[matcher] = np.pad(match, (0, more))

    def _evaluate(self, matcher: NodeMatcher) -> BoolArray:
        requirement = _only_requirement(matcher)
        if requirement is not None:
            # One label with a few allowed values, as in the affinity of a local volume: the codes
            # answer for all nodes at once.
            topology = self.topology(requirement.key)
            known = [topology.index[v] for v in requirement.values if v in topology.index]
            if len(known) == 1:
                return topology.codes == known[0]
            return np.isin(topology.codes, np.array(known, np.int32))
        column = np.zeros(len(self._nodes), np.bool_)
        for row in self._active:
            node = self._node(row)
            column[row] = matcher.matches(node.labels, node.name)
        return column

    def _node(self, row: int) -> Node:
        node = self._nodes[row]
        assert node is not None, f"row {row} has no node"
        return node


class NodeTaints:
    """Nodes grouped by their list of taints: `groups`, and the group of each row as `codes`."""

    def __init__(self, capacity: int) -> None:
        self.codes: Codes = np.zeros(capacity, np.int32)
        self.groups: list[tuple[Taint, ...]] = []
        self._index: dict[tuple[Taint, ...], int] = {}

    def read(self, row: int, node: Node) -> None:
        """Store the taints of *node*, which is new or has changed."""
        taints = tuple(map(Taint.parse, node.taints))
        code = self._index.get(taints)
        if code is None:
            code = self._index[taints] = len(self.groups)
            self.groups.append(taints)
        self.codes[row] = code

    def grow(self, more: int) -> None:
        """Make room for *more* rows."""
        self.codes = np.pad(self.codes, (0, more))


def _only_requirement(matcher: NodeMatcher) -> Requirement | None:
    if not isinstance(matcher, NodeSelector) or len(matcher.terms) != 1:
        return None
    term = matcher.terms[0]
    if term.fields or len(term.expressions) != 1 or term.expressions[0].operator != IN:
        return None
    only = term.expressions[0]
    return None if only.is_unreadable else only
