"""What the API says of a run."""

from typing import Annotated, Any, Literal, NotRequired, TypedDict

from rest_framework import serializers

from kscope.runs.models import Run as Stored
from kscope.runs.web.shapes.open import Visibility
from kscope.runs.web.shapes.scenarios import LeftOut


class SpeedField(serializers.ChoiceField):
    """How fast a run is played."""

    def __init__(self, **options: Any) -> None:
        super().__init__(Stored.Speed.choices, **options)


class Proof(TypedDict):
    """The event that proves the answer to the question of a scenario."""

    event: str
    """its kind"""
    object: NotRequired[str]
    message: NotRequired[str]
    """a part of its message"""


class RunningTrial(TypedDict):
    """The change that is tried in a fork, and the result that a diagnosis predicted."""

    object: str
    order: str
    node: str
    at: int | None
    outcome: str
    by: int
    """virtual nanoseconds at which the trial ends"""
    since: int
    """seq of the event of the change"""


class Building(TypedDict):
    """How far the first state of a run is."""

    lost: int
    """how often a worker was lost on the way"""
    objects: int
    """that are there"""
    of: int
    """how many there will be"""
    seconds: float
    memory: int
    """bytes of the worker's process"""


class Amounts(TypedDict):
    """An amount of each part of a budget."""

    events: int
    objects: int
    time: int
    """virtual nanoseconds"""
    memory: int
    """bytes of the worker's process"""


class ImportedFile(TypedDict):
    """The file that a run came as, and what came of playing it again: docs/run-file.md."""

    verdict: Literal["playing", "same", "parted"]
    digest: str
    """that the file says"""
    events: int
    written_by: str
    """the version of kscope that wrote the file"""
    withheld: list[str]
    """what whoever exported it was not to see"""
    parted_seq: int | None
    """the first event that came out otherwise"""
    mine: str
    """its text here"""
    theirs: str | None
    """its text in the file; null where the file does not say it"""


class Run(TypedDict):
    """One execution of a scenario."""

    id: int
    name: str
    profile: str
    """the version of Kubernetes: v1.36"""
    feature_gates: dict[str, bool]
    """those that differ from the profile's defaults"""
    external_scheduler: bool
    """chosen when it was made: a client of its Kubernetes API decides where pods go"""
    external_controllers: list[str]
    """chosen when it was made: a client of its Kubernetes API runs them, beside the scenario's"""
    configured: bool
    """the scheduler has a configuration of the run, not that of the scenario"""
    seed: int
    tie_break: str
    status: Literal["paused", "playing", "finished", "failed"]
    speed: Annotated[Literal["1", "10", "100", "max"], SpeedField]
    duration: int | None
    """virtual nanoseconds that it lasts, whether anything is due or not"""
    head: int
    """seq of the newest event"""
    head_at: int
    """virtual nanoseconds"""
    next_at: int | None
    scenario: str
    scenario_id: int
    question: str
    select: str
    """the object that pages select at first, or empty"""
    answer: str
    """to the question; empty where the run may go another way than the scenario's"""
    proof: Proof | None
    error: str
    differs_from: int | None
    """another version recorded it, and this one differs from this event on"""
    digest: str
    """over the whole history"""
    parent: int | None
    """the run it is a fork of"""
    forked_seq: int | None
    """the parent's event"""
    forked_at: int | None
    """virtual nanoseconds"""
    goal_at: int | None
    """where a fork is being brought to; null once it is there"""
    forks: NotRequired[int]
    """of it, that you may see; in the answer about one run"""
    kept: bool
    """never deleted or thinned out by age"""
    budget: Amounts
    """what the run may take"""
    used: Amounts
    """and what it has taken of each"""
    stopped_by: str
    """the part that is used up; or empty"""
    stop_reason: str
    not_modelled: list[LeftOut]
    """kinds that the run leaves out, and its effect"""
    trial: RunningTrial | None
    """what is tried in it: docs/compare.md"""
    as_brought: bool
    """whether it began with a cluster as it stands, so that there is a triage"""
    standing: bool
    """whether nothing was played or changed yet"""
    instant: str
    """at which the cluster stood so, RFC 3339"""
    stuck: int | None
    """how many causes hold anything; null before it was asked"""
    imported: ImportedFile | None
    """null for a run that did not come as a file"""
    worker: str
    """driving, building or waiting; empty where there is nothing to do"""
    building: Building | None
    """how far its first state is"""
    owner: str
    """an account's name; empty where no login is required"""
    visibility: Visibility
    created: str
    """RFC 3339"""
