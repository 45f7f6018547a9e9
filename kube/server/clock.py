"""The clock of a run, as clients see it: they keep it going, and are told where it stands.

A run that a client has written to or watches plays on for ten minutes of the wall after the newest
request, whether anything is due or not: clients renew, resync and count ages by a clock that they
believe to go on.
"""

import json
import time
from math import inf

from starlette.datastructures import MutableHeaders

from kscope.runs.served.links import DATABASE_ERRORS, SnapshotLinks
from kscope.runs.served.runs import Run, run_use

# So long a process does not note again that a run is used.
NOTE_SECONDS = 10.0
_MOST_NOTED = 1_000
# A header has its limits. Upstream: apiserver/pkg/endpoints/filters/warning.go.
_LONGEST_WARNING = 256


class Uses:
    """Notes which runs clients use."""

    def __init__(self, links: SnapshotLinks) -> None:
        self._links = links
        self._noted: dict[int, float] = {}

    async def note(self, run_id: int) -> None:
        """A client writes to the run, watches it, or asks for something after that."""
        now = time.monotonic()
        if now - self._noted.get(run_id, -inf) < NOTE_SECONDS:
            return
        while len(self._noted) >= _MOST_NOTED:
            del self._noted[next(iter(self._noted))]
        self._noted[run_id] = now
        try:
            async with self._links.link() as link:
                await run_use(link, run_id)
        except DATABASE_ERRORS:
            # Whoever asks finds that out by himself.
            self._noted.pop(run_id, None)


def standing(run: Run) -> str:
    """Why the clock of the run stands, for its clients; "" where it does not."""
    match run.status:
        case Run.Status.PAUSED:
            return f"run {run.pk} is paused: its clock stands, and nothing follows from a write until it plays"
        case Run.Status.FINISHED:
            return f"run {run.pk} is finished: its clock stands until something is written"
        case Run.Status.FAILED:
            return f"run {run.pk} has failed: its clock stands"
        case _:
            return ""


def warn(headers: MutableHeaders, text: str) -> None:
    """Have an answer say *text* beside whatever else it warns of."""
    headers["Warning"] = ", ".join(filter(None, [headers.get("Warning"), warning_of(text)]))


def warning_of(text: str) -> str:
    """The value of a Warning header: in ASCII, and without line breaks."""
    return f"299 - {json.dumps(text[:_LONGEST_WARNING])}"
