"""Whatever is killed, nothing is lost: a dozen episodes. `make soak` plays two hundred."""

import contextlib
import os
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.clients import Api, command_in
from tests.chaos.episode import Episode
from tests.chaos.judge import Evidence, judge
from tests.chaos.plan import is_embedded, plan_of
from tests.chaos.tree import Tree
from tests.up.up_process import wait_until_ended
from tests.waiting import wait_for

SEEDS = range(1, 13)


@pytest.fixture(scope="module")
def embedded() -> Iterator[Tree]:
    """A tree with servers of its own."""
    tree = Tree(embedded=True)
    yield tree
    tree.stop()


@pytest.fixture(scope="module")
def given() -> Iterator[Tree]:
    """A tree on servers that are not its own."""
    tree = Tree(embedded=False)
    yield tree
    tree.stop()


@pytest.mark.parametrize("seed", [seed for seed in SEEDS if is_embedded(seed)])
def test_nothing_is_lost_with_servers_of_its_own(embedded: Tree, seed: int) -> None:
    assert Episode(embedded, plan_of(seed)).play() == []


@pytest.mark.parametrize("seed", [seed for seed in SEEDS if not is_embedded(seed)])
def test_nothing_is_lost_on_given_servers(given: Tree, seed: int) -> None:
    assert Episode(given, plan_of(seed)).play() == []


def test_acknowledged_commands_survive_a_database_crash(embedded: Tree) -> None:
    api = Api(embedded.port)
    scenario = api.insist("scenarios/")["items"][0]["id"]
    run = api.insist("runs/", {"scenario": scenario})["id"]
    acknowledged: list[int] = []

    def is_acknowledged() -> bool:
        with contextlib.suppress(OSError):
            answer = api.ask(f"runs/{run}/commands/", {"verb": "delete", "object": "node/no"})[1]
            command = command_in(answer)
            acknowledged.extend([command["id"]] if "id" in command else [])
        return bool(acknowledged)

    for _ in range(3):
        acknowledged.clear()
        wait_for(is_acknowledged, lambda: f"{api.nonsense}", every=0.1)
        assert embedded.crash_database()
        assert embedded.insist("SELECT id FROM runs_command WHERE id = %s", acknowledged[0])


@contextlib.contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """A disk of that size, in memory; skips where none may be mounted."""
    folder = Path(tempfile.mkdtemp(prefix="kscope-disk-"))
    mount = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", folder]
    if os.geteuid() != 0 or subprocess.run(mount, capture_output=True, check=False).returncode:
        folder.rmdir()
        pytest.skip("no right to mount a small disk here")
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)
        folder.rmdir()


def fill(disk: Path) -> Path:
    """Write a file until no byte more fits."""
    filler = disk / "filler"
    with contextlib.suppress(OSError), filler.open("wb", buffering=0) as file:
        while file.write(bytes(1 << 16)):
            pass
    return filler


def test_a_run_survives_a_full_disk() -> None:
    with small_disk(256) as disk:
        tree = Tree(embedded=True, disk=disk)
        try:
            api = Api(tree.port)
            scenarios = api.insist("scenarios/")["items"]
            surge = next(each["id"] for each in scenarios if each["name"] == "Checkout surge")
            run = api.insist("runs/", {"scenario": surge, "play": True, "speed": "10"})["id"]
            filler = fill(disk)
            told: list[str] = []

            def is_felt() -> bool:
                with contextlib.suppress(OSError, ValueError):
                    status, answer = api.ask("runs/", {"scenario": surge})
                    if status == 503:
                        told.append(answer["detail"])
                return bool(told) or tree.up.process.poll() is not None

            wait_for(is_felt, "the disk is full, and nobody notices")
            filler.unlink()
            if tree.up.process.poll() is not None:
                wait_until_ended(tree.processes())
            tree.revive()
            wait_for(
                lambda: api.insist(f"runs/{run}/")["status"] == "finished",
                lambda: f"{api.insist(f'runs/{run}/')}; {told}; {tree.logs()}",
                every=0.2,
            )
            assert judge(tree, run, Evidence()) == []
            assert api.nonsense == []
            assert all("disk" in message for message in told), told
        finally:
            tree.stop()
