"""What the comparison of two runs answers; docs/compare.md says more.

Moments are virtual nanoseconds; runs, events and attributes are as everywhere in the REST API.
"""

from typing import TypedDict

from kscope.runs.compare.boards import Boards
from kscope.runs.compare.deciding import DecidedApart, RuleBetween
from kscope.runs.compare.rows import BesideRow, HealthFacts, Json, Measure, Use


class Divergence(TypedDict):
    """The first events whose content differs."""

    seq: int
    at: int
    a: Json
    b: Json


class Axis(TypedDict):
    """Both histories in equal parts of the time up to `to`: events in each, pods that wait at its end."""

    to: int
    a: list[int]
    b: list[int]
    waiting: dict[str, list[int]]


class SpotTold(HealthFacts):
    """Where a pod is in one run, and what its health follows from."""

    state: str
    node: str
    seq: int | None
    at: int | None
    words: str
    queue: str


class Placement(TypedDict):
    """A pod that is not on the same node in both, since a moment."""

    pod: str
    at: int | None
    a: SpotTold
    b: SpotTold


class Placements(TypedDict):
    """How many pods are elsewhere, and the first of them."""

    count: int
    rows: list[Placement]


class Beside(TypedDict):
    """A page of events, and the two events after which the next one begins."""

    rows: list[BesideRow]
    next: list[int] | None


class WholeHistories(DecidedApart):
    """What does not depend on the moment that is looked at."""

    shared: int
    divergence: Divergence | None
    parting: str
    axis: Axis


class Comparison(WholeHistories):
    """Two runs at a moment of each; `a` and `b` are the runs with their seq and at."""

    a: Json
    b: Json
    at: int | None
    reached: int
    placing: str
    version_change: RuleBetween | None
    measures: list[Measure]
    utilisation: list[Use]
    placements: Placements
    boards: Boards
    events: Beside
