"""Two addresses play the runs of one database; one is cut off in the middle: nothing is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.kernel.units import SECOND
from tests.chaos.clients import Api
from tests.chaos.judge import Evidence, judge
from tests.chaos.tree import Tree
from tests.chaos.world import Line
from tests.chaos.world_tree import beyond_lines, lines_from
from tests.up.up_process import Up, free_port
from tests.waiting import wait_for

RUNS = 6


class TwoPlaces(Tree):
    """Two `up`s with given servers, which the second reaches over lines of its own."""

    def __init__(self) -> None:
        self.lines: dict[str, Line] = {}
        super().__init__(embedded=False)
        self.lines = lines_from(self.folder, self.sockets)
        env = {**self._environment(), **beyond_lines(self.folder)}
        self.second = Up(self.folder / "data-2", free_port(), workers=2, env=env)
        self.second.wait_until_serving()

    def cut_off_second(self) -> None:
        """Whatever it sends or is sent is lost on its way, from now on."""
        for line in self.lines.values():
            line.cut("requests")
            line.cut("answers")

    def mend(self) -> None:
        """What waited on the lines arrives, late."""
        for line in self.lines.values():
            line.mend()

    def is_of_second(self, pid: int) -> bool:
        """Whether the second one has that process."""
        return pid in {process.pid for process in self.second.family()}

    def _data_folders(self) -> tuple[Path, ...]:
        return self.data, self.folder / "data-2"

    def stop(self) -> None:
        """See Tree."""
        self.mend()
        self.note_family(self.second)
        self.second.__exit__(None, None, None)
        try:
            super().stop()
        finally:
            for line in self.lines.values():
                line.close()


@pytest.fixture
def places() -> Iterator[TwoPlaces]:
    """Both serving."""
    tree = TwoPlaces()
    yield tree
    tree.stop()


def test_runs_outlive_an_address_cut_off(places: TwoPlaces) -> None:
    api = Api(places.port, places.token)
    listed = api.insist("scenarios/")["items"]
    surge = next(each["id"] for each in listed if each["name"] == "Checkout surge")
    runs: list[int] = []

    def play_another() -> None:
        body = {"scenario": surge, "play": True, "speed": "1", "seed": len(runs)}
        runs.append(api.insist("runs/", body)["id"])

    def heads() -> dict[int, int]:
        return dict(places.insist("SELECT id, head_at FROM runs_run WHERE id = ANY(%s)", runs))

    def of_second() -> set[int]:
        """The runs that the second one drives."""
        query = (
            "SELECT id, split_part(lease_owner, ':', 2)::int FROM runs_run"
            " WHERE id = ANY(%s) AND lease_until > now()"
        )
        return {run for run, pid in places.insist(query, runs) if places.is_of_second(pid)}

    for _ in range(RUNS):
        play_another()
    wait_for(lambda: all(heads().values()), "a run does not begin", every=0.2)
    while not 0 < len(of_second()) < len(runs):
        play_another()
        wait_for(lambda: all(heads().values()), "a run does not begin", every=0.2)

    cut_off, before = of_second(), heads()
    places.cut_off_second()
    wait_for(
        lambda: all(at > before[run] + SECOND for run, at in heads().items()),
        lambda: f"{before}, {heads()}, {cut_off}; {places.logs()}",
        every=0.2,
    )
    assert not cut_off & of_second()
    places.mend()
    for run in runs:
        api.insist(f"runs/{run}/transport/", {"action": "speed", "speed": "max"})
    query = "SELECT count(*) FROM runs_run WHERE id = ANY(%s) AND status = 'playing'"
    wait_for(lambda: places.insist(query, runs) == [(0,)], lambda: places.logs(), every=0.2)
    assert [wrong for run in runs for wrong in judge(places, run, Evidence())] == []
    assert api.nonsense == []
