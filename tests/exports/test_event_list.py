"""The Kubernetes Events of a run as kubectl prints them."""

from collections import Counter

import orjson
import pytest

from engine.input.loader import load_files
from engine.kernel.units import HOUR
from kscope.exports.event_list import EventList
from tests.exports.plays import DEMOS, played


@pytest.mark.parametrize("demo", DEMOS)
def test_counts_add_up_to_the_events(demo: str) -> None:
    run = played(demo)
    found = orjson.loads(run.written("events"))
    assert (found["kind"], found["apiVersion"]) == ("EventList", "v1")
    said = Counter(
        (orjson.loads(row.data).get("reason") or row.kind)
        for row in run.rows
        if row.data and orjson.loads(row.data).get("event")
    )
    counts: Counter[str] = Counter()
    for each in found["items"]:
        counts[each["reason"]] += each["count"]
    assert counts == said


def test_an_event_names_scheduler_and_node() -> None:
    found = orjson.loads(played("two-schedulers").written("events"))["items"]
    sources = {each["source"]["component"] for each in found}
    assert {"default-scheduler", "batch-scheduler"} <= sources or len(sources) > 2
    rejected = next(each for each in found if each["reason"] == "OutOfcpu")
    assert rejected["source"] == {"component": "kubelet", "host": rejected["source"]["host"]}
    assert rejected["involvedObject"]["kind"] == "Pod"


def test_an_import_reads_them_as_evidence() -> None:
    data = played("dead-node").written("events")
    loaded = load_files(
        [
            ("events.json", data),
            ("node.yaml", b"{apiVersion: v1, kind: Node, metadata: {name: n1}}"),
        ]
    )
    assert loaded.problems == []
    assert {one.manifest["kind"] for one in loaded.kept_aside} == {"Event"}


def test_what_is_old_is_written_and_forgotten() -> None:
    run = played("dead-node")
    encoder = EventList(run.heading)
    encoder.begin()
    said = [row for row in run.rows if row.data and orjson.loads(row.data).get("event")]
    assert encoder.take(said[:1]) == b""
    late = said[1]._replace(at=said[0].at + HOUR + 1)
    assert encoder.take([late]) != b""
