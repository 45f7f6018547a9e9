"""kscope as docker-compose.yml runs it: who may do what there, and the commands of the documents."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.compose.containers import ROOM, Compose
from tests.waiting import wait_for

_VARIABLES = {
    "KSCOPE_SECRET_KEY": "k" * 50,
    "POSTGRES_PASSWORD": "postgres7",
    "VALKEY_PASSWORD": "valkey7",
    "KSCOPE_SECURE": "0",
}
_OURS = ("web", "worker", "beat")
_PLAY = """
import json, sys, time
from urllib.request import Request, urlopen
def ask(path, body=None):
    headers = {"Authorization": "Token " + sys.argv[1], "Content-Type": "application/json"}
    data = body and json.dumps(body).encode()
    return json.load(urlopen(Request("http://127.0.0.1:8000/api/v1/" + path, data, headers)))
name = "A pod that fits on no node"
scenario = next(one["id"] for one in ask("scenarios/")["items"] if one["name"] == name)
run = ask("runs/", {"scenario": scenario, "play": True, "speed": "max"})["id"]
while (status := ask(f"runs/{run}/")["status"]) != "finished":
    assert status in ("playing", "paused"), status
    time.sleep(0.1)
"""
_TOKEN = """
from django.contrib.auth.models import User
from kscope.accounts.services import token_create
print("token", token_create(user=User.objects.get(username="admin"), name="t", scope="write")[1])
"""


def _missing() -> str:
    """What this machine lacks for it, or ""."""
    if os.geteuid() != 0:
        return "containers need root"
    for program in ("unshare", "nsenter", "setpriv", "ip"):
        if shutil.which(program) is None:
            return f"containers need {program}"
    spaces = ["unshare", "--mount", "--pid", "--net", "--uts", "--fork", "true"]
    tried = subprocess.run(spaces, capture_output=True, text=True, check=False)
    return f"no new namespaces: {tried.stderr.strip()}" if tried.returncode else ""


@pytest.fixture(scope="module")
def compose(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Compose]:
    """All services, healthy."""
    if missing := _missing():
        pytest.skip(missing)
    folder = tmp_path_factory.mktemp("compose")
    for above in (folder, *folder.parents[:2]):
        above.chmod(0o755)
    made = Compose(folder, _VARIABLES)
    try:
        for name in made.in_order():
            container = made.container(name)
            wait_for(container.is_healthy, container.log.read_text, every=0.5)
        yield made
    finally:
        made.stop()


def _said(compose: Compose, service: str, *command: str) -> str:
    done = compose.container(service).exec(*command, capture_output=True)
    return (done.stdout + done.stderr).decode()


def test_no_service_has_more_rights_than_asked(compose: Compose) -> None:
    for name, asked in compose.services.items():
        status = dict(
            re.findall(r"^(\w+):\s+(\S+)", _said(compose, name, "cat", "/proc/1/status"), re.M)
        )
        assert status["Uid"] == asked["user"].partition(":")[0] != "0"
        assert [status["NoNewPrivs"], int(status["CapBnd"], 16), int(status["CapEff"], 16)] == [
            *("1", 0, 0)
        ]
        assert "Read-only file system" in _said(compose, name, "touch", "/here")


@pytest.mark.parametrize("service", _OURS)
def test_only_data_and_tmp_are_written(compose: Compose, service: str) -> None:
    assert _said(compose, service, "touch", "/data/x", "/tmp/x") == ""
    assert "Read-only file system" in _said(compose, service, "touch", "/app/kscope/x")


@pytest.mark.parametrize(
    ("address", "refusal"),
    [
        ("psycopg.connect('postgresql://kscope:wrong@postgres/kscope')", "password authentication"),
        ("valkey.Valkey('redis').ping()", "Authentication required"),
        ("valkey.Valkey('redis', password='wrong').ping()", "invalid username-password pair"),
    ],
)
def test_a_server_wants_its_password(compose: Compose, address: str, refusal: str) -> None:
    program = f"import psycopg, valkey; {address}"
    assert refusal in _said(compose, "web", "python", "-c", program)


def test_a_run_is_played_by_the_worker(compose: Compose) -> None:
    made = _said(compose, "web", "python", "manage.py", "shell", "-c", _TOKEN)
    token = made.rpartition("token ")[2].strip()
    assert _said(compose, "web", "python", "-c", _PLAY, token) == ""


def test_the_documented_backup_comes_back(compose: Compose, tmp_path: Path) -> None:
    """With --replace, as the test before this one has left a run."""
    _write_docker(compose, tmp_path / "docker")
    text = (ROOM / "docs" / "operations.md").read_text()
    commands = re.findall(r"^docker compose exec .*$", text, re.M)
    assert len(commands) == 4
    commands[-1] += " --replace"
    environment = {**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"}
    for command in commands:
        subprocess.run(["sh", "-c", command], cwd=tmp_path, env=environment, check=True)
    assert (tmp_path / "kscope.backup").read_bytes().startswith(b"PGDMP")


def _write_docker(compose: Compose, path: Path) -> None:
    """A program `docker` that knows `compose exec [-T] SERVICE COMMAND` alone."""
    cases = "".join(compose.container(name).as_case(name) for name in compose.services)
    path.write_text(
        '#!/bin/sh\nset -eu\n[ "$1 $2" = "compose exec" ]; shift 2\n[ "$1" != -T ] || shift\n'
        f'service=$1; shift\ncase "$service" in\n{cases}esac\n'
    )
    path.chmod(0o755)
