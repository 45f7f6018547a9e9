"""How many examples a property is tested on: all of them in `make explore`, a sample in the suite."""

from hypothesis import HealthCheck, settings

SHARE = 4
"""The suite tries one of so many examples: those of a seed of `make explore` take minutes of CPU."""


def examples(count: int, allowed: tuple[HealthCheck, ...] = ()) -> settings:
    """Settings for *count* examples in `make explore`, and for a share of them in the suite."""
    explores = settings.get_current_profile_name() == "new"
    tried = count if explores else max(2, count // SHARE)
    suppressed = [*settings().suppress_health_check, *allowed]
    return settings(max_examples=tried, suppress_health_check=suppressed)
