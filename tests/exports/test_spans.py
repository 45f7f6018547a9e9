"""Spans, read with OpenTelemetry's own messages."""

import base64
from typing import Any

import orjson
import pytest
from google.protobuf import json_format
from opentelemetry.proto.trace.v1.trace_pb2 import Span, TracesData

from tests.exports.plays import DEMOS, Played, played

POINTS = {"Filter", "PostFilter", "Score", "Reserve", "Permit", "PreBind", "Bind"}
CYCLES = {"schedulingCycle", "bindingCycle"}


def spans_of(run: Played) -> list[Span]:
    """The spans of a run. OTLP's JSON has ids in hexadecimal, protobuf's in base 64."""
    found: list[Span] = []
    for line in run.written("otlp").splitlines():
        data = orjson.loads(line)
        for span in data["resourceSpans"][0]["scopeSpans"][0]["spans"]:
            for key in ("traceId", "spanId", "parentSpanId"):
                if key in span:
                    span[key] = base64.b64encode(bytes.fromhex(span[key])).decode()
        message = json_format.ParseDict(data, TracesData())
        found += message.resource_spans[0].scope_spans[0].spans
    return found


def about(span: Span, key: str) -> Any:
    """An attribute."""
    [value] = [each.value for each in span.attributes if each.key == key]
    return getattr(value, value.WhichOneof("value"))


@pytest.mark.parametrize("demo", DEMOS)
def test_children_lie_within_their_parents(demo: str) -> None:
    spans = spans_of(played(demo))
    by_id = {span.span_id: span for span in spans}
    assert len(by_id) == len(spans)
    for span in spans:
        assert (len(span.trace_id), len(span.span_id)) == (16, 8)
        assert span.start_time_unix_nano <= span.end_time_unix_nano
        if span.name == "SchedulePod":
            assert not span.parent_span_id
            continue
        parent = by_id[span.parent_span_id]
        assert parent.trace_id == span.trace_id
        assert parent.start_time_unix_nano <= span.start_time_unix_nano
        assert span.end_time_unix_nano <= parent.end_time_unix_nano
        wanted = {"SchedulePod"} if span.name in CYCLES else CYCLES
        assert parent.name in wanted


def test_each_attempt_is_a_cycle_with_points() -> None:
    run = played("checkout-surge")
    spans = spans_of(run)
    cycles = [span for span in spans if span.name == "schedulingCycle"]
    assert len(cycles) == sum(row.kind == "AttemptStarted" for row in run.rows)
    assert {span.name for span in spans} - {"SchedulePod"} - CYCLES <= POINTS
    assert sum(span.name == "Bind" for span in spans) == 93
    evicting = [span for span in spans if span.name == "PostFilter"]
    assert sum(about(span, "kscope.victims") for span in evicting) == 14


def test_every_span_says_it_follows_a_proposal() -> None:
    spans = spans_of(played("local-volumes"))
    assert {about(span, "kscope.proposal") for span in spans} == {"KEP-5927"}


def test_a_pod_with_volumes_has_a_prebind() -> None:
    spans = spans_of(played("local-volumes"))
    assert sum(span.name == "PreBind" for span in spans) == 3


def test_the_clock_is_that_of_the_run() -> None:
    run = played("sick-cluster")
    first = min(span.start_time_unix_nano for span in spans_of(run))
    assert first >= run.heading.unix(0)
    assert run.heading.rfc3339(0).startswith(run.scenario.instant.rstrip("Z"))


def test_what_is_open_at_the_end_says_so() -> None:
    spans = spans_of(played("checkout-surge"))
    roots = [span for span in spans if span.name == "SchedulePod"]
    open_ones = [
        span for span in roots if any(each.key == "kscope.unfinished" for each in span.attributes)
    ]
    assert sorted(about(span, "k8s.pod.name") for span in open_ones) == ["archive-1", "train-0"]
