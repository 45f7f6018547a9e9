"""What one account can take from another: a light user beside heavy uploads and long lists, and what
bodies that nobody may send leave in the temporary folder.

The web process requires a login. Clients share the machine with it, each in a thread that only waits
for its socket.
"""

import contextlib
import socket
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any

from bench.api import run_of_pods
from bench.servers import servers
from bench.size import usual
from bench.table import Row, percentile

UPLOADS = usual(8, least=2)
UPLOAD_BYTES = usual(16_000_000, least=50_000)
BODIES = usual(500, least=10)
BODY_BYTES = 58 * 1_048_576
SENT_BYTES = 1_048_576  # of each of them, unless it is answered before
PODS = usual(20_000, least=50)
LISTS = usual(8, least=2)
LIST_SECONDS = usual(20, least=1)
ALONE_SECONDS = usual(5, least=1)
PAUSE_SECONDS = 0.02
PAGES = ("/", "/api/v1/runs/", "/api/v1/scenarios/", "/scenarios/upload/")
_MIB = 1_048_576


def bench(full: bool = False) -> list[Row]:
    """The light user's p99 and that of `/healthz`, and the largest that the folder became."""
    with servers() as stack:
        space = stack.folder / "uploads"
        space.mkdir()
        port, pid = stack.start_another_web(KSCOPE_LOCAL="0", TMPDIR=str(space))
        heavy, light = _token("heavy"), _session("light")
        alone = _beside(port, light, _pause)
        uploads = _beside(port, light, lambda: _upload_all(port, heavy))
        run = run_of_pods(PODS)
        type(run).objects.filter(pk=run.pk).update(visibility="shared")
        lists = _beside(port, light, lambda: _list_all(port, _token("lists"), run.pk))
        most, answers = _send_bodies(port, pid, space)
        return [
            *_rows(f"beside {UPLOADS} uploads of {UPLOAD_BYTES // 1_000_000} MB", uploads, alone),
            *_rows(f"beside {LISTS} clients that list {PODS:,} pods", lists, alone),
            Row(
                name=f"temporary space, {BODIES} bodies of 58 MiB",
                figure=most / _MIB,
                unit="MiB",
                aim=64,
                at_least=False,
                note=f"nobody may send them; answers: {dict(answers)}",
            ),
        ]


def _rows(where: str, found: "Waits", alone: "Waits") -> list[Row]:
    return [
        Row(
            name=f"{who}, {where}: p99",
            figure=percentile(waits, 99),
            unit="ms",
            baseline=percentile(before, 99),
            against="alone",
            aim=aim,
            at_least=False,
            note=f"{len(waits)} requests, the longest {max(waits):.0f} ms; the others: {found.told}",
        )
        for who, waits, before, aim in (
            ("a light user", found.pages, alone.pages, 1_000),
            ("/healthz", found.health, alone.health, 100),
        )
    ]


class Waits:
    """How long the light user and whoever asks for health waited, in ms; and what others got."""

    def __init__(self) -> None:
        self.pages: list[float] = []
        self.health: list[float] = []
        self.told = ""


def _beside(port: int, light: dict[str, str], work: Callable[[], str]) -> Waits:
    """Ask again and again while *work* is done."""
    waits, over = Waits(), threading.Event()

    def ask(paths: tuple[str, ...], headers: dict[str, str], into: list[float]) -> None:
        while not over.is_set():
            for path in paths:
                began = time.perf_counter()
                status, _ = _request(port, "GET", path, headers)
                into.append((time.perf_counter() - began) * 1_000)
                assert status == 200, (path, status)
                time.sleep(PAUSE_SECONDS)

    askers = [
        threading.Thread(target=ask, args=[PAGES, light, waits.pages]),
        threading.Thread(target=ask, args=[("/healthz",), {}, waits.health]),
    ]
    for each in askers:
        each.start()
    try:
        waits.told = work()
    finally:
        over.set()
        for each in askers:
            each.join()
    return waits


def _pause() -> str:
    time.sleep(ALONE_SECONDS)
    return ""


def _request(
    port: int, method: str, path: str, headers: dict[str, str], body: bytes = b""
) -> tuple[int, bytes]:
    link = HTTPConnection("127.0.0.1", port, timeout=600)
    try:
        link.request(method, path, body or None, {"Host": "localhost", **headers})
        answer = link.getresponse()
        return answer.status, answer.read()
    finally:
        link.close()


# Uploads


def _upload_all(port: int, headers: dict[str, str]) -> str:
    """Eight at once; says how they were answered, and after how long."""
    began = time.perf_counter()
    answers = _at_once([lambda n=n: _upload(port, headers, n) for n in range(UPLOADS)])
    return f"{dict(answers)} in {time.perf_counter() - began:.0f} s"


def _upload(port: int, headers: dict[str, str], number: int) -> int:
    boundary = "kscope-share"
    head = (
        f'--{boundary}\r\nContent-Disposition: form-data; name="files"; filename="u{number}.yaml"'
        "\r\n\r\n"
    )
    body = head.encode() + _cluster(number) + f"\r\n--{boundary}--\r\n".encode()
    kind = {"Content-Type": f"multipart/form-data; boundary={boundary}"}
    return _request(port, "POST", "/api/v1/scenarios/", {**headers, **kind}, body)[0]


def _cluster(number: int) -> bytes:
    """Pods, as kubectl prints them."""
    pod = (
        "- apiVersion: v1\n  kind: Pod\n  metadata:\n    name: pod-{0}-{1}\n    namespace: default\n"
        "    labels:\n      app: web-{0}\n      tier: front\n  spec:\n    containers:\n"
        "    - name: main\n      image: registry.example/web:1\n      resources:\n"
        "        requests:\n          cpu: 100m\n          memory: 64Mi\n"
        "      terminationMessagePath: /dev/termination-log\n    restartPolicy: Always\n"
        "    schedulerName: default-scheduler\n"
    )
    length = len(pod)
    pods = (pod.format(number, each) for each in range(UPLOAD_BYTES // length))
    return ("apiVersion: v1\nkind: List\nitems:\n" + "".join(pods)).encode()


# Lists


def _list_all(port: int, headers: dict[str, str], run: int) -> str:
    """Clients that ask for all pods again and again."""
    ends = time.monotonic() + LIST_SECONDS
    path = f"/k8s/runs/{run}/api/v1/pods"

    def client() -> int:
        status = 0
        while time.monotonic() < ends:
            status, _ = _request(port, "GET", path, headers)
        return status

    return f"{dict(_at_once([client] * LISTS))}"


def _at_once(clients: list[Callable[[], int]]) -> Counter[int]:
    answers: Counter[int] = Counter()
    threads = [
        threading.Thread(target=lambda each=each: answers.update([each()])) for each in clients
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return answers


# Bodies that nobody may send


def _send_bodies(port: int, pid: int, space: Path) -> tuple[int, Counter[str]]:
    """The most bytes that lay in the temporary folder, and the answers."""
    most, over = [0], threading.Event()

    def look() -> None:
        while not over.wait(0.01):
            most[0] = max(most[0], _bytes_in(pid, space))

    looking = threading.Thread(target=look)
    looking.start()
    answers: Counter[str] = Counter()
    threads = [
        threading.Thread(
            target=lambda n=n: answers.update([_send_body(port, has_length=n % 2 == 0)])
        )
        for n in range(BODIES)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    over.set()
    looking.join()
    return most[0], answers


def _send_body(port: int, *, has_length: bool) -> str:
    """The status of the answer; without a length, the body comes in chunks."""
    length = f"Content-Length: {BODY_BYTES}" if has_length else "Transfer-Encoding: chunked"
    head = (
        f"POST /api/v1/scenarios/ HTTP/1.1\r\nHost: localhost\r\n{length}\r\n"
        "Content-Type: multipart/form-data; boundary=b\r\n\r\n"
    )
    piece = bytes(65_536)
    if not has_length:
        piece = b"%x\r\n%s\r\n" % (len(piece), piece)
    with contextlib.closing(socket.create_connection(("127.0.0.1", port), 120)) as link:
        link.settimeout(120)
        try:
            link.sendall(head.encode())
            for _ in range(SENT_BYTES // 65_536):
                link.sendall(piece)
            return link.recv(65_536).split()[1].decode()
        except (OSError, IndexError, HTTPException) as problem:
            return type(problem).__name__


def _bytes_in(pid: int, space: Path) -> int:
    """What files below *space* hold that the process has open; some of them have no name any more."""
    return sum(_sizes(Path(f"/proc/{pid}/fd"), str(space)))


def _sizes(open_files: Path, space: str) -> Iterator[int]:
    for file in open_files.iterdir():
        with contextlib.suppress(OSError):
            if str(file.readlink()).startswith(space):
                yield file.stat().st_size


# Accounts


def _session(name: str) -> dict[str, str]:
    from django.test import Client

    client = Client()
    client.force_login(_editor(name))
    return {"Cookie": f"sessionid={client.cookies['sessionid'].value}"}


def _token(name: str) -> dict[str, str]:
    from kscope.accounts.services import token_create

    return {
        "Authorization": f"Token {token_create(user=_editor(name), name='t', scope='write')[1]}"
    }


def _editor(name: str) -> Any:
    from kscope.accounts.access import Role
    from kscope.accounts.services import account_create

    return account_create(name=name, role=Role.EDITOR)[0]
