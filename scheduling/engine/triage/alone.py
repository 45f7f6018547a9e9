"""What helps one object, as a change for its group: asked where no change of a group is known."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Final

from kscope.sim.objects.objects import PersistentVolumeClaim, Pod
from scheduling.engine.cluster.cluster import Cluster
from scheduling.engine.diagnosis.fork import CopiedForks, Forks
from scheduling.engine.diagnosis.report import Cause, Diagnosis, Fix
from scheduling.engine.diagnosis.why import explain_object
from scheduling.engine.triage.carrying_out import MOST
from scheduling.engine.triage.report import Change, Group
from scheduling.engine.triage.stuck.drains import BUDGET

# Kinds of change that end somebody's work or leave data behind, and that others have to agree to.
LOSING: Final = {
    "pod": "what that pod is at work on",
    "peer": "what that pod is at work on",
    "moved": "the data on the old volumes, which are not copied",
}
SHARED: Final = {
    "taint": "the taint keeps these nodes for others",
    "quota": "the quota is what other teams' shares rest on",
    "budget": "the budget protects all of its pods",
}
# In larger clusters the forks that this takes cost more than the whole triage.
_MOST_PODS: Final = 250
_MOST_SENTENCES: Final = 12
_MOST_FACTS: Final = 3
_UNBOUND: Final = "unbound immediate PersistentVolumeClaims"
_OUTCOME: Final = re.compile(
    r": (?:it (?:is|runs|has|may|goes|can|allows)|nothing limits|a drain) "
)


def change_of(fix: Fix) -> str:
    """What is done by *fix*: its text before what came of it."""
    return _OUTCOME.split(fix.text)[0]


@dataclass(slots=True)
class Alone:
    """Asks a cluster, which is left as it is, about single objects."""

    cluster: Cluster
    _forks: CopiedForks | None = None

    def explained(self, group: Group) -> Group:
        """*group* with what is known of the first of its objects."""
        kind, keys = _first_of(group)
        if not keys or self._is_large:
            return group
        found = self._asked(kind, keys[0], tries_changes=False)
        told = dict.fromkeys(sentence for each in found.causes for sentence in _told(each))
        said = (each for each in told if each not in group.cause)
        return replace(group, because=tuple(said)[:_MOST_SENTENCES])

    def helped(self, group: Group) -> Group:
        """*group* with the changes that were carried out for the first of its objects."""
        kind, keys = _first_of(group)
        if group.changes or not keys or self._is_large:
            return group
        found = self._asked(kind, keys[0], tries_changes=True)
        several = f"For {keys[0]}: " if len(keys) > 1 else ""
        changes = tuple(_change(fix, several, len(keys)) for fix in found.fixes)
        conclusion = "" if changes else found.conclusion or group.conclusion
        return replace(group, changes=changes, conclusion=conclusion)

    @property
    def _is_large(self) -> bool:
        return len(self.cluster.store.live(Pod.KIND)) > _MOST_PODS

    def _asked(self, kind: str, key: str, *, tries_changes: bool) -> Diagnosis:
        if self._forks is None:
            self._forks = CopiedForks(self.cluster)

        def ask(copy: Cluster) -> Diagnosis:
            return explain_at_once(
                copy, kind, key, lambda: CopiedForks(self.cluster), tries_changes=tries_changes
            )

        return self._forks.run(ask)


def explain_at_once(
    copy: Cluster,
    kind: str,
    key: str,
    make_forks: Callable[[], Forks],
    *,
    tries_changes: bool,
) -> Diagnosis:
    """Why an object of *copy* is as it is, once the schedulers there know everything that exists.

    Changes are tried in forks of the cluster that it is a copy of, which `make_forks` makes.
    """
    for scheduler in copy.schedulers:
        scheduler.watches.list_at_once()
    return explain_object(
        copy, kind, key, tries_changes=tries_changes, make_forks=lambda _: make_forks()
    )


def _told(cause: Cause) -> Iterator[str]:
    """A cause with its plugin, how it came about, and the facts behind it."""
    plugin = f"{cause.plugin}: " if cause.plugin else ""
    yield f"{plugin}{cause.sentence}"
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
    return replace(group, cause=f"{group.cause} {found.sentence}")


def _change(fix: Fix, several: str, of: int) -> Change:
    return Change(
        text=f"{several}{change_of(fix)}",
        kind=fix.kind,
        places=1,
        of=of,
        loses=LOSING.get(fix.kind, ""),
        shared=SHARED.get(fix.kind, ""),
        note=fix.note,
        commands=tuple(fix.commands) if len(fix.commands) <= MOST else (),
    )
