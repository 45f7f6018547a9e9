"""Makes a step of something told: its id, its place in upstream, what changed in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.diagnosis.inside.answer import Changed, Frame, Part, Step, Taken, Tick, Write
from engine.diagnosis.inside.caches import Held
from engine.diagnosis.inside.trace import Told
from engine.diagnosis.inside.upstream import PLACES
from engine.kernel.trace import place_of


@dataclass(slots=True)
class Made:
    """Makes the steps of a run of *version*; the ids count those that share an event."""

    version: str
    _count: dict[int, int] = field(default_factory=dict[int, int])

    def step(
        self,
        told: Told,
        part: Part,
        function: str,
        *,
        stack: Sequence[str],
        outcome: str = "",
        says: Mapping[str, Any] | None = None,
        taken: Sequence[Taken] = (),
        writes: Sequence[Write] = (),
        error: str = "",
        queued_again: bool = False,
        before: Sequence[Held] = (),
        tick: Tick | None = None,
    ) -> Step:
        """The step that ended with *told*; *before* is what was held when it began."""
        count = self._count[told.seq] = self._count.get(told.seq, 0) + 1
        return Step(
            id=f"{told.seq}.{count}",
            at=told.at,
            seq=told.seq,
            part=part,
            entity=told.entity,
            function=function,
            outcome=outcome,
            says=says or {},
            stack=tuple(self._frame(name) for name in stack),
            taken=tuple(taken),
            writes=tuple(writes),
            error=error,
            queued_again=queued_again,
            repeated=0,
            last_at=told.at,
            known=told.known,
            memory=_changes(before, told.held),
            tick=tick,
        )

    def _frame(self, name: str) -> Frame:
        place = place_of(PLACES, name, self.version)
        return Frame(place.file, place.function)


def _changes(before: Sequence[Held], after: Sequence[Held]) -> tuple[Changed, ...]:
    values = {(held.whose, held.what): held.value for held in before}
    return tuple(
        Changed(held.whose, held.what, values.get((held.whose, held.what), held.value), held.value)
        for held in after
    )
