"""The evidence of an attempt, and the sentence that says what blocks a pod.

Call these right after the decision, before the pod is assumed or victims are evicted: the numbers
are read from the node table as it is.
"""

from __future__ import annotations

from collections.abc import Mapping
from operator import attrgetter
from typing import Any

import numpy as np

from engine.framework import names
from engine.framework.explaining.amounts import shortages
from engine.framework.explaining.fixes import Fixes, SmallestFix
from engine.framework.framework import RECORD, Code, Detail, record_of
from engine.framework.messages import sentence_of
from engine.framework.nodes.arrays import BoolArray
from engine.framework.pods.pod_info import PodInfo
from engine.framework.runtime import Search
from engine.framework.simple import author_of
from engine.kernel.sentences import enumerated, say
from engine.scheduler.cycle.algorithm import SchedulingAlgorithm
from engine.scheduler.cycle.decision.result import SCHEDULED, UNSCHEDULABLE, ScheduleResult
from engine.scheduler.cycle.score_columns import ScoreColumns
from engine.scheduler.preemption.preemption import Preemption, costs
from engine.scheduler.preemption.room_verdicts import Refusal, RoomVerdicts

Evidence = dict[str, Any]

# For a sentence about thousands of nodes, this many of each kind of refusal are looked at.
_ROWS_PER_KIND = 20


def summary(decision: ScheduleResult) -> Evidence:
    """The numbers of a decision that its event records."""
    outcome: Evidence = {"evaluated": decision.evaluated, "feasible": decision.feasible}
    tied = len(decision.tied_rows)
    if tied > 1:
        outcome["tied"] = tied
    if decision.scores is not None:
        outcome["score"] = int(decision.scores.total.max())
    return outcome


def rejecting_plugins(decision: ScheduleResult) -> tuple[str, ...]:
    """The plugins that rejected the pod; they decide which events move it out of the queue."""
    search = decision.search
    # No plugin rejects the pod in an error: it returns after its backoff.
    if search is None or decision.result != UNSCHEDULABLE:
        return ()
    if not search.status.is_success:
        refusing = (search.status.plugin,) if search.status.plugin else ()
        return tuple(dict.fromkeys((*refusing, *search.narrowed_by)))
    refused = {status.plugin: None for status in decision.statuses}
    return tuple({**refused, **dict.fromkeys(search.narrowed_by)})


def pending_plugins(decision: ScheduleResult) -> tuple[str, ...]:
    """Those of them that answered Pending. Upstream: Diagnosis.AddPluginStatus()."""
    if decision.result != UNSCHEDULABLE:
        return ()
    waits = (status.plugin for status in decision.statuses if status.code is Code.PENDING)
    return tuple(dict.fromkeys(waits))


def evidence(
    decision: ScheduleResult, algorithm: SchedulingAlgorithm, number: int, cycle: int
) -> Evidence:
    """Everything about one attempt, as kept beside the events (docs/evidence.md)."""
    table = algorithm.table
    details: Evidence = {
        "pod": decision.pod.key,
        "number": number,
        "cycle": cycle,
        "result": decision.result,
        "node": decision.node,
        "message": decision.message,
        "nodes": sorted(table.rows),
        "filters": [plugin.name for plugin in algorithm.framework.plugins.filter],
        "evaluated": decision.evaluated,
        "feasible": decision.feasible,
        "tied": sorted(table.names(decision.tied_rows.tolist())),
        "verdicts": {},
        "not_evaluated": [],
        "skipped": [],
        "scores": _scores(decision, algorithm),
        **_weights(decision, algorithm),
        "preemption": preemption_evidence(decision.preemption),
    }
    if len(details["tied"]) > 1:
        details["tie_break"] = algorithm.hosts.way
    if decision.node_hint:
        details["node_hint"] = decision.node_hint
    search = decision.search
    if search is None:
        return details
    if not search.status.is_success:
        details["prefilter"] = {
            "plugin": search.status.plugin,
            "code": search.status.code.value,
            "reasons": list(search.status.reasons),
        }
    if RECORD in search.state.data:
        details["extension_points"] = dict(record_of(search.state))
    details["verdicts"] = _verdicts(search, algorithm, ~search.verdicts.fits)
    looked_at = frozenset(table.names(search.verdicts.rows.tolist()))
    details["not_evaluated"] = [name for name in details["nodes"] if name not in looked_at]
    details["skipped"] = sorted(search.state.skip_filter)
    details["sampling"] = {"wanted": algorithm.wanted_nodes, "start": algorithm.handle.next_start}
    return details


def refusal_text(node: str, decision: ScheduleResult, algorithm: SchedulingAlgorithm) -> str:
    """Why a filter refused *node*, in a few words; "" if none looked at it, or it fits."""
    search, row = decision.search, algorithm.table.rows.get(node)
    if search is None or row is None:
        return ""
    refused = ~search.verdicts.fits & (search.verdicts.rows == row)
    verdict = _verdicts(search, algorithm, refused).get(node)
    return (verdict["text"] or ", ".join(verdict["reasons"])) if verdict else ""


def _verdicts(search: Search, algorithm: SchedulingAlgorithm, refused: BoolArray) -> Evidence:
    """Of each refused node the first refusal with its numbers, and the other filters that refuse it."""
    framework, table, verdicts = algorithm.framework, algorithm.table, search.verdicts
    places = np.flatnonzero(refused).tolist()
    failing = _failing(search, algorithm, [int(verdicts.rows[place]) for place in places])
    filters = {plugin.name: place for place, plugin in enumerate(framework.plugins.filter, 1)}
    by_node: Evidence = {}
    for place in places:
        row = int(verdicts.rows[place])
        plugin, code = int(verdicts.plugin[place]), int(verdicts.code[place])
        refusing = failing[row]
        detail = _detail(search, algorithm, row, plugin, refusing)
        verdict = _refusal_evidence(search, algorithm, plugin, code, detail)
        # A filter that refuses the node only because of nominated pods is not in `refusing`.
        first = framework.plugins.filter[plugin - 1].name
        verdict["failing"] = list(refusing) if first in refusing else [first, *refusing]
        others = {
            name: _refusal_evidence(
                search, algorithm, at, code, framework.detail(search.state, row, at, code)
            )
            for name, code in refusing.items()
            if (at := filters[name]) != plugin
        }
        if others:
            verdict["also"] = others
        by_node[table.name(row)] = verdict
    return dict(sorted(by_node.items()))


def _refusal_evidence(
    search: Search, algorithm: SchedulingAlgorithm, plugin: int, code: int, detail: Detail
) -> Evidence:
    """The refusal of one node by one filter, with its numbers."""
    status = algorithm.framework.explain(search.state, plugin, code)
    refusal: Evidence = {
        "plugin": status.plugin,
        "code": status.code.value,
        "reasons": list(status.reasons),
        "text": detail.text,
        "detail": dict(detail.numbers),
    }
    if detail.short is not None:
        refusal["short"] = detail.short
        refusal["unit"] = detail.unit
    return refusal


# The filters that refuse a row without nominated pods, in order, with their codes.
Failing = dict[str, int]


def _failing(search: Search, algorithm: SchedulingAlgorithm, rows: list[int]) -> dict[int, Failing]:
    """For each row all filters that refuse it, also after the first."""
    found: dict[int, Failing] = {row: {} for row in rows}
    if not rows:
        return found
    columns = algorithm.framework.run_all_filters(search.state, np.array(rows, np.int64))
    for name, codes in columns.items():
        for place in np.flatnonzero(codes).tolist():
            found[rows[place]][name] = codes.item(place)
    for row, code in _refused_by_extenders(search, algorithm).items():
        if row in found:
            found[row][names.EXTENDER] = code
    return found


def _refused_by_extenders(search: Search, algorithm: SchedulingAlgorithm) -> dict[int, int]:
    """The rows that extenders refused, with the code: no filter repeats what these said."""
    filters, verdicts = algorithm.framework.plugins.filter, search.verdicts
    if not filters or filters[-1].name != names.EXTENDER:
        return {}
    places = np.flatnonzero(verdicts.plugin == len(filters))
    return dict(zip(verdicts.rows[places].tolist(), verdicts.code[places].tolist(), strict=True))


def _detail(
    search: Search, algorithm: SchedulingAlgorithm, row: int, plugin: int, failing: Failing
) -> Detail:
    """The numbers behind the answer of *plugin* for *row*, without nominated pods."""
    code = failing.get(algorithm.framework.plugins.filter[plugin - 1].name)
    if code is None:
        return kept_room(algorithm, row, search.state.pod.uid)
    return algorithm.framework.detail(search.state, row, plugin, code)


def kept_room(algorithm: SchedulingAlgorithm, row: int, uid: str) -> Detail:
    """The detail of a row that the pod fits only without the pods nominated there."""
    others = [each.key for each in algorithm.nominated.at(row) if each.uid != uid]
    text = say("room is kept for {pods}, nominated to it", pods=enumerated(others))
    return Detail(text=text, numbers={"nominated": others})


def _scores(decision: ScheduleResult, algorithm: SchedulingAlgorithm) -> Mapping[str, Evidence]:
    scores = decision.scores
    if scores is None:
        return {}
    return ScoreColumns.of(scores, algorithm.table.names(scores.rows.tolist()))


def _weights(decision: ScheduleResult, algorithm: SchedulingAlgorithm) -> Evidence:
    """The weight of each plugin, and the plugins that did not score."""
    if decision.scores is None:
        return {}
    weights = {score.name: score.weight for score in decision.scores.plugins}
    everyone = [plugin.name for plugin, _ in algorithm.framework.plugins.score]
    return {"weights": weights, "not_scored": [name for name in everyone if name not in weights]}


def preemption_evidence(preemption: Preemption | None) -> Evidence | None:
    """Candidates with victims, reprieved pods and violations, and which are left after each rung."""
    if preemption is None:
        return None
    chosen = preemption.chosen
    rungs = [{"rung": name, "left": left} for name, left in preemption.rungs]
    if preemption.taken_out:
        left = [candidate.node for candidate in preemption.candidates]
        rungs.insert(0, {"rung": "extenders", "left": left})
    candidates = sorted((*preemption.candidates, *preemption.taken_out), key=attrgetter("node"))
    return {
        "node": chosen.node if chosen else None,
        "victims": [pod.key for pod in chosen.victims] if chosen else [],
        "message": preemption.message,
        "candidates": {
            candidate.node: {
                "victims": [pod.key for pod in candidate.victims],
                "reprieved": [pod.key for pod in candidate.reprieved],
                "pdb_violations": candidate.violations,
                "costs": costs(candidate),
            }
            for candidate in candidates
        },
        "rungs": rungs,
        "hopeless": {
            node: list(status.reasons) for node, status in sorted(preemption.statuses.items())
        },
    }


# -- the blocker ---------------------------------------------------------------------------------


def blocker(
    decision: ScheduleResult, algorithm: SchedulingAlgorithm, attempt: int
) -> Evidence | None:
    """One sentence, one number and the smallest fixes for a pod that got no node."""
    if decision.result == SCHEDULED:
        return None
    search = decision.search
    if search is None or not search.status.is_success or decision.result != "unschedulable":
        return _refused_outright(decision, attempt)
    with algorithm.nominated.without(search.state.pod):
        kept = algorithm.room_verdicts.of(search.state)
        refusals = closest(search, algorithm, kept)
        if not refusals:
            return _refused_outright(decision, attempt)
        fixes = _fixes(decision.pod, algorithm, refusals, kept)
    nearest = refusals[0]
    shown: Evidence = {
        "plugin": nearest.plugin,
        "node": nearest.node,
        "value": nearest.detail.short,
        "unit": nearest.detail.unit or None,
        "fixes": fixes,
        "attempt": attempt,
    }
    chosen = decision.preemption.chosen if decision.preemption else None
    if chosen is not None:
        victims = [pod.pod.name for pod in chosen.victims]
        leaving = victims[0] if len(victims) == 1 else f"{len(victims)} pods"
        shown["sentence"] = f"Waits for {leaving} to leave {chosen.node}."
        shown["short"] = f"Nominated to {chosen.node}"
        return shown
    shown["sentence"], shown["short"] = _sentence(decision, nearest)
    return shown


def closest(
    search: Search, algorithm: SchedulingAlgorithm, kept: RoomVerdicts | None
) -> list[Refusal]:
    """Refused nodes, the closest to fitting first; *kept* holds those of earlier attempts."""
    verdicts = search.verdicts
    known: dict[int, Refusal] = {} if kept is None else kept.closest
    picked: dict[int, int] = {}
    for plugin, code, count in verdicts.kinds():
        everyone = count == len(verdicts.rows)
        rows = verdicts.rows if everyone else verdicts.rows_of(plugin, code)
        picked.update(dict.fromkeys(rows[:_ROWS_PER_KIND].tolist(), plugin))
    # The answer of an extender may change while the node does not.
    asked = _refused_by_extenders(search, algorithm)
    unknown = [row for row in picked if row not in known or row in asked]
    failing = _failing(search, algorithm, unknown)
    found = {row: known[row] for row in picked if row in known}
    for row in unknown:
        found[row] = _refusal(search, algorithm, row, picked[row], failing[row])
        if row not in asked:
            known[row] = found[row]
    return sorted([found[row] for row in picked], key=attrgetter("distance"))


def _refusal(
    search: Search, algorithm: SchedulingAlgorithm, row: int, plugin: int, failing: Failing
) -> Refusal:
    node = algorithm.table.name(row)
    detail = _detail(search, algorithm, row, plugin, failing)
    name = algorithm.framework.plugins.filter[plugin - 1].name
    refusing = tuple(failing)
    return Refusal(row, node, name, refusing, detail, _distance(node, refusing, detail))


def _distance(node: str, failing: tuple[str, ...], detail: Detail) -> tuple[int, int, float, str]:
    """Fewest obstacles first, then measurable ones, then the smallest missing share.

    Each resource that is short is an obstacle of its own.
    """
    if detail.short is None:
        return len(failing), 1, 0.0, node
    shares = shortages(detail).values()
    obstacles = len(failing) + max(len(shares) - 1, 0)
    return obstacles, 0, sum(shares) or float(detail.short), node


def _refused_outright(decision: ScheduleResult, attempt: int) -> Evidence:
    search = decision.search
    status = search.status if search is not None else None
    text = decision.message
    if status is not None and not status.is_success:
        text = status.message
    return {
        "sentence": sentence_of(text),
        "short": text,
        "plugin": status.plugin if status is not None else "",
        "value": None,
        "unit": None,
        "fixes": [],
        "attempt": attempt,
    }


def _sentence(decision: ScheduleResult, nearest: Refusal) -> tuple[str, str]:
    text = nearest.detail.text
    count = decision.evaluated
    unanimous = {reason for status in decision.statuses for reason in status.reasons}
    if count == 1:
        return f"Does not fit {nearest.node}, the only node looked at: {text}.", text
    if nearest.detail.short is not None:
        return (
            f"Fits none of {count} nodes; closest is {nearest.node}, {text}.",
            f"{text} on {nearest.node}",
        )
    if len(unanimous) == 1:
        return f"Fits none of {count} nodes, all for one reason: {text}.", text
    return f"Fits none of {count} nodes; closest is {nearest.node}: {text}.", text


def _fixes(
    pod: PodInfo,
    algorithm: SchedulingAlgorithm,
    refusals: list[Refusal],
    kept: RoomVerdicts | None,
) -> list[Evidence]:
    """Single changes after which the pod fits a node that only one filter refuses."""
    fixes: list[Evidence] = []
    named: dict[str, None] = {}
    for refusal in refusals:
        if len(refusal.failing) != 1 or refusal.plugin in named:
            continue
        fix = _fix(pod, algorithm, refusal, kept)
        if fix is not None:
            named[refusal.plugin] = None
            fixes.append(fix)
    return fixes[:3]


def _fix(
    pod: PodInfo, algorithm: SchedulingAlgorithm, refusal: Refusal, kept: RoomVerdicts | None
) -> Evidence | None:
    """What the plugin that refuses the node offers, if the pod then fits."""
    plugin = author_of(algorithm.framework.plugins.by_name.get(refusal.plugin))
    if not isinstance(plugin, Fixes):
        return None
    fix = plugin.smallest_fix(pod, refusal.node, refusal.detail.numbers)
    if fix is None or (fix.is_tried and not _helps(fix, pod, algorithm, refusal.row, kept)):
        return None
    return {"text": fix.text, "object": fix.object, "patch": fix.patch}


def _helps(
    fix: SmallestFix,
    pod: PodInfo,
    algorithm: SchedulingAlgorithm,
    row: int,
    kept: RoomVerdicts | None,
) -> bool:
    """Whether the pod with *fix* fits the node at *row*."""
    tried: dict[int, bool] = {} if kept is None else kept.tried
    if row not in tried:
        changed = PodInfo(pod.pod.patched(fix.patch), pod.rules)
        tried[row] = _would_fit(changed, algorithm, row)
    return tried[row]


def _would_fit(pod: PodInfo, algorithm: SchedulingAlgorithm, row: int) -> bool:
    rows = np.array([row], np.int64)
    search = algorithm.framework.find_feasible(pod, rows, algorithm.nominated)
    return len(search.feasible) > 0
