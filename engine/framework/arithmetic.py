"""How a raw score came about: its terms, with their numbers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, Self, runtime_checkable

from engine.framework.asked_once import AskedOnce
from engine.framework.framework import CycleState
from engine.kernel.sentences import Sentence


@dataclass(frozen=True, slots=True)
class Term:
    """One number that a score is made of: `Term(say("requested cpu"), 500, "m")`."""

    name: Sentence
    value: int
    unit: str = ""


@dataclass(frozen=True, slots=True)
class Terms:
    """A raw score, and the terms that it is made of, in order."""

    terms: tuple[Term, ...]
    raw: int

    @classmethod
    def sum_of(cls, terms: Iterable[Term]) -> Self:
        """The score that is the sum of its terms."""
        found = tuple(terms)
        return cls(found, sum(term.value for term in found))

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        terms = [{"name": one.name, "value": one.value, "unit": one.unit} for one in self.terms]
        return {"raw": self.raw, "terms": terms}


@runtime_checkable
class Arithmetic(Protocol, metaclass=AskedOnce):
    """A plugin at Score that shows how it computes."""

    name: ClassVar[str]

    def arithmetic(self, state: CycleState, row: int) -> Terms:
        """The terms of the raw score that `score` gives *row*, by the code that scores."""
        ...
