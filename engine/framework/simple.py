"""`SimplePlugin`, the simplest form of a plugin: one pod, one node, one answer.

A `SimplePlugin` answers for one node at a time, over plain values. `columns_of` turns it into the
plugin that the framework runs, which answers for many nodes at once.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Protocol, cast

import numpy as np

from engine.framework.arithmetic import Terms
from engine.framework.framework import FITS, Code, CycleState, Detail, Plugin, Status
from engine.framework.handle import Arguments, Handle, PluginFactory
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.node_table import NodeTable
from engine.kernel.sentences import verbatim
from engine.objects.objects import Node, Pod


class SimplePlugin:
    """Base of plugins that answer for one node at a time. Define `fits`, `score`, or both.

        def fits(self, pod: Pod, node: NodeState) -> Status
        def score(self, pod: Pod, node: NodeState) -> int | Terms | Status

    `fits` returns SUCCESS, or a Status that refuses the node. `score` returns 0 to 100, more for a
    better node, as `Terms` where it should be shown how it came about, or a Status when it fails. Both must return the same for the same arguments.

    `is_local`, `is_static` and `may_fail` mean the same as those of `Plugin`. Without them the
    plugin runs in every scheduling cycle.
    """

    name: ClassVar[str] = ""
    is_local: ClassVar[bool] = False
    is_static: ClassVar[bool] = False
    may_fail: ClassVar[bool] = False

    def __init__(self, arguments: Arguments) -> None:
        """*arguments* are the plugin's `args` of the configuration."""
        self.arguments = arguments


class NodeState:
    """A node, and what is on it in this scheduling cycle. Do not keep it beyond the call."""

    __slots__ = ("_row", "_table")

    def __init__(self, table: NodeTable, row: int) -> None:
        self._table = table
        self._row = row

    @property
    def node(self) -> Node:
        """The API object: labels, annotations, taints, conditions, and the whole manifest."""
        return self._table.node(self._row)

    @property
    def name(self) -> str:
        """The node's name."""
        return self._table.name(self._row)

    @property
    def labels(self) -> Mapping[str, str]:
        """The node's labels."""
        return self.node.labels

    @property
    def allocatable(self) -> dict[str, int]:
        """What pods may request here, by resource; cpu in milli, all else in base units."""
        table, row = self._table, self._row
        amounts = table.allocatable[:, row].tolist()
        found = dict(zip(table.resource_names, amounts, strict=True))
        return {**found, "pods": int(table.allowed_pods[row])}

    @property
    def requested(self) -> dict[str, int]:
        """What the pods on the node request, in the same units; a resource may be absent for 0."""
        return self._table.requested_at(self._row)

    @property
    def pods(self) -> list[Pod]:
        """The pods on the node, assumed ones included."""
        return [info.pod for info in self._table.pods[self._row].values()]


class SimpleFits(Protocol):
    """A SimplePlugin that filters."""

    def fits(self, pod: Pod, node: NodeState, /) -> Status:
        """SUCCESS, or why *node* cannot take *pod*."""
        ...


class SimpleScore(Protocol):
    """A SimplePlugin that scores."""

    def score(self, pod: Pod, node: NodeState, /) -> int | Terms | Status:
        """0 to 100, with its terms or without, or why the score failed."""
        ...


class Columns(Plugin):
    """Runs a SimplePlugin over rows of the node table."""

    def __init__(self, plugin: SimplePlugin, table: NodeTable) -> None:
        self.plugin = plugin
        self._table = table
        # The statuses that `fits` has returned, by the code that stands for each.
        self._statuses: dict[int, Status] = {}
        # Class variables of Plugin, which here depend on the plugin that is run.
        for promise in ("name", "is_local", "is_static", "may_fail"):
            setattr(self, promise, getattr(plugin, promise))

    def _code(self, status: Status) -> int:
        """The number that stands for *status*, the same whenever it is first returned."""
        if status.is_success:
            return FITS
        if not status.code.is_rejection and not (status.code is Code.ERROR and self.may_fail):
            problem = "a status of fits is SUCCESS or a refusal, or with may_fail an ERROR"
            raise ValueError(f"plugin {self.name}: {problem}, not {status.code.value}")
        code = zlib.crc32(repr(status).encode()) or 1
        while self._statuses.setdefault(code, status) != status:
            code += 1
        return code


class FilterColumns(Columns):
    """At Filter."""

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """A code per row, for the status that `fits` returns."""
        fits = cast("SimpleFits", self.plugin).fits
        pod, table = state.pod.pod, self._table
        codes = (self._code(fits(pod, NodeState(table, row))) for row in rows.tolist())
        return np.fromiter(codes, np.int64, len(rows))

    def explain(self, state: CycleState, code: int) -> Status:
        """The status that *code* stands for, in this plugin's name."""
        status = self._statuses[code]
        return Status(status.code, status.reasons, self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The reasons."""
        return Detail(text=verbatim(self._statuses[code].message))


class ScoreColumns(Columns):
    """At Score."""

    def score(self, state: CycleState, rows: IntArray) -> IntArray | Status:
        """The score of each row, or the first failure."""
        score = cast("SimpleScore", self.plugin).score
        pod, table = state.pod.pod, self._table
        scores: list[int] = []
        for row in rows.tolist():
            found = score(pod, NodeState(table, row))
            if isinstance(found, Status):
                return found
            scores.append(found.raw if isinstance(found, Terms) else found)
        return np.array(scores, np.int64)

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """The terms that `score` returned; none where it returned a number or failed."""
        found = cast("SimpleScore", self.plugin).score(state.pod.pod, NodeState(self._table, row))
        if isinstance(found, Terms):
            return found
        return Terms((), found if isinstance(found, int) else 0)


class FilterScoreColumns(FilterColumns, ScoreColumns):
    """At Filter and Score."""


@dataclass(frozen=True, slots=True)
class ColumnsFactory:
    """Builds a SimplePlugin as the framework runs it."""

    kind: type[SimplePlugin]

    @property
    def name(self) -> str:
        """The plugin's name."""
        return self.kind.name

    @property
    def columns(self) -> type[Columns]:
        """The class whose methods are the extension points that the plugin takes part at."""
        filters, scores = hasattr(self.kind, "fits"), hasattr(self.kind, "score")
        if filters and scores:
            return FilterScoreColumns
        return FilterColumns if filters else ScoreColumns if scores else Columns

    def __call__(self, arguments: Arguments, handle: Handle) -> Plugin:
        """The plugin, ready to run over the rows of *handle*'s table."""
        return self.columns(self.kind(arguments), handle.table)


def columns_of(kind: PluginFactory | type[SimplePlugin]) -> PluginFactory:
    """A factory for plugin class *kind*: *kind* itself unless it is a SimplePlugin."""
    if isinstance(kind, type) and issubclass(kind, SimplePlugin):
        return ColumnsFactory(kind)
    return cast("PluginFactory", kind)


def class_of(plugin: object) -> type:
    """The class that the plugin's author wrote."""
    return type(author_of(plugin))


def author_of(plugin: object) -> object:
    """The plugin as its author wrote it."""
    return plugin.plugin if isinstance(plugin, Columns) else plugin
