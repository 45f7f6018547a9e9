"""Resources, host name, host ports and node selector in one. Upstream: pkg/scheduler/algorithm/predicates/predicates.go (v1.16)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import numpy as np

from engine.framework import names
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation
from engine.framework.explaining.fixes import SmallestFix
from engine.framework.explaining.proposes import Proposal
from engine.framework.explaining.refusals import Refusals
from engine.framework.framework import Code, CycleState, Detail, Plugin, Status
from engine.framework.handle import Arguments, Handle
from engine.framework.nodes.arrays import IntArray
from engine.framework.pods.pod_info import PodInfo
from engine.kernel.sentences import NOTHING, say, together
from engine.plugins.node_affinity.changes import selector_changes
from engine.plugins.node_affinity.facts import explain_selector
from engine.plugins.node_affinity.plugin import selector_detail
from engine.plugins.node_ports.facts import explain_port
from engine.plugins.node_resources_fit.changes import ask_for_less, room_changes
from engine.plugins.node_resources_fit.facts import explain_resources
from engine.plugins.node_resources_fit.room import asked_amounts, shortage

REASON_HOST = "node(s) didn't match the requested hostname"
REASON_PORTS = "node(s) didn't have free ports for the requested pod ports"
REASON_SELECTOR = "node(s) didn't match node selector"


class GeneralPredicates(Plugin):
    """Resources, host name, host ports and node selector, all reported together.

    The code is a set of bits: pod count, host, ports, selector, then one per resource.
    """

    name: ClassVar[str] = names.GENERAL_PREDICATES
    is_local: ClassVar[bool] = True

    _PODS, _HOST, _PORTS, _SELECTOR, _FIRST_RESOURCE = 1, 2, 4, 8, 4

    def __init__(self, arguments: Arguments, handle: Handle) -> None:
        self._table = handle.table
        self._ignored: tuple[str, ...] = tuple(arguments.get("ignoredResources") or ())
        self._known: dict[int, list[tuple[int, int]]] = {}

    def filter(self, state: CycleState, rows: IntArray) -> IntArray:
        """All failures, as bits."""
        table = self._table
        codes = (table.pod_count[rows] + 1 > table.allowed_pods[rows]).astype(np.int64)
        for bit, (column, amount) in enumerate(self._wanted(state), self._FIRST_RESOURCE):
            used = table.requested[column][rows] + amount
            codes |= (table.allocatable[column][rows] < used).astype(np.int64) << bit
        template = state.template
        if template.node_name:
            wrong = rows != table.rows.get(template.node_name, -1)
            codes |= np.where(wrong, self._HOST, 0)
        if state.pod.ports:
            taken = table.ports.conflicts(state.pod.ports)
            conflict = np.isin(rows, np.fromiter(taken, np.int64, len(taken)))
            codes |= np.where(conflict, self._PORTS, 0)
        if not template.required_affinity.is_empty:
            matching = table.matching(template.required_affinity)[rows]
            codes |= np.where(matching, 0, self._SELECTOR)
        return codes

    def code_at(self, state: CycleState, row: int) -> int:
        """As `filter` for one row."""
        # First, for a resource that is new gets a column.
        wanted = self._wanted(state)
        table, template, ports = self._table, state.template, state.pod.ports
        requested, allocatable = table.requested, table.allocatable
        code = int(table.pod_count.item(row) + 1 > table.allowed_pods.item(row))
        for bit, (column, amount) in enumerate(wanted, self._FIRST_RESOURCE):
            used = requested.item(column, row) + amount
            code |= (allocatable.item(column, row) < used) << bit
        if template.node_name and row != table.rows.get(template.node_name):
            code |= self._HOST
        if ports and row in table.ports.conflicts(ports):
            code |= self._PORTS
        affinity = template.required_affinity
        if not affinity.is_empty and not table.matching(affinity)[row]:
            code |= self._SELECTOR
        return code

    def _wanted(self, state: CycleState) -> list[tuple[int, int]]:
        """Columns and amounts, the same for every pod of a template.

        If any resource is requested, upstream compares the others, too.
        """
        number = state.template.number
        wanted = self._known.get(number)
        if wanted is None:
            asked = asked_amounts(self._table, state.pod.resources.fit)
            names_of = self._table.resource_names
            wanted = [pair for pair in asked if names_of[pair[0]] not in self._ignored]
            self._known[number] = wanted
        return wanted

    def explain(self, state: CycleState, code: int) -> Status:
        """Resources first, then host, ports and selector."""
        reasons: list[str] = ["Insufficient pods"] if code & self._PODS else []
        for bit, (column, _) in enumerate(self._wanted(state), self._FIRST_RESOURCE):
            if code >> bit & 1:
                reasons.append(f"Insufficient {self._table.resource_names[column]}")
        for bit, reason in (
            (self._HOST, REASON_HOST),
            (self._PORTS, REASON_PORTS),
            (self._SELECTOR, REASON_SELECTOR),
        ):
            if code & bit:
                reasons.append(reason)
        hopeless = code & (self._HOST | self._SELECTOR)
        verdict = Code.UNRESOLVABLE if hopeless else Code.UNSCHEDULABLE
        return Status(verdict, tuple(reasons), self.name)

    def detail(self, state: CycleState, row: int, code: int) -> Detail:
        """The selector when it is in the way, else what is short."""
        if code & self._SELECTOR:
            return selector_detail(state, self._table.node(row).labels, self._table.name(row))
        if code & self._HOST:
            return Detail(text=say("pod asks for {node_name}", node_name=state.template.node_name))
        short = [
            pair
            for bit, pair in enumerate(self._wanted(state), self._FIRST_RESOURCE)
            if code >> bit & 1
        ]
        if not short and code & self._PORTS:
            port = self._table.ports.conflicts(state.pod.ports)[row]
            return Detail(
                text=say(
                    "host port {port}/{protocol} taken", port=port.port, protocol=port.protocol
                ),
                numbers={"port": port.port, "protocol": port.protocol},
            )
        return shortage(self._table, row, short, too_many_pods=bool(code & self._PODS))

    def explain_refusals(self, case: Case) -> Explanation:
        """What each of the four finds, together."""
        found = [explain(case) for explain in (explain_resources, explain_selector, explain_port)]
        return Explanation(
            sentence=next((each.sentence for each in found if each.sentence), NOTHING),
            why=together(*(each.why for each in found)),
            because=tuple(one for each in found for one in each.because),
        )

    def propose_changes(self, refusals: Refusals) -> Iterator[Proposal]:
        """Those of the four that are known to help."""
        yield from selector_changes(refusals, {})
        yield from room_changes(refusals)

    def smallest_fix(
        self, pod: PodInfo, node: str, numbers: Mapping[str, Any]
    ) -> SmallestFix | None:
        """See `Fixes`."""
        return ask_for_less(pod, node, numbers)
