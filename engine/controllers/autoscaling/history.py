"""What an autoscaler has recommended and done lately. Times are in ns since the run began."""

from dataclasses import dataclass, field
from typing import NamedTuple

from engine.kernel.units import nanoseconds


class Sample(NamedTuple):
    """A number of replicas, or by how much it was changed, and when."""

    replicas: int
    at: int


@dataclass(slots=True)
class History:
    """Recommendations before they were limited, and changes that were made, the oldest first."""

    recommended: list[Sample] = field(default_factory=list[Sample])
    ups: list[Sample] = field(default_factory=list[Sample])
    downs: list[Sample] = field(default_factory=list[Sample])

    def begin(self, replicas: int, now: int) -> None:
        """The number that the target has at first is recommended, too."""
        if not self.recommended:
            self.recommended.append(Sample(replicas, now))

    def recommend(self, replicas: int, now: int, forget: int) -> None:
        """Note a recommendation, and forget those that are older than *forget*."""
        kept = [one for one in self.recommended if one.at >= forget]
        self.recommended = [*kept, Sample(replicas, now)]

    def scaled(self, before: int, after: int, now: int, longest: int) -> None:
        """Note a change, and forget those that are older than *longest* seconds."""
        forget = now - nanoseconds(longest)
        change = Sample(abs(after - before), now)
        if after > before:
            self.ups = [*_since(self.ups, forget), change]
        else:
            self.downs = [*_since(self.downs, forget), change]


def changed_within(seconds: int, samples: list[Sample], now: int) -> int:
    """By how many replicas in that time. Upstream: getReplicasChangePerPeriod()."""
    cutoff = now - nanoseconds(seconds)
    return sum(one.replicas for one in samples if one.at > cutoff)


def _since(samples: list[Sample], at: int) -> list[Sample]:
    return [one for one in samples if one.at >= at]
