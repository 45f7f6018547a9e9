"""A run as a file: read back it is the same, and plays again to the same digest."""

import tracemalloc
from dataclasses import fields, replace
from typing import Any

import orjson
import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.input.budget import Budget
from engine.input.scenario import Scenario
from engine.kernel.units import SECOND
from engine.run_file import checking
from engine.run_file.contents import Choices, End, Recorded, RunFile
from engine.run_file.reading import read_run_file, recorded_events
from engine.run_file.replaying import Replay, Replayed, cluster_of
from engine.run_file.trail import Trail
from engine.run_file.writing import RunFileWriter, indented
from tests.exports.plays import DEMOS, Played, played, scenario_of


def written(file: RunFile) -> bytes:
    """A file without history."""
    return b"".join(RunFileWriter().finish(file))


def file_of(run: Played, **more: Any) -> RunFile:
    """The file of a demo that was played."""
    cluster, trail = run.cluster, Trail()
    trail.take(run.rows)
    return RunFile(
        choices=Choices(
            name=run.scenario.name,
            profile=cluster.profile,
            seed=run.scenario.seed,
            feature_gates=run.scenario.feature_gates,
        ),
        document=run.scenario.to_dict(),
        commands=(),
        end=End(cluster.seq, cluster.steps, cluster.now, cluster.digest()),
        trail=bytes(trail.bytes),
        **more,
    )


def replayed(file: RunFile, budget: Budget | None = None) -> Replayed:
    """What comes of playing a file again."""
    replay = Replay(file, cluster_of(file), lambda _: True, lambda: None)
    return replay.play(budget or Budget())


@pytest.mark.parametrize("demo", DEMOS)
def test_a_demo_replays_to_its_digest(demo: str) -> None:
    file = file_of(played(demo))
    read = read_run_file(written(file))
    assert read == file
    assert replayed(read) == Replayed()


def test_what_a_server_said_of_itself_comes_back() -> None:
    run = played("local-volumes")
    scenario = replace(run.scenario, served="v1.34.2")
    file = replace(file_of(run), document=scenario.to_dict())
    read = read_run_file(written(file))
    assert read.document["served"] == "v1.34.2"
    assert replayed(read) == Replayed()


def test_files_may_have_every_scenario_part() -> None:
    assert {each.name for each in fields(Scenario)} == checking.SCENARIO_PARTS.keys()


@pytest.mark.parametrize("demo", ["local-volumes", "checkout-surge"])
def test_the_history_is_that_of_the_run(demo: str) -> None:
    run = played(demo)
    writer = RunFileWriter()
    pieces = [writer.events(run.rows[i : i + 100]) for i in range(0, len(run.rows), 100)]
    data = b"".join([*pieces, *writer.finish(file_of(run, has_history=True))])
    assert read_run_file(data).has_history
    assert list(recorded_events(data)) == run.rows


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"objects": [], "steps": [], "told": {}},
        {
            "name": 'a "b"\nc',
            "objects": [{"a": [1, {"b": "x\n y"}], "c": {}}, {"d": []}],
            "seed": 3,
        },
        {"told": {"proof": {"event": "PodBound"}}, "steps": [{"at": 1}], "until": None},
        scenario_of("checkout-surge").to_dict(),
    ],
)
def test_a_document_is_written_as_orjson_does(document: dict[str, Any]) -> None:
    whole = orjson.dumps(document, option=orjson.OPT_INDENT_2)
    assert b"".join(indented(document)) == whole
    parts = {
        name: iter(part) if isinstance(part, list) else part for name, part in document.items()
    }
    assert b"".join(indented(parts)) == whole


def test_a_large_scenario_is_never_whole() -> None:
    words = "spec " * 400
    document = {
        "name": "large",
        "objects": ({"n": n, "text": words} for n in range(20_000)),
        "steps": (),
    }
    file = replace(file_of(played("half-bound")), document=document)
    tracemalloc.start()
    try:
        written_bytes = sum(len(piece) for piece in RunFileWriter().finish(file))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert written_bytes > 10_000
    assert len(words) * 20_000 > 10 * peak


def test_the_same_run_gives_the_same_bytes() -> None:
    file = file_of(played("half-bound"))
    assert written(file) == written(file)


def commanded() -> tuple[RunFile, Cluster]:
    """A run with commands between its steps, one of them refused."""
    scenario = scenario_of("half-bound")
    cluster = Cluster.create(scenario, profile="v1.36", seed=3)
    commands: list[Recorded] = []
    trail = Trail()
    for at, body in (
        (2 * SECOND, {"verb": "cordon", "object": "node/nobody"}),
        (5 * SECOND, {"verb": "fault", "patch": {"restart": "pv-controller"}}),
        (9 * SECOND, {"verb": "fault", "patch": {"restart": "scheduler"}}),
    ):
        cluster.advance(at)
        trail.take(cluster.take().rows)
        commands.append(Recorded(cluster.steps, cluster.now, body))
        cluster.apply(Command.from_dict(body))
    cluster.advance(30 * SECOND)
    trail.take(cluster.take().rows)
    file = RunFile(
        choices=Choices(name="half-bound", profile="v1.36", seed=3),
        document=scenario.to_dict(),
        commands=tuple(commands),
        end=End(cluster.seq, cluster.steps, cluster.now, cluster.digest()),
        trail=bytes(trail.bytes),
    )
    return file, cluster


def test_commands_come_again_at_their_instants() -> None:
    file, cluster = commanded()
    read = read_run_file(written(file))
    assert read.commands == file.commands
    again = cluster_of(read)
    assert Replay(read, again, lambda _: True, lambda: None).play(Budget()) == Replayed()
    assert (again.digest(), again.steps) == (cluster.digest(), cluster.steps)


def test_a_replay_says_at_which_event_it_parts() -> None:
    run = played("half-bound")
    file = file_of(run)
    trail = bytearray(file.trail)
    for place in range(2 * 40, len(trail)):
        trail[place] ^= 0xFF
    came = replayed(replace(file, trail=bytes(trail), end=replace(file.end, digest="0" * 64)))
    assert came.parting is not None
    assert (came.parting.seq, came.parting.mine) == (41, run.rows[40])


def test_without_a_trail_the_end_tells() -> None:
    file = file_of(played("half-bound"))
    assert replayed(replace(file, trail=b"")) == Replayed()
    other = replayed(replace(file, trail=b"", end=replace(file.end, digest="0" * 64)))
    assert other.parting is not None


def test_a_replay_stops_at_its_budget() -> None:
    file = file_of(played("checkout-surge"))
    came = replayed(file, Budget(events=500))
    assert came.stop is not None
    assert came.stop.part == "events"
    assert came.parting is None


def test_an_end_never_reached_is_a_parting() -> None:
    file = file_of(played("half-bound"))
    beyond = replace(file.end, steps=file.end.steps + 5)
    came = replayed(replace(file, end=beyond))
    assert came.parting is not None
