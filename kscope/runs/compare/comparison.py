"""What differs between two runs at an instant of each: rules over view states and events, in words.

Pure: `comparing.py` reads what these need from the database. Times are virtual nanoseconds. The two
runs are *a* and *b*; people know them by their names ("#7", "#9").
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import groupby
from typing import Any

from django.utils.translation import gettext, gettext_lazy

from engine.kernel.view import Attributes, State
from kscope.runs.compare.rows import BesideRow, HealthFacts, Measure, Use
from kscope.words.joining import listed, sentences

Json = Mapping[str, Any]  # an event or its evidence, as the REST API gives it
ENDED = ("Succeeded", "Failed")
_UID = re.compile(r"[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")
# In this order; others follow by name.
RESOURCES = ("cpu", "memory", "ephemeral-storage", "pods")


@dataclass(frozen=True, slots=True)
class Decision:
    """The newest event that bound, refused or deleted a pod."""

    kind: str
    seq: int
    at: int
    message: str


@dataclass(frozen=True, slots=True)
class Spot:
    """Where a pod is in one run: `state` is placed, waits or absent; what waits has a `queue`.

    `seq` and `at` are those of the event that decided so, `words` what is missing.
    """

    state: str
    node: str = ""
    seq: int | None = None
    at: int | None = None
    words: str = ""
    queue: str = ""


@dataclass(frozen=True, slots=True)
class Difference:
    """A pod that is somewhere else in *b* than in *a*."""

    pod: str
    a: Spot
    b: Spot

    def since(self, parted: int) -> int | None:
        """The first moment from *parted* on at which either run decided on the pod, if known."""
        moments = [spot.at for spot in (self.a, self.b) if spot.at is not None]
        return min((moment for moment in moments if moment >= parted), default=None)


def pods_elsewhere(a: State, b: State) -> list[str]:
    """The entity ids of pods that have another node in *b*, or are in one of the states only."""
    pods = {entity: None for state in (a, b) for entity in state if entity.startswith("pod/")}
    return sorted(pod for pod in pods if _place(a.get(pod)) != _place(b.get(pod)))


def _place(pod: Attributes | None) -> tuple[bool, str]:
    return pod is not None, str((pod or {}).get("node") or "")


def spot(pod: Attributes | None, decision: Decision | None) -> Spot:
    """Where the pod of these attributes is, and which event made it so."""
    seq, at = (decision.seq, decision.at) if decision else (None, None)
    if pod is None:
        return Spot("absent", "", seq, at)
    if pod.get("node"):
        bound = decision if decision and decision.kind == "PodBound" else None
        return Spot("placed", pod["node"], bound and bound.seq, bound and bound.at)
    blocker: Attributes = pod.get("blocker") or {}
    queue = pod.get("queue") or ("assumed" if pod.get("assumed") else "")
    return Spot("waits", "", seq, at, blocker.get("short") or "", queue)


def health_facts(pod_id: str, state: State) -> HealthFacts:
    """What the health of a pod follows from: its attributes, its claims, and its node (`host`).

    The node is that to which it is bound, or else nominated; then `ending` are the pods that it may
    wait for there. Only those volumes of the node that the pod needs;
    static/js/model/health judges.
    """
    pod = state.get(pod_id) or {}
    nominated = "" if pod.get("node") else str(pod.get("nominated") or "")
    node = state.get(f"node/{pod.get('node') or nominated}")
    return HealthFacts(
        pod=state.get(pod_id),
        host=None if node is None else _host(pod_id.split("/", 1)[1], node),
        ending=_ending_on(nominated, state) if nominated else None,
        claims=None if pod.get("node") else _refused_claims(pod_id, pod, state),
    )


def _refused_claims(pod_id: str, pod: Attributes, state: State) -> Attributes:
    """The claims of a pod that are refused a volume, by their ids."""
    namespace = pod_id.split("/")[1]
    claims = (f"claim/{namespace}/{name}" for name in pod.get("claims") or ())
    return {each: state[each] for each in claims if (state.get(each) or {}).get("trouble")}


def _ending_on(node: str, state: State) -> Attributes:
    """The pods that are being deleted on a node: of each, where it is and when its grace is over."""
    return {
        entity: {"node": node, "deleting": pod["deleting"]}
        for entity, pod in state.items()
        if pod.get("node") == node and "deleting" in pod and entity.startswith("pod/")
    }


def _host(pod_key: str, node: Attributes) -> Attributes:
    parts: Attributes = {
        part: {
            volume: shown
            for volume, shown in (node.get(part) or {}).items()
            if pod_key in (shown.get("desired") or ())
        }
        for part in ("volumes", "attachments")
    }
    return {"ready": node.get("ready"), **parts}


def in_order(differences: Iterable[Difference], parted: int) -> list[Difference]:
    """*differences* sorted by their moment; those without a known moment come last."""
    dated = [(one.since(parted), one) for one in differences]
    dated.sort(key=lambda each: (each[0] is None, each[0] or 0, each[1].pod))
    return [one for _, one in dated]


@dataclass(frozen=True, slots=True)
class Totals:
    """A state in numbers. `resources` are [requested, allocatable] over all nodes."""

    pods: int
    bound: int
    pending: int
    nodes: int
    used: int
    resources: dict[str, tuple[int, int]]


def totals(state: State) -> Totals:
    """Count pods and nodes, and add up what the scheduler holds as requested."""
    pods = [pod for entity, pod in state.items() if entity.startswith("pod/")]
    nodes = {entity[5:]: node for entity, node in state.items() if entity.startswith("node/")}
    alive = [pod for pod in pods if pod.get("phase") not in ENDED]
    placed = [pod for pod in alive if pod.get("node")]
    return Totals(
        pods=len(pods),
        bound=len(placed),
        pending=len(alive) - len(placed),
        nodes=len(nodes),
        used=len({pod["node"] for pod in placed} & set(nodes)),
        resources=_resources(nodes.values()),
    )


def _resources(nodes: Iterable[Attributes]) -> dict[str, tuple[int, int]]:
    found: dict[str, tuple[int, int]] = {}
    for node in nodes:
        requested: Mapping[str, int] = node.get("requested") or {}
        allocatable: Mapping[str, int] = node.get("allocatable") or {}
        for name in allocatable:
            used, whole = found.get(name, (0, 0))
            found[name] = used + requested.get(name, 0), whole + allocatable[name]
    order = {name: place for place, name in enumerate(RESOURCES)}
    names = sorted(found, key=lambda name: (order.get(name, len(order)), name))
    return {name: found[name] for name in names}


def measures(a: Totals, b: Totals, more: Sequence[tuple[str, str, Any, Any]]) -> list[Measure]:
    """Rows of (key, unit, a, b, difference), with None for unknown; *more* are further rows."""
    rows: list[tuple[str, str, Any, Any]] = [
        ("pods", "count", a.pods, b.pods),
        ("bound", "count", a.bound, b.bound),
        ("pending", "count", a.pending, b.pending),
        *more,
        ("nodes", "count", a.nodes, b.nodes),
        ("nodes used", "count", a.used, b.used),
    ]
    return [
        Measure(
            key=key,
            unit=unit,
            a=left,
            b=right,
            difference=None if left is None or right is None else right - left,
        )
        for key, unit, left, right in rows
    ]


def utilisation(a: Totals, b: Totals) -> list[Use]:
    """Per resource what is requested of what is allocatable, in both."""
    names = {**a.resources, **b.resources}
    return [
        Use(
            resource=name,
            a=list(a.resources.get(name, (0, 0))),
            b=list(b.resources.get(name, (0, 0))),
        )
        for name in names
    ]


# Why


def reason(left: str, right: str, a: Json | None, b: Json | None, names: tuple[str, str]) -> str:
    """Why run *a* chose node *left* and *b* node *right*, from the evidence of both attempts.

    A node is "" if the pod waits in that run. Returns "" when the evidence does not say.
    """
    if a is None or b is None:
        return ""
    refusals = (
        left and _refusal(left, b, names[1]),
        right and _refusal(right, a, names[0]),
    )
    found = next((each for each in refusals if each), "")
    return found or (_by_score(left, right, a, b, names) if left and right else "")


def deciding_plugin(left: str, right: str, a: Json | None, b: Json | None) -> str:
    """The plugin that made run *a* choose node *left* and *b* node *right*; "" if unknown.

    It is the one that rejected the node of the other run, or else the one whose weighted scores of
    the two nodes changed most between the runs. A node is "" if the pod waits in that run.
    """
    if a is None or b is None:
        return ""
    for node, evidence in ((left, b), (right, a)):
        verdict = evidence.get("verdicts", {}).get(node)
        if verdict:
            return str(verdict.get("plugin") or "")
    leads = [_leads(left, right, evidence.get("scores", {})) for evidence in (a, b)]
    shifts = {
        plugin: abs(leads[0].get(plugin, 0) - leads[1].get(plugin, 0))
        for plugin in {**leads[0], **leads[1]}
    }
    most = max(shifts, key=lambda plugin: shifts[plugin], default="")
    return most if shifts.get(most) else ""


def _leads(left: str, right: str, scores: Json) -> dict[str, int]:
    """By plugin: how many weighted points *left* has more than *right*."""
    if left not in scores or right not in scores:
        return {}
    ours, others = scores[left]["plugins"], scores[right]["plugins"]
    return {plugin: ours[plugin][2] - others[plugin][2] for plugin in ours if plugin in others}


def _refusal(node: str, evidence: Json, name: str) -> str:
    verdict = evidence.get("verdicts", {}).get(node)
    if verdict:
        words = verdict.get("text") or ", ".join(verdict.get("reasons") or ()) or verdict["plugin"]
        refused = gettext("{run} could not use {node}: {reasons}")
        return refused.format(run=name, node=node, reasons=words)
    if node not in evidence.get("nodes", ()):
        return gettext("{run} had no node {node}").format(run=name, node=node)
    if node in evidence.get("not_evaluated", ()):
        skipped = gettext("{run} did not look at {node}: enough other nodes fitted")
        return skipped.format(run=name, node=node)
    return ""


def _by_score(left: str, right: str, a: Json, b: Json, names: tuple[str, str]) -> str:
    points = [
        [evidence.get("scores", {}).get(node, {}).get("total") for node in (left, right)]
        for evidence in (a, b)
    ]
    if any(each is None for pair in points for each in pair):
        return ""
    if points[0] == points[1] and points[0][0] == points[0][1]:
        tied = gettext(
            "both nodes had {score} points in both runs, and the tie was broken differently"
        )
        return tied.format(score=points[0][0])
    given = zip(names, points, strict=True)
    return listed(_points_words(name, left, right, pair) for name, pair in given)


def _points_words(name: str, left: str, right: str, points: Sequence[Any]) -> str:
    words = gettext("{run} gave {one} {points} and {other} {others} points")
    if points[0] == points[1]:
        words = gettext("{run} gave {one} and {other} {points} points each and broke the tie")
    return words.format(run=name, one=left, other=right, points=points[0], others=points[1])


# In words


def seconds(at: int) -> str:
    """42350000000 → "42.350 s"."""
    return gettext("{seconds} s").format(seconds=f"{at / 1e9:.3f}")


def parting(divergence: Json | None, shared: int, names: tuple[str, str], heads: Json) -> str:
    """How far two runs are the same, and with which events they part.

    *divergence* is {at, a, b} with the first events that differ, or None; *heads* has the newest
    seq and moment of each run as [seq, at] under "a" and "b".
    """
    if divergence is not None:
        begun = gettext("Different from the beginning.")
        if shared > 1:
            begun = gettext("Identical for {number} events, up to {time}.").format(
                number=f"{shared:,}", time=seconds(divergence["at"])
            )
        return sentences(begun, _how_they_part(divergence["a"], divergence["b"], names))
    (seq_a, at_a), (seq_b, at_b) = heads["a"], heads["b"]
    if seq_a == seq_b:
        return gettext("Equal in all {number} events.").format(number=f"{shared:,}")
    short, (long, reached) = (names[0], (names[1], at_b))
    if seq_a > seq_b:
        short, (long, reached) = names[1], (names[0], at_a)
    at = min((seq_a, at_a), (seq_b, at_b))[1]
    until = gettext("Identical as far as {run} has come: {number} events, up to {time}.")
    further = gettext("{run} has gone on to {time}.")
    return sentences(
        until.format(run=short, number=f"{shared:,}", time=seconds(at)),
        further.format(run=long, time=seconds(reached)),
    )


def _how_they_part(a: Json, b: Json, names: tuple[str, str]) -> str:
    """A sentence on the first events of two runs that are not the same."""
    if _is_the_same_event(a, b):
        return _how_they_differ(a, b, names)
    first, second = _first_events(a, b, names)
    return gettext("Then {first}; {second}.").format(first=first, second=second)


def _first_events(a: Json, b: Json, names: tuple[str, str]) -> list[str]:
    """The first event of each run in words; if the times differ, with times, the earlier first."""
    firsts = [
        (event["at"], _event_words(event, name)) for event, name in zip((a, b), names, strict=True)
    ]
    if a["at"] == b["at"]:
        return [words for _, words in firsts]
    timed = gettext("{event} at {time}")
    return [timed.format(event=words, time=seconds(at)) for at, words in sorted(firsts)]


def _is_the_same_event(a: Json, b: Json) -> bool:
    return all(a[name] == b[name] for name in ("at", "kind", "object", "component"))


def _how_they_differ(a: Json, b: Json, names: tuple[str, str]) -> str:
    """A sentence on an event that both runs have, with different messages or contents."""
    event, time = f"{a['kind']} {_plain(a['object'])}", seconds(a["at"])
    if a["message"] == b["message"]:
        words = gettext(
            "Then both have {event} at {time} with the same message but different {parts}."
        )
        return words.format(event=event, time=time, parts=_all_of(differing(a, b)))
    words = gettext("Then both have {event} at {time}: {one} {words}, {other} {others}.")
    one, other = names
    return words.format(
        event=event, time=time, one=one, words=_quoted(a), other=other, others=_quoted(b)
    )


def _quoted(event: Json) -> str:
    if event["message"]:
        return gettext("“{message}”").format(message=_short(event["message"]))
    return gettext("without a message")


def _all_of(parts: Sequence[str]) -> str:
    """Parts of an event, in words: "evidence and changes"."""
    both, words = gettext("{list} and {next}"), [str(_PARTS[part]) for part in parts]
    return reduce(lambda start, part: both.format(list=start, next=part), words)


_PARTS = {
    "evidence": gettext_lazy("evidence"),
    "changes": gettext_lazy("changes"),
    "author": gettext_lazy("author"),
}


def differing(a: Json, b: Json) -> list[str]:
    """Which parts of two events differ besides the message: "evidence", "changes", "author"."""
    found = {"data": "evidence", "changes": "changes", "component": "author"}
    return [words for name, words in found.items() if a.get(name) != b.get(name)]


def _event_words(event: Json, name: str) -> str:
    words = f"{event['kind']} {_plain(event['object'])}"
    if event["message"]:
        words = gettext("{event} ({message})").format(event=words, message=_short(event["message"]))
    if event["component"] == "command":
        words = gettext("{event}, by a command").format(event=words)
    return gettext("{run}: {event}").format(run=name, event=words)


def _short(text: str, most: int = 90) -> str:
    return text if len(text) <= most else text[: most - 1].rstrip() + "…"


def _plain(entity: str) -> str:
    return entity.removeprefix("pod/")


def placing(first: Difference | None, why: str, names: tuple[str, str]) -> str:
    """The first pod that is elsewhere, in one sentence."""
    if first is None:
        return gettext("Every pod is on the same node in both.")
    left, right = (
        _spot_words(spot, name) for spot, name in zip((first.a, first.b), names, strict=True)
    )
    words = gettext("{pod}: {one}, {other}.")
    if why:
        words = gettext("{pod}: {one}, {other}, because {why}.")
    return words.format(pod=_plain(first.pod), one=left, other=right, why=why)


def _spot_words(spot: Spot, name: str) -> str:
    if spot.state == "absent":
        gone = gettext("{run} has no such pod any more, deleted at {time}")
        return _timed(gettext("{run} has no such pod"), gone, spot, name)
    if spot.state == "waits":
        held = spot.words or spot.queue.replace("_", " ")
        words = gettext("{run} leaves it waiting")
        if held:
            words = gettext("{run} leaves it waiting ({held})")
        return words.format(run=name, held=held)
    put = gettext("{run} puts it on {node} at {time}")
    return _timed(gettext("{run} puts it on {node}"), put, spot, name)


def _timed(words: str, with_time: str, spot: Spot, name: str) -> str:
    """*with_time* where the time is known, else *words*."""
    if spot.at is None:
        return words.format(run=name, node=spot.node)
    return with_time.format(run=name, node=spot.node, time=seconds(spot.at))


# Events beside each other


def aligned(a: Sequence[dict[str, Any]], b: Sequence[dict[str, Any]]) -> list[BesideRow]:
    """Events of two runs as rows {at, a, b, same, differs}, one for each moment, kind and object.

    `same` says that the contents are equal, too; else `differs` names the parts that differ
    besides the message. An event that only one run has is alone in its row.
    """
    rows: list[BesideRow] = []
    for at, group in groupby(_merged(a, b), key=lambda each: each[0]):
        events = [(side, event) for _, side, event in group]
        rows += _rows_of_moment(at, events)
    return rows


def _merged(
    a: Sequence[dict[str, Any]], b: Sequence[dict[str, Any]]
) -> Iterator[tuple[int, str, dict[str, Any]]]:
    merged = [(event["at"], "a", event) for event in a] + [(event["at"], "b", event) for event in b]
    return iter(sorted(merged, key=lambda each: each[0]))


def _rows_of_moment(at: int, events: list[tuple[str, dict[str, Any]]]) -> list[BesideRow]:
    waiting: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for side, event in events:
        if side == "b":
            waiting.setdefault((event["kind"], event["object"]), []).append(event)
    rows: list[BesideRow] = []
    for side, event in events:
        if side == "a":
            partners = waiting.get((event["kind"], event["object"]))
            partner = partners.pop(0) if partners else None
            same = partner is not None and content(event) == content(partner)
            differs = [] if same or partner is None else differing(event, partner)
            rows.append(BesideRow(at=at, a=event, b=partner, same=same, differs=differs))
    left = [event for events in waiting.values() for event in events]
    rows += [BesideRow(at=at, a=None, b=event, same=False, differs=[]) for event in left]
    return rows


def content(event: Json) -> tuple[Any, ...]:
    """The parts of an event that are compared.

    Left out are its seq and its cause, the choices that RunCreated records, and uids in the
    message, since they depend on the seed.
    """
    changes = None if event["kind"] == "RunCreated" else event.get("changes")
    names = ("at", "kind", "object", "component", "data")
    return (*(event.get(name) for name in names), _UID.sub("", event["message"]), changes)
