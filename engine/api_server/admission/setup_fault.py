"""What keeps the first objects, a header or a configuration from being set up."""

from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupFault:
    """What would keep a run from being set up, at a path like profiles[0].plugins.

    The path begins in the scheduler's configuration, in the `spec` of the scenario, or in the
    object at *place*.
    """

    part: Literal["configuration", "spec", "object"]
    path: str
    value: Any
    message: str
    place: int = 0
