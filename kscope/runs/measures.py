"""What kscope counts of itself. Every process counts for itself; `kscope.operations` adds it up.

No label holds what grows without end, such as the id of a run or an account.
"""

import asyncio
import contextlib
import time
from collections.abc import Iterator
from typing import Any

from prometheus_client import CollectorRegistry, Counter, Histogram

from kscope.runs.errors import ApplicationError

REGISTRY = CollectorRegistry()
_QUICK = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)
_SLOW = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)


def _counter(name: str, help_: str, *labels: str) -> Counter:
    return Counter(name, help_, labels, registry=REGISTRY)


def _histogram(name: str, help_: str, *labels: str, buckets: Any = _QUICK) -> Histogram:
    return Histogram(name, help_, labels, registry=REGISTRY, buckets=buckets)


REQUESTS = _counter("kscope_http_requests", "HTTP requests", "view", "method", "status")
REQUEST_SECONDS = _histogram(
    "kscope_http_request_seconds", "Seconds until a response began", "view"
)
SLICES = _counter("kscope_slices", "Slices of runs committed")
EVENTS = _counter("kscope_events", "Events of runs committed")
WORK = _counter("kscope_work", "What components of runs did, as their events say", "work")
UNEXPECTED = _counter(
    "kscope_engine_exceptions",
    "Exceptions of components of runs that nobody expected; each is an event ComponentFailed",
)
COMMANDS = _counter("kscope_commands", "Commands carried out or refused by runs", "outcome")
CHECKPOINTS = _counter("kscope_checkpoints", "Checkpoints written")
SLICE_SECONDS = _histogram("kscope_slice_seconds", "Seconds of computing one slice")
COMMIT_SECONDS = _histogram("kscope_commit_seconds", "Seconds of writing one slice")
REPLAYS = _counter(
    "kscope_replays",
    "Engines brought to a recorded position: from a checkpoint, from the start of the run, or from "
    "the start and compared with what another version recorded",
    "start",
)
REPLAY_SECONDS = _histogram(
    "kscope_replay_seconds", "Seconds of bringing an engine to its position", buckets=_SLOW
)
OWNERSHIPS = _counter("kscope_ownerships", "How workers gave runs back", "end")
QUESTIONS = _counter(
    "kscope_engine_questions", "Questions that need an engine", "question", "outcome"
)
QUESTION_SECONDS = _histogram(
    "kscope_engine_question_seconds", "Seconds of answering one", "question", buckets=_SLOW
)


@contextlib.contextmanager
def question_counted(name: str) -> Iterator[None]:
    """Count and time a question to an engine."""
    outcome, began = "failed", time.monotonic()
    try:
        yield
        outcome = "answered"
    except ApplicationError:
        outcome = "refused"
        raise
    except asyncio.CancelledError:
        outcome = "given up"
        raise
    finally:
        QUESTIONS.labels(name, outcome).inc()
        QUESTION_SECONDS.labels(name).observe(time.monotonic() - began)
