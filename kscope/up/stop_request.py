"""SIGINT, SIGTERM and SIGHUP ask `up` to stop; any number of them is one request.

The handler only notes the request, and `up` obeys it between two steps. An exception raised by the
handler could strike anywhere: between the start of a child and the note that it is ours, or, with
a second signal, in the middle of stopping the others.
"""

import signal
from types import FrameType

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_is_asked = False


class StopAsked(Exception):
    """Raised by `obey_stop_request` once one of the signals has come."""


def listen_for_stop_requests() -> None:
    """From now on the signals no longer end this process."""
    for signum in SIGNALS:
        signal.signal(signum, _note)


def obey_stop_request() -> None:
    """Raise StopAsked if a signal has come."""
    if _is_asked:
        raise StopAsked


def _note(_signum: int, _frame: FrameType | None) -> None:
    global _is_asked
    _is_asked = True
