"""The protocol of a plugin that proposes changes after which the pod would fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol, runtime_checkable

from engine.framework.asked_once import AskedOnce
from engine.framework.explaining.case import Refusal
from engine.framework.explaining.view import View
from engine.objects.objects import ApiObject, Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A merge patch of an object that is worth trying.

    `text` says what to do, as an imperative without a full stop; `note` says in full sentences what
    it costs and what it may break.
    """

    text: str
    object: ApiObject
    patch: Manifest
    note: str = ""


@runtime_checkable
class Proposes(Protocol, metaclass=AskedOnce):
    """Proposes changes. A diagnosis tries each of them, and offers what helps."""

    name: ClassVar[str]

    def propose_changes(self, view: View, refused: Sequence[Refusal]) -> Iterator[Proposal]:
        """Changes for the nodes that it *refused*, the closest to fitting first; best first."""
        ...
