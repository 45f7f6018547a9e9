"""The steps of PreFilter and Filter."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from engine.kernel.sentences import Sentence

Way = Literal["goes on", "skip", "refuses", "fails"]
SearchKind = Literal["first node", "all nodes"]


@dataclass(frozen=True, slots=True)
class PreFilterAnswer:
    """What one plugin said at PreFilter; `keeps` is what it keeps for this cycle, in words.

    `nodes` is how many nodes it leaves, None if it does not name any.
    """

    plugin: str
    way: Way
    code: str
    reasons: tuple[str, ...] = ()
    nodes: int | None = None
    keeps: tuple[Sentence, ...] = ()


@dataclass(frozen=True, slots=True)
class NominatedPutOn:
    """The second pass over a node: *pods* nominated to it are put there on trial.

    `refused_by` is the filter that refuses the node with them, "" if it fits.
    """

    node: str
    pods: tuple[str, ...]
    refused_by: str


@dataclass(frozen=True, slots=True)
class Refusal:
    """A kind of refusal: its plugin, and the reasons verbatim."""

    plugin: str
    code: str
    reasons: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class PlannedVolumes:
    """What the claims of a pod would get on a node: claim → volume, and claim → node to make one for.

    Upstream: podBindingCache up to v1.17, then stateData.podVolumesByNode.
    """

    bind: Mapping[str, str]
    provision: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class FilteredNode:
    """A node that was looked at: how many filters were called, and which refused it.

    `called` counts those of `Filtered.asked` from the first on; the others never were. `refusal` is
    a place in `Filtered.refusals`, -1 for a node that fits; `text` and `numbers` are its evidence.
    """

    node: str
    called: int
    refusal: int = -1
    text: str = ""
    short: int | None = None
    unit: str = ""
    numbers: Mapping[str, Any] | None = None
    volumes: PlannedVolumes | None = None


@dataclass(frozen=True, slots=True)
class Filtered:
    """One search: the nodes in order, each until a filter refuses it.

    `asked` are the filters in order, without those that PreFilter left out. `calls` were made of the
    `calls_at_most` that would have been without a short circuit. `absent` counts the nodes that
    PreFilter left out, `unseen` those after which the search ended.
    """

    search: SearchKind
    asked: tuple[str, ...]
    skipped: tuple[str, ...]
    refusals: tuple[Refusal, ...]
    nodes: tuple[FilteredNode, ...]
    calls: int
    calls_at_most: int
    absent: int
    unseen: int
