"""Answers of containers that speak of their pod and of its files."""

import asyncio
from base64 import b64encode
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kscope.runs import services
from kscope.runs.models import Run
from tests.kube.server.client import Kube
from tests.waiting import HANG_SECONDS
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

CORE = "/api/v1/namespaces/default"
POD = f"{CORE}/pods/reading"
FILE = "/etc/app/a.txt"
SCENARIO = """
apiVersion: kscope.dev/v1
kind: Scenario
metadata: {name: reading}
spec:
  duration: 1h
  containers:
    - container: reader
      logs:
        - "${metadata.name} on ${spec.nodeName} is ${metadata.labels['app']}, not ${HOME}"
        - {ifFile: /etc/app/a.txt, text: "${file.mode:/etc/app/a.txt} ${file.content:/etc/app/a.txt}"}
        - {ifFile: /etc/app/b.txt, text: "never"}
        - {ifNoFile: /etc/app/b.txt, text: "${file.content:/etc/keys/token}"}
        - {at: 90s, ifFile: /etc/app/a.txt, text: "then ${file.content:/etc/app/a.txt}"}
      exec:
        - {command: "cat /etc/app/a.txt", ifFile: /etc/app/a.txt, stdout: "${file.content:/etc/app/a.txt}"}
        - {command: "cat *", stderr: "No such file", exit: 1}
        - {command: "limits", stdout: "${limits.cpu} ${requests.memory} ${limits.memory}"}
      http:
        - {path: "/name", body: "${metadata.name}"}
        - {path: "/old*", status: 410, body: "gone"}
    - {container: timer, runs: [{for: 60s}]}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}
"""
CONFIG = {"metadata": {"name": "settings"}, "data": {"a": "one\ntwo\n"}}
SECRET = {"metadata": {"name": "keys"}, "data": {"token": b64encode(b"hush").decode()}}
READING: dict[str, Any] = {
    "metadata": {"name": "reading", "labels": {"app": "shop"}},
    "spec": {
        "containers": [
            {
                "name": "reader",
                "image": "i",
                "ports": [{"containerPort": 8080}],
                "resources": {"limits": {"cpu": "1500m"}, "requests": {"memory": "1Mi"}},
                "volumeMounts": [
                    {"name": "app", "mountPath": "/etc/app"},
                    {"name": "keys", "mountPath": "/etc/keys"},
                ],
            }
        ],
        "volumes": [
            {
                "name": "app",
                "configMap": {
                    "name": "settings",
                    "defaultMode": 0o440,
                    "items": [{"key": "a", "path": "a.txt"}],
                },
            },
            {"name": "keys", "secret": {"secretName": "keys"}},
        ],
    },
}


@pytest.fixture
def run(transactional_db: Any, runs_here: None) -> Run:
    from engine.input.loader import load_files

    result = load_files([("reading.yaml", SCENARIO.encode())])
    scenario = services.scenario_store(name="reading", result=result)
    return services.run_create(scenario=scenario, play=True, speed="max")


@pytest.fixture
async def reading(kube_of: Callable[..., Kube], run: Run) -> AsyncIterator[Kube]:
    """A client of a run with a pod that reads files, which runs."""
    kube = kube_of(run)
    with driving(run):
        for path, one in (("configmaps", CONFIG), ("secrets", SECRET), ("pods", READING)):
            assert (await kube.ask("POST", f"{CORE}/{path}", one)).status == 201
        while (await kube.get(POD)).json["status"]["phase"] != "Running":
            await asyncio.sleep(0.05)
        yield kube


async def output(kube: Kube, *words: str) -> tuple[str, str]:
    """What a command writes to its two streams."""
    asked = "&".join(f"command={word}" for word in words)
    written = {b"\x01": b"", b"\x02": b"", b"\x03": b""}
    query = f"{POD}/exec?{asked}&stdout=true&stderr=true"
    async with kube.socket(query, "v5.channel.k8s.io") as socket:
        while True:
            frame = await socket.communicator.receive_output(int(HANG_SECONDS))
            if frame["type"] == "websocket.close":
                return written[b"\x01"].decode(), written[b"\x02"].decode()
            written[frame["bytes"][:1]] += frame["bytes"][1:]


async def test_a_log_speaks_of_pod_and_files(reading: Kube) -> None:
    answer = await reading.get(f"{POD}/log")
    assert answer.body.decode().splitlines() == [
        "reading on n1 is shop, not ${HOME}",
        "-r--r----- one",
        "two",
        "hush",
    ]


async def pass_a_minute(kube: Kube, name: str) -> None:
    """A pod ends after it; at its speed the clock of the run stands when nothing is due."""
    spec = {"containers": [{"name": "timer", "image": "i"}], "restartPolicy": "Never"}
    body = {"metadata": {"name": name}, "spec": spec}
    assert (await kube.ask("POST", f"{CORE}/pods", body)).status == 201
    while (await kube.get(f"{CORE}/pods/{name}")).json["status"]["phase"] != "Succeeded":
        await asyncio.sleep(0.05)


async def test_lines_show_files_as_they_were(reading: Kube) -> None:
    await pass_a_minute(reading, "one")
    changed = {"metadata": {"name": "settings"}, "data": {"a": "three"}}
    assert (await reading.ask("PUT", f"{CORE}/configmaps/settings", changed)).status == 200
    await pass_a_minute(reading, "two")
    lines = (await reading.get(f"{POD}/log")).body.decode().splitlines()
    assert lines[1:] == ["-r--r----- one", "two", "hush", "then three"]
    await reading.ask("DELETE", f"{CORE}/configmaps/settings")
    assert (await output(reading, "cat", FILE))[1] == "No such file"
    assert (await reading.get(f"{POD}/log?tailLines=1")).body.decode() == "then three\n"


async def test_a_command_finds_the_file_or_not(reading: Kube) -> None:
    assert await output(reading, "cat", FILE) == ("one\ntwo\n", "")
    assert await output(reading, "cat", "/etc/app/b.txt") == ("", "No such file")
    changed = {"metadata": {"name": "settings"}, "data": {"b": "three"}}
    await reading.ask("PUT", f"{CORE}/configmaps/settings", changed)
    assert (await output(reading, "cat", FILE))[1] == "No such file"


async def test_limits_are_those_of_the_node(reading: Kube) -> None:
    assert await output(reading, "limits") == (f"2 {2**20} {2**33}", "")


async def test_a_server_answers_by_the_proxy(reading: Kube) -> None:
    found = await reading.get(f"{POD}/proxy/name")
    assert (found.status, found.body) == (200, b"reading")
    assert found.headers["content-security-policy"] == "sandbox; default-src 'none'"
    other = await reading.get(f"{CORE}/pods/http:reading:8080/proxy/older")
    assert (other.status, other.body) == (410, b"gone")
    nothing = await reading.get(f"{POD}/proxy/")
    assert (nothing.status, nothing.body) == (404, b"404 page not found\n")


async def test_nobody_listens_at_other_ports(reading: Kube) -> None:
    closed = await reading.get(f"{CORE}/pods/reading:81/proxy/name")
    assert closed.status == 503
    assert closed.json["message"].endswith(":81: connect: connection refused")
    deleting = await reading.ask("DELETE", f"{POD}/proxy/name")
    assert deleting.status == 405
    assert (await reading.get(POD)).status == 200
