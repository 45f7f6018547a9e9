"""Engine work for a page, done beside the web process.

Replaying takes seconds of computing, and a thread of the web process would hold up the streams of
everybody else by as much. So there is one child process, started when it is first needed and gone
when it was idle for a while or its parent ends. It keeps what it has computed, as the web process
would have.
"""

import contextlib
import gc
import importlib
import os
import queue
import select
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable
from typing import IO, Any

import orjson

from kscope.runs.errors import ApplicationError
from kscope.runs.measures import counted_questions

IDLE_SECONDS = 120.0
PATIENCE_SECONDS = 60.0

_child: "subprocess.Popen[bytes] | None" = None
_turn = threading.Lock()


@counted_questions
def call(function: Callable[..., Any], **arguments: Any) -> Any:
    """What *function*, one of a module, returns for *arguments*; both must be JSON.

    Calls take turns. Raises ApplicationError when the function does, or when it takes too long.
    """
    from kscope.runs.same_database import database_name

    request = {
        "function": f"{function.__module__}:{function.__qualname__}",
        "arguments": arguments,
        "database": database_name(),
    }
    with _turn:
        answer = _exchange(orjson.dumps(request) + b"\n")
    if "refusal" in answer:
        raise ApplicationError(**answer["refusal"])
    if "problem" in answer:
        raise RuntimeError(answer["problem"])
    return answer["result"]


def close() -> None:
    """End the child, if there is one."""
    global _child
    child, _child = _child, None
    if child is not None:
        child.kill()
        child.wait()
        for pipe in (child.stdin, child.stdout):
            assert pipe
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def _exchange(line: bytes) -> dict[str, Any]:
    """Send a request and wait for its answer; a child that has just ended is replaced once."""
    for _ in range(2):
        child = _started()
        assert child.stdin
        assert child.stdout
        try:
            child.stdin.write(line)
            child.stdin.flush()
            answer = _line(child.stdout)
        except BrokenPipeError:
            answer = b""
        if answer:
            found: dict[str, Any] = orjson.loads(answer)
            return found
        close()
    raise RuntimeError("the process for engine work ended without an answer")


def _started() -> "subprocess.Popen[bytes]":
    global _child
    if _child is None or _child.poll() is not None:
        close()
        from django.conf import settings

        words = [sys.executable, "-m", "kscope.runs.aside"]
        _child = subprocess.Popen(
            words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=settings.BASE_DIR
        )
    return _child


def _line(output: IO[bytes]) -> bytes:
    """The child's answer, or nothing when it has ended. Raises ApplicationError when it is late."""
    if not select.select([output], [], [], PATIENCE_SECONDS)[0]:
        close()
        raise ApplicationError("That takes too long to compute again.", status=503)
    return output.readline()


# The child.


def main() -> None:
    """Answer requests, one line each, until there are none for a while or the parent ends."""
    # What is printed by chance must not come between the answers.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kscope.settings")
    import django

    django.setup()
    # Engines are large and leave garbage only when they are let go of, which is after an answer.
    gc.set_threshold(50_000, 50, 50)
    requests: queue.Queue[bytes] = queue.Queue()
    threading.Thread(target=_listen, args=(requests,), daemon=True).start()
    while True:
        try:
            request = requests.get(timeout=IDLE_SECONDS)
        except queue.Empty:
            return
        answers.write(orjson.dumps(_answer(orjson.loads(request))) + b"\n")
        answers.flush()
        gc.collect()


def _listen(requests: "queue.Queue[bytes]") -> None:
    for line in sys.stdin.buffer:
        requests.put(line)
    os._exit(0)  # the parent has ended: what is being computed is for nobody


def _answer(request: dict[str, Any]) -> dict[str, Any]:
    from django.db import close_old_connections

    from kscope.runs.same_database import database_use

    database_use(request["database"])
    close_old_connections()
    try:
        module, name = request["function"].split(":")
        function = getattr(importlib.import_module(module), name)
        return {"result": function(**request["arguments"])}
    except ApplicationError as refusal:
        told = {"message": refusal.message, "extra": refusal.extra, "status": refusal.status}
        return {"refusal": told}
    except Exception:  # noqa: BLE001 whatever it is, the one who asked is told
        return {"problem": traceback.format_exc()}


if __name__ == "__main__":
    main()
