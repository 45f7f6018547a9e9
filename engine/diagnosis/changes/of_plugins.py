"""The changes that plugins propose."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Final

from engine.diagnosis.candidates import Candidate, Situation, patched, pod_made_again
from engine.framework.explaining.proposes import Kind, Proposal
from engine.objects.objects import Pod

# A change of namespaces is counted and shown as one of pod affinity.
_SHOWN_AS: Final = {"namespaces": "affinity"}


def plugin_changes(kind: Kind) -> Callable[[Situation], Iterator[Candidate]]:
    """The changes of *kind* that the plugins of the profile propose."""
    return partial(_of_kind, kind)


def _of_kind(kind: Kind, situation: Situation) -> Iterator[Candidate]:
    for one in situation.proposals.get(kind, ()):
        yield _candidate(one)


def _candidate(one: Proposal) -> Candidate:
    kind = _SHOWN_AS.get(one.kind, one.kind)
    if isinstance(one.object, Pod) and one.fields is not None:
        command = pod_made_again(one.object, one.fields)
    else:
        command = patched(one.object.id, one.patch)
    return Candidate(kind=kind, text=one.text, command=command, note=one.note)
