"""Pods counted per node as they come and go, for spreading and inter-pod affinity.

Two kinds of numbers keep a scheduling cycle from looking at every pod of the cluster:

* counters: for each `PodMatcher` in use ("pods in these namespaces with these labels"), how many
  pods on each node match;
* term columns: for each affinity term that a placed pod carries, how many pods on each node carry
  it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from engine.framework.nodes.arrays import Codes, IntArray
from engine.framework.nodes.node_labels import NodeLabels
from engine.framework.pods.pod_info import AffinityTerm, PodInfo, labels_key
from engine.kernel.groups import Group, Groups
from engine.objects.objects import Pod
from engine.objects.selectors import selecting, with_labels
from engine.storage.translation import may_be_at_fault

# The group of counters that may count any pod.
_ANY_POD: Group = ("*",)

REQUIRED_AFFINITY = "required"
PREFERRED_AFFINITY = "preferred"
REQUIRED_ANTI_AFFINITY = "required_anti"
PREFERRED_ANTI_AFFINITY = "preferred_anti"

_TERM_KINDS = (
    REQUIRED_AFFINITY,
    PREFERRED_AFFINITY,
    REQUIRED_ANTI_AFFINITY,
    PREFERRED_ANTI_AFFINITY,
)


@dataclass(frozen=True, slots=True)
class PodMatcher:
    """Pods that match every one of *terms*, all terms' namespaces resolved to names.

    `live_only` leaves out pods that are being deleted; with `any_term` one matching term is enough.
    """

    terms: tuple[AffinityTerm, ...]
    live_only: bool = False
    any_term: bool = False

    def matches(self, namespace: str, labels: Mapping[str, str], *, deleting: bool) -> bool:
        """Whether a pod with these attributes is counted."""
        if deleting and self.live_only:
            return False
        found = (term.matches(namespace, labels) for term in self.terms)
        return any(found) if self.any_term else all(found)

    def groups(self, index: Groups[Any]) -> list[Group] | None:
        """Groups of *index* among which all is that has to do with it; None: anything may."""
        terms = self.terms if self.any_term else self.terms[:1]
        if not (terms or self.any_term) or any(one.namespace_selector is not None for one in terms):
            return None
        return [
            group
            for term in terms
            if term.selector is not None
            for namespace in sorted(term.namespaces)
            for group in index.fewest(selecting(namespace, term.selector))
        ]


_Alike = tuple[str, bytes, bool]


class _Placed:
    """The placed pods by namespace, labels and deletion: one look decides on many."""

    def __init__(self, pods: list[dict[str, PodInfo]], active: Iterable[int]) -> None:
        # Their labels, and how many of them are on which row.
        self._alike: dict[_Alike, tuple[Mapping[str, str], dict[int, int]]] = {}
        self._groups: Groups[_Alike] = Groups()
        for row in active:
            for info in pods[row].values():
                self.count(row, info.pod, 1)

    def count(self, row: int, pod: Pod, delta: int) -> None:
        """Count *pod* on *row* (*delta* 1), or stop counting it (-1)."""
        key = _alike(pod)
        found = self._alike.get(key)
        if found is None:
            found = self._alike[key] = pod.labels, {}
            self._groups.put(key, with_labels(pod.namespace, pod.labels))
        rows = found[1]
        rows[row] = rows.get(row, 0) + delta
        if not rows[row]:
            del rows[row]
            if not rows:
                del self._alike[key]
                self._groups.drop(key)

    def rows(self, matcher: PodMatcher) -> Iterator[tuple[int, int]]:
        """Rows, and how many pods there match; a row may come several times."""
        groups = matcher.groups(self._groups)
        for key in [*self._alike] if groups is None else self._groups.of(groups):
            labels, rows = self._alike[key]
            if matcher.matches(key[0], labels, deleting=key[2]):
                yield from rows.items()


def _alike(pod: Pod) -> _Alike:
    return pod.namespace, labels_key(pod), "deletionTimestamp" in pod.raw["metadata"]


@dataclass(slots=True)
class Tally:
    """Pods counted on each row, and per domain of the topology labels it was asked for.

    The domain arrays are `PodCounts`' own and change with it: copy before changing one.
    """

    counts: Codes
    total: int = 0
    generation: int = -1
    domains: dict[str, IntArray] = field(default_factory=dict[str, IntArray])


@dataclass(slots=True)
class PodCounter:
    """Matching pods on each row."""

    number: int
    matcher: PodMatcher
    tally: Tally


@dataclass(slots=True)
class TermColumn:
    """How many pods on each row carry this affinity term in this list."""

    kind: str
    term: AffinityTerm
    tally: Tally


class PodCounts:
    """Every counter and term column.

    It shares *pods* (by row and key) and *active* (the rows in use) with the table. `term_count` is
    the number of different terms that pods ever carried, or may soon; it never falls.
    """

    # The placed pods, for new counters; None until there is the first one.
    _placed: _Placed | None = None

    def __init__(
        self, labels: NodeLabels, pods: list[dict[str, PodInfo]], active: dict[int, None]
    ) -> None:
        self._labels = labels
        self.pods = pods
        self._active = active
        self._counters: dict[PodMatcher, PodCounter] = {}
        self._counter_list: list[PodCounter] = []
        self._counters_of: dict[_Alike, list[int]] = {}
        # The numbers of counters, by the labels of pods that they may count.
        self._counting: Groups[int] = Groups()
        self._terms: dict[str, dict[AffinityTerm, TermColumn]] = {kind: {} for kind in _TERM_KINDS}
        self.term_count = 0

    def __getstate__(self) -> dict[str, Any]:
        """Without what is found again by itself."""
        return {name: value for name, value in self.__dict__.items() if name != "_placed"}

    def count(self, row: int, pod: PodInfo, delta: int) -> None:
        """Count *pod* on *row* (*delta* 1), or stop counting it (-1)."""
        if self._placed is not None:
            self._placed.count(row, pod.pod, delta)
        if pod.affinity.present:
            for column in self._columns_of(pod):
                self._add(column.tally, row, delta)
        if self._counter_list:
            for number in self._matching_counters(pod.pod):
                self._add(self._counter_list[number].tally, row, delta)

    def count_required_anti(self, row: int, pod: PodInfo, delta: int) -> None:
        """As `count`, but only the required anti-affinity that *pod* carries."""
        for column in self._columns_of(pod):
            if column.kind == REQUIRED_ANTI_AFFINITY:
                self._add(column.tally, row, delta)

    def relabel(self, row: int, old: Pod, new: Pod) -> bool:
        """Count *new* on *row* in place of *old*, of which only the labels differ.

        Returns False if the same counters count both.
        """
        if self._placed is not None:
            self._placed.count(row, old, -1)
            self._placed.count(row, new, 1)
        if not self._counter_list:
            return False
        before, after = self._matching_counters(old), self._matching_counters(new)
        if before == after:
            return False
        for numbers, delta in ((before, -1), (after, 1)):
            for number in numbers:
                self._add(self._counter_list[number].tally, row, delta)
        return True

    def counter(self, matcher: PodMatcher) -> PodCounter:
        """The live count of pods that *matcher* means."""
        counter = self._counters.get(matcher)
        if counter is None:
            counter = PodCounter(len(self._counter_list), matcher, self._new_tally())
            self._counters[matcher] = counter
            self._counter_list.append(counter)
            self._counters_of.clear()
            groups = matcher.groups(self._counting)
            self._counting.put(counter.number, [_ANY_POD] if groups is None else groups)
            if self._placed is None:
                self._placed = _Placed(self.pods, self._active)
            for row, count in self._placed.rows(matcher):
                self._add(counter.tally, row, count)
        return counter

    def per_domain(self, tally: Tally, key: str) -> IntArray:
        """What *tally* counts, summed over the domains of label *key*, by the label's codes.

        Kept up to date from then on; the caller must not change it.
        """
        if tally.generation != self._labels.generation:
            tally.domains.clear()
            tally.generation = self._labels.generation
        summed = tally.domains.get(key)
        if summed is None:
            column = self._labels.topology(key)
            size = max(1, len(column.values))
            # Code -1 (no label) goes to an extra last bin that is dropped.
            codes = np.where(column.codes < 0, size, column.codes)
            counted = np.bincount(codes, weights=tally.counts, minlength=size + 1)
            summed = tally.domains[key] = counted[:size].astype(np.int64)
        return summed

    def terms(self, kind: str) -> list[TermColumn]:
        """The terms of *kind* that pods on some node carry."""
        return [column for column in self._terms[kind].values() if column.tally.total]

    def known_terms(self, kind: str) -> Iterable[TermColumn]:
        """The terms of *kind* that pods ever carried, or are expected to, in order."""
        return self._terms[kind].values()

    def has_terms(self, kind: str) -> bool:
        """Whether any pod ever carried, or is expected to carry, a term of *kind*."""
        return bool(self._terms[kind])

    def expect(self, pod: PodInfo) -> None:
        """Make columns for the terms of *pod*, which is on no row yet."""
        for _ in self._columns_of(pod):
            pass

    def grow(self, more: int) -> None:
        """Make room for *more* rows."""
        for counter in self._counter_list:
            counter.tally.counts = np.pad(counter.tally.counts, (0, more))
        for terms in self._terms.values():
            for term in terms.values():
                term.tally.counts = np.pad(term.tally.counts, (0, more))

    def _new_tally(self) -> Tally:
        return Tally(np.zeros(len(self.pods), np.int32))

    def _add(self, tally: Tally, row: int, delta: int) -> None:
        tally.counts[row] += delta
        tally.total += delta
        if tally.generation != self._labels.generation:
            return
        for key, summed in tally.domains.items():
            code = self._labels.topology(key).codes.item(row)
            if code >= 0:
                summed[code] += delta

    def _matching_counters(self, pod: Pod) -> list[int]:
        key = namespace, _, deleting = _alike(pod)
        numbers = self._counters_of.get(key)
        if numbers is None:
            numbers = self._counters_of[key] = [
                number
                for number in self._counting.of([_ANY_POD, *with_labels(namespace, pod.labels)])
                if self._counter_list[number].matcher.matches(
                    namespace, pod.labels, deleting=deleting
                )
            ]
        return numbers

    def _columns_of(self, pod: PodInfo) -> Iterator[TermColumn]:
        affinity = pod.affinity
        for kind, terms in (
            (REQUIRED_AFFINITY, affinity.required),
            (PREFERRED_AFFINITY, affinity.preferred),
            (REQUIRED_ANTI_AFFINITY, affinity.required_anti),
            (PREFERRED_ANTI_AFFINITY, affinity.preferred_anti),
        ):
            for term in terms:
                column = self._terms[kind].get(term)
                if column is None:
                    column = TermColumn(kind, term, self._new_tally())
                    self._terms[kind][term] = column
                    self.term_count += 1
                yield column


class VolumeUsers:
    """Which claims the placed pods use."""

    def __init__(self) -> None:
        # How many pods use each claim, by namespace/name.
        self.by_claim: dict[str, int] = {}
        # How many pods may have volumes that other pods fail on.
        self.pods_at_fault = 0

    def count(self, pod: Pod, delta: int) -> None:
        """Count the volumes of a *pod* that comes (*delta* 1) or goes (-1)."""
        self.count_claims(pod, delta)
        if may_be_at_fault(pod):
            self.pods_at_fault += delta

    def count_claims(self, pod: Pod, delta: int) -> None:
        """As `count`, but only the claims that *pod* uses."""
        for name in pod.named_claims:
            key = f"{pod.namespace}/{name}"
            self.by_claim[key] = self.by_claim.get(key, 0) + delta
