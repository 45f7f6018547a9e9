"""Many runs on two processes; these and their servers are killed: nothing is lost or written twice."""

import os
import time
from collections.abc import Iterator

import pytest

from engine.kernel.units import SECOND
from tests.chaos.clients import Api
from tests.chaos.judge import Evidence, judge
from tests.chaos.tree import SERVERS, Tree
from tests.waiting import wait_for

RUNS = int(os.environ.get("KSCOPE_TEST_RUNS") or 20)
KILLED = ("driver", "Valkey", "driver", "PostgreSQL", "driver")


@pytest.fixture
def tree() -> Iterator[Tree]:
    """Given servers, and a worker with two processes that drive runs."""
    tree = Tree(embedded=False)
    yield tree
    tree.stop()


def test_many_runs_outlive_killed_drivers_and_servers(tree: Tree) -> None:
    api = Api(tree.port, tree.token)
    scenario = next(
        each["id"] for each in api.insist("scenarios/")["items"] if each["name"] == "Checkout surge"
    )
    body = {"scenario": scenario, "play": True, "speed": "1"}
    runs = [api.insist("runs/", {**body, "seed": seed})["id"] for seed in range(RUNS)]

    def heads() -> dict[int, int]:
        found = tree.insist("SELECT id, head_at FROM runs_run WHERE id = ANY(%s)", runs)
        return dict(found)

    wait_for(lambda: all(at > 0 for at in heads().values()), "a run does not begin")
    for name in KILLED:
        before, since = heads(), time.monotonic()
        assert tree.kill(name)
        if name in SERVERS:
            server = tree.servers[name]
            wait_for(lambda server=server: server.exit_code() is not None, f"{name} lives")
            tree.revive()
        wait_for(
            lambda before=before: all(at > before[run] + SECOND for run, at in heads().items()),
            lambda before=before: f"{before}, {heads()}; {tree.logs()}",
            every=0.1,
        )
        # Leases of the dead are not waited for, so that all are in real time again before these end.
        print(f"all go on {time.monotonic() - since:.1f} s after {name} was killed")
    for run in runs:
        api.insist(f"runs/{run}/transport/", {"action": "speed", "speed": "max"})
    query = "SELECT count(*) FROM runs_run WHERE id = ANY(%s) AND status = 'playing'"
    wait_for(lambda: tree.insist(query, runs) == [(0,)], lambda: tree.logs(), every=0.2)
    assert [wrong for run in runs for wrong in judge(tree, run, Evidence())] == []
    assert api.nonsense == []
