"""Makes a step of an entry of the trace: its id, its place in upstream, what changed in memory."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from engine.diagnosis.inside.answer import Changed, Frame, Part, Step, Taken, Tick, Write
from engine.diagnosis.inside.caches import Held
from engine.diagnosis.inside.trace import VolumeEntry
from engine.diagnosis.inside.upstream import PLACES
from engine.kernel.trace import place_of


@dataclass(slots=True)
class Made:
    """Makes the steps of a run of *version*; the ids count those that share an event."""

    version: str
    _count: dict[int, int] = field(default_factory=dict[int, int])

    def step(
        self,
        entry: VolumeEntry,
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
        """The step that ended with *entry*; *before* is what was held when it began."""
        count = self._count[entry.seq] = self._count.get(entry.seq, 0) + 1
        return Step(
            id=f"{entry.seq}.{count}",
            at=entry.at,
            seq=entry.seq,
            part=part,
            entity=entry.entity,
            function=function,
            outcome=outcome,
            says=says or {},
            # Two names may be one function in an older version.
            stack=tuple(dict.fromkeys(self._frame(name) for name in stack)),
            taken=tuple(taken),
            writes=tuple(writes),
            error=error,
            queued_again=queued_again,
            repeated=0,
            last_at=entry.at,
            known=entry.known,
            memory=_changes(before, entry.held),
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
