"""Whole scenarios against recordings of a real control plane of version 1.20.

The scenario of every recording is run from its first step to its last; then each object must have
gone through the same changes, made by the same components, have got the same Events, in order and
at about the same time, pods must have been tried as often and in vain for the same reasons, and the
statuses of workloads must have had the same values.
What is left to chance, in the real control plane as here, must be able to come out as recorded.
What does not agree yet stands in docs/conformance.md.
"""

from typing import Any

import pytest

from tests.conformance.recordings import FOLDER, Recording, differences
from tests.conformance.rerun import RACES, Chances, Rerun
from tests.conformance.vectors import parametrised
from tests.workloads.recorded import differences as status_differences

# Ties go where they went in the recording; if that does not do, threads race, or the seed decides.
CHANCES = [
    Chances(),
    *(
        Chances(seed=seed, races=races)
        for seed in range(24)
        for races in (*((race,) for race in RACES), tuple(RACES))
    ),
    *(Chances(follows=False, seed=seed) for seed in range(24)),
    # A pod that is tried between the node controller's two writes is a rare outcome.
    *(Chances(seed=seed, races=("node_taint", "node_labels")) for seed in range(64)),
]

# Recording → why it does not agree; see docs/conformance.md.
DIFFERENT: dict[str, str] = {}


def recordings() -> list[Any]:
    if not FOLDER.exists():
        return parametrised(None, absent="control-plane-1.20")
    names = sorted(path.name for path in FOLDER.iterdir() if path.is_dir())
    return [
        pytest.param(
            name,
            id=name,
            marks=[pytest.mark.xfail(reason=DIFFERENT[name], strict=True)]
            if name in DIFFERENT
            else [],
        )
        for name in names
    ]


def found_different(recording: Recording, rerun: Rerun) -> list[str]:
    """What the rerun did otherwise than was recorded."""
    told = (
        ("writes to", recording.changes(), rerun.changes()),
        ("Events of", recording.events(), rerun.events()),
        ("attempts at", recording.attempts(), rerun.attempts()),
    )
    found = [
        f"{what} {entity}: recorded {there}, here {here}"
        for what, recorded, done in told
        for entity, (there, here) in differences(done, recorded, recording.tolerance).items()
    ]
    return [*found, *status_differences(recording.statuses(), rerun.statuses())]


@pytest.mark.parametrize("name", recordings())
def test_the_recorded_scenario_goes_as_it_went(name: str) -> None:
    recording = Recording(name)
    closest: list[str] | None = None
    for chances in CHANCES:
        rerun = Rerun(recording, chances)
        rerun.run()
        found = found_different(recording, rerun)
        if not found:
            return
        if closest is None or len(found) < len(closest):
            closest = found
    assert closest == []


def scored() -> list[Any]:
    logs = sorted(FOLDER.glob("*/scheduler.log"))
    names = [log.parent.name for log in logs if " scores on " in log.read_text()]
    return parametrised(
        [(name, name) for name in names] if names else None, absent="control-plane-1.20"
    )


@pytest.mark.parametrize("name", scored())
def test_the_nodes_got_the_recorded_scores(name: str) -> None:
    recording = Recording(name)
    recorded = recording.scores()
    rerun = Rerun(recording, Chances())
    rerun.run()
    done = rerun.scores()
    for pod, plugins in recorded.items():
        for plugin, scores in plugins.items():
            # A plugin that has nothing to say of the pod is left out here.
            assert done[pod].get(plugin, scores if not any(_spread(scores)) else {}) == scores


def _spread(scores: dict[str, int]) -> list[int]:
    """By how much each score is above the least."""
    return [score - min(scores.values()) for score in scores.values()]
