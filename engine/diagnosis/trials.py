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
from engine.kernel.units import SECOND
from engine.objects.objects import Pod

# How one of a kind is called, and several.
_WORDS: Final = {
    "scheduler": ("scheduler", "schedulers"),
    "retry": ("retry", "retries"),
    "gate": ("gate removed", "gates removed"),
    "ready": ("node brought back", "nodes brought back"),
    "uncordon": ("node uncordoned", "nodes uncordoned"),
    "label": ("node label", "node labels"),
    "toleration": ("toleration", "tolerations"),
    "taint": ("taint removed", "taints removed"),
    "selector": ("changed selector", "changed selectors"),
    "spread": ("relaxed spread constraint", "relaxed spread constraints"),
    "affinity": ("relaxed pod affinity", "relaxed pod affinities"),
    "plugin": ("change of a plugin's own", "changes of plugins' own"),
    "requests": ("smaller request", "smaller requests"),
    "claim": ("claim created", "claims created"),
    "class": ("storage class", "storage classes"),
    "capacity": ("storage capacity", "storage capacities"),
    "volume": ("volume added", "volumes added"),
    "driver": ("driver setting", "driver settings"),
    "device": ("advertised device", "advertised devices"),
    "moved": ("volume made again", "volumes made again"),
    "rollout": ("rollout strategy", "rollout strategies"),
    "again": ("pod made again", "pods made again"),
    "force": ("forced deletion", "forced deletions"),
    "priority": ("priority class", "priority classes"),
    "pod": ("pod deleted", "pods deleted"),
    "node": ("node added", "nodes added"),
}
PAIR: Final = "pair"

_EVICTS: Final = "It then evicts pods of lower priority."
_FLUSHED: Final = "Nothing but the periodic flush of the queue has it tried again."

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
        # Extenders decide too, and are not asked about what is only tried.
        self._may_fork = not cluster.asks_extenders
        nodes = len(cluster.store.objects("Node"))
        objects = nodes + len(cluster.store.objects(Pod.KIND))
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
            changed = replace(candidate, evicts=True, note=f"{candidate.note} {_EVICTS}".strip())
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

    def conclusion(self, fixes: Iterable[Fix]) -> str:
        """What there is to say when nothing is offered; "" otherwise."""
        if list(fixes):
            return ""
        if self._waits_for:
            return "Nothing has to be done."
        if not self.tried:
            return "There is no single change to try."
        counts = ", ".join(
            f"{count} {_WORDS[kind][0 if count == 1 else 1]}"
            for kind, count in self.tried.items()
            if kind != PAIR
        )
        parts = [f"None of these gives it a node, each tried alone: {counts}."]
        pairs = self.tried.get(PAIR, 0)
        if pairs:
            parts.append(f"Nor do two of them together, of which {pairs} were tried.")
        if self._rivals:
            parts.append(f"Where there was room, {listed(list(self._rivals))} took it first.")
        if self._cut:
            parts.append(
                f"With so many pods waiting, {self._cut} could not be followed to the end."
            )
        return " ".join(parts)

    @property
    def _waits_for(self) -> int:
        """When the pod gets a node by itself; 0 for never."""
        return self.outlook.at if self.outlook is not None and self.outlook.node else 0

    def _fork(self, work: int, commands: Sequence[Command] = (), meant: str = "") -> Trial:
        limits = Limits(steps=work // _WORK_PER_STEP, cycles=work // self._per_cycle)
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
        sentence = f"Left alone, it is bound to {trial.node} at {seconds(trial.at)}."
    elif trial.ended:
        sentence = "Left alone, it gets no node in what is left of the run."
    else:
        sentence = f"Left alone, it gets no node up to {seconds(trial.at)}."
    return Outlook(node=trial.node, at=trial.at if trial.node else 0, sentence=sentence)


def _forked(candidate: Candidate, trial: Trial) -> Fix:
    return Fix(
        kind=candidate.kind,
        text=f"{candidate.text}: it is bound to {trial.node} at {seconds(trial.at)}.",
        command=candidate.command.to_dict(),
        **_after_first(candidate),
        node=trial.node,
        at=trial.at,
        shown="fork",
        note=f"{candidate.note} {_FLUSHED}".strip() if trial.flushed else candidate.note,
    )


def _after_first(candidate: Candidate) -> dict[str, Any]:
    """The commands of a change after its first, as a fix holds them."""
    rest = [each.to_dict() for each in candidate.more]
    return {"then": rest[0] if rest else None, "more": tuple(rest[1:])}


def _paired(pair: Pair, trial: Trial | None) -> Fix:
    """Two changes, shown by a fork or only decided on."""
    if trial is None:
        outcome, note = f"it fits {pair.node} then", pair.note
    else:
        outcome = f"it is bound to {trial.node} at {seconds(trial.at)}"
        note = f"{pair.note} {_FLUSHED}" if trial.flushed else pair.note
    return Fix(
        kind=PAIR,
        text=f"{pair.text}: {outcome}.",
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
        text=f"{candidate.text}: it fits {node} then.",
        command=candidate.command.to_dict(),
        node=node,
        shown="decision",
        note=candidate.note,
    )


def listed(names: list[str], most: int = 4) -> str:
    """Names for a sentence; beyond *most* the rest is counted."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[:most])} and {len(names) - most} more"


def seconds(at: int) -> str:
    """A moment of virtual time for people."""
    return f"{at // SECOND}.{at % SECOND * 1000 // SECOND:03d} s"
