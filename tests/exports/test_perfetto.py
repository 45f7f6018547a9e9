"""The trace, read with the classes of the package perfetto: tracks, nesting, both ends of every flow."""

import os
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from perfetto.protos.perfetto.trace import perfetto_trace_pb2 as proto

from kscope.exports.perfetto.wire import varint
from tests.exports.plays import DEMOS, played

BEGIN, END, INSTANT = (
    proto.TrackEvent.TYPE_SLICE_BEGIN,
    proto.TrackEvent.TYPE_SLICE_END,
    proto.TrackEvent.TYPE_INSTANT,
)


class Read:
    """A trace: names of its tracks, and the events on each."""

    def __init__(self, data: bytes) -> None:
        self.trace = proto.Trace()
        self.trace.ParseFromString(data)
        self.names: dict[int, str] = {}
        self.parents: dict[int, int] = {}
        self.events: list[tuple[int, Any]] = []
        for packet in self.trace.packet:
            if packet.HasField("track_descriptor"):
                self._describe(packet.track_descriptor)
            else:
                self.events.append((packet.timestamp, packet.track_event))

    def _describe(self, track: Any) -> None:
        assert track.uuid not in self.names
        self.names[track.uuid] = track.process.process_name or track.name
        if track.HasField("parent_uuid"):
            self.parents[track.uuid] = track.parent_uuid

    def track(self, process: str, name: str) -> int:
        """The number of a track of a process."""
        [found] = [
            uuid
            for uuid, known in self.names.items()
            if known == name and self.names.get(self.parents.get(uuid, 0)) == process
        ]
        return found

    def on(self, track: int) -> list[tuple[int, Any]]:
        """The events on a track."""
        return [(at, event) for at, event in self.events if event.track_uuid == track]


@pytest.mark.parametrize("demo", DEMOS)
def test_slices_nest_and_all_end(demo: str) -> None:
    read = Read(played(demo).written("perfetto"))
    depth: Counter[int] = Counter()
    last: dict[int, int] = {}
    for at, event in read.events:
        assert event.track_uuid in read.parents
        assert at >= last.get(event.track_uuid, 0)
        last[event.track_uuid] = at
        if event.type == BEGIN:
            assert event.name
            depth[event.track_uuid] += 1
        elif event.type == END:
            depth[event.track_uuid] -= 1
            assert depth[event.track_uuid] >= 0
    assert not +depth


@pytest.mark.parametrize("demo", DEMOS)
def test_every_flow_has_two_ends(demo: str) -> None:
    read = Read(played(demo).written("perfetto"))
    starts = [(flow, at) for at, event in read.events for flow in event.flow_ids]
    ends = {flow: at for at, event in read.events for flow in event.terminating_flow_ids}
    assert len(starts) == len({flow for flow, _ in starts}) == len(ends)
    assert all(at <= ends[flow] for flow, at in starts)


def test_components_are_processes_with_events() -> None:
    run = played("checkout-surge")
    read = Read(run.written("perfetto"))
    processes = {
        packet.track_descriptor.process.process_name
        for packet in read.trace.packet
        if packet.track_descriptor.HasField("process")
    }
    components = {row.component for row in run.rows}
    assert components <= processes
    assert {"pods", "claims", "volumes", "nodes"} <= processes
    track = read.track("kubelet", "events")
    kinds = Counter(event.name for _, event in read.on(track))
    assert kinds == Counter(row.kind for row in run.rows if row.component == "kubelet")


def test_a_pod_has_its_states_in_its_life() -> None:
    read = Read(played("checkout-surge").written("perfetto"))
    slices = [
        (at, event.name)
        for at, event in read.on(read.track("pods", "shop/ledger-1"))
        if event.type == BEGIN
    ]
    assert slices[0] == (13_000_000_000, "shop/ledger-1")
    assert [name for _, name in slices[1:5]] == ["pending", "active", "attempt", "unschedulable"]
    assert [name for _, name in slices[-3:]] == ["binding", "starting", "running"]


def test_a_flow_leads_from_preemptor_to_victim() -> None:
    run = played("checkout-surge")
    read = Read(run.written("perfetto"))
    by_flow = {
        flow: (read.names[event.track_uuid], event.name)
        for _, event in read.events
        for flow in event.terminating_flow_ids
    }
    pairs = {
        (read.names[event.track_uuid], by_flow[flow][0])
        for _, event in read.events
        for flow in event.flow_ids
        if event.name.startswith("preempts")
    }
    assert ("shop/ledger-1", "batch/reports-6") in pairs
    assert len(pairs) == sum(row.kind == "PodEvicted" for row in run.rows)


def test_a_flow_leads_from_claim_to_volume() -> None:
    read = Read(played("local-volumes").written("perfetto"))
    flows = {
        flow: read.names[event.track_uuid]
        for _, event in read.events
        for flow in event.flow_ids
        if event.name.startswith("bound to")
    }
    ends = {
        flow: read.names[event.track_uuid]
        for _, event in read.events
        for flow in event.terminating_flow_ids
    }
    assert len(flows) == 3
    bound = {
        row.object.removeprefix("claim/"): row.message.removeprefix("bound to ")
        for row in played("local-volumes").rows
        if row.kind == "ClaimBound"
    }
    assert {name: ends[flow] for flow, name in flows.items()} == bound


@pytest.mark.parametrize("value", [0, 1, 127, 128, 300, 2**63 - 1, -1])
def test_numbers_are_written_as_protobuf_has_them(value: int) -> None:
    annotation = proto.DebugAnnotation(int_value=value)
    assert annotation.SerializeToString() == b"\x20" + varint(value)


def test_the_trace_processor_reads_it(tmp_path: Path) -> None:
    program = os.environ.get("TRACE_PROCESSOR") or shutil.which("trace_processor_shell")
    if not program:
        pytest.skip("there is no trace processor: set $TRACE_PROCESSOR")
    path = tmp_path / "surge.pftrace"
    path.write_bytes(played("checkout-surge").written("perfetto"))
    query = tmp_path / "query.sql"
    query.write_text("select count(*) from flow;")
    done = subprocess.run(
        [program, "-q", str(query), str(path)], capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[-1].isdecimal()
