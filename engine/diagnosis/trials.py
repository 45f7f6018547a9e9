"""Trying changes on a pod, one after the other, within what is worth spending on it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import islice
from typing import Any, Final

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.diagnosis.candidates import Candidate
from engine.diagnosis.fork import Forks, Limits, Trial, run_fork
from engine.diagnosis.pairs import Pair, PairSearch
from engine.diagnosis.report import Fix, Outlook
from engine.diagnosis.world import World
from engine.kernel.sentences import NOTHING, Sentence, count_phrase, enumerated, say, together
from engine.kernel.units import SECOND
from engine.objects.objects import Pod

# How one of a kind is called, and several.
_WORDS: Final = {
    "scheduler": count_phrase("{count} scheduler", "{count} schedulers"),
    "retry": count_phrase("{count} retry", "{count} retries"),
    "gate": count_phrase("{count} gate removed", "{count} gates removed"),
    "ready": count_phrase("{count} node brought back", "{count} nodes brought back"),
    "uncordon": count_phrase("{count} node uncordoned", "{count} nodes uncordoned"),
    "label": count_phrase("{count} node label", "{count} node labels"),
    "toleration": count_phrase("{count} toleration", "{count} tolerations"),
    "taint": count_phrase("{count} taint removed", "{count} taints removed"),
    "selector": count_phrase("{count} changed selector", "{count} changed selectors"),
    "spread": count_phrase(
        "{count} relaxed spread constraint", "{count} relaxed spread constraints"
    ),
    "affinity": count_phrase("{count} relaxed pod affinity", "{count} relaxed pod affinities"),
    "plugin": count_phrase("{count} change of a plugin's own", "{count} changes of plugins' own"),
    "requests": count_phrase("{count} smaller request", "{count} smaller requests"),
    "claim": count_phrase("{count} claim created", "{count} claims created"),
    "class": count_phrase("{count} storage class", "{count} storage classes"),
    "capacity": count_phrase("{count} storage capacity", "{count} storage capacities"),
    "volume": count_phrase("{count} volume added", "{count} volumes added"),
    "driver": count_phrase("{count} driver setting", "{count} driver settings"),
    "device": count_phrase("{count} advertised device", "{count} advertised devices"),
    "moved": count_phrase("{count} volume made again", "{count} volumes made again"),
    "rollout": count_phrase("{count} rollout strategy", "{count} rollout strategies"),
    "again": count_phrase("{count} pod made again", "{count} pods made again"),
    "force": count_phrase("{count} forced deletion", "{count} forced deletions"),
    "priority": count_phrase("{count} priority class", "{count} priority classes"),
    "pod": count_phrase("{count} pod deleted", "{count} pods deleted"),
    "node": count_phrase("{count} node added", "{count} nodes added"),
}
PAIR: Final = "pair"

_EVICTS: Final = say("It then evicts pods of lower priority.")
_FLUSHED: Final = say("Nothing but the periodic flush of the queue has it tried again.")

# Per kind: how many changes are decided on, and how many of those that fit are then forked for.
_MOST_DECIDED, _MOST_FORKED = 16, 2
# How many pairs of changes that decide well are forked for.
_MOST_PAIRS_FORKED = 4
# Forks of a cluster are as many as its size (nodes and pods) allows in a second or so.
_FORKED_OBJECTS, _FEWEST_FORKS, _MOST_FORKS = 60_000, 3, 16
# What all forks together may do, in units of a microsecond or so: a callback takes about 20, a
# scheduling cycle 500 and 4 more for each node. A count, not a clock: the answer must not depend on
# how busy a machine is. Looking ahead may take half of it.
_WORK, _WORK_PER_STEP, _WORK_PER_CYCLE, _WORK_PER_NODE = 3_000_000, 20, 500, 4


class Trials:
    """Changes tried on a pod: how many of each kind, and what came of them."""

    def __init__(self, cluster: Cluster, pod: Pod, forks: Forks) -> None:
        self._pod = pod
        self._forks = forks
        self._store = cluster.store
        # Extenders decide too, and are not asked about what is only tried.
        self._may_fork = not cluster.asks_extenders
        nodes = len(cluster.store.live("Node"))
        objects = nodes + len(cluster.store.live(Pod.KIND))
        self._forks_left = min(max(_FORKED_OBJECTS // objects, _FEWEST_FORKS), _MOST_FORKS)
        self._per_cycle = _WORK_PER_CYCLE + nodes * _WORK_PER_NODE
        self._work = _WORK
        # Pods that took the room which a change had made for this one, and forks that were cut short.
        self._rivals: dict[str, None] = {}
        self._cut = 0
        self.tried: dict[str, int] = {}
        self.outlook: Outlook | None = None

    def look_ahead(self) -> Outlook | None:
        """Let a fork run as things are."""
        if self._may_fork:
            self.outlook = _outlook(self._fork(_WORK // 2))
        return self.outlook

    def first_that_helps(
        self, candidates: Iterable[Candidate], world: World | None, *, evicting: bool = False
    ) -> Fix | None:
        """The first of *candidates*, all of one kind, after which the pod gets its node sooner.

        With *evicting* those that make room for it by evictions alone come after the others.
        """
        promising = self._promising(candidates, world, evicting=evicting)
        for forks, (candidate, node) in enumerate(promising):
            if not self._may_fork or forks == _MOST_FORKED:
                return None
            if self._forks_left == 0:
                # The cluster is large, and what can be afforded has been spent on smaller changes.
                return _decided(candidate, node) if node else None
            if self._work < self._per_cycle:
                self._cut += 1
                return None
            trial = self._shown(candidate.commands, node)
            if self._helps(trial):
                return _forked(candidate, trial)
            if trial.rivals:
                return None  # They would take the next place, too.
        return None

    def _promising(
        self, candidates: Iterable[Candidate], world: World | None, *, evicting: bool
    ) -> Iterator[tuple[Candidate, str]]:
        """What a decision does not rule out, with the node it gives; "" where it cannot say."""
        refused: list[Candidate] = []
        for candidate in islice(candidates, _MOST_DECIDED):
            self.tried[candidate.kind] = self.tried.get(candidate.kind, 0) + 1
            node = _decided_node(candidate, world)
            if node is not None:
                yield candidate, node
            elif not candidate.evicts:
                refused.append(candidate)
        for candidate in refused if evicting else ():
            changed = replace(candidate, evicts=True, note=together(candidate.note, _EVICTS))
            node = _decided_node(changed, world)
            if node is not None:
                yield changed, node

    def first_pair_that_helps(self, search: PairSearch) -> Fix | None:
        """The smallest two changes after both of which the pod gets its node sooner."""
        if not self._may_fork:
            return None
        found = search.found()
        if search.tried:
            self.tried[PAIR] = search.tried
        for pair in found[:_MOST_PAIRS_FORKED]:
            if self._forks_left == 0:
                return _paired(pair, None)
            if self._work < self._per_cycle:
                self._cut += 1
                return None
            trial = self._shown((pair.first.command, pair.second.command), pair.node)
            if self._helps(trial):
                return self._one_of(pair) or _paired(pair, trial)
        return None

    def _one_of(self, pair: Pair) -> Fix | None:
        """The one of the two that is enough, though a decision alone did not show it."""
        for candidate in (pair.first, pair.second):
            if self._forks_left == 0 or self._work < self._per_cycle:
                return None
            trial = self._shown((candidate.command,), pair.node)
            if self._helps(trial):
                return _forked(candidate, trial)
        return None

    def _helps(self, trial: Trial) -> bool:
        return bool(trial.node) and (not self._waits_for or trial.at < self._waits_for)

    def _shown(self, commands: Sequence[Command], node: str) -> Trial:
        self._forks_left -= 1
        trial = self._fork(self._work, commands, node)
        self._cut += trial.cut
        self._rivals.update(dict.fromkeys(trial.rivals))
        return trial

    def conclusion(self, fixes: Iterable[Fix]) -> Sentence:
        """What there is to say when nothing is offered; "" otherwise."""
        if list(fixes):
            return NOTHING
        if self._waits_for:
            return say("Nothing has to be done.")
        if not self.tried:
            return say("There is no single change to try.")
        counts = enumerated(
            [_WORDS[kind].say(count) for kind, count in self.tried.items() if kind != PAIR]
        )
        parts = [say("None of these gives it a node, each tried alone: {counts}.", counts=counts)]
        pairs = self.tried.get(PAIR, 0)
        if pairs:
            parts.append(
                say("Nor do two of them together, of which {pairs} were tried.", pairs=pairs)
            )
        if self._rivals:
            parts.append(
                say("Where there was room, {pods} took it first.", pods=listed(list(self._rivals)))
            )
        if self._cut:
            parts.append(
                say(
                    "With so many pods waiting, {cut} could not be followed to the end.",
                    cut=self._cut,
                )
            )
        return together(*parts)

    @property
    def _waits_for(self) -> int:
        """When the pod gets a node by itself; 0 for never."""
        return self.outlook.at if self.outlook is not None and self.outlook.node else 0

    def _fork(self, work: int, commands: Sequence[Command] = (), meant: str = "") -> Trial:
        limits = Limits(steps=work // _WORK_PER_STEP, cycles=work // self._per_cycle)
        if meant:
            # Each fork asks for them, and would look at all pods first.
            self._store.pods_on(meant)
        trial = self._forks.run(
            partial(run_fork, pod_key=self._pod.key, limits=limits, commands=commands, meant=meant)
        )
        self._work -= trial.steps * _WORK_PER_STEP + trial.cycles * self._per_cycle
        return trial


def _decided_node(candidate: Candidate, world: World | None) -> str | None:
    """The node that the decision alone gives, "" where it cannot say, None where it gives none."""
    if world is None or not candidate.decidable:
        return ""
    return world.node_after(candidate.command, evicting=candidate.evicts) or None


def _outlook(trial: Trial) -> Outlook:
    if trial.node:
        sentence = say(
            "Left alone, it is bound to {node} at {time}.", node=trial.node, time=seconds(trial.at)
        )
    elif trial.ended:
        sentence = say("Left alone, it gets no node in what is left of the run.")
    else:
        sentence = say("Left alone, it gets no node up to {time}.", time=seconds(trial.at))
    return Outlook(node=trial.node, at=trial.at if trial.node else 0, sentence=sentence)


def _forked(candidate: Candidate, trial: Trial) -> Fix:
    return Fix(
        kind=candidate.kind,
        text=say(
            "{change}: it is bound to {node} at {time}.",
            change=candidate.text,
            node=trial.node,
            time=seconds(trial.at),
        ),
        command=candidate.command.to_dict(),
        **_after_first(candidate),
        node=trial.node,
        at=trial.at,
        shown="fork",
        note=together(candidate.note, _FLUSHED) if trial.flushed else candidate.note,
    )


def _after_first(candidate: Candidate) -> dict[str, Any]:
    """The commands of a change after its first, as a fix holds them."""
    rest = [each.to_dict() for each in candidate.more]
    return {"then": rest[0] if rest else None, "more": tuple(rest[1:])}


def _paired(pair: Pair, trial: Trial | None) -> Fix:
    """Two changes, shown by a fork or only decided on."""
    if trial is None:
        text, note = (
            say("{change}: it fits {node} then.", change=pair.text, node=pair.node),
            pair.note,
        )
    else:
        text = say(
            "{change}: it is bound to {node} at {time}.",
            change=pair.text,
            node=trial.node,
            time=seconds(trial.at),
        )
        note = together(pair.note, _FLUSHED) if trial.flushed else pair.note
    return Fix(
        kind=PAIR,
        text=text,
        command=pair.first.command.to_dict(),
        then=pair.second.command.to_dict(),
        node=pair.node if trial is None else trial.node,
        at=None if trial is None else trial.at,
        shown="decision" if trial is None else "fork",
        note=note,
    )


def _decided(candidate: Candidate, node: str) -> Fix:
    return Fix(
        kind=candidate.kind,
        text=say("{change}: it fits {node} then.", change=candidate.text, node=node),
        command=candidate.command.to_dict(),
        node=node,
        shown="decision",
        note=candidate.note,
    )


def listed(names: list[str], most: int = 4) -> Sentence:
    """Names for a sentence; beyond *most* the rest is counted."""
    return enumerated(names, most)


def seconds(at: int) -> str:
    """A moment of virtual time for people."""
    return f"{at // SECOND}.{at % SECOND * 1000 // SECOND:03d} s"
