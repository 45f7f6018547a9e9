"""The steps of the binding cycle."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from engine.framework.framework import Status


@dataclass(frozen=True, slots=True)
class PointAnswer:
    """What one plugin answered at an extension point; a Permit plugin may wait `timeout` ns."""

    plugin: str
    code: str
    reasons: tuple[str, ...]
    timeout: int | None = None


@dataclass(frozen=True, slots=True)
class PointRan:
    """An extension point from Reserve to PostBind, or Unreserve: the answers in order, the outcome."""

    point: str
    node: str
    answers: tuple[PointAnswer, ...]
    code: str


@dataclass(frozen=True, slots=True)
class Bound:
    """The node's name is written, or the reasons why not."""

    node: str
    code: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class RoundMade:
    """v1.11: the pod enters the BindQueue ("queued"), its volumes are written, or the round ends.

    `ahead` are the pods before it in the queue; `error` is why the round failed.
    """

    what: Literal["queued", "nothing to write", "ended"]
    node: str
    ahead: tuple[str, ...]
    error: str = ""


def point_answer(plugin: str, status: Status, timeout: int | None) -> PointAnswer:
    """The *status* of a plugin, as a step has it."""
    return PointAnswer(plugin, status.code.value, status.reasons, timeout)
