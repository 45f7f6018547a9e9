"""What stands in the pod's way, node by node and check by check."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from engine.diagnosis.explaining import explain, outright_facts
from engine.diagnosis.report import SEVERITIES, Cause, Check, named
from engine.diagnosis.world import World
from engine.framework import names
from engine.framework.explaining.amounts import format_amount, shortages
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import fact
from engine.framework.framework import FITS, Detail, Status
from engine.framework.messages import sentence_of
from engine.framework.nodes.arrays import IntArray
from engine.kernel.sentences import Sentence, say, say_count, verbatim
from engine.scheduler.cycle.decision.result import ScheduleResult
from engine.scheduler.cycle.explain import kept_room


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One filter's refusal of one node."""

    plugin: str
    status: Status
    detail: Detail

    @property
    def name(self) -> str:
        """The plugin that refuses; of a Policy that checks all predicates, the first of them."""
        plugin = self.status.plugin
        return self.plugin if plugin in ("", "error") else plugin


@dataclass(frozen=True, slots=True)
class Refused:
    """A node that does not take the pod, and every filter that refuses it, in order."""

    row: int
    node: str
    obstacles: tuple[Obstacle, ...]
    # How far the node is from fitting; `_Distances` says how that is measured.
    distance: tuple[int, int, int, float, str]

    @property
    def obstacle_count(self) -> int:
        """See `Refusal`."""
        return self.distance[1]


def refused_nodes(world: World, decision: ScheduleResult) -> list[Refused]:
    """Every node that does not fit, the closest to fitting first.

    Empty when a plugin refused the pod before it looked at any node.
    """
    search = decision.search
    if search is None or not search.status.is_success:
        return []
    rows = world.table.active[~np.isin(world.table.active, search.feasible)]
    if len(rows) == 0:
        return []
    columns = world.algorithm.framework.run_all_filters(search.state, rows)
    return _refused(world, decision, rows, columns)


def closest_nodes(
    world: World, decision: ScheduleResult, most: int
) -> tuple[list[Refused], dict[_Rule, tuple[str, ...]]]:
    """As `refused_nodes`, with at most *most* nodes of each set of refusing filters, the closest.

    Beside them the names of all nodes by the rule that refuses them: for clusters of thousands of
    nodes, of which only the closest are looked at one by one.
    """
    search, table = decision.search, world.table
    if search is None or not search.status.is_success:
        return [], {}
    rows = table.active[~np.isin(table.active, search.feasible)]
    if len(rows) == 0:
        return [], {}
    framework = world.algorithm.framework
    columns = framework.run_all_filters(search.state, rows)
    by_rule: dict[_Rule, tuple[str, ...]] = {}
    for place, plugin in enumerate(framework.plugins.filter, 1):
        codes = columns.get(plugin.name)
        if codes is None:
            continue
        refusing: list[int] = np.unique(codes[codes != FITS]).tolist()
        for code in refusing:
            reasons = framework.explain(search.state, place, code).reasons
            names = table.names(rows[codes == code].tolist())
            by_rule[plugin.name, reasons] = (*by_rule.get((plugin.name, reasons), ()), *names)
    kept = _closest(world, rows, columns, most)
    few = {name: codes[kept] for name, codes in columns.items()}
    return _refused(world, decision, rows[kept], few), by_rule


# A plugin and its reasons.
_Rule = tuple[str, tuple[str, ...]]


def _closest(world: World, rows: IntArray, columns: Mapping[str, IntArray], most: int) -> IntArray:
    """The places in *rows* of *most* nodes for each combination of verdicts: the most room first."""
    table = world.table
    short = np.zeros(len(rows))
    for column, amount in table.amounts(world.info().resources.fit):
        free = table.allocatable[column][rows] - table.requested[column][rows]
        short += np.maximum(amount - free, 0) / amount
    kinds = np.zeros(len(rows), np.int64)
    for codes in columns.values():
        lowest, highest = int(codes.min()), int(codes.max())
        if lowest < highest:
            # Numbered anew each time, so that the products stay small.
            pairs = kinds * (highest - lowest + 1) + (codes - lowest)
            _, kinds = np.unique(pairs, return_inverse=True)
    order = np.lexsort((table.name_rank[rows], short, kinds))
    _, begins = np.unique(kinds[order], return_index=True)
    return np.concatenate([part[:most] for part in np.split(order, begins[1:])])


def _refused(
    world: World, decision: ScheduleResult, rows: IntArray, columns: Mapping[str, IntArray]
) -> list[Refused]:
    search, framework = decision.search, world.algorithm.framework
    assert search is not None
    found: dict[int, list[Obstacle]] = {row: [] for row in rows.tolist()}
    for place, plugin in enumerate(framework.plugins.filter, 1):
        codes = columns.get(plugin.name)
        if codes is None:
            continue
        statuses: dict[int, Status] = {}
        refusing = np.flatnonzero(codes != FITS)
        for row, code in zip(rows[refusing].tolist(), codes[refusing].tolist(), strict=True):
            status = statuses.get(code)
            if status is None:
                status = statuses[code] = framework.explain(search.state, place, code)
            detail = framework.detail(search.state, row, place, code)
            found[row].append(Obstacle(plugin.name, status, detail))
    _add_verdicts_on_trial(world, decision, found)
    distances = _Distances(world)
    refused = [
        Refused(row, world.table.name(row), tuple(each), distances.of(row, each))
        for row, each in found.items()
    ]
    return sorted(refused, key=_distance)


class _Distances:
    """Measures how far nodes are from fitting; equal details are read only once.

    Nodes with all resources come first, then those with the fewest obstacles, those where something
    is measured, and those where the smallest share is short. Each resource that is short is an
    obstacle of its own.
    """

    def __init__(self, world: World) -> None:
        self._table = world.table
        # By the identity of the details, which the nodes' obstacles keep alive meanwhile.
        self._measured: dict[tuple[int, ...], _Measured] = {}

    def of(self, row: int, obstacles: list[Obstacle]) -> tuple[int, int, int, float, str]:
        key = tuple([id(each.detail) for each in obstacles])
        measured = self._measured.get(key)
        if measured is None:
            measured = self._measured[key] = _measured([each.detail for each in obstacles])
        names, count, unmeasured, share = measured
        absent = 0
        if names:
            allocatable = self._table.node(row).allocatable
            absent = sum(name not in allocatable for name in names)
        return absent, count, unmeasured, share, self._table.name(row)


# The resources that are short, the number of obstacles, 1 if nothing is measured, and the sum of
# the shares that are short.
_Measured = tuple[list[str], int, int, float]


def _measured(details: list[Detail]) -> _Measured:
    short = [shortages(each) for each in details]
    names = {name: None for each in short for name in each if name != "pods"}
    shares = [share for each in short for share in each.values()]
    count = len(details) + max(len(shares) - 1, 0)
    unmeasured = 0 if any(each.short is not None for each in details) else 1
    return list(names), count, unmeasured, sum(shares)


def _distance(refused: Refused) -> tuple[int, int, int, float, str]:
    return refused.distance


def _add_verdicts_on_trial(
    world: World, decision: ScheduleResult, found: dict[int, list[Obstacle]]
) -> None:
    """Filters that only refuse the pod together with those that are nominated to the node."""
    search, framework = decision.search, world.algorithm.framework
    assert search is not None
    for row, place, code in search.verdicts.each():
        if not place:
            continue
        plugin, others = framework.plugins.filter[place - 1].name, found.get(row)
        if others is not None and all(each.plugin != plugin for each in others):
            status = framework.explain(search.state, place, code)
            if plugin == names.EXTENDER:
                detail = framework.detail(search.state, row, place, code)
            else:
                detail = kept_room(world.algorithm, row, world.pod.uid)
            # It is the first that refused; the others do even without anybody's nomination.
            others.insert(0, Obstacle(plugin, status, detail))


def node_causes(
    world: World,
    refused: list[Refused],
    by_rule: Mapping[_Rule, tuple[str, ...]] | None = None,
) -> list[Cause]:
    """One cause per check and reasons, the ones that concern every node first.

    *by_rule* has the names of all nodes, where *refused* are only the closest.
    """
    groups: dict[tuple[str, tuple[str, ...]], list[tuple[Refused, Obstacle]]] = {}
    for each in refused:
        for obstacle in each.obstacles:
            key = (obstacle.plugin, obstacle.status.reasons)
            groups.setdefault(key, []).append((each, obstacle))
    everywhere = {each.node: each for each in refused}
    causes = [
        _node_cause(world, group, everywhere, _names(group, (by_rule or {}).get(rule, ())))
        for rule, group in groups.items()
    ]
    return sorted(causes, key=_gravity)


def _names(group: list[tuple[Refused, Obstacle]], others: tuple[str, ...]) -> tuple[str, ...]:
    """The nodes of a group, and *others* that one rule refuses as well."""
    return tuple(dict.fromkeys((*(each.node for each, _ in group), *others)))


def _node_cause(
    world: World,
    group: list[tuple[Refused, Obstacle]],
    everywhere: Mapping[str, Refused],
    nodes: tuple[str, ...],
) -> Cause:
    nearest, obstacle = group[0]
    check = check_of(nearest, obstacle)
    case = Case(
        world=world,
        plugin=obstacle.plugin,
        reasons=obstacle.status.reasons,
        refused=[each for each, _ in group],
        details=[each.detail for _, each in group],
        everywhere=everywhere,
        names=nodes,
    )
    explained = explain(world, case)
    return Cause(
        severity="blocks" if len(nodes) == len(world.table) else "narrows",
        sentence=explained.sentence or _sentence(group, nodes, check),
        plugin=obstacle.name,
        reasons=obstacle.status.reasons,
        nodes=nodes,
        only=tuple(each.node for each, _ in group if len(each.obstacles) == 1),
        check=check,
        lead=explained.lead,
        overall=explained.overall,
        why=explained.why,
        because=explained.because,
    )


def _gravity(cause: Cause) -> tuple[int, int, str]:
    return SEVERITIES.index(cause.severity), -len(cause.nodes), cause.plugin


def _sentence(
    group: list[tuple[Refused, Obstacle]], nodes: tuple[str, ...], check: Check
) -> Sentence:
    where = say_count("Node {nodes}", "Nodes {nodes}", len(nodes), nodes=named(nodes))
    text = check.text
    if check.requested is not None and check.free is not None and check.unit:
        asked, free = (format_amount(check.unit, n) for n in (check.requested, check.free))
        if check.unit == "skew":
            text = say("skew would be {asked}, at most {free}", asked=asked, free=free)
        else:
            text = say(
                "{text} (asks {asked}, {free} free)", text=check.text, asked=asked, free=free
            )
    if len({obstacle.detail.text for _, obstacle in group}) > 1:
        return say("{nodes}: closest is {node}, {text}.", nodes=where, node=check.node, text=text)
    return say("{nodes}: {text}.", nodes=where, text=text)


def check_of(refused: Refused, obstacle: Obstacle) -> Check:
    """The check that *obstacle* failed, with its margin."""
    detail = obstacle.detail
    numbers: dict[str, Any] = dict(detail.numbers)
    check: dict[str, Any] = {
        "plugin": obstacle.name,
        "node": refused.node,
        "text": detail.text,
        "unit": detail.unit,
        "short": detail.short,
    }
    entry = numbers.get(detail.unit)
    if isinstance(entry, dict):
        measured = cast("dict[str, int]", entry)
        check |= {
            "requested": measured["requested"],
            "free": measured["allocatable"] - measured["used"],
            "allocatable": measured["allocatable"],
        }
    elif "maxSkew" in numbers:
        check |= {"requested": numbers["skew"], "free": numbers["maxSkew"]}
    elif "limit" in numbers:
        check |= {
            "requested": numbers["added"],
            "free": numbers["limit"] - numbers["attached"],
            "allocatable": numbers["limit"],
        }
    return Check(**check)


def outright_cause(decision: ScheduleResult, world: World) -> Cause | None:
    """A refusal of the pod before any node was looked at, or an attempt that failed as a whole."""
    search = decision.search
    message = decision.message
    plugin, reasons = "", (message,)
    if search is not None and not search.status.is_success:
        plugin, reasons = search.status.plugin, search.status.reasons
        message = search.status.message
    elif decision.result != "error" and len(world.table) > 0:
        return None
    return Cause(
        severity="blocks",
        sentence=verbatim(sentence_of(message)),
        plugin=plugin,
        reasons=reasons,
        nodes=tuple(node.name for _, node in world.nodes()),
        because=outright_facts(world, plugin, reasons),
    )


def preemption_note(world: World, decision: ScheduleResult) -> Cause | None:
    """What forbids the pod to make room by evictions, where it might otherwise."""
    preemption, pod = decision.preemption, world.pod
    if pod.spec.get("preemptionPolicy") != "Never" or not world.has_lower_priorities:
        return None
    reasons = (preemption.message,) if preemption is not None and preemption.message else ()
    name = pod.spec.get("priorityClassName")
    text = say("It may not evict pods of lower priority: its preemptionPolicy is Never.")
    if name:
        text = say(
            "It may not evict pods of lower priority: its preemptionPolicy is Never, from its "
            "class {name}.",
            name=name,
        )
    return Cause(
        severity="notes",
        sentence=text,
        plugin="DefaultPreemption",
        reasons=reasons,
        because=(fact(pod, ("spec", "preemptionPolicy"), say("Its preemptionPolicy is Never.")),),
    )
