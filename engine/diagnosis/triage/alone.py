"""What helps one object, as a change for its group: asked where no change of a group is known."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain
from typing import Final

from engine.cluster.cluster import Cluster
from engine.diagnosis.fork import CopiedForks, Forks, MakeForks, Original
from engine.diagnosis.inquiry import last_of
from engine.diagnosis.report import Cause, Diagnosis, Fix
from engine.diagnosis.triage.carrying_out import MOST
from engine.diagnosis.triage.report import Change, Group
from engine.diagnosis.triage.stuck.drains import BUDGET
from engine.diagnosis.why import explain_in_steps, explain_object
from engine.kernel.garbage import collector_paused
from engine.kernel.sentences import NOTHING, Sentence, say, together
from engine.objects.objects import PersistentVolumeClaim, Pod

# Kinds of change that end somebody's work or leave data behind, and that others have to agree to.
LOSING: Final = {
    "pod": say("what that pod is at work on"),
    "peer": say("what that pod is at work on"),
    "moved": say("the data on the old volumes, which are not copied"),
}
SHARED: Final = {
    "taint": say("the taint keeps these nodes for others"),
    "quota": say("the quota is what other teams' shares rest on"),
    "budget": say("the budget protects all of its pods"),
}
# In larger clusters one question about each group costs more than the whole triage, and the forks in
# which its changes are tried do so much earlier.
_MOST_PODS_ASKED, _MOST_PODS_FORKED = 2_000, 250
_MACHINE: Final = "node"
_OF_DRAINS: Final = ("budget", "replicas")
_OF_WORKLOADS: Final = ("rollout", "again")
_MOST_SENTENCES: Final = 12
_MOST_FACTS: Final = 3
_UNBOUND: Final = "unbound immediate PersistentVolumeClaims"


def change_of(fix: Fix) -> Sentence:
    """What is done by *fix*, without what came of it."""
    change = fix.text.arguments.get("change")
    return change if isinstance(change, Sentence) else fix.text


@dataclass(slots=True)
class AtOnce:
    """Asks about the objects of a cluster as its schedulers would know them, and leaves it as it is.

    Nothing is copied where they know everything that exists, as in a cluster that begins as it
    stood. Changes are tried in forks of the cluster.
    """

    cluster: Cluster
    make_forks: MakeForks = CopiedForks
    _known: Cluster | None = None
    _forks: Forks | None = None

    def explained(self, kind: str, key: str, *, tries_changes: bool) -> Diagnosis:
        """See `explain_object`."""
        steps = self.in_steps(kind, key)
        with collector_paused():
            return last_of(steps) if tries_changes else next(steps)

    def in_steps(self, kind: str, key: str) -> Iterator[Diagnosis]:
        """See `explain_in_steps`."""
        if self._known is None or self._forks is None:
            self._known = _all_known(self.cluster)
            self._forks = self.make_forks(self.cluster)
        return explain_in_steps(self._known, kind, key, self._forks)


def _all_known(cluster: Cluster) -> Cluster:
    """*cluster* if its schedulers know everything that exists, else a copy where they do."""
    if all(each.watches.has_listed for each in cluster.schedulers):
        return cluster
    copy = Original(cluster).copy()
    for scheduler in copy.schedulers:
        scheduler.watches.list_at_once()
    return copy


@dataclass(slots=True)
class _Question:
    """Why one object is as it is: the causes first, and the whole where it is asked for."""

    steps: Iterator[Diagnosis]
    found: Diagnosis

    def whole(self) -> Diagnosis:
        """The answer with all its changes."""
        with collector_paused():
            self.found = last_of(chain((self.found,), self.steps))
        return self.found


class Alone:
    """Asks a cluster, which is left as it is, about single objects, about each once."""

    def __init__(self, cluster: Cluster) -> None:
        self._at_once = AtOnce(cluster)
        self._pods = len(cluster.store.live(Pod.KIND))
        self._questions: dict[tuple[str, str], _Question] = {}

    def explained(self, group: Group) -> Group:
        """*group* with what is known of the first of its objects."""
        kind, keys = _first_of(group)
        if not keys or self._pods > _MOST_PODS_ASKED:
            return group
        found = self._asked(kind, keys[0]).found
        told = dict.fromkeys(sentence for each in found.causes for sentence in _told(each))
        said = (each for each in told if each not in group.cause)
        return replace(group, because=tuple(said)[:_MOST_SENTENCES])

    def helped(self, group: Group) -> Group:
        """*group* with the changes that were carried out for the first of its objects."""
        kind, keys = _first_of(group)
        is_helped = any(each.kind != _MACHINE for each in group.changes)
        if is_helped or not keys or self._pods > _MOST_PODS_FORKED:
            return group
        found = self._asked(kind, keys[0]).whole()
        if not found.fixes and _waits_for_claims(group) and group.pods:
            # What a claim lacks may be what its pod can be given.
            keys = group.pods
            found = self._asked(Pod.KIND, keys[0]).whole()
        of = keys[0] if len(keys) > 1 else ""
        # Beside a machine to be bought, only what a workload can do by itself.
        fixes = [each for each in found.fixes if not group.changes or each.kind in _OF_WORKLOADS]
        if group.kind == "placed-but-stuck":
            # That it may be evicted does not make it run.
            fixes = [each for each in fixes if each.kind not in _OF_DRAINS]
        changes = (*(_change(fix, of, len(keys)) for fix in fixes), *group.changes)
        conclusion = NOTHING if changes else found.conclusion or group.conclusion
        return replace(group, changes=changes, conclusion=conclusion)

    def _asked(self, kind: str, key: str) -> _Question:
        known = self._questions.get((kind, key))
        if known is not None:
            return known
        steps = self._at_once.in_steps(kind, key)
        with collector_paused():
            asked = _Question(steps, next(steps))
        # A question that is not over keeps the view that it has of the cluster.
        if self._pods <= _MOST_PODS_FORKED:
            self._questions[kind, key] = asked
        return asked


def _told(cause: Cause) -> Iterator[Sentence]:
    """A cause with its plugin, how it came about, and the facts behind it."""
    if cause.plugin:
        yield say("{plugin}: {sentence}", plugin=cause.plugin, sentence=cause.sentence)
    else:
        yield cause.sentence
    if cause.why:
        yield cause.why
    yield from (each.text for each in cause.because[:_MOST_FACTS])


def _first_of(group: Group) -> tuple[str, tuple[str, ...]]:
    """The kind of which one object stands for the group, and the keys of these objects; () for none."""
    kind, _, budget = group.by.partition(" ")
    if kind == BUDGET.lower():
        return BUDGET, (budget,)
    if group.kind == "claim" or _waits_for_claims(group):
        return PersistentVolumeClaim.KIND, group.claims
    return Pod.KIND, group.pods if group.kind in ("pending", "placed-but-stuck") else ()


def _waits_for_claims(group: Group) -> bool:
    return _UNBOUND in group.cause and bool(group.claims)


def unbound_explained(cluster: Cluster, group: Group) -> Group:
    """*group* with why its claims are not bound, where its pods wait for that alone."""
    if not _waits_for_claims(group):
        return group
    found = explain_object(
        cluster, PersistentVolumeClaim.KIND, group.claims[0], tries_changes=False
    )
    if not found.causes or found.sentence in group.cause:
        return group
    return replace(group, cause=together(group.cause, found.sentence))


def _change(fix: Fix, name: str, of: int) -> Change:
    text = change_of(fix)
    return Change(
        text=say("For {name}: {change}", name=name, change=text) if name else text,
        kind=fix.kind,
        places=1,
        of=of,
        loses=LOSING.get(fix.kind, NOTHING),
        shared=SHARED.get(fix.kind, NOTHING),
        note=fix.note,
        commands=tuple(fix.commands) if len(fix.commands) <= MOST else (),
    )
