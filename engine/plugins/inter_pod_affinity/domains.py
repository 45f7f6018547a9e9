"""Pods counted per value of one topology label."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from engine.framework.nodes.arrays import BoolArray, IntArray
from engine.framework.nodes.node_table import NodeTable
from engine.framework.nodes.pod_counts import Tally
from engine.kernel.sentences import Phrase, Sentence, enumerated, phrase, say


@dataclass(slots=True)
class DomainCounts:
    """Pods per value of one topology label."""

    key: str
    counts: IntArray

    def on(self, table: NodeTable, rows: IntArray) -> tuple[IntArray, BoolArray]:
        """The count of each row's domain (0 without the label), and whether it has the label."""
        codes = table.labels.topology(self.key).codes.take(rows)
        present = codes >= 0
        # Code -1, a missing label, indexes an arbitrary domain, whose count is discarded.
        return self.counts.take(codes, mode="wrap") * present, present

    def at(self, table: NodeTable, row: int) -> int:
        """The count of the row's domain; -1 without the label."""
        code = table.labels.topology(self.key).codes.item(row)
        return self.counts.item(code) if code >= 0 else -1

    def shift(self, table: NodeTable, row: int, delta: int) -> None:
        """Count *delta* more pods in the row's domain; nothing without the label."""
        code = int(table.labels.topology(self.key).codes[row])
        if code >= 0:
            self.counts[code] += delta

    def copy(self) -> DomainCounts:
        """An independent copy."""
        return DomainCounts(self.key, self.counts.copy())


def domain_counts(table: NodeTable, key: str, tally: Tally) -> DomainCounts:
    """The pods that *tally* counts, per domain of label *key*; a copy."""
    return DomainCounts(key, table.pod_counts.per_domain(tally, key).copy())


def live_domain_counts(table: NodeTable, key: str, tally: Tally) -> DomainCounts:
    """As `domain_counts`, but the table's own counts, which keep changing; do not write to them."""
    return DomainCounts(key, table.pod_counts.per_domain(tally, key))


def merge_into(found: dict[str, DomainCounts], counts: DomainCounts) -> None:
    """Add *counts* to those of the same key in *found*."""
    before = found.get(counts.key)
    if before is not None:
        counts = DomainCounts(counts.key, before.counts + counts.counts)
    found[counts.key] = counts


AFFINITY: Final = phrase("affinity by {key}: {counts}")
ANTI_AFFINITY: Final = phrase("anti-affinity by {key}: {counts}")
OF_PLACED_PODS: Final = phrase("anti-affinity of placed pods by {key}: {counts}")


def kept_counts(what: Phrase, table: NodeTable, each: Iterable[DomainCounts]) -> Iterator[Sentence]:
    """The domains with matching pods, in words, for a trace."""
    for domain in each:
        values = table.labels.topology(domain.key).values
        found = enumerated(
            [
                f"{values[code]} {count}"
                for code, count in enumerate(domain.counts[: len(values)].tolist())
                if count
            ]
        )
        yield what.say(key=domain.key, counts=found or say("no pods"))
