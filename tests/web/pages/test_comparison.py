"""The rules of a comparison, without a database."""

from typing import Any

from kscope.runs.compare import comparison
from kscope.runs.compare.comparison import Decision, Difference, Spot

NAMES = ("#1", "#2")


def event(kind: str, at: int, name: str = "pod/shop/web", **more: Any) -> dict[str, Any]:
    told = {"seq": at, "at": at, "kind": kind, "object": name, "component": "scheduler"}
    return {**told, "cause": None, "message": "", "data": None, "changes": None, **more}


def test_pods_placed_differently_are_listed() -> None:
    a = {
        "pod/x/same": {"node": "n1"},
        "pod/x/moved": {"node": "n1"},
        "pod/x/gone": {},
        "node/n1": {},
    }
    b = {"pod/x/same": {"node": "n1"}, "pod/x/moved": {"node": "n2"}, "pod/x/new": {}}
    assert comparison.pods_elsewhere(a, b) == ["pod/x/gone", "pod/x/moved", "pod/x/new"]


def test_a_waiting_pod_says_what_it_lacks() -> None:
    refused = Decision("FailedScheduling", 9, 90, "0/3 nodes are available")
    waits = comparison.spot({"queue": "backoff", "blocker": {"short": "cpu 1 short"}}, refused)
    assert waits == Spot("waits", "", 9, 90, "cpu 1 short", "backoff")
    assert comparison.spot({"queue": "gated"}, None) == Spot("waits", queue="gated")


def test_differences_are_dated_after_the_runs_part() -> None:
    deleted = Difference("pod/x/a", Spot("placed", "n1", 4, 40), Spot("absent", "", 9, 90))
    moved = Difference("pod/x/b", Spot("placed", "n1", 7, 70), Spot("placed", "n2", 8, 80))
    never = Difference("pod/x/c", Spot("waits"), Spot("absent"))
    assert deleted.since(60) == 90
    assert comparison.in_order([never, deleted, moved], 60) == [moved, deleted, never]


def test_ended_pods_are_neither_bound_nor_pending() -> None:
    state = {
        "pod/x/a": {"phase": "Running", "node": "n1"},
        "pod/x/b": {"phase": "Pending"},
        "pod/x/c": {"phase": "Succeeded", "node": "n2"},
        "node/n1": {"allocatable": {"cpu": 4000, "pods": 10}, "requested": {"cpu": 1500}},
        "node/n2": {"allocatable": {"pods": 10, "cpu": 4000}},
    }
    found = comparison.totals(state)
    assert (found.pods, found.bound, found.pending, found.nodes, found.used) == (3, 1, 1, 2, 1)
    assert list(found.resources.items()) == [("cpu", (1500, 8000)), ("pods", (0, 20))]


def test_a_measure_of_one_run_has_no_difference() -> None:
    empty = comparison.totals({})
    rows = comparison.measures(
        empty, empty, [("worst", "ns", None, 5), ("attempts", "count", 3, 5)]
    )
    found = {row["key"]: row["difference"] for row in rows}
    assert (found["worst"], found["attempts"]) == (None, 2)


def test_the_reason_is_the_refusal_if_any() -> None:
    a = {"nodes": ["n1", "n2"], "verdicts": {}}
    b = {"nodes": ["n1", "n2"], "verdicts": {"n1": {"plugin": "P", "text": "cpu 250m short"}}}
    assert comparison.reason("n1", "n2", a, b, NAMES) == "#2 could not use n1: cpu 250m short"
    gone = {"nodes": ["n2"], "verdicts": {}}
    assert comparison.reason("n1", "n2", a, gone, NAMES) == "#2 had no node n1"


def test_else_the_reason_is_the_points() -> None:
    a = {"nodes": ["n1", "n2"], "scores": {"n1": {"total": 90}, "n2": {"total": 80}}}
    b = {"nodes": ["n1", "n2"], "scores": {"n1": {"total": 70}, "n2": {"total": 80}}}
    told = comparison.reason("n1", "n2", a, b, NAMES)
    assert told == "#1 gave n1 90 and n2 80 points, #2 gave n1 70 and n2 80 points"
    tie = {"nodes": ["n1", "n2"], "scores": {"n1": {"total": 80}, "n2": {"total": 80}}}
    assert comparison.reason("n1", "n2", tie, tie, NAMES).endswith("the tie was broken differently")
    assert comparison.reason("n1", "n2", None, tie, NAMES) == ""


def test_one_sentence_says_how_far_runs_agree() -> None:
    parted = {"at": 70, "a": event("PodBound", 70), "b": event("NodeCordoned", 70, "node/n1")}
    heads = {"a": [20, 2 * 10**9], "b": [20, 2 * 10**9]}
    told = comparison.parting(parted, 12, NAMES, heads)
    assert told.endswith("Then #1: PodBound shop/web; #2: NodeCordoned node/n1.")
    later = {
        **parted,
        "a": event("PodBound", 3 * 10**9),
        "b": event("X", 10**9, component="command"),
    }
    told = comparison.parting(later, 12, NAMES, heads)
    assert told.endswith(
        "Then #2: X shop/web, by a command at 1.000 s; #1: PodBound shop/web at 3.000 s."
    )
    assert comparison.parting(None, 20, NAMES, heads) == "Equal in all 20 events."
    told = comparison.parting(None, 12, NAMES, {"a": [20, 2 * 10**9], "b": [12, 10**9]})
    assert told == (
        "Identical as far as #2 has come: 12 events, up to 1.000 s. #1 has gone on to 2.000 s."
    )


def test_one_shared_event_is_not_two_differing_ones() -> None:
    heads = {"a": [20, 2 * 10**9], "b": [20, 2 * 10**9]}
    named = [event("PodQueued", 10**9, message=name) for name in ("UnschedulablePodAdd", "PodAdd")]
    told = comparison.parting({"at": 10**9, "a": named[0], "b": named[1]}, 12, NAMES, heads)
    assert told.endswith(
        "Then both have PodQueued shop/web at 1.000 s: #1 “UnschedulablePodAdd”, #2 “PodAdd”."
    )
    same = [event("PodQueued", 10**9, message="PodAdd", data=data) for data in (None, {"x": 1})]
    told = comparison.parting({"at": 10**9, "a": same[0], "b": same[1]}, 12, NAMES, heads)
    assert told.endswith(
        "Then both have PodQueued shop/web at 1.000 s with the same message but different evidence."
    )


def test_rows_with_equal_text_name_another_difference() -> None:
    changes = [{"pod/shop/web": {"mover": mover}} for mover in ("PodAdd", "UnschedulablePodAdd")]
    a, b = (event("PodQueued", 5, changes=each) for each in changes)
    [row] = comparison.aligned([a], [b])
    assert (row["same"], row["differs"]) == (False, ["changes"])
    assert comparison.aligned([a], [a])[0]["differs"] == []


def test_equal_points_within_a_run_are_a_tie() -> None:
    a = {"nodes": ["n1", "n2"], "scores": {"n1": {"total": 80}, "n2": {"total": 80}}}
    b = {"nodes": ["n1", "n2"], "scores": {"n1": {"total": 70}, "n2": {"total": 90}}}
    assert comparison.reason("n1", "n2", a, b, NAMES) == (
        "#1 gave n1 and n2 80 points each and broke the tie, #2 gave n1 70 and n2 90 points"
    )


def test_a_sentence_names_the_first_pod_elsewhere() -> None:
    first = Difference(
        "pod/x/a", Spot("placed", "n1", 7, 10**9), Spot("waits", words="cpu 1 short")
    )
    assert comparison.placing(first, "", NAMES) == (
        "x/a: #1 puts it on n1 at 1.000 s, #2 leaves it waiting (cpu 1 short)."
    )
    assert comparison.placing(None, "", NAMES) == "Every pod is on the same node in both."


def test_events_of_one_moment_stand_beside_each_other() -> None:
    a = [event("PodQueued", 5), event("PodBound", 7, message="to n1"), event("PodRunning", 9)]
    b = [event("PodQueued", 5), event("PodBound", 7, message="to n2"), event("PodRunning", 8)]
    rows = comparison.aligned(a, b)
    assert [
        (row["at"], row["a"] is not None, row["b"] is not None, row["same"]) for row in rows
    ] == [
        (5, True, True, True),
        (7, True, True, False),
        (8, False, True, False),
        (9, True, False, False),
    ]


def test_seq_and_cause_are_not_content() -> None:
    assert comparison.content(event("PodBound", 7, cause=3)) == comparison.content(
        {**event("PodBound", 7, cause=8), "seq": 99}
    )
    assert comparison.content(event("PodBound", 7)) != comparison.content(
        event("PodBound", 7, changes={"pod/shop/web": {"node": "n1"}})
    )


def test_which_uid_a_message_names_is_not_content() -> None:
    told = "Preempted by pod {}-27a5-4ceb-ad55-c08417f768a6 on node n1"
    one, other = (
        event("Preempted", 7, message=told.format(uid)) for uid in ("4223a45f", "00000000")
    )
    assert comparison.content(one) == comparison.content(other)


def _scored(**points: tuple[int, int]) -> dict[str, Any]:
    """Evidence with the weighted points of n1 and n2 by plugin."""
    return {
        "scores": {
            node: {"plugins": {name: [0, 0, pair[place]] for name, pair in points.items()}}
            for place, node in enumerate(("n1", "n2"))
        }
    }


def test_the_score_that_changed_most_decided() -> None:
    a, b = _scored(Fit=(50, 40), Balanced=(90, 80)), _scored(Fit=(50, 40), Balanced=(60, 90))
    assert comparison.deciding_plugin("n1", "n2", a, b) == "Balanced"
    assert comparison.deciding_plugin("n1", "n2", a, a) == ""
    assert comparison.deciding_plugin("n1", "n2", a, None) == ""


def test_a_plugin_that_rejects_the_node_decided() -> None:
    rejects = {"verdicts": {"n1": {"plugin": "TaintToleration"}}}
    assert comparison.deciding_plugin("n1", "", {}, rejects) == "TaintToleration"


def test_nominated_pod_shows_its_node_and_ending_pods() -> None:
    state: dict[str, Any] = {
        "node/n1": {"ready": True},
        "pod/default/urgent": {"nominated": "n1", "queue": "unschedulable"},
        "pod/default/old": {"node": "n1", "phase": "Running", "deleting": 9},
        "pod/default/other": {"node": "n1", "phase": "Running"},
    }
    found = comparison.health_facts("pod/default/urgent", state)
    assert found["host"] == {"ready": True, "volumes": {}, "attachments": {}}
    assert found["ending"] == {"pod/default/old": {"node": "n1", "deleting": 9}}
    assert comparison.health_facts("pod/default/old", state)["ending"] is None
