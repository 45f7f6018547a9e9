"""What spec.behavior of an autoscaler allows. Upstream: pkg/controller/podautoscaler/horizontal.go."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, Final

from engine.controllers.autoscaling.history import History, changed_within
from engine.controllers.autoscaling.limits import (
    WINDOW,
    Allowed,
    Stabilized,
    Wish,
    held_down,
    too_fast,
    too_few,
    too_many,
)
from engine.controllers.shared.manifests import part
from engine.kernel.units import SECOND, nanoseconds
from engine.objects.autoscalers import SCALE_DOWN, SCALE_UP
from engine.objects.objects import Manifest

# Upstream: maybeInitScaleDownStabilizationWindow().
_DOWN: Final = SCALE_DOWN | {"stabilizationWindowSeconds": WINDOW // SECOND}
_SLOWER: Final = "the desired replica count is decreasing faster than the maximum scale rate"
_LOWEST: Final = "recent recommendations were lower than current one"


@dataclass(frozen=True, slots=True)
class Behavior:
    """The rules for scaling up and down, with their defaults.

    With *both_ways* changes in the other direction count, too, as in newer versions.
    """

    up: Manifest
    down: Manifest
    both_ways: bool

    @classmethod
    def of(cls, spec: Mapping[str, Any], *, both_ways: bool) -> "Behavior | None":
        """That of an autoscaler; None if it has none."""
        if spec.get("behavior") is None:
            return None
        up, down = part(spec, "behavior", "scaleUp"), part(spec, "behavior", "scaleDown")
        return cls(_filled(up, SCALE_UP), _filled(down, _DOWN), both_ways)

    def longest_period(self, *, up: bool) -> int:
        """In seconds, of all policies of a direction."""
        policies = (self.up if up else self.down)["policies"]
        return max((policy["periodSeconds"] for policy in policies), default=0)

    def stabilized(self, history: History, wish: Wish, now: int) -> Stabilized:
        """What earlier recommendations allow. Upstream: stabilizeRecommendationWithBehaviors()."""
        since_up, since_down = (
            now - nanoseconds(rules["stabilizationWindowSeconds"]) for rules in (self.up, self.down)
        )
        of_ups, of_downs = (
            [one.replicas for one in history.recommended if one.at > since]
            for since in (since_up, since_down)
        )
        lowest, highest = min([wish.desired, *of_ups]), max([wish.desired, *of_downs])
        history.recommend(wish.desired, now, min(since_up, since_down))
        found = self._between(wish, lowest, highest)
        if found == wish.desired:
            return Stabilized(found)
        if wish.desired < wish.current:
            return Stabilized(found, *held_down())
        message = f"{_LOWEST}, applying the lowest recent recommendation"
        return Stabilized(found, "ScaleUpStabilized", message)

    def _between(self, wish: Wish, lowest: int, highest: int) -> int:
        if not self.both_ways:
            return lowest if wish.desired >= wish.current else highest
        return min(max(wish.current, lowest), highest)

    def allowed(self, history: History, wish: Wish, now: int) -> Allowed:
        """Not faster than the policies say. Upstream: convertDesiredReplicasWithBehaviorRate()."""
        if wish.desired > wish.current:
            limit = max(self._most(history, wish.current, now), wish.current)
            if wish.desired > min(limit, wish.high):
                return too_fast(limit) if wish.high > limit else too_many(wish.high)
        elif wish.desired < wish.current:
            limit = min(self._least(history, wish.current, now), wish.current)
            if wish.desired < max(limit, wish.low):
                return (
                    Allowed(limit, "ScaleDownLimit", _SLOWER)
                    if wish.low < limit
                    else too_few(wish.low)
                )
        return Allowed(wish.desired)

    def _most(self, history: History, current: int, now: int) -> int:
        """Upstream: calculateScaleUpLimitWithScalingRules()."""
        proposed = [
            _added(policy, self._at_start(history, current, policy, now, up=True))
            for policy in self.up["policies"]
        ]
        return _selected(self.up, proposed, current, largest=max, smallest=min)

    def _least(self, history: History, current: int, now: int) -> int:
        """Upstream: calculateScaleDownLimitWithBehaviors()."""
        proposed = [
            _removed(policy, self._at_start(history, current, policy, now, up=False))
            for policy in self.down["policies"]
        ]
        return _selected(self.down, proposed, current, largest=min, smallest=max)

    def _at_start(
        self, history: History, current: int, policy: Manifest, now: int, *, up: bool
    ) -> int:
        """How many replicas there were when the period of *policy* began."""
        period = policy["periodSeconds"]
        added = changed_within(period, history.ups, now) if up or self.both_ways else 0
        removed = changed_within(period, history.downs, now) if not up or self.both_ways else 0
        return current - added + removed


def _filled(given: Manifest, default: Manifest) -> Manifest:
    return default | {name: value for name, value in given.items() if value is not None}


def _selected(
    rules: Manifest,
    proposed: Sequence[int],
    current: int,
    *,
    largest: Callable[..., Any],
    smallest: Callable[..., Any],
) -> int:
    """What spec.behavior.*.selectPolicy chooses."""
    if rules["selectPolicy"] == "Disabled" or not proposed:
        return current
    chosen = smallest if rules["selectPolicy"] == "Min" else largest
    return int(chosen(proposed))


def _added(policy: Manifest, replicas: int) -> int:
    value = policy["value"]
    # Rounded up: a small target would never grow.
    return (
        replicas + value if policy["type"] == "Pods" else ceil(float(replicas) * (1 + value / 100))
    )


def _removed(policy: Manifest, replicas: int) -> int:
    value = policy["value"]
    return (
        replicas - value if policy["type"] == "Pods" else int(float(replicas) * (1 - value / 100))
    )
