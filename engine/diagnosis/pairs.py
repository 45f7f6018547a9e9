"""Two changes together, where no single one gives the pod a node.

The first change is applied to the copy of the scheduler's view. If some node then refuses the pod
for other reasons, the second changes are looked for in that copy. A pair after which the pod gets a
node is then tried in a fork. Pairs are tried in the order of the greater of their two changes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from engine.diagnosis.candidates import Candidate, Situation
from engine.diagnosis.causes import Refused, refused_nodes
from engine.diagnosis.world import World
from engine.kernel.sentences import Sentence, clause, say, together
from engine.scheduler.cycle.decision.result import SCHEDULED

Changes = Callable[[Situation], Iterator[Candidate]]

# Per kind: how many first changes are applied, and how many second changes are tried after each.
_FIRSTS, _SECONDS = 4, 8
# How many decisions a search may make; fewer in a large cluster. To read why each node refuses
# counts as _READING decisions.
_MOST_DECISIONS, _FEWEST_DECISIONS, _NODE_DECISIONS, _READING = 600, 60, 300_000, 5


@dataclass(frozen=True, slots=True)
class Pair:
    """Two changes in the order in which they are made, and the node that the pod then gets."""

    first: Candidate
    second: Candidate
    node: str
    # The places of their kinds, the greater first.
    size: tuple[int, int]

    @property
    def text(self) -> Sentence:
        """Both orders in one."""
        return say("{first}, and {then}", first=self.first.text, then=clause(self.second.text))

    @property
    def note(self) -> Sentence:
        """The notes of both, without repetition."""
        notes = dict.fromkeys((self.first.note, self.second.note))
        return together(say("These two together; neither is enough alone."), *notes)


class PairSearch:
    """Finds pairs of changes for the pod of *world*; *kinds* from the smallest on."""

    def __init__(
        self, world: World, refused: list[Refused], kinds: Sequence[tuple[str, Changes]]
    ) -> None:
        self._world = world
        self._refused = refused
        self._kinds = kinds
        nodes = max(len(world.table), 1)
        self._left = min(max(_NODE_DECISIONS // nodes, _FEWEST_DECISIONS), _MOST_DECISIONS)
        # How many pairs were decided on.
        self.tried = 0

    def found(self) -> list[Pair]:
        """The pairs that decide well, the smallest first."""
        return sorted(self._promising(), key=_size)

    def _promising(self) -> Iterator[Pair]:
        world = self._world
        situation = Situation(world, self._refused, others=1)
        gates = len(world.gates(world.pod))
        for place, (_, changes) in enumerate(self._kinds):
            for first in islice(filter(_may_lay, changes(situation)), _FIRSTS):
                if self._left <= 0:
                    return
                with world.laid(first.command):
                    after = self._after(gates)
                    if after is not None:
                        yield from self._seconds(first, place, Situation(world, after))

    def _after(self, gates: int) -> list[Refused] | None:
        """The nodes that refuse the pod now; None where all of them do as before."""
        world = self._world
        self._left -= _READING
        decision = world.decide()
        opened = len(world.gates(world.pod)) < gates
        if decision.result == SCHEDULED:
            # What was missing is no part of the decision, or only the gates were missing.
            return None
        after = refused_nodes(world, decision)
        before = {each.node: each.obstacles for each in self._refused}
        differs = any(each.obstacles != before.get(each.node) for each in after)
        return after if opened or differs else None

    def _seconds(self, first: Candidate, place: int, situation: Situation) -> Iterator[Pair]:
        """The first change of each kind after which the pod gets a node.

        Smaller kinds are skipped: such a pair is found with the smaller change first. They are
        tried if no node was evaluated before, since the nodes' obstacles are known only now.
        """
        begin = place if self._refused else 0
        for other, (_, changes) in enumerate(self._kinds[begin:], begin):
            for second in islice(filter(_may_try, changes(situation)), _SECONDS):
                if self._left <= 0:
                    return
                self._left -= 1
                self.tried += 1
                node = self._world.node_after(second.command, evicting=second.evicts)
                if node:
                    yield Pair(first, second, node, (max(place, other), min(place, other)))
                    break


def _may_lay(candidate: Candidate) -> bool:
    # A node that is brought back keeps its taints in the copy, where no controller removes them.
    return candidate.kind != "ready" and not candidate.evicts


def _may_try(candidate: Candidate) -> bool:
    return candidate.decidable


def _size(pair: Pair) -> tuple[int, int]:
    return pair.size
