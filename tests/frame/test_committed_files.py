"""Files that decide what a stranger's machine downloads and runs."""

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest
import yaml

ROOM = Path(__file__).resolve().parents[2]
LOCKS = sorted((ROOM / "requirements").glob("*.txt"))
PIN = re.compile(r"^[A-Za-z0-9._-]+==[^ ]+( ; .+)? \\$")


def requirements(lock: Path) -> list[list[str]]:
    """Each requirement with its continuation lines, comments dropped."""
    entries: list[list[str]] = []
    for line in lock.read_text().splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if line[0].isspace():
            entries[-1].append(line.strip())
        else:
            entries.append([line])
    return entries


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_every_requirement_is_pinned_and_hashed(lock: Path) -> None:
    entries = requirements(lock)
    assert entries
    for first, *rest in entries:
        assert PIN.match(first), first
        assert rest, first
        assert all(line.startswith("--hash=sha256:") for line in rest), first


def test_old_pythons_get_the_timeout_that_redis_needs() -> None:
    text = (ROOM / "requirements" / "runtime.txt").read_text()
    assert 'async-timeout==5.0.1 ; python_full_version < "3.11.3"' in text


def test_no_lock_names_a_package_index() -> None:
    committed = [*(ROOM / "requirements").iterdir(), ROOM / "package-lock.json", ROOM / ".npmrc"]
    committed += [ROOM / "pyproject.toml", ROOM / "Makefile", ROOM / "Dockerfile"]
    for file in committed:
        found = re.search(r"index.url|find.links|registry=|\"resolved\"", file.read_text())
        # The lock script names the options that keep addresses out.
        assert file.name == "lock" or found is None, file


def test_every_front_end_package_has_an_integrity_hash() -> None:
    packages = json.loads((ROOM / "package-lock.json").read_text())["packages"]
    installed = {name: entry for name, entry in packages.items() if name}
    assert installed
    assert all(entry["integrity"].startswith("sha512-") for entry in installed.values())


def test_compose_runs_five_services_with_health_checks() -> None:
    compose = yaml.safe_load((ROOM / "docker-compose.yml").read_text())
    services = compose["services"]
    assert set(services) == {"web", "worker", "beat", "postgres", "redis"}
    assert all("test" in service["healthcheck"] for service in services.values())
    assert "postgres" in compose["volumes"]
    for name in ("web", "worker", "beat"):
        assert services[name]["environment"]["DATABASE_URL"].startswith("postgresql://")
        assert services[name]["environment"]["REDIS_URL"].startswith("redis://")


def test_docker_compose_accepts_the_file() -> None:
    docker = shutil.which("docker")
    if docker is None:
        pytest.skip("no docker here")
    if subprocess.run([docker, "compose", "version"], capture_output=True).returncode:
        pytest.skip("docker has no compose plugin here")
    secrets = dict.fromkeys(("KSCOPE_SECRET_KEY", "POSTGRES_PASSWORD", "VALKEY_PASSWORD"), "x")
    env = {"PATH": "/usr/bin:/bin", **secrets}
    done = subprocess.run(
        [docker, "compose", "-f", ROOM / "docker-compose.yml", "config", "--quiet"],
        capture_output=True,
        text=True,
        env=env,
        check=False,
    )
    assert done.returncode == 0, done.stderr
