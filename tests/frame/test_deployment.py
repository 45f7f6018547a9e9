"""What a server that others reach is started with: compose, settings, and when a login is required."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from uvicorn.middleware.proxy_headers import ProxyHeadersMiddleware

from kscope.up.options import Options

ROOM = Path(__file__).resolve().parents[2]
SECRET = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRST"
COMPOSE = yaml.safe_load((ROOM / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]


@pytest.mark.parametrize("name", SERVICES)
def test_containers_have_no_rights_to_lose(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    uid, gid = service["user"].split(":")
    assert int(uid) > 0
    assert int(gid) > 0
    assert "privileged" not in service
    assert any(each.startswith("/tmp") or name == "redis" for each in service["tmpfs"])


@pytest.mark.parametrize("name", SERVICES)
def test_containers_have_bounds_of_memory_and_processes(name: str) -> None:
    service = SERVICES[name]
    memory = re.sub(r"^\$\{[A-Z_]+:-(.+)\}$", r"\1", service["mem_limit"])
    assert re.fullmatch(r"[1-9][0-9]*[mg]", memory)
    assert 32 <= service["pids_limit"] <= 1024


def an_engine_fits_into(service: dict[str, Any]) -> bool:
    """Whether a process that answers questions ends by its own bound, before its container does."""
    engine = int(service["environment"]["KSCOPE_ENGINE_MEMORY"].partition(":-")[2].rstrip("}"))
    web = int(service["mem_limit"].partition(":-")[2].rstrip("g}"))
    return engine * 2 <= web * 1024


def test_a_question_does_not_end_its_container() -> None:
    assert an_engine_fits_into(SERVICES["web"])


IMAGES = r"\$\{([A-Z]+_IMAGE):-([^}]+)\}"


def test_every_image_can_be_named_by_its_digest(tmp_path: Path) -> None:
    text = (ROOM / "docker-compose.yml").read_text()
    known = dict(re.findall(IMAGES, text))
    used = re.findall(r"^ +image: (.+)$", text, re.MULTILINE)
    assert all(re.fullmatch(IMAGES, each) or each == "kscope" for each in used)
    stages = re.findall(
        r"^FROM (\S+)(?: AS (\S+))?", (ROOM / "Dockerfile").read_text(), re.MULTILINE
    )
    bases = {base for base, _ in stages} - {name for _, name in stages}
    assert {each.strip("${}") for each in bases} <= known.keys()
    defaults = dict(re.findall(r"^ARG (\w+_IMAGE)=(\S+)", (ROOM / "Dockerfile").read_text(), re.M))
    assert defaults.items() <= known.items()
    # A docker that knows the digests.
    docker = tmp_path / "docker"
    docker.write_text('#!/bin/sh\necho "sha256:$(printf %s "$4" | sha256sum | cut -c1-64)"\n')
    docker.chmod(0o755)
    lines = digests(f"{tmp_path}:{os.environ['PATH']}").stdout.splitlines()
    names = {line.partition("=")[0]: line.partition("=")[2] for line in lines}
    assert names.keys() == known.keys()
    assert all(re.fullmatch(rf"{known[name]}@sha256:[0-9a-f]{{64}}", names[name]) for name in names)


def test_without_docker_the_digests_are_not_known(tmp_path: Path) -> None:
    for name in ("bash", "dirname"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    done = digests(str(tmp_path))
    assert (done.returncode, "There is no docker here" in done.stderr) == (1, True)


def digests(path: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [ROOM / ".ci" / "image-digests"],
        env={"PATH": path},
        capture_output=True,
        text=True,
        check=False,
    )


def test_only_the_web_process_is_reached_from_outside() -> None:
    published = [name for name, service in SERVICES.items() if "ports" in service]
    assert published == ["web"]
    assert SERVICES["web"]["ports"] == ["${KSCOPE_PUBLISH:-127.0.0.1:8000}:8000"]
    assert COMPOSE["networks"]["inside"] == {"internal": True}
    outside = [name for name, service in SERVICES.items() if "outside" in service["networks"]]
    assert outside == ["web"]


def test_valkey_asks_for_a_password() -> None:
    assert "--requirepass" in SERVICES["redis"]["command"][-1]
    assert SERVICES["web"]["environment"]["REDIS_URL"].startswith("redis://:${VALKEY_PASSWORD:?")


def test_the_image_runs_as_an_ordinary_account() -> None:
    lines = (ROOM / "Dockerfile").read_text().splitlines()
    assert [line for line in lines if line.startswith("USER")] == ["USER 10001:10001"]


def test_one_service_builds_the_image_of_all() -> None:
    ours = [name for name, service in SERVICES.items() if service["image"] == "kscope"]
    assert ours == ["web", "worker", "beat"]
    assert [name for name, service in SERVICES.items() if "build" in service] == ["web"]
    assert all(SERVICES[name]["pull_policy"] == "never" for name in ("worker", "beat"))
    assert all("web" in SERVICES[name]["depends_on"] for name in ("worker", "beat"))


def test_image_can_be_read_whatever_the_umask_was() -> None:
    """Everything comes from a stage that opens it, and nothing from the checkout itself."""
    _, _, files, page, last = (ROOM / "Dockerfile").read_text().split("\nFROM ")
    assert "RUN chmod -R u=rwX,go=rX /app" in files
    assert [line for line in page.splitlines() if line.startswith("COPY")] == [
        "COPY --from=files /app /app"
    ]
    copied = [line for line in last.splitlines() if line.startswith("COPY")]
    assert copied == ["COPY requirements/runtime.txt requirements/", "COPY --from=page /app ./"]


async def seen_address(peer: str, forwarded: str) -> str:
    """The address that kscope sees of a client, as uvicorn tells it with the settings of compose."""
    seen: list[str] = []

    async def kscope(scope: Any, _receive: Any, _send: Any) -> None:
        seen.append(scope["client"][0])

    trusted = compose_environment()["FORWARDED_ALLOW_IPS"]
    header = (b"x-forwarded-for", forwarded.encode())
    scope: Any = {"type": "http", "scheme": "http", "client": (peer, 1), "headers": [header]}
    nothing: Any = None
    await ProxyHeadersMiddleware(kscope, trusted)(scope, nothing, nothing)
    return seen[0]


async def test_visitors_behind_the_compose_proxy_keep_their_addresses() -> None:
    gateway = COMPOSE["networks"]["outside"]["ipam"]["config"][0]["gateway"]
    assert await seen_address(gateway, "203.0.113.7") == "203.0.113.7"
    # A proxy writes what it knows behind what the client has claimed.
    assert await seen_address(gateway, "198.51.100.1, 203.0.113.8") == "203.0.113.8"


async def test_others_claim_no_address() -> None:
    assert await seen_address("192.168.211.2", "203.0.113.7") == "192.168.211.2"


def compose_environment(**given: str) -> dict[str, str]:
    """The variables of the web container, as compose fills them in from *given*."""

    def filled(found: re.Match[str]) -> str:
        name, _, default = found[1].partition(":-")
        name = name.partition(":?")[0]
        return given.get(name) or default

    variables = SERVICES["web"]["environment"]
    return {name: re.sub(r"\$\{([^}]+)\}", filled, text) for name, text in variables.items()}


def checked(environment: dict[str, str]) -> "subprocess.CompletedProcess[str]":
    """`manage.py check --deploy` with these variables and none of ours."""
    return subprocess.run(
        [sys.executable, "manage.py", "check", "--deploy", "--fail-level", "WARNING"],
        cwd=ROOM,
        env={"PATH": os.environ["PATH"], **environment},
        capture_output=True,
        text=True,
        check=False,
    )


def test_django_finds_nothing_wrong_with_the_compose_settings(tmp_path: Path) -> None:
    passwords = {"POSTGRES_PASSWORD": "p", "VALKEY_PASSWORD": "v"}
    environment = compose_environment(KSCOPE_SECRET_KEY=SECRET, **passwords)
    done = checked({**environment, "KSCOPE_DATA": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert "no issues (2 silenced)" in done.stdout + done.stderr


def test_django_warns_of_a_server_without_https(tmp_path: Path) -> None:
    environment = compose_environment(KSCOPE_SECRET_KEY=SECRET, KSCOPE_SECURE="0")
    done = checked({**environment, "KSCOPE_DATA": str(tmp_path)})
    assert done.returncode == 1
    assert "security.W010" in done.stderr


def is_local(host: str, **environment: str) -> bool:
    options = Options(room=ROOM, data=ROOM, host=host, port=1, workers=1)
    return options.is_local(environment)


def test_no_login_is_required_on_the_loopback() -> None:
    for host in ("127.0.0.1", "::1", "localhost"):
        assert is_local(host)
    assert is_local("127.0.0.1", KSCOPE_SECURE="0")


def test_a_login_is_required_beyond_the_loopback() -> None:
    for host in ("0.0.0.0", "::", "192.168.1.2", "kscope.example"):
        assert not is_local(host)
    for name, value in (
        ("DATABASE_URL", "postgresql://db/kscope"),
        ("REDIS_URL", "redis://r"),
        ("KSCOPE_HOSTS", "kscope.example"),
        ("KSCOPE_ORIGINS", "https://kscope.example"),
        ("KSCOPE_SECURE", "1"),
    ):
        assert not is_local("127.0.0.1", **{name: value}), name


@pytest.mark.parametrize(
    ("environment", "is_required"),
    [
        ({}, True),
        ({"KSCOPE_LOCAL": "1"}, False),
        ({"KSCOPE_LOCAL": "0"}, True),
        ({"KSCOPE_LOCAL": "1", "KSCOPE_LOGIN": "required"}, True),
    ],
)
def test_a_login_is_required_unless_up_says_otherwise(
    environment: dict[str, str], is_required: bool, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", "from kscope import settings; print(settings.LOGIN_REQUIRED)"],
        cwd=ROOM,
        env={"PATH": os.environ["PATH"], "KSCOPE_DATA": str(tmp_path), **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == str(is_required)
