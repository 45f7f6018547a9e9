"""What a plugin keeps in the CycleState at PreFilter, for a trace."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar, Protocol, runtime_checkable

from engine.framework.asked_once import AskedOnce
from engine.framework.framework import Code, CycleState, PreFilterPlugin, PreFilterResult
from engine.framework.trace_steps.filters import PreFilterAnswer, Way
from engine.kernel.sentences import Sentence


@runtime_checkable
class Keeps(Protocol, metaclass=AskedOnce):
    """A plugin that says what it keeps in the CycleState."""

    name: ClassVar[str]

    def kept(self, state: CycleState) -> Iterable[Sentence]:
        """Each thing in a few words with its numbers, after a PreFilter that was a success."""
        ...


def pre_filter_answer(
    state: CycleState, plugin: PreFilterPlugin, result: PreFilterResult
) -> PreFilterAnswer:
    """What *plugin* said at PreFilter, and keeps in *state*."""
    status = result.status
    way: Way = "goes on"
    if status.code is Code.SKIP:
        way = "skip"
    elif not status.is_success:
        way = "refuses" if status.code.is_rejection else "fails"
    nodes = None if result.node_names is None else len(result.node_names)
    kept = plugin.kept(state) if way == "goes on" and isinstance(plugin, Keeps) else ()
    return PreFilterAnswer(plugin.name, way, status.code.value, status.reasons, nodes, tuple(kept))
