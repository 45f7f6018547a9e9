"""A clock that shows the time of day at its start, and from then on counts the seconds that pass.

Where something is to happen every few seconds, a clock that is set back by an hour would stop it
for an hour.
"""

from datetime import UTC, datetime
from time import monotonic, time

_BEGAN = time() - monotonic()


def steady_now() -> datetime:
    """The time, which never goes back and never jumps."""
    return datetime.fromtimestamp(_BEGAN + monotonic(), UTC)
