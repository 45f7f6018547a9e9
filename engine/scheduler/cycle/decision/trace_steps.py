"""The steps of a search; see `engine.kernel.trace`."""

from __future__ import annotations

from engine.framework.framework import FITS, CycleState
from engine.framework.nodes.arrays import IntArray
from engine.framework.nodes.node_table import NodeTable
from engine.framework.runtime import Framework, Search
from engine.framework.trace_steps.filters import (
    Filtered,
    FilteredNode,
    PlannedVolumes,
    Refusal,
    SearchKind,
)
from engine.framework.trace_steps.nodes import NodesOrdered


def ordered(table: NodeTable, rows: IntArray, start: int, wanted: int) -> NodesOrdered:
    """The step for the order of a search."""
    return NodesOrdered(tuple(table.names(rows.tolist())), start, wanted)


def filtered(
    framework: Framework,
    search: Search,
    kind: SearchKind,
    unseen: int,
) -> Filtered:
    """The step for the verdicts of *search*; *unseen* nodes came after its end."""
    state, verdicts = search.state, search.verdicts
    table, filters = framework.handle.table, framework.plugins.filter
    asked = tuple(plugin.name for plugin in filters if plugin.name not in state.skip_filter)
    places = {name: place for place, name in enumerate(asked, 1)}
    refusals: dict[tuple[int, int], int] = {}
    nodes: list[FilteredNode] = []
    for row, plugin, code in verdicts.each():
        if plugin == FITS:
            volumes = _planned(framework, state, row)
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


def _planned(framework: Framework, state: CycleState, row: int) -> PlannedVolumes | None:
    """What was planned for the claims of the pod on the node at *row*, which fits."""
    if framework.volume_binding is None:
        return None
    plan = framework.volume_binding.plan(state, row)
    return PlannedVolumes(plan.bind, plan.provision) if plan.bind or plan.provision else None
