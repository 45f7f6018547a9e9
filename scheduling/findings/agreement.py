"""How often an external scheduler decided as this one would have: the recorded shadow decisions."""

from dataclasses import dataclass
from typing import Any

from django.db.models import Count, QuerySet

from engine.scheduler.cycle.shadow.shadow_decisions import AGREES, DIFFERS, STALE, TIED
from kscope.runs.models import Run, RunEvent

VERDICTS = (AGREES, TIED, DIFFERS, STALE)
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
    found = events.order_by().values("data__verdict").annotate(number=Count("seq"))
    numbers = {str(row["data__verdict"]): int(row["number"]) for row in found}
    counts = {name: numbers.get(name, 0) for name in VERDICTS}
    if verdict:
        events = events.filter(data__verdict=verdict)
    if before is not None:
        events = events.filter(seq__lt=before)
    return Agreement(counts, _newest(events, most))


def _newest(events: QuerySet[RunEvent], most: int) -> list[ShadowDecision]:
    decisions: list[ShadowDecision] = []
    for event in events.order_by("-seq")[:most]:
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
