"""How long something takes, as people write it."""

from typing import Any, cast

from engine.kernel.latency import Latency
from engine.kernel.sentences import say
from engine.objects.values.durations import parse_duration


def parse_latency(value: Any) -> Latency:
    """A duration, {uniform: [low, high]} or {normal: [mean, deviation]}. Raises ValueError."""
    if not isinstance(value, dict):
        return Latency("fixed", parse_duration(value))
    forms = cast("dict[str, Any]", value)
    for shape in ("uniform", "normal"):
        pair = forms.get(shape)
        if isinstance(pair, list) and len(cast("list[Any]", pair)) == 2:
            low, high = (parse_duration(one) for one in cast("list[Any]", pair))
            if shape == "uniform" and high < low:
                raise ValueError(say("uniform needs [low, high]"))
            return Latency(shape, low, high)
    raise ValueError(
        say("expected a duration, {{uniform: [low, high]}} or {{normal: [mean, deviation]}}")
    )
