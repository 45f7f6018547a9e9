"""The file that plays offline lays out the lanes of the timeline as the engine does."""

import random
import subprocess
from pathlib import Path
from typing import Any

import orjson
import pytest

from engine.diagnosis.trace.layout import Asked
from engine.diagnosis.trace.timeline import Head, View, timeline_of
from engine.diagnosis.trace.trace import Trace
from kscope.exports.page.lanes import Lanes
from tests.exports.plays import DEMOS, Played, played

IN_THE_FILE = Path(__file__).with_name("in_the_file.js")
QUESTIONS = 40
NOBODY: Any = None


def traced(run: Played) -> tuple[Trace, dict[str, Any]]:
    trace, lanes = Trace(), Lanes()
    for row in run.rows:
        changes = orjson.loads(row.changes or "{}")
        is_event = orjson.loads(row.data or "{}").get("event") is True
        trace.take(row.at, row.kind, row.object, row.component, is_event, changes)
        lanes.take(row, changes)
    return trace, lanes.to_dict()


def question(chance: random.Random, trace: Trace, end: int) -> dict[str, Any]:
    start = chance.choice([0, chance.randrange(end)])
    seq = chance.choice([trace.seq, chance.randrange(1, trace.seq + 1)])
    groups = [f"group:{name}" for name in trace.groups]
    components = [f"component:{component}" for component, _, _ in trace.kinds]
    asked = {
        "from": start,
        "to": chance.choice([end, start + chance.randrange(1, end)]),
        "width": chance.choice([100, 801, 1_600]),
        "by": chance.choice(["objects", "objects", "components"]),
        "q": chance.choice(["", "", "a", "1", "Sched"]),
        "open": ",".join(chance.sample([*groups, *components], k=min(3, len(groups)))),
        "wait": chance.choice([None, 5_000_000_000]),
        "kubernetes": chance.choice([None, 1]),
        "first": chance.choice([0, 5]),
        "rows": 200,
    }
    return {"asked": asked, "seq": seq, "at": trace.ats[seq - 1]}


def by_the_engine(trace: Trace, end: int, each: dict[str, Any]) -> Any:
    given = each["asked"]
    asked = Asked(
        by_components=given["by"] == "components",
        text=given["q"],
        open_rows=frozenset(filter(None, given["open"].split(","))),
        least_wait=given["wait"] or 0,
        only_events=bool(given["kubernetes"]),
    )
    view = View(given["from"], given["to"], given["width"], given["first"], given["rows"])
    head = Head(trace.seq, end, each["seq"], each["at"])
    return orjson.loads(orjson.dumps(timeline_of(trace, NOBODY, asked, view, head)))


@pytest.mark.parametrize("name", DEMOS[:6])
def test_file_and_engine_lay_out_equal_lanes(name: str) -> None:
    run = played(name)
    trace, recorded = traced(run)
    end, chance = run.cluster.now, random.Random(name)
    questions = [question(chance, trace, end) for _ in range(QUESTIONS)]
    first = {"lanes": recorded, "ats": [0, *trace.ats], "head": {"seq": trace.seq, "at": end}}
    lines = b"\n".join(map(orjson.dumps, [first, *questions]))
    done = subprocess.run(["node", IN_THE_FILE], input=lines, capture_output=True, check=True)
    for each, line in zip(questions, done.stdout.splitlines(), strict=True):
        assert orjson.loads(line) == by_the_engine(trace, end, each), each
