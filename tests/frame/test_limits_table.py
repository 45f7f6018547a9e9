"""docs/limits.md says what bounds the web process: each row as the code has it, and with its test."""

import re
from pathlib import Path

import pytest
from django.conf import settings

from kscope.operations import health
from kscope.runs import write_keys
from kscope.runs.aside import kept, pool, process
from kscope.runs.aside.question import QUERY_SECONDS, REPLAY_SECONDS
from kscope.runs.capacity import connections, places, requests_at_once, waiting
from kscope.runs.drive.ending import stuck
from kscope.runs.drive.tables import unwritten
from kscope.runs.history import states
from kscope.runs.services import ANSWER_SECONDS
from kscope.runs.stream import consumers, export, stream_room
from kscope.runs.web import bodies, uploads
from kscope.runs.web.api import once
from kube.server import list_options
from kube.server.watches import watching
from kube.server.writes import engine_line, heavy
from scheduling.api import CAUSES_SECONDS, WHOLE_SECONDS

ROOM = Path(__file__).resolve().parents[2]
MIB = 1_048_576
PLACES = "half of them", "three quarters of them"

# What the bound of each row has to say, in the words of the table.
BOUNDS: dict[str, tuple[str, ...]] = {
    "texts of view states that are kept for the next answers": (f"{states.MOST_BYTES // MIB} MiB",),
    "kept answers of engines about a run": (f"{kept.MOST}",),
    "requests served at once": (f"KSCOPE_WEB_PLACES` ({settings.WEB_PLACES})",),
    "such places of one account": PLACES[:1],
    "such places of one address": PLACES[1:],
    "requests that read much of a run or ask an engine about it": ("a quarter",),
    "`/healthz`": ("none",),
    "`/readyz`": (f"{requests_at_once.READY_PLACES}, besides",),
    "requests that wait": (f"{places.WAITING}, each for {places.WAIT_SECONDS:.0f} s",),
    "connections": ("4,096, three quarters",),
    "the head of a request": (
        f"{connections.HEAD_SECONDS:.0f} s, {connections.HEAD_BYTES // 1024} KiB",
    ),
    "how slowly a body may come": (
        f"{bodies.BYTES_PER_SECOND // 1024} KiB a second, after {bodies.GRACE_SECONDS:.0f} s",
    ),
    "a body that goes on after the answer": (f"{connections.REST_SECONDS:.0f} s",),
    "a body of those who may not send one": (f"{bodies.SHORT_BYTES // 1024} KiB, in memory",),
    "the body of an upload": (
        f"KSCOPE_UPLOAD_MAX` ({settings.UPLOAD_MAX_BYTES // MIB} MiB)",
        f"KSCOPE_UPLOAD_MAX_ADMIN` ({settings.UPLOAD_MAX_ADMIN_BYTES // MIB} MiB)",
    ),
    "any other body": (f"{settings.DATA_UPLOAD_MAX_MEMORY_SIZE // MIB} MiB",),
    "uploads that are received or read": (f"KSCOPE_WEB_UPLOADS` ({settings.WEB_UPLOADS}), half",),
    "other bodies above 64 KiB that are received": (f"{bodies.LARGE_AT_ONCE}, half",),
    "time to read an upload": (
        f"{uploads.PATIENCE_SECONDS:.0f} s until",
        f"then {uploads.READ_SECONDS:.0f} s",
    ),
    "questions that need an engine": ("KSCOPE_ENGINE_PROCESSES", "all but one"),
    "questions that wait": (
        f"{pool.WAITING}, each for {pool.WAIT_SECONDS:.0f} s; {pool.WAITING_EACH} from one",
    ),
    "time to compute an answer, by CPU; the clock counts while nothing is computed": (
        f"{REPLAY_SECONDS:.0f} s, comparisons {QUERY_SECONDS:.0f} s",
        f"first look {CAUSES_SECONDS:.0f} s, triage {CAUSES_SECONDS:.0f} s",
        f"as a whole {WHOLE_SECONDS:.0f} s",
    ),
    "memory of one question": (f"KSCOPE_ENGINE_MEMORY` ({settings.ENGINE_MEMORY_MIB} MiB)",),
    "questions about runs that may take more memory than usual (2 GiB)": ("one at a time",),
    "length of an answer": (f"{process.ANSWER_BYTES // MIB} MiB",),
    "requests that wait for a worker": (f"{waiting.MOST}, each for {ANSWER_SECONDS:.0f} s",),
    "connections to PostgreSQL": (
        f"KSCOPE_DATABASE_POOL` (16), {stream_room.CONNECTIONS} for streams",
        f"{export.AT_ONCE} for exports",
    ),
    "exports of events that are sent at once": (f"{export.AT_ONCE}, half",),
    "requests of an account": ("KSCOPE_RATE_READ` (6,000 a", "KSCOPE_RATE_WRITE` (600 a"),
    "its requests to the Kubernetes API": (
        "KSCOPE_RATE_KUBE_READ` (5,000 in 10 s)",
        "KSCOPE_RATE_KUBE_WRITE` (1,000 in 10 s)",
    ),
    "wrong tokens of an address: REST, Kubernetes API, sockets": ("KSCOPE_RATE_LOGIN` (10 in",),
    "lists of the Kubernetes API, and watches that begin": (f"{stream_room.CONNECTIONS}, half",),
    "large objects of the Kubernetes API that are computed": (f"{heavy.THREADS}, one of",),
    "sockets": (f"KSCOPE_WEB_SOCKETS` ({settings.WEB_SOCKETS:,}), three quarters",),
    "sockets of an account": ("KSCOPE_SOCKETS` (100)",),
    "watches of the Kubernetes API": ("count as sockets",),
    "how far behind such a watch may begin": (f"{list_options.FAR_BEHIND:,} events",),
    "how far back a list of an exact version may lie": (f"{list_options.FAR_BEHIND:,} events",),
    "how long a page of a list can be followed by the next": (
        f"{list_options.TOKEN_SECONDS // 60} minutes, if",
    ),
    "how long a watch lasts": (f"{watching.LONGEST_SECONDS // 60} minutes",),
    "an answer of the engine to a write of the Kubernetes API": (
        f"{engine_line.WAIT_SECONDS:.0f} s",
    ),
    "keys of writes (`Idempotency-Key`) of an account or address": (
        f"{write_keys.MOST_KEYS:,}, each for {write_keys.MINUTES} minutes",
    ),
    "a repetition of a write that is still open": (
        f"{engine_line.WAIT_SECONDS:.0f} s; in the REST API {once.WAIT.removesuffix('s')} s",
    ),
    "memory of live streams": (f"KSCOPE_WEB_STREAMS` ({settings.WEB_STREAMS_MIB} MiB)",),
    "texts that are being sent to readers": (
        f"KSCOPE_WEB_SENDING` ({settings.WEB_SENDING_MIB} MiB)",
    ),
    "the first state of a run": (
        "twice its budget",
        f"{stuck.STUCK_CPU_SECONDS:.0f} s of CPU",
        "three processes",
    ),
    "rows of a first state that one slice writes": (f"{unwritten.STEP:,}",),
    "a disk with room for files": (f"{health.LEAST_BYTES // MIB} MiB, {health.LEAST_FILES} files",),
    "a reader that receives nothing, or stops answering heartbeats": (
        f"{consumers.DEAF_SECONDS:.0f} s",
    ),
}


def rows() -> dict[str, list[str]]:
    """The other cells of each row of the table, by its first one."""
    text = (ROOM / "docs" / "limits.md").read_text()
    cells = [line.strip("|").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {first.strip(): [each.strip() for each in rest] for first, *rest in cells[1:]}


def test_every_limit_is_compared_with_the_code() -> None:
    assert rows().keys() == BOUNDS.keys()


@pytest.mark.parametrize("what", BOUNDS)
def test_a_limit_is_what_the_code_has(what: str) -> None:
    bound = rows()[what][0]
    assert [words for words in BOUNDS[what] if words not in bound] == []


def test_every_limit_is_shown_by_a_test() -> None:
    sources = "\n".join(path.read_text() for path in (ROOM / "tests").rglob("test_*.py"))
    defined = set(re.findall(r"def (test_\w+)\(", sources))
    for what, (_, _, shown) in rows().items():
        named = re.findall(r"`(test_\w+)`", shown)
        assert named, what
        assert set(named) - defined == set(), what


def test_every_setting_of_a_limit_is_read() -> None:
    named = set(re.findall(r"KSCOPE_\w+", (ROOM / "docs" / "limits.md").read_text()))
    source = (ROOM / "kscope" / "settings.py").read_text()
    assert [name for name in sorted(named) if f'"{name}"' not in source] == []
