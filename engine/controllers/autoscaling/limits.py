"""How far an autoscaler without spec.behavior may go. Upstream: pkg/controller/podautoscaler/horizontal.go."""

from dataclasses import dataclass
from typing import Final, NamedTuple

from engine.controllers.autoscaling.history import History
from engine.kernel.units import MINUTE

# At once a target is at most doubled, or has at most so many replicas.
_FACTOR: Final = 2
_AT_LEAST: Final = 4
# So long the highest recommendation holds; until v1.11, so long nothing is scaled down again, and up.
WINDOW: Final = 5 * MINUTE
_UP_WINDOW: Final = 3 * MINUTE

_FASTER: Final = "the desired replica count is increasing faster than the maximum scale rate"
_TOO_MANY: Final = "the desired replica count is more than the maximum replica count"
_TOO_FEW: Final = "the desired replica count is less than the minimum replica count"
TOO_MANY: Final = "TooManyReplicas"


class Allowed(NamedTuple):
    """How many replicas are allowed, and the reason and message of the condition ScalingLimited."""

    replicas: int
    reason: str = "DesiredWithinRange"
    message: str = "the desired count is within the acceptable range"


class Stabilized(NamedTuple):
    """What earlier recommendations make of one; the reason and message of AbleToScale."""

    replicas: int
    reason: str = "ReadyForNewScale"
    message: str = "recommended size matches current size"


@dataclass(frozen=True, slots=True)
class Wish:
    """How many replicas there are and are asked for, and how many there may be."""

    current: int
    desired: int
    low: int
    high: int


def stabilized(history: History, wish: Wish, now: int) -> Stabilized:
    """The highest recent recommendation. Upstream: stabilizeRecommendation()."""
    recent = [one.replicas for one in history.recommended if one.at >= now - WINDOW]
    history.recommend(wish.desired, now, now - WINDOW)
    highest = max([wish.desired, *recent])
    return Stabilized(highest) if highest == wish.desired else Stabilized(highest, *held_down())


def held_down() -> tuple[str, str]:
    """The reason and message of what is not scaled down yet."""
    message = "recent recommendations were higher than current one"
    return "ScaleDownStabilized", f"{message}, applying the highest recent recommendation"


def allowed(wish: Wish) -> Allowed:
    """Within the bounds, and not too fast. Upstream: convertDesiredReplicasWithRules()."""
    fastest = max(_FACTOR * wish.current, _AT_LEAST)
    if wish.desired < wish.low:
        return too_few(wish.low)
    if wish.desired <= min(wish.high, fastest):
        return Allowed(wish.desired)
    return too_fast(fastest) if wish.high > fastest else too_many(wish.high)


def too_many(high: int) -> Allowed:
    """More are asked for than may be."""
    return Allowed(high, TOO_MANY, _TOO_MANY)


def too_few(low: int) -> Allowed:
    """Fewer are asked for than may be."""
    return Allowed(low, "TooFewReplicas", _TOO_FEW)


def too_fast(limit: int) -> Allowed:
    """More are asked for than may be added at once."""
    return Allowed(limit, "ScaleUpLimit", _FASTER)


class Forbidden(NamedTuple):
    """Which changes the last one still forbids, and what AbleToScale says of that."""

    ups: bool
    downs: bool
    reason: str
    message: str


def forbidden_windows(scaled: int | None, clock: int) -> Forbidden:
    """What is forbidden at *clock* after the change at *scaled*. Upstream: v1.11, shouldScale()."""
    ups = scaled is not None and scaled + _UP_WINDOW >= clock
    downs = scaled is not None and scaled + WINDOW >= clock
    since = "the time since the previous scale is still within"
    if ups and downs:
        both = f"{since} both the downscale and upscale forbidden windows"
        return Forbidden(ups, downs, "BackoffBoth", both)
    if downs:
        message = f"{since} the downscale forbidden window"
        return Forbidden(ups, downs, "BackoffDownscale", message)
    message = "the last scale time was sufficiently old as to warrant a new scale"
    return Forbidden(ups, downs, "ReadyForNewScale", message)
