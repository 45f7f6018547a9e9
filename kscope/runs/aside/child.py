"""What an engine process does.

It reads a line of JSON for each question and writes two messages: that it has begun, and the answer.
Where the function is a generator, each value is a message of its own, before the last one.
It ends after some idle time, when it has grown too large, or when who started it ends: then it is
killed, even during a computation.
"""

import gc
import importlib
import json
import os
import resource
import select
import time
import traceback
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol, cast

import orjson
import psutil
from django.conf import settings
from django.db import connection
from django.http import Http404
from django.utils import translation
from django.utils.translation import gettext

from kscope.runs.drive.same_database import database_use
from kscope.runs.errors import ApplicationError
from kscope.runs.languages.reader import said
from kscope.runs.models import Run

IDLE_SECONDS = 120.0
# Where cores are few, requests and streams come first, then runs, then questions about runs.
NICENESS = 4
# An answer that took less of the processor has dropped no engine, and collecting takes longer.
QUICK_SECONDS = 0.05
# A process that holds more than 1/REST_PART of its memory limit after an answer ends, unless the
# question was about a large run.
REST_PART = 4
_MEBIBYTE = 1_048_576


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a question: "result", "refusal" or "problem", and its text."""

    said: str
    text: bytes
    fresh: bool = True


class Written(Protocol):
    """Where messages go."""

    def write(self, text: bytes, /) -> object:
        """A part of a message."""
        ...

    def flush(self) -> object:
        """The message is whole."""
        ...


def main() -> None:
    """Answer questions until none comes for a while, or the asking process has ended."""
    os.nice(NICENESS)
    # A stray print must not come between the answers: it goes to stderr.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    # Engines are large and leave garbage only when they are dropped, which is after an answer.
    gc.set_threshold(50_000, 50, 50)
    # Read without a buffer of Python's: select would not see the lines in it.
    questions = os.fdopen(0, "rb", buffering=0)
    while select.select([questions], [], [], IDLE_SECONDS)[0]:
        line = questions.readline()
        if not line:
            return
        say(answers, {"said": "begun"})
        began = time.process_time()
        request = orjson.loads(line)
        memory = memory_of(request)
        limit_memory(memory.limit)
        outcome = outcome_of(request, answers)
        if time.process_time() - began > QUICK_SECONDS:
            gc.collect()
        last = not outcome.fresh or psutil.Process().memory_info().rss > memory.rest
        say(answers, {"said": outcome.said, "size": len(outcome.text), "last": last}, outcome.text)
        if last:
            return


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes that a question may take, and that its process may have afterwards."""

    limit: int
    rest: int


def memory_of(request: dict[str, Any]) -> Memory:
    """What a question may take: of a large run as much as the run."""
    limit = max(settings.ENGINE_MEMORY_MIB, request["memory"]) * _MEBIBYTE
    # To make the engine of a large run again takes long, and one process at a time has one.
    return Memory(limit, limit if request["memory"] else limit // REST_PART)


def limit_memory(limit: int) -> None:
    """Let an allocation beyond *limit* bytes fail, which ends one answer instead of the machine."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, hard))


def say(answers: Written, message: dict[str, Any], text: bytes = b"") -> None:
    """Write one message: a line of JSON, and the text that it announces."""
    answers.write(orjson.dumps(message) + b"\n" + text)
    answers.flush()


def outcome_of(request: dict[str, Any], answers: Written) -> Outcome:
    """Carry out a `Question.request`; parts of its answer are written to *answers*."""
    database_use(request["database"])
    connection.close_if_unusable_or_obsolete()
    try:
        translation.activate(request["language"])
        _limit_statements(request["seconds"])
        module, name = request["function"].split(":")
        function = getattr(importlib.import_module(module), name)
        answer = function(**request["arguments"])
        if isinstance(answer, Iterator):
            return _said_in_parts(cast("Iterator[Any]", answer), answers)
        return Outcome("result", answer_text(answer))
    except ApplicationError as refusal:
        words = {"message": refusal.message, "extra": refusal.extra, "status": refusal.status}
        return Outcome("refusal", answer_text(words))
    except (Run.DoesNotExist, Http404):
        words = {"message": gettext("The run was deleted meanwhile."), "status": 404}
        return Outcome("refusal", orjson.dumps({**words, "extra": {}}))
    except MemoryError:
        pass
    except Exception:  # noqa: BLE001 whatever it is, the web process logs it
        return Outcome("problem", traceback.format_exc().encode())
    # After the handler, so that the frames that hold the memory are gone.
    message = gettext("That takes more memory than one question may use.")
    words = {"message": message, "status": 503}
    return Outcome("refusal", orjson.dumps({**words, "extra": {}}), fresh=False)


def _said_in_parts(parts: Iterator[Any], answers: Written) -> Outcome:
    """Write each part as soon as it is known; the final result is empty."""
    for part in parts:
        text = answer_text(part)
        say(answers, {"said": "part", "size": len(text), "last": False}, text)
    return Outcome("result", b"")


def answer_text(answer: Any) -> bytes:
    """The JSON text of an answer, for readers of the active language."""
    text = said(answer)
    try:
        return orjson.dumps(text)
    except TypeError:  # an integer of more than 64 bits, which a manifest may hold
        return json.dumps(text).encode()


def _limit_statements(seconds: float) -> None:
    """Let the database server stop when this process is killed, or the question's time is up."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT set_config('statement_timeout', %s, false),"
            " set_config('client_connection_check_interval', '1s', false)",
            [f"{round(seconds * 1000)}ms"],
        )
