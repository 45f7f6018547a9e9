"""Informers of the Kubernetes API miss nothing, however often the web process is killed."""

from collections.abc import Iterator
from contextlib import suppress
from urllib.request import urlopen

import pytest
import yaml

from engine.kernel.units import MINUTE
from tests.chaos.clients import Api
from tests.chaos.tree import Tree
from tests.kube.clients.following import check_pages, faults, following, settle
from tests.kube.clients.http import AWAY, Http
from tests.kube.clients.storm import CLUSTER, Storm
from tests.waiting import HANG_SECONDS, wait_for

# A round has so many events, or so much virtual time on a slow machine: Kubernetes Events that are an
# hour old leave the lists, and no watch says so.
EVENTS = 2_500
MINUTES = 12
ROUNDS = 4


@pytest.fixture
def tree() -> Iterator[Tree]:
    made = Tree(embedded=True)
    yield made
    made.stop()


def started(api: Api) -> int:
    """A run of the storm's cluster that plays."""
    boundary = "x"
    text = yaml.safe_dump_all(CLUSTER)
    part = f'Content-Disposition: form-data; name="files"; filename="storm.yaml"\r\n\r\n{text}\r\n'
    body = f"--{boundary}\r\n{part}--{boundary}--\r\n".encode()
    kind = f"multipart/form-data; boundary={boundary}"
    with urlopen(api.request("scenarios/", body, kind=kind), timeout=HANG_SECONDS) as answer:
        scenario = yaml.safe_load(answer.read())["id"]
    body_of_run = {"scenario": scenario, "play": True, "speed": "10"}
    return int(api.insist("runs/", body_of_run)["id"])


def test_informers_outlive_a_killed_web_process(tree: Tree) -> None:
    api = Api(tree.port)
    run = started(api)
    http = Http(f"http://127.0.0.1:{tree.port}/k8s/runs/{run}")
    storm = Storm(http, seed=1)

    def head() -> tuple[int, int]:
        [(seq, at)] = tree.insist("SELECT head_seq, head_at FROM runs_run WHERE id = %s", run)
        return int(seq), int(at)

    def rounds() -> float:
        """How many rounds are over, and which part of the next."""
        seq, at = head()
        return max(seq / EVENTS, at / (MINUTES * MINUTE))

    def is_there() -> bool:
        with suppress(*AWAY):
            return http.ask("GET", "/version")[0] == 200
        return False

    wait_for(lambda: head()[0])
    with following(http) as followers:
        for turn in range(1, ROUNDS + 1):
            killed = False
            while (over := rounds()) < turn or not killed:
                storm.blow(writes=20)
                if not killed and over > turn - 0.5:
                    killed = tree.kill("web")
                    storm.blow(writes=5)
                    wait_for(is_there)
            api.insist(f"runs/{run}/transport/", {"action": "pause"})
            settle(http, followers)
            check_pages(http, followers)
            api.insist(f"runs/{run}/transport/", {"action": "play"})
    assert faults(followers) == []
    assert all(one.interruptions >= ROUNDS for one in followers)
    assert api.nonsense == []
    print(f"{head()[0]:,} events, {storm.done} of {storm.sent} writes done")
    print(f"{sum(one.informer.events for one in followers):,} events of watches")
