"""The steps of one sync of the PV controller. `SyncBegan` comes first, `SyncEnded` last."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SyncBegan:
    """A worker took a claim or a volume from its queue, and its informer's version was newer.

    *function* is upstream's: syncClaim, syncVolume, deleteClaim or deleteVolume.
    """

    function: str
    version: str


@dataclass(frozen=True, slots=True)
class BranchTaken:
    """A function of upstream ended at the line *leaf* of its tree; see `branches`.

    *read* is what was read at the lines on the way, by the line; "" is an absent value.
    """

    function: str
    leaf: str
    read: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Wrote:
    """A write of a claim or volume: the event that it is recorded as, and the version it made.

    *error* is the API server's refusal, else "".
    """

    kind: str
    version: str
    error: str = ""


@dataclass(frozen=True, slots=True)
class Provisioned:
    """An in-tree plugin, or the external provisioner of a CSI *driver*, made *volume* for a claim.

    Or it failed with an *error*.
    """

    driver: str
    volume: str
    version: str
    error: str = ""
    is_external: bool = False


@dataclass(frozen=True, slots=True)
class SyncEnded:
    """A sync ended: with an *error* of its own, and perhaps *queued_again* with a delay."""

    error: str = ""
    queued_again: bool = False
