"""The file that plays offline lays out the lanes of the timeline as the engine does."""

import random
from pathlib import Path
from typing import Any

import orjson
import pytest

from engine.diagnosis.trace.layout import Asked
from engine.diagnosis.trace.states import STATES
from engine.diagnosis.trace.timeline import Head, View, timeline_of
from engine.diagnosis.trace.trace import Trace
from engine.run_file.writing import event_line
from kscope.exports.page.lanes import Lanes
from kscope.exports.page.paths import KeptRecord, paths_at_end
from tests.exports.plays import DEMOS, Played, played
from tests.node import answers_of

IN_THE_FILE = Path(__file__).with_name("in_the_file.js")
QUESTIONS = 40


def traced(run: Played) -> tuple[Trace, KeptRecord, dict[str, Any]]:
    trace, record, lanes = Trace(), KeptRecord(), Lanes()
    for row in run.rows:
        changes = orjson.loads(row.changes or "{}")
        is_event = orjson.loads(row.data or "{}").get("event") is True
        trace.take(row.at, row.kind, row.object, row.component, is_event, changes)
        lanes.take(row, changes)
        record.take(row)
    return trace, record, lanes.to_dict()


def question(chance: random.Random, trace: Trace, end: int, pods: list[str]) -> dict[str, Any]:
    start = chance.choice([0, chance.randrange(end)])
    pod = chance.choice(["", "", *pods[:6]])
    seq = trace.seq if pod else chance.choice([trace.seq, chance.randrange(1, trace.seq + 1)])
    stages = [f"stage:{seq}" for seq in range(1, trace.seq, 3)] if pod else []
    groups = [f"group:{name}" for name in trace.groups]
    components = [f"component:{component}" for component, _, _ in trace.kinds]
    asked = {
        "from": start,
        "to": chance.choice([end, start + chance.randrange(1, end)]),
        "width": chance.choice([100, 801, 1_600]),
        "by": chance.choice(["objects", "objects", "components"]),
        "q": chance.choice(["", "", "a", "1", "Sched"]),
        "pod": pod.removeprefix("pod/"),
        "open": ",".join(
            ["stages", *stages, *chance.sample([*groups, *components], k=min(3, len(groups)))]
        ),
        "wait": chance.choice([None, 5_000_000_000]),
        "kubernetes": chance.choice([None, 1]),
        "first": chance.choice([0, 5]),
        "rows": 200,
    }
    return {"asked": asked, "seq": seq, "at": end if seq == trace.seq else trace.ats[seq - 1]}


def by_the_engine(trace: Trace, record: KeptRecord, end: int, each: dict[str, Any]) -> Any:
    given = each["asked"]
    asked = Asked(
        by_components=given["by"] == "components",
        text=given["q"],
        open_rows=frozenset(filter(None, given["open"].split(","))),
        least_wait=given["wait"] or 0,
        only_events=bool(given["kubernetes"]),
    )
    pod = f"pod/{given['pod']}" if given["pod"] else ""
    view = View(given["from"], given["to"], given["width"], given["first"], given["rows"], pod)
    head = Head(trace.seq, end, each["seq"], each["at"])
    return orjson.loads(orjson.dumps(timeline_of(trace, record, asked, view, head)))


@pytest.mark.parametrize("name", DEMOS[:6])
def test_file_and_engine_lay_out_equal_lanes(name: str) -> None:
    run = played(name)
    trace, record, recorded = traced(run)
    end, chance = run.cluster.now, random.Random(name)
    paths = paths_at_end(trace, record, trace.seq, end)
    questions = [question(chance, trace, end, [*paths]) for _ in range(QUESTIONS)]
    first = {
        "lanes": recorded,
        "head": {"seq": trace.seq, "at": end},
        "paths": paths,
        "events": [orjson.loads(event_line(row)) for row in run.rows],
    }
    laid_out = answers_of(IN_THE_FILE, [first, *questions])
    assert any(each["asked"]["pod"] for each in questions)
    for each, found in zip(questions, laid_out, strict=True):
        assert found == by_the_engine(trace, record, end, each), each


def test_paths_have_stages_and_arrows() -> None:
    run = played("checkout-surge")
    trace, record, _ = traced(run)
    paths = paths_at_end(trace, record, trace.seq, run.cluster.now)
    words = {each["word"] for held in paths.values() for each in held["arrows"]}
    assert {"evicts", "room", "binds", "bound"} <= words
    assert any(stage["victims"] for held in paths.values() for stage in held["stages"])
    assert paths["pod/shop/ledger-2"]["path"]["steps"][-1]["name"] == "start"


def test_a_later_beginning_has_the_states_until_then() -> None:
    run = played("checkout-surge")
    lanes = Lanes()
    for row in run.rows:
        lanes.take(row, orjson.loads(row.changes or "{}"))
    trace = lanes.trace
    base = 1_200
    recorded = lanes.to_dict(base)
    for kind, known in (("pods", trace.pods), ("claims", trace.claims), ("nodes", trace.nodes)):
        for key, (seqs, codes, _) in recorded[kind].items():
            assert min(seqs) >= base
            began = [code for seq, code in zip(seqs, codes, strict=True) if seq <= base]
            assert [STATES[code] for code in began] in ([known[key].state(base)], [])
            assert [*known[key].codes][-1:] == codes[-1:]
    assert all(min(seqs) > base for *_, seqs in recorded["kinds"])
