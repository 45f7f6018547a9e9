"""The rows of a comparison, as they are answered. Moments are virtual nanoseconds."""

from typing import Any, TypedDict

Json = dict[str, Any]


class Measure(TypedDict):
    """A figure of both runs; None where it is not known."""

    key: str
    unit: str
    a: int | None
    b: int | None
    difference: int | None


class Use(TypedDict):
    """[requested, allocatable] of a resource over all nodes."""

    resource: str
    a: list[int]
    b: list[int]


class HealthFacts(TypedDict):
    """What the health of a pod follows from; None where there is no such thing."""

    pod: Json | None
    host: Json | None
    ending: Json | None
    claims: Json | None


class BesideRow(TypedDict):
    """The events of one moment, kind and object; `differs` names what does beside the message."""

    at: int
    a: Json | None
    b: Json | None
    same: bool
    differs: list[str]
