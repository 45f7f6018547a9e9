"""The reasons of Kubernetes Events without what differs from cluster to cluster, so that they can be compared.

0/4 nodes are available: 1 node(s) had untolerated taint {gpu: yes}, 3 Insufficient cpu.
─▶ "node(s) had untolerated taint", "insufficient cpu"
"""

import re
from collections.abc import Iterable, Iterator

from engine.kernel.recorder import Event

_AVAILABLE = re.compile(r"\b\d+/\d+ nodes are available:")
# What preemption thinks of the same nodes is no reason of its own.
_PREEMPTION = re.compile(
    r"(no new claims to deallocate, |still not schedulable, )?preemption: .*", re.DOTALL
)
_COUNTED = re.compile(r"^\d+ ")
# Names, addresses and values: quoted, in braces or brackets, or words with a digit in them.
_NAMED = re.compile(r'"[^"]*"|(?<!\w)\'[^\']*\'(?!\w)|\{[^{}]*\}|\[[^\[\]]*\]|\([^()]*:[^()]*\)')
_NUMBERED = re.compile(r"\S*\d\S*")
_SPACE = re.compile(r"\s+")
# A reason that is no more than this says too little to be found by.
_LEAST = 4
# What is told of everything that goes well.
_USUAL = (
    *("PodBound", "RegisteredNode", "RemovingNode", "SuccessfulCreate", "SuccessfulDelete"),
    *("ScalingReplicaSet", "SuccessfulAttachVolume", "NoPods"),
)


def reasons_of(events: Iterable[Event]) -> Iterator[str]:
    """What the Kubernetes Events among *events* say: each reason and each phrase once, sorted."""
    found: dict[str, None] = {}
    for event in events:
        if event.data and event.data.get("event") and event.kind not in _USUAL:
            found[event.kind.lower()] = None
            found.update(dict.fromkeys(phrases_of(event.message)))
    yield from sorted(found)


def phrases_of(message: str) -> Iterator[str]:
    """The phrases of one message, in lower case and without numbers and names."""
    for part in _AVAILABLE.split(_PREEMPTION.sub("", message)):
        for phrase in _split(part):
            plain = _plain(phrase)
            if len(plain) >= _LEAST:
                yield plain


def _split(part: str) -> list[str]:
    """The reasons of nodes one by one; every other message is one phrase."""
    phrases = re.split(r"\. |, (?=\d+ )", part.strip())
    return [_COUNTED.sub("", phrase) for phrase in phrases]


def _plain(phrase: str) -> str:
    named = _NUMBERED.sub("", _NAMED.sub("", phrase))
    return _SPACE.sub(" ", named).strip(" .,:;").lower()
