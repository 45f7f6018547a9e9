"""Scheduling as OTLP spans, named after the framework's extension points.

    SchedulePod ─┬─ schedulingCycle ─┬─ Filter ─ Score ─ Reserve ─ Permit     a node was found
                 │                   └─ Filter ─ PostFilter                   none was
                 └─ bindingCycle ───── PreBind ─ Bind

Upstream has no tracing in the scheduler. KEP-5927 proposes schedulingCycle and bindingCycle with a
span for each extension point; every span says that it follows a proposal. The model gives a cycle a
duration, and no extension point one of its own: Filter has that of the cycle, the others come at its end.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import orjson

from engine.kernel.recorder import EventRow
from kscope.exports.encoder import Heading, parsed
from kscope.exports.states import Attempts

_INTERNAL: Final = 1
_OK, _ERROR = 1, 2
_PROPOSAL: Final = "KEP-5927"
_DEFAULT: Final = "default-scheduler"
_SCHEDULER: Final = "scheduler"
# The writes for the volumes of a pod, with which its binding begins.
_PREBIND: Final = ("VolumePreBound", "ClaimNodeSelected")
_IN_A_LINE: Final = 1_000


@dataclass(slots=True)
class Span:
    """A span that is open."""

    name: str
    trace: str
    id: str
    parent: str
    start: int
    about: dict[str, Any] = field(default_factory=dict[str, Any])


@dataclass(slots=True)
class Life:
    """A pod that a scheduler has to place: its trace, and what is open of it."""

    root: Span
    attempts: int = 0
    victims: int = 0
    cycle: Span | None = None
    binding: Span | None = None
    # When its volumes were written, and how a Permit plugin had it wait.
    prebind: int | None = None
    permit: int | None = None


class Otlp:
    """Writes the JSON encoding of OTLP, a TracesData a line; what is still open at the end says so."""

    def __init__(self, heading: Heading) -> None:
        self._heading = heading
        self._lives: dict[str, Life] = {}
        self._schedulers: dict[str, str] = {}
        self._attempts = Attempts()
        self._waiting: list[Any] = []
        self._now = 0

    def begin(self) -> bytes:
        """See Encoder."""
        return b""

    def take(self, rows: Sequence[EventRow]) -> bytes:
        """See Encoder."""
        self._waiting += [span for row in rows for span in self._event(row)]
        return b"".join(self._full_lines())

    def end(self) -> bytes:
        """See Encoder."""
        self._waiting += [
            self._ended(span, self._now, {"kscope.unfinished": True})
            for life in self._lives.values()
            for span in (life.cycle, life.binding, life.root)
            if span is not None
        ]
        self._lives.clear()
        found = b"".join(self._full_lines())
        return found + self._line(self._waiting) if self._waiting else found

    def _full_lines(self) -> Iterator[bytes]:
        while len(self._waiting) >= _IN_A_LINE:
            spans, self._waiting = self._waiting[:_IN_A_LINE], self._waiting[_IN_A_LINE:]
            yield self._line(spans)

    def _line(self, spans: list[Any]) -> bytes:
        heading = self._heading
        resource = {
            "service.name": "kube-scheduler",
            "kscope.run": heading.name,
            "kscope.profile": heading.profile,
            "kscope.seed": heading.seed,
        }
        scope = {"name": "kscope", "attributes": _attributes({"kscope.proposal": _PROPOSAL})}
        parts = {"resource": {"attributes": _attributes(resource)}}
        data = {"resourceSpans": [{**parts, "scopeSpans": [{"scope": scope, "spans": spans}]}]}
        return orjson.dumps(data) + b"\n"

    # -- events -----------------------------------------------------------------------------------------

    def _event(self, row: EventRow) -> Iterator[Any]:
        self._now = row.at
        if row.kind == "PodCreated":
            self._note_pod(row)
        if row.component == _SCHEDULER:
            yield from self._of_scheduler(row)
        elif row.kind == "PodDeleted" and row.object in self._lives:
            yield from self._gone(row)

    def _note_pod(self, row: EventRow) -> None:
        found = parsed(row.changes).get(row.object) or {}
        self._schedulers[row.object] = found.get("scheduler") or _DEFAULT

    def _of_scheduler(self, row: EventRow) -> Iterator[Any]:
        pod = self._attempts.take(row.seq, row.kind, row.object, row.cause)
        if row.kind == "PodQueued" and row.object not in self._lives:
            self._begin_life(row)
        life = self._lives.get(row.object)
        if pod in self._lives:
            self._note(row, self._lives[pod])
        if life is None:
            return
        if row.kind == "AttemptStarted":
            self._begin_cycle(row, life)
        elif row.kind == "FailedScheduling" and life.cycle is not None:
            yield from self._failed(row, life, life.cycle)
        elif row.kind == "PodAssumed" and life.cycle is not None:
            yield from self._found(row, life, life.cycle)
        elif row.kind in ("PermitGranted", "PermitDenied"):
            life.permit = row.at
        elif row.kind == "PodBound":
            yield from self._bound(row, life)
        elif row.kind == "PodForgotten" and life.binding is not None:
            yield self._ended(life.binding, row.at, {"error.message": row.message}, _ERROR)
            life.binding = None

    def _note(self, row: EventRow, life: Life) -> None:
        """What the scheduler does to other objects for the sake of a pod."""
        life.victims += row.kind == "PodEvicted"
        if row.kind in _PREBIND and life.prebind is None:
            life.prebind = row.at

    def _begin_life(self, row: EventRow) -> None:
        trace = _id(f"{self._heading.name} {self._heading.seed} {row.object} {row.seq}", 16)
        root = Span("SchedulePod", trace, _id(trace, 8), "", row.at, self._about(row.object))
        self._lives[row.object] = Life(root)

    def _begin_cycle(self, row: EventRow, life: Life) -> None:
        life.attempts += 1
        life.victims = 0
        about = {**self._about(row.object), "kscope.attempt": life.attempts, "kscope.seq": row.seq}
        life.cycle = self._child(life.root, "schedulingCycle", row.at, str(row.seq), about)

    def _failed(self, row: EventRow, life: Life, cycle: Span) -> Iterator[Any]:
        yield self._point(cycle, "Filter", cycle.start, row.at, _ERROR)
        if life.victims:
            about = {"kscope.victims": life.victims}
            yield self._point(cycle, "PostFilter", row.at, row.at, _OK, about)
        yield self._ended(cycle, row.at, {"kscope.message": row.message}, _ERROR)
        life.cycle = None

    def _found(self, row: EventRow, life: Life, cycle: Span) -> Iterator[Any]:
        data = parsed(row.data)
        nodes = {
            f"kscope.nodes.{key}": data[key] for key in ("evaluated", "feasible") if key in data
        }
        yield self._point(cycle, "Filter", cycle.start, row.at, _OK, nodes)
        if "score" in data:
            yield self._point(cycle, "Score", row.at, row.at, _OK, {"kscope.score": data["score"]})
        yield self._point(cycle, "Reserve", row.at, row.at, _OK)
        yield self._ended(cycle, row.at, {"kscope.message": row.message}, _OK)
        life.cycle, life.prebind, life.permit = None, None, None
        life.binding = self._child(
            life.root, "bindingCycle", row.at, f"b{row.seq}", self._about(row.object)
        )

    def _bound(self, row: EventRow, life: Life) -> Iterator[Any]:
        node = (parsed(row.changes).get(row.object) or {}).get("node", "")
        binding = life.binding
        if binding is not None:
            begins = binding.start
            if life.permit is not None:
                yield self._point(binding, "Permit", begins, life.permit, _OK)
                begins = life.permit
            if life.prebind is not None:
                yield self._point(binding, "PreBind", begins, row.at, _OK)
            yield self._point(
                binding, "Bind", begins if life.prebind is None else row.at, row.at, _OK
            )
            yield self._ended(binding, row.at, {"k8s.node.name": node}, _OK)
        about = {"k8s.node.name": node, "kscope.attempts": life.attempts}
        yield self._ended(life.root, row.at, about, _OK)
        del self._lives[row.object]

    def _gone(self, row: EventRow) -> Iterator[Any]:
        life = self._lives.pop(row.object)
        for span in (life.cycle, life.binding, life.root):
            if span is not None:
                yield self._ended(span, row.at, {"kscope.message": "the pod is gone"})

    # -- spans ------------------------------------------------------------------------------------------

    def _about(self, pod: str) -> dict[str, Any]:
        _, namespace, name = pod.split("/", 2)
        return {
            "k8s.namespace.name": namespace,
            "k8s.pod.name": name,
            "kscope.scheduler": self._schedulers.get(pod, _DEFAULT),
        }

    def _child(self, of: Span, name: str, at: int, key: str, about: dict[str, Any]) -> Span:
        return Span(name, of.trace, _id(f"{of.trace} {name} {key}", 8), of.id, at, about)

    def _point(
        self,
        of: Span,
        name: str,
        start: int,
        end: int,
        status: int,
        about: Mapping[str, Any] | None = None,
    ) -> Any:
        """The span of an extension point."""
        point = self._child(of, name, start, of.id, {"kscope.extension_point": name})
        return self._ended(point, end, about or {}, status)

    def _ended(self, span: Span, at: int, about: Mapping[str, Any], status: int = 0) -> Any:
        found = {
            "traceId": span.trace,
            "spanId": span.id,
            "name": span.name,
            "kind": _INTERNAL,
            "startTimeUnixNano": str(self._heading.unix(span.start)),
            "endTimeUnixNano": str(self._heading.unix(at)),
            "attributes": _attributes({**span.about, **about, "kscope.proposal": _PROPOSAL}),
        }
        if span.parent:
            found["parentSpanId"] = span.parent
        if status:
            found["status"] = {"code": status}
        return found


def _attributes(values: Mapping[str, Any]) -> list[Any]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: Any) -> Any:
    if isinstance(value, bool):
        return {"boolValue": value}
    # 64-bit integers are texts in the JSON encoding.
    return {"intValue": str(value)} if isinstance(value, int) else {"stringValue": str(value)}


def _id(text: str, length: int) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[: 2 * length]
