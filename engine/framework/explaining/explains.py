"""The protocol of a plugin that explains what it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar, Protocol, runtime_checkable

from engine.framework.asked_once import AskedOnce
from engine.framework.explaining.case import Case
from engine.framework.explaining.fact import Explanation, Fact
from engine.kernel.sentences import Sentence
from engine.objects.objects import Pod


@runtime_checkable
class Explains(Protocol, metaclass=AskedOnce):
    """Says what its refusals come from. A diagnosis shows it."""

    name: ClassVar[str]

    def explain_refusals(self, case: Case) -> Explanation:
        """The fields that cause the refusals of *case*, and what follows from them."""
        ...


@runtime_checkable
class Grouped(Protocol, metaclass=AskedOnce):
    """Says what its refusals are about, by which a diagnosis groups pods.

    `family` is "taint", "resources", "volume", "volume zone", "port", "selector", "devices" or
    "affinity".
    """

    name: ClassVar[str]
    family: ClassVar[str]


@runtime_checkable
class SaysInShort(Protocol, metaclass=AskedOnce):
    """Says in two to five words why pods have no node, as in "spread over too few domains"."""

    name: ClassVar[str]
    short: ClassVar[Sentence]


@runtime_checkable
class ExplainsOutright(Protocol, metaclass=AskedOnce):
    """The same for a plugin that refuses pods at PreEnqueue or PreFilter, before any node is looked at."""

    name: ClassVar[str]

    def explain_outright(self, pod: Pod) -> Sequence[Fact]:
        """The fields of *pod* that make it fit no node at all."""
        ...
