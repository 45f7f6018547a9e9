"""A run as one HTML file: what it holds, how it is escaped, its policy, its size."""

from __future__ import annotations

import base64
import hashlib
import re
import tracemalloc
from collections.abc import Iterator
from functools import cache
from html.parser import HTMLParser
from typing import Any

import orjson
import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.playing import play
from engine.diagnosis.why import KIND_OF
from engine.kernel.recorder import EventRow, encode
from engine.kernel.view import State, fold
from kscope.exports.encoder import ExportError
from kscope.exports.page.document import document_around, escaped, part
from kscope.exports.page.recording import CHUNK, PARTS, Recording
from kscope.exports.page.waiting import Waiting, waiting_in
from tests.exports.plays import played

TRAP = "</script><script>alert(1)</script><!-- \u2028 \u2029 & '\""


class Parts(HTMLParser):
    """The script and style elements of a document, as (name, attributes, text)."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=False)
        self.found: list[tuple[str, dict[str, str], str]] = []
        self.metas: list[dict[str, str]] = []
        self._open = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "meta":
            self.metas.append(given)
        self._open = tag in ("script", "style")
        if self._open:
            self.found.append((tag, given, ""))

    def handle_data(self, data: str) -> None:
        if self._open:
            tag, given, text = self.found[-1]
            self.found[-1] = (tag, given, text + data)

    def handle_endtag(self, tag: str) -> None:
        self._open = False

    def recorded(self, kind: str) -> Iterator[tuple[dict[str, str], Any]]:
        for _, given, text in self.found:
            if given.get("data-recorded") == kind:
                yield given, orjson.loads(text)


def row(seq: int, **changed: Any) -> EventRow:
    at, message = changed.get("at", seq * 10), changed.get("message", "")
    data, changes = encode(changed.get("data")), encode(changed.get("changes"))
    return EventRow(seq, at, "PodBound", "pod/a/b", "scheduler", None, message, data, changes)


def page_of(rows: list[EventRow], each: int = 100, **options: Any) -> bytes:
    recording = Recording("surge", **options)
    pieces = [recording.begin()]
    pieces += [recording.events(rows[i : i + each]) for i in range(0, len(rows), each)]
    return b"".join([*pieces, recording.finish({"id": 0, "name": "surge"}, {})])


@cache
def surge() -> Parts:
    return Parts(page_of(played("checkout-surge").rows).decode())


def test_data_cannot_end_their_script_element() -> None:
    rows = [row(1, message=TRAP, data={TRAP: TRAP}, changes={f"pod/a/{TRAP}": {"phase": TRAP}})]
    text = page_of(rows).decode()
    [(_, [event])] = Parts(text).recorded("events")
    assert event["message"] == TRAP
    assert event["data"] == {TRAP: TRAP}
    assert event["changes"] == {f"pod/a/{TRAP}": {"phase": TRAP}}
    assert "alert(1)</script" not in text
    assert not {"\u2028", "\u2029"} & set(
        text.partition("data-recorded")[2].partition("licences")[0]
    )


def test_an_escape_is_the_same_json() -> None:
    value = {"a<b": ["<", "\u2028", "\\u003c"]}
    assert orjson.loads(escaped(orjson.dumps(value))) == value


def test_the_name_of_a_run_is_no_markup() -> None:
    head, _ = document_around("<b>&")
    assert "<title>&lt;b&gt;&amp; · kscope</title>" in head.decode()


def test_the_policy_names_every_script_and_style() -> None:
    [policy] = [each["content"] for each in surge().metas if "http-equiv" in each]
    rules = dict(each.strip().split(" ", 1) for each in policy.split(";"))
    run = {"script": [], "style": []}
    for tag, given, text in surge().found:
        if given.get("type") not in ("application/json", "text/plain"):
            digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
            run[tag].append(f"'sha256-{digest}'")
    assert rules["default-src"] == "'none'"
    assert rules["script-src"].split() == run["script"]
    assert rules["style-src"].split() == run["style"]
    assert len(run["script"]) == 2
    assert rules["font-src"] == "data:"


def test_the_page_names_nothing_that_is_fetched() -> None:
    head, foot = (each.decode() for each in document_around("surge"))
    markup = re.sub(r"<script.*?</script>", "", head + foot, flags=re.DOTALL)
    assert re.findall(r"""(?:src|href)=["'](?!data:|#)""", markup) == []
    assert re.findall(r"url\((?!data:|\"data:|#|\"#)[^)]{0,40}", markup) == []
    assert "@import" not in markup
    assert markup.count("font/woff2;base64,") == 2


def test_folding_events_over_any_state_gives_the_end() -> None:
    rows = played("checkout-surge").rows
    ends: list[State] = []
    for given, state in surge().recorded("keyframe"):
        for each in rows[int(given["data-seq"]) :]:
            fold(state, orjson.loads(each.changes or "{}"))
        ends.append(state)
    whole: State = {}
    for each in rows:
        fold(whole, orjson.loads(each.changes or "{}"))
    assert ends
    assert all(end == whole for end in ends)


def test_a_long_history_has_states_between() -> None:
    rows = [row(seq, changes={"pod/a/b": {"n": seq}}) for seq in range(1, 7_001)]
    frames = [*Parts(page_of(rows).decode()).recorded("keyframe")]
    seqs = [int(given["data-seq"]) for given, _ in frames]
    assert seqs == [0, 2_000, 4_000, 6_000]
    assert [state.get("pod/a/b", {}).get("n", 0) for _, state in frames] == seqs


def test_every_event_is_held_once() -> None:
    events = [each for _, chunk in surge().recorded("events") for each in chunk]
    assert [each["seq"] for each in events] == [each.seq for each in played("checkout-surge").rows]
    firsts = [int(given["data-first"]) for given, _ in surge().recorded("events")]
    assert firsts == [*range(1, len(events), CHUNK)]


def test_bars_count_every_event() -> None:
    [(_, heading)] = surge().recorded("heading")
    bars = heading["histogram"]
    assert sum(bars["counts"]) == heading["head"] == len(played("checkout-surge").rows)
    assert {"Preempted", "NodeCreated"} <= {each["kind"] for each in bars["marks"]}
    assert all(each["at"] > 0 for each in bars["marks"])


def test_pieces_of_any_length_make_one_page() -> None:
    rows = played("checkout-surge").rows
    assert page_of(rows, each=7) == page_of(rows, each=5_000)


def test_a_later_beginning_has_the_state_until_then() -> None:
    rows = played("checkout-surge").rows
    page = Parts(page_of(rows, since=40_000_000_000).decode())
    kept = [each for _, chunk in page.recorded("events") for each in chunk]
    before = [each for each in rows if each.at < 40_000_000_000]
    assert [each["seq"] for each in kept] == [each.seq for each in rows[len(before) :]]
    [(given, state), *_] = page.recorded("keyframe")
    expected: State = {}
    for each in before:
        fold(expected, orjson.loads(each.changes or "{}"))
    assert (given["data-seq"], given["data-at"]) == (str(len(before)), "40000000000")
    assert state == expected


def test_a_large_page_says_what_to_leave_out() -> None:
    rows = [row(seq, message="x" * 1_000) for seq in range(1, 3_000)]
    with pytest.raises(ExportError, match="more than 2 MB") as refused:
        page_of(rows, most_bytes=2_000_000)
    words = str(refused.value)
    for offered in (
        "events 2 MB",
        "evidence or data or why (without)",
        "begin later",
        "end earlier",
    ):
        assert offered in words


def test_the_inside_takes_only_the_room_left() -> None:
    run = played("checkout-surge")

    def written(most_bytes: int) -> tuple[int, int]:
        recording = Recording("surge", without=frozenset({"why"}), most_bytes=most_bytes)
        text = recording.begin() + recording.events(run.rows)
        followed = recording.follow([])
        assert followed is not None
        again = Cluster.create(run.scenario, profile=run.cluster.profile, seed=run.scenario.seed)
        trace = followed.trace(again)
        play(again, run.scenario.until, lambda _: True, lambda: None)
        facts = {"profile": run.cluster.profile}
        text += recording.finish(facts, {}, inside=(followed, trace))
        [(_, heading)] = Parts(text.decode()).recorded("heading")
        return len(text), len(heading["cycles"]["held"])

    whole, all_cycles = written(50_000_000)
    size, held = written(whole - 1_500_000)
    assert size <= whole - 1_500_000
    assert 0 < held < all_cycles == 323


def test_nothing_is_offered_twice_to_be_left_out() -> None:
    rows = [row(seq, message="x" * 1_000) for seq in range(1, 3_000)]
    with pytest.raises(ExportError) as refused:
        page_of(rows, most_bytes=2_000_000, without=frozenset(PARTS))
    assert "(without)" not in str(refused.value)
    assert "Begin later (since), or end earlier (at)." in str(refused.value)


def test_events_without_data_keep_their_kind() -> None:
    rows = [row(1, data={"event": True, "note": "long"}), row(2, data={"nodes": 12})]
    page = Parts(page_of(rows, without=frozenset({"data"})).decode())
    [(_, events)] = page.recorded("events")
    assert [each["data"] for each in events] == [{"event": True}, None]
    [(_, heading)] = page.recorded("heading")
    assert heading["left_out"] == ["data"]


def test_what_is_left_out_is_not_kept() -> None:
    recording = Recording("run", without=frozenset({"data"}))
    tracemalloc.start()
    try:
        for seq in range(1, 101):
            recording.events([row(seq, data={"about": f"{seq}" * 20_000})])
        kept, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert kept < 1_000_000


def test_attempts_are_listed_with_or_without_evidence() -> None:
    attempt = {"pod": "a/b", "number": 1, "seq": 3, "at": 9, "cycle": 2, "result": "error"}
    attempts = [{**attempt, "node": "", "evidence": {"filters": [TRAP]}}]
    for without, held in (((), [{"filters": [TRAP]}]), (("evidence",), [])):
        recording = Recording("surge", without=frozenset(without))
        text = recording.begin() + recording.events([row(1)]) + recording.attempts(attempts)
        page = Parts((text + recording.finish({}, {})).decode())
        assert [value for _, value in page.recorded("evidence")] == held
        assert [*page.recorded("attempts")][0][1] == [["a/b", 1, 3, 9, 2, "error", ""]]


def test_everything_that_waits_has_an_answer() -> None:
    cluster = played("checkout-surge").cluster
    before = cluster.digest()
    waiting = Waiting(cluster)
    answers = dict(waiting.answers())
    named = {entity.partition("/")[0]: entity for entity in answers}
    assert len(answers) == len([*waiting_in(cluster)]) == 4
    assert waiting.unanswered == 0
    assert {KIND_OF[each] for each in named} == {"Pod", "PersistentVolumeClaim"}
    assert "nvidia.com/gpu" in str(answers["pod/ml/train-0"]["sentence"])
    assert all(each["seq"] == cluster.seq for each in answers.values())
    assert cluster.digest() == before


def test_parts_have_the_attributes_that_pages_look_for() -> None:
    assert part("keyframe", {}, data_seq=3, data_at=9) == (
        b'<script type="application/json" data-recorded="keyframe" data-seq="3" data-at="9">{}'
        b"</script>\n"
    )
