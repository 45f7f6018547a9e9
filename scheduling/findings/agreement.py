"""How often a client decided and wrote as this run would have: shadow decisions, shadow writes."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet

from engine.cluster.shadow.shadow_writes import FACT
from engine.scheduler.cycle.shadow.shadow_decisions import AGREES, DIFFERS, STALE, TIED
from kscope.runs.models import Run, RunEvent

VERDICTS = (AGREES, TIED, DIFFERS, STALE)
# A write is of no equals.
WRITE_VERDICTS = (AGREES, DIFFERS, STALE)
SHOWN = 500


@dataclass(frozen=True, slots=True)
class ShadowDecision:
    """One decision of the client and of the simulation; times are virtual nanoseconds.

    `done` is the node that the client chose, "" where it said that the pod fits nowhere. `chosen` is
    what the simulation chose, "" for none.
    """

    seq: int
    at: int
    pod: str
    verdict: str
    done: str
    chosen: str
    sentence: str
    data: dict[str, Any]

    @property
    def name(self) -> str:
        """The pod's name without its namespace."""
        return self.pod.partition("/")[2]

    @property
    def namespace(self) -> str:
        """The pod's namespace."""
        return self.pod.partition("/")[0]

    def to_dict(self) -> dict[str, Any]:
        """As the API gives it."""
        return {
            "seq": self.seq,
            "at": self.at,
            "pod": self.pod,
            "sentence": self.sentence,
            **_ABSENT,
            **self.data,
        }


# What a decision that an older version recorded does not say.
_ABSENT: dict[str, Any] = {
    **dict.fromkeys(
        ("node", "score", "score_of_node", "message", "expected_message", "instead_of")
    ),
    "chosen": "",
    "best": [],
    "tied": 0,
    "feasible": 0,
}


@dataclass(frozen=True, slots=True)
class Agreement:
    """How many decisions have each verdict, and the newest of them, newest first."""

    counts: dict[str, int]
    decisions: list[ShadowDecision]

    @property
    def total(self) -> int:
        """All decisions that were compared."""
        return sum(self.counts.values())


def agreement(
    run: Run,
    *,
    verdict: str = "",
    pod: str = "",
    seq: int | None = None,
    before: int | str | None = None,
    most: int = SHOWN,
) -> Agreement:
    """The shadow decisions up to event *seq*: those with *verdict* and of "namespace/name" *pod*.

    The counts are of all verdicts. A verdict that a later one took the place of is left out. Of the
    decisions there are at most so many, recorded before event *before*.
    """
    events = RunEvent.objects.filter(run=run, kind="ShadowDecision")
    if seq is not None:
        events = events.filter(seq__lte=seq)
    replaced = events.filter(data__has_key="instead_of").values_list("data__instead_of", flat=True)
    events = events.exclude(seq__in=[*replaced])
    if pod:
        events = events.filter(object=f"pod/{pod.removeprefix('pod/')}")
    counts = _counts(events, VERDICTS)
    return Agreement(counts, _newest(_chosen(events, verdict, before), most))


def _counts(events: QuerySet[RunEvent], verdicts: tuple[str, ...]) -> dict[str, int]:
    found = events.order_by().values("data__verdict").annotate(number=Count("seq"))
    numbers = {str(row["data__verdict"]): int(row["number"]) for row in found}
    return {name: numbers.get(name, 0) for name in verdicts}


def _chosen(
    events: QuerySet[RunEvent], verdict: str, before: int | str | None
) -> QuerySet[RunEvent]:
    """Those with that verdict, if any, before that event, newest first."""
    if verdict:
        events = events.filter(data__verdict=verdict)
    if before is not None:
        events = events.filter(seq__lt=before)
    return events.order_by("-seq")


def _newest(events: QuerySet[RunEvent], most: int) -> list[ShadowDecision]:
    decisions: list[ShadowDecision] = []
    for event in events[:most]:
        data: dict[str, Any] = event.data or {}
        decisions.append(
            ShadowDecision(
                seq=event.seq,
                at=event.at,
                pod=event.object.removeprefix("pod/"),
                verdict=str(data.get("verdict", "")),
                done=str(data.get("node") or ""),
                chosen=str(data.get("chosen") or ""),
                sentence=event.message,
                data=data,
            )
        )
    return decisions


@dataclass(frozen=True, slots=True)
class ShadowWrite:
    """One write of a client in the place of a controller; times are virtual nanoseconds.

    `object` is what was written, `data` as docs/events.md has it.
    """

    seq: int
    at: int
    object: str
    sentence: str
    data: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """As the API gives it."""
        place = {"seq": self.seq, "at": self.at, "object": self.object, "sentence": self.sentence}
        return {**place, **_UNSAID, **self.data}


_UNSAID: dict[str, Any] = {"fields": [], "expected": [], "unseen": None, "unseen_ms": None}


@dataclass(frozen=True, slots=True)
class Writes:
    """How many writes have each verdict, of which controllers, and the newest, newest first."""

    counts: dict[str, int]
    controllers: list[str]
    writes: list[ShadowWrite]

    @property
    def total(self) -> int:
        """All writes that were compared."""
        return sum(self.counts.values())


def writes_agreement(
    run: Run,
    *,
    verdict: str = "",
    controller: str = "",
    seq: int | None = None,
    before: int | str | None = None,
    most: int = SHOWN,
) -> Writes:
    """The shadow writes up to event *seq*: those with *verdict* and of *controller*.

    The counts are of all verdicts. Of the writes there are at most so many, recorded before event
    *before*.
    """
    events = RunEvent.objects.filter(run=run, kind=FACT)
    if seq is not None:
        events = events.filter(seq__lte=seq)
    names = events.order_by().values_list("data__controller", flat=True).distinct()
    controllers = sorted(str(name) for name in names)
    if controller:
        events = events.filter(data__controller=controller)
    counts = _counts(events, WRITE_VERDICTS)
    writes = [
        ShadowWrite(event.seq, event.at, event.object, event.message, event.data or {})
        for event in _chosen(events, verdict, before)[:most]
    ]
    return Writes(counts, controllers, writes)
