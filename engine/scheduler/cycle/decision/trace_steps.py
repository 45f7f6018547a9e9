"""What a search tells a trace; see `engine.kernel.trace`."""

from __future__ import annotations

from engine.framework.framework import FITS
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.node_table import NodeTable
from engine.framework.runtime import Framework, Search
from engine.framework.trace_steps.filters import Filtered, FilteredNode, Refusal, SearchKind
from engine.framework.trace_steps.nodes import NodesOrdered


def ordered(table: NodeTable, rows: IntArray, start: int, wanted: int) -> NodesOrdered:
    """The order of a search as it is told."""
    return NodesOrdered(tuple(table.names(rows.tolist())), start, wanted)


def filtered(
    framework: Framework,
    search: Search,
    kind: SearchKind,
    unseen: int,
) -> Filtered:
    """The verdicts of *search* as they are told; *unseen* nodes came after its end."""
    state, verdicts = search.state, search.verdicts
    table, filters = framework.handle.table, framework.plugins.filter
    planner = framework.volume_binding
    asked = tuple(plugin.name for plugin in filters if plugin.name not in state.skip_filter)
    places = {name: place for place, name in enumerate(asked, 1)}
    refusals: dict[tuple[int, int], int] = {}
    nodes: list[FilteredNode] = []
    for row, plugin, code in verdicts.each():
        if plugin == FITS:
            planned = None if planner is None else planner.plan(state, row)
            volumes = planned if planned and (planned.bind or planned.provision) else None
            nodes.append(FilteredNode(table.name(row), len(asked), volumes=volumes))
            continue
        kind_of = refusals.setdefault((plugin, code), len(refusals))
        detail = framework.detail(state, row, plugin, code)
        nodes.append(
            FilteredNode(
                table.name(row),
                places[filters[plugin - 1].name],
                kind_of,
                detail.text,
                detail.short,
                detail.unit,
                dict(detail.numbers),
            )
        )
    kinds = (framework.explain(state, plugin, code) for plugin, code in refusals)
    return Filtered(
        kind,
        asked,
        tuple(plugin.name for plugin in filters if plugin.name in state.skip_filter),
        tuple(Refusal(one.plugin, one.code.value, one.reasons) for one in kinds),
        tuple(nodes),
        sum(node.called for node in nodes),
        len(nodes) * len(asked),
        search.absent,
        unseen,
    )
