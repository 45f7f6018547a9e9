"""Whether PodDisruptionBudgets were kept while a run was played, by what their status said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from engine.api_server.store.store import ObjectStore
from engine.api_server.store.watches import AT_ONCE, WatchEvent
from engine.kernel.units import SECOND
from engine.objects.objects import ApiObject

_KIND: Final = "PodDisruptionBudget"


@dataclass(frozen=True, slots=True)
class Shortfall:
    """An instant, ns of virtual time, at which fewer pods were healthy than a budget wants."""

    at: int
    healthy: int
    desired: int

    @property
    def text(self) -> str:
        """As a failure says it."""
        return f"{self.healthy:,} of {self.desired:,} healthy pods at {self.at / SECOND:.1f} s"


class Budgets:
    """Follows the status of every budget of a run, each write of it.

    A budget counts from the moment on at which it was kept for the first time: pods that are only
    being made break none.
    """

    def __init__(self, store: ObjectStore) -> None:
        self._store = store
        # By key: whether it was kept once.
        self._was_kept: dict[str, bool] = {}
        self._worst: dict[str, Shortfall] = {}
        store.watch(_KIND, self._hear, AT_ONCE)

    def has(self, key: str) -> bool:
        """Whether there was such a budget."""
        return key in self._was_kept

    def worst(self, key: str) -> Shortfall | None:
        """When the most healthy pods were missing, the first such instant; None where none was."""
        return self._worst.get(key)

    def _hear(self, event: WatchEvent) -> None:
        budget = event.new
        healthy, desired = _count(budget, "currentHealthy"), _count(budget, "desiredHealthy")
        kept = healthy >= desired and _count(budget, "expectedPods") > 0
        was_kept = self._was_kept.get(budget.key, False)
        self._was_kept[budget.key] = was_kept or kept
        if not was_kept or healthy >= desired or event.type == "DELETED":
            return
        worst = self._worst.get(budget.key)
        if worst is None or desired - healthy > worst.desired - worst.healthy:
            self._worst[budget.key] = Shortfall(self._store.now, healthy, desired)


def _count(budget: ApiObject, name: str) -> int:
    return budget.status.get(name) or 0
