"""What two runs decided differently: the first decision that differs, its inputs, and times to bind.

Reads whole histories and not an instant. Decisions are the events in DECISIONS; two are the same when
kind, object and message are equal: numbers in the data of an event and its time do not count.
"""

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, TypedDict

from django.db import connection
from django.utils.translation import gettext

from engine.versions.shown.differences import plugin_change
from kscope.documents.language import in_language
from kscope.runs.app_registry import registry
from kscope.runs.compare import calculation
from kscope.runs.compare.calculation import Calculation
from kscope.runs.compare.comparison import seconds
from kscope.runs.compare.times import Wait, Waits, waits_apart
from kscope.runs.contents import items_are_same, items_count
from kscope.runs.models import Run, RunEvent, Scenario
from kscope.runs.selectors import event_dict
from kscope.words.joining import sentences

REFUSED = "FailedScheduling"
# Where a pod runs, whether it runs at all, and which volume a claim gets.
DECISIONS = (
    "PodBound",
    REFUSED,
    "PodEvicted",
    "TaintManagerEviction",
    "NodeControllerEviction",
    "VolumeBound",
    "ClaimBound",
)
PARTINGS = 500  # moments from which a pod has another node


class Input(TypedDict):
    """One difference of what the runs were given: `kind` says of what sort, `what` names it."""

    kind: str
    what: str
    a: Any
    b: Any


class DecisionApart(TypedDict):
    """The first decision that differs: the event of each run, None where it has none."""

    object: str
    seq: int
    at: int
    a: dict[str, Any] | None
    b: dict[str, Any] | None
    calculation: Calculation | None


class RuleBetween(TypedDict):
    """A rule in which two versions differ, with its values and its place on the page of versions."""

    words: str
    plugin: str
    rule: str
    sentence: str
    since: str
    a: str
    b: str
    anchor: str


class Parting(TypedDict):
    """A moment from which a pod has another node."""

    at: int
    pod: str


class DecidedApart(TypedDict):
    """What was decided differently, in what the runs were given they differ, and times to bind."""

    decision: DecisionApart | None
    rule: RuleBetween | None
    inputs: list[Input]
    waits: Waits
    partings: list[Parting]
    sentence: str


def decided_apart(a: Run, b: Run, shared: int) -> DecidedApart:
    """The keys of the answer that say what was decided differently after *shared* events."""
    first = _first_decision(a, b, shared)
    decision = first and _decision_dict(first, a, b)
    waits = waits_apart(a, b)
    return DecidedApart(
        decision=decision,
        rule=_rule_of_waits(waits["rows"], a, b),
        inputs=inputs_apart(a, b, shared),
        waits=waits,
        partings=_partings(a, b, shared),
        sentence=sentence(decision, waits["rows"], (a, b)),
    )


# The first decision

# A refusal that says the same as the one before it decides nothing new. Versions word their refusals
# differently: between two of them it only counts that a pod is refused.
_NUMBERED = """
SELECT *, row_number() OVER (PARTITION BY object ORDER BY seq) AS nth FROM (
    SELECT *, lag(kind || message) OVER (PARTITION BY object ORDER BY seq) AS before FROM (
        SELECT object, kind, seq, at,
            CASE WHEN kind = 'FailedScheduling' AND %s THEN '' ELSE regexp_replace(message,
            '[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}', '', 'g') END AS message
        FROM events_of_kinds(%s, %s, %s, %s)) AS told) AS each
WHERE kind <> 'FailedScheduling' OR kind || message IS DISTINCT FROM before
"""
# The nth decision on an object is compared with the nth of the other run, so that two pods that are
# decided in another order are no difference. What one run has not reached yet is none either, and a
# pod that is refused again in one run waits in both.
_FIRST = f"""
WITH a AS ({_NUMBERED}), b AS ({_NUMBERED})
SELECT a.seq, b.seq FROM a FULL JOIN b ON a.object = b.object AND a.nth = b.nth
WHERE (a.kind, a.message) IS DISTINCT FROM (b.kind, b.message)
    AND (b.seq IS NOT NULL OR a.kind <> 'FailedScheduling' AND a.at <= %s)
    AND (a.seq IS NOT NULL OR b.kind <> 'FailedScheduling' AND b.at <= %s)
ORDER BY least(a.at, b.at), least(a.seq, b.seq) LIMIT 1
"""
_NEVER_ENDS = 2**63 - 1


def _first_decision(a: Run, b: Run, shared: int) -> tuple[int | None, int | None] | None:
    """The seqs of the first decisions that differ, None for a run without it; or None."""
    if a.pk == b.pk:
        return None
    reached = [_NEVER_ENDS if run.status == Run.Status.FINISHED else run.head_at for run in (b, a)]
    kinds, only_refused = list(DECISIONS), a.profile != b.profile
    numbered = [[only_refused, run.pk, shared, run.head_seq, kinds] for run in (a, b)]
    with connection.cursor() as cursor:
        cursor.execute(_FIRST, [*numbered[0], *numbered[1], *reached])
        return cursor.fetchone()


def _decision_dict(seqs: tuple[int | None, int | None], a: Run, b: Run) -> DecisionApart:
    left, right = (
        event_dict(RunEvent.objects.get(run_id=run.pk, seq=seq)) if seq else None
        for run, seq in zip((a, b), seqs, strict=True)
    )
    events = [event for event in (left, right) if event]
    first = min(events, key=lambda event: (event["at"], event["seq"]))
    kept = [
        registry.attempt_kept(run.pk, event["object"], event["seq"])
        if event and event["object"].startswith("pod/")
        else None
        for run, event in ((a, left), (b, right))
    ]
    nodes = [_node(event) for event in (left, right)]
    return DecisionApart(
        object=first["object"],
        seq=first["seq"],
        at=first["at"],
        a=left,
        b=right,
        calculation=calculation.beside(nodes[0], nodes[1], kept[0], kept[1]),
    )


def _node(event: dict[str, Any] | None) -> str:
    """The node that a PodBound event gives its pod; "" for another event."""
    if event is None or event["kind"] != "PodBound":
        return ""
    return str(((event["changes"] or {}).get(event["object"]) or {}).get("node") or "")


# The inputs


def inputs_apart(a: Run, b: Run, shared: int) -> list[Input]:
    """In what the runs were given they differ: choices, configuration, scenario, commands."""
    choices = ("profile", "seed", "tie_break", "external_scheduler", "external_controllers")
    found = [
        Input(kind=name, what=name, a=getattr(a, name), b=getattr(b, name))
        for name in choices
        if getattr(a, name) != getattr(b, name)
    ]
    found += _leaves_apart("feature_gate", a.feature_gates, b.feature_gates)
    if a.configuration != b.configuration:
        found += _leaves_apart("configuration", _configuration_of(a), _configuration_of(b))
    if a.scenario_id != b.scenario_id:
        found += _scenarios_apart(a.scenario, b.scenario)
    return found + _commands_apart(a, b, shared)


def _configuration_of(run: Run) -> Any:
    """That of the run itself, or else of its scenario."""
    return run.configuration or run.scenario.header.get("configuration")


def _scenarios_apart(a: Scenario, b: Scenario) -> list[Input]:
    found = [
        each
        for part in ("configuration", "schedulers")
        for each in _leaves_apart("configuration", a.header[part], b.header[part])
    ]
    found += [
        Input(kind="scenario", what=part, a=items_count(a.pk, part), b=items_count(b.pk, part))
        for part in ("objects", "steps")
        if not items_are_same(a.pk, b.pk, part)
    ]
    return found


def _leaves_apart(kind: str, a: Any, b: Any, path: str = "") -> list[Input]:
    """The leaves of two JSON values that differ, each by its path; None where one has no such leaf."""
    if a == b:
        return []
    if isinstance(a, dict) or isinstance(b, dict):
        left, right = (each if isinstance(each, dict) else {} for each in (a, b))
    elif isinstance(a, list) or isinstance(b, list):
        left, right = (_by_name(each if isinstance(each, list) else []) for each in (a, b))
    else:
        return [Input(kind=kind, what=path, a=a, b=b)]
    return [
        each
        for name in {**left, **right}
        for each in _leaves_apart(
            kind, left.get(name), right.get(name), f"{path}.{name}" if path else str(name)
        )
    ]


def _by_name(items: list[Any]) -> dict[str, Any]:
    """The items of a list by their name, or else by their place."""
    return {
        str(
            (item.get("name") or item.get("schedulerName") or i) if isinstance(item, dict) else i
        ): item
        for i, item in enumerate(items)
    }


def _commands_apart(a: Run, b: Run, shared: int) -> list[Input]:
    """The first command of each run after the past that they share."""
    events = [
        RunEvent.objects.filter(run_id=run.pk, seq__gt=shared, component="command")
        .order_by("seq")
        .first()
        for run in (a, b)
    ]
    words = [event and f"{event.kind} {event.object}" for event in events]
    if words[0] == words[1]:
        return []
    return [Input(kind="command", what="command", a=words[0], b=words[1])]


# Times to bind


def _rule_of_waits(waits: list[Wait], a: Run, b: Run) -> RuleBetween | None:
    """The rule of the versions about the plugin that kept the pod of the largest difference waiting."""
    if not waits or a.profile == b.profile:
        return None
    for run, seq in ((a, waits[0]["a_seq"]), (b, waits[0]["b_seq"])):
        refused = (
            RunEvent.objects.filter(
                run_id=run.pk, object=waits[0]["pod"], kind="FailedScheduling", seq__lt=seq
            )
            .order_by("-seq")
            .first()
        )
        kept = refused and registry.attempt_kept(run.pk, waits[0]["pod"], refused.seq)
        for verdict in (kept or {}).get("verdicts", {}).values():
            change = rule_between(verdict.get("plugin") or "", a, b)
            if change:
                return change
    return None


def rule_between(plugin: str, a: Run, b: Run) -> RuleBetween | None:
    """The rule about *plugin* in which the versions of the runs differ, with its words; or None."""
    change = plugin_change(plugin, a.profile, b.profile) if plugin else None
    if change is None:
        return None
    differs = gettext("{plugin} differs since {version} ({one}: {value}, {other}: {others}).")
    differs = differs.format(
        plugin=change.plugin,
        version=change.since,
        one=a.profile,
        value=change.a,
        other=b.profile,
        others=change.b,
    )
    words = sentences(differs, in_language(change.sentence))
    return RuleBetween(
        words=words,
        plugin=change.plugin,
        rule=change.rule,
        sentence=change.sentence,
        since=change.since,
        a=change.a,
        b=change.b,
        anchor=change.anchor,
    )


_BOUND = """
SELECT object, at, message, row_number() OVER (PARTITION BY object ORDER BY seq) AS nth
FROM events_of_kinds(%s, %s, %s, ARRAY['PodBound'])
"""
_PARTINGS = f"""
WITH a AS ({_BOUND}), b AS ({_BOUND})
SELECT DISTINCT least(a.at, b.at), coalesce(a.object, b.object)
FROM a FULL JOIN b ON a.object = b.object AND a.nth = b.nth
WHERE a.message IS DISTINCT FROM b.message OR a.at <> b.at ORDER BY 1, 2 LIMIT %s
"""


def _partings(a: Run, b: Run, shared: int) -> list[Parting]:
    """The moments from which a pod has a node in one run that it does not have in the other."""
    if a.pk == b.pk:
        return []
    with connection.cursor() as cursor:
        cursor.execute(_PARTINGS, [a.pk, shared, a.head_seq, b.pk, shared, b.head_seq, PARTINGS])
        return [Parting(at=at, pod=pod) for at, pod in cursor.fetchall()]


# A pod waits from its creation without a node until it is bound, or deleted before that.
_STEPS = """
SELECT least(%s, at * %s / %s), sum(step) FROM (
    SELECT at, CASE
        WHEN kind = 'PodCreated' AND changes -> object ->> 'node' IS NULL THEN 1
        WHEN kind = 'PodBound' THEN -1
        WHEN kind = 'PodDeleted' AND before = 'PodCreated' AND had IS NULL THEN -1
        ELSE 0 END AS step
    FROM (SELECT at, kind, object, changes, lag(kind) OVER earlier AS before,
            lag(changes -> object ->> 'node') OVER earlier AS had
        FROM events_of_kinds(%s, 0, %s, ARRAY['PodCreated', 'PodBound', 'PodDeleted'])
        WINDOW earlier AS (PARTITION BY object ORDER BY seq)) AS each) AS steps
GROUP BY 1
"""


def waiting(run: Run, to: int, buckets: int) -> list[int]:
    """How many pods wait for a node at the end of each of *buckets* equal parts of the time up to *to*."""
    with connection.cursor() as cursor:
        cursor.execute(_STEPS, [buckets - 1, buckets, max(to, 1), run.pk, run.head_seq])
        steps = {int(bucket): int(step) for bucket, step in cursor.fetchall()}
    return list(accumulate(steps.get(bucket, 0) for bucket in range(buckets)))


# In words


def sentence(decision: DecisionApart | None, waits: list[Wait], runs: tuple[Run, Run]) -> str:
    """What differs in one sentence: the decision, or else the pod whose time to bind differs most."""
    names = [f"#{run.pk}" for run in runs]
    if decision:
        pod = decision["object"].removeprefix("pod/")
        events = decision["a"], decision["b"]
        both = all(event and event["kind"] == REFUSED for event in events)
        one, other = (
            _decided(event, name, both) for name, event in zip(names, events, strict=True)
        )
        begun = gettext("Different from the start.")
        if decision["at"]:
            begun = gettext("The same decisions for {number} events, up to {time}.").format(
                number=f"{decision['seq'] - 1:,}", time=seconds(decision["at"])
            )
        then = gettext("Then {pod}: {one}, {other}.").format(pod=pod, one=one, other=other)
        return sentences(begun, then)
    if not waits:
        return ""
    return sentences(gettext("The same decisions at different times."), _took(waits[0], names))


def _took(most: Wait, names: Sequence[str]) -> str:
    """How long a pod took in both runs, the longer time first."""
    (longer, one), (shorter, other) = sorted(
        ((most["a"], names[0]), (most["b"], names[1])), reverse=True
    )
    words = gettext(
        "{pod} is bound {longer} after its creation in {one}, and {shorter} in {other}."
    )
    times = most["ratio"]
    if times and times >= 2:
        words = gettext(
            "{pod} is bound {longer} after its creation in {one}, and {shorter} in {other}, "
            "{times} times as long."
        )
    pod = most["pod"].removeprefix("pod/")
    took = {"longer": seconds(longer), "shorter": seconds(shorter), "times": f"{times or 0:g}"}
    return words.format(pod=pod, one=one, other=other, **took)


def _decided(event: dict[str, Any] | None, name: str, both_refuse: bool) -> str:
    if event is None:
        return gettext("{run} decides nothing").format(run=name)
    node = _node(event)
    if node:
        return gettext("{run} binds it to {node}").format(run=name, node=node)
    # Why it is refused is long, and says something here only beside another refusal.
    if event["kind"] == REFUSED and not both_refuse:
        return gettext("{run} finds no node for it").format(run=name)
    words = gettext("{run} has {event}")
    if event["message"]:
        words = gettext("{run} has {event} ({message})")
    return words.format(run=name, event=event["kind"], message=event["message"])
