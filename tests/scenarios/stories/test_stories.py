"""What a gallery shows of a run: its drawing, its replay, and the reasons by which it is found."""

import re

import pytest

from engine.diagnosis.story.reasons import phrases_of
from engine.diagnosis.story.story import Story, story_of, story_played
from engine.kernel.units import MILLISECOND
from tests.scenarios.played import FOLDER, Played, demo

DEMOS = sorted(path.stem for path in FOLDER.glob("*.yaml"))
_RECT = re.compile(
    r'<rect class="([a-z])" x="([\d.]+)" y="([\d.]+)" width="([\d.]+)" height="([\d.]+)"/>'
)
FAILED_SCHEDULING = (
    "0/7 nodes are available: 3 Insufficient cpu, 4 node(s) had untolerated taint {gpu: yes}. "
    "no new claims to deallocate, preemption: 0/7 nodes are available: 7 Preemption is not "
    "helpful for scheduling."
)


def story(name: str) -> Story:
    return story_of(demo(name).events, demo(name).attempts)


def rows_of(drawing: str) -> set[str]:
    """Where bars and lines begin from above, each row once: bars are as high as their row."""
    return {y for look, _, y, _, _ in _RECT.findall(drawing) if look != "r"}


@pytest.mark.parametrize("name", DEMOS)
def test_drawing_stays_within_its_frame(name: str) -> None:
    drawing = story(name).drawing
    shapes = _RECT.findall(drawing)
    assert shapes
    assert drawing == f"{drawing[: drawing.index('<rect')]}{''.join(_as_text(drawing))}</svg>"
    for _, x, y, width, height in shapes:
        assert 0 <= float(x) <= float(x) + float(width) <= 301
        assert 0 <= float(y) <= float(y) + float(height) <= 76
    assert len(drawing) < 30_000


def _as_text(drawing: str) -> list[str]:
    """The shapes as they stand: nothing but numbers and one letter comes from the run."""
    return [match.group() for match in _RECT.finditer(drawing)]


@pytest.mark.parametrize("name", DEMOS)
def test_drawing_has_at_most_eleven_rows(name: str) -> None:
    assert 1 <= len(rows_of(story(name).drawing)) <= 11


def test_drawing_shows_each_failed_mount() -> None:
    failed = demo("wrong-fs-type").story("FailedMount")
    shapes = _RECT.findall(story("wrong-fs-type").drawing)
    assert len([look for look, *_ in shapes if look == "f"]) == len(failed) == 6


def test_drawing_shows_how_long_a_pod_waits() -> None:
    waits = [each for each in _RECT.findall(story("unheard-deletion").drawing) if each[0] == "w"]
    assert len(waits) == 1
    assert float(waits[0][3]) > 250  # of 300: 330 of 331 s


def test_a_run_draws_the_same_twice() -> None:
    scenario = demo("dead-node").scenario
    assert story_played(scenario, profile=scenario.profile or "v1.36") == story("dead-node")


@pytest.mark.parametrize("name", DEMOS)
def test_replay_says_what_each_attempt_decided(name: str) -> None:
    told, played = story(name).replay, demo(name)
    messages = {event.seq: event.message for event in played.events}
    nodes, pods = [node[0] for node in told["nodes"]], [pod[0] for pod in told["pods"]]
    assert len(told["attempts"]) == len(played.attempts)
    for (at, seq, pod, node, cells, scores, refused), attempt in zip(
        told["attempts"], played.attempts, strict=True
    ):
        assert (at, pods[pod]) == (attempt.at // MILLISECOND, attempt.pod)
        assert (nodes[node] if node >= 0 else "") == attempt.node
        assert node < 0 or cells[node] == "+"
        assert len(scores) in (0, cells.count("+"))
        if said := re.search(r", (\d+) of (\d+) nodes fit", messages[seq]):
            assert cells.count("+") == int(said.group(1))
        # Who looked at no node says why, and only who did not.
        assert bool(refused) == ({*cells} <= {"."})
        assert refused in attempt.message


def test_replay_has_every_state_of_a_pod() -> None:
    told = story("fits-nowhere").replay
    [report] = [pod for pod in told["pods"] if pod[0] == "default/report-0"]
    steps = [report[i : i + 4] for i in range(1, len(report), 4)]
    states = [told["states"][state] for state, *_ in steps]
    assert states[-4:] == ["attempt", "binding", "starting", "running"]
    assert told["nodes"][steps[-1][3]][0] == "node-4"
    assert _seconds(demo("fits-nowhere"), steps[-1][2]) == steps[-1][1] // 1000 == 40


def _seconds(played: Played, seq: int) -> int:
    return played.events[seq - 1].at // 10**9


def test_replay_is_small_enough_for_a_page() -> None:
    assert len(str(story("checkout-surge").replay)) < 60_000


def test_phrases_have_no_numbers_and_no_names() -> None:
    assert [*phrases_of(FAILED_SCHEDULING)] == ["insufficient cpu", "node(s) had untolerated taint"]
    attach = 'AttachVolume.Attach failed for volume "pv-7" : rpc error: code = Aborted'
    assert [*phrases_of(attach)] == [
        "attachvolume.attach failed for volume : rpc error: code = aborted"
    ]
    kept = "1 node(s) didn't match PersistentVolume's node affinity"
    assert [*phrases_of(f"0/1 nodes are available: {kept}.")] == [kept[2:].lower()]


def test_what_goes_well_is_no_reason() -> None:
    assert story("smallest-fit").reasons == ()
    assert "failedscheduling" in story("fits-nowhere").reasons
