"""Whole scenarios against recordings of real control planes, of versions 1.20 and 1.36.

The scenario of every recording is run from its first step to its last; then each object must have
gone through the same changes, made by the same components, have got the same Events, in order and
at about the same time, pods must have been tried as often and in vain for the same reasons, and the
statuses of workloads must have had the same values.
What is left to chance, in the real control plane as here, must be able to come out as recorded.
What does not agree yet stands in docs/conformance.md.
"""

from typing import Any

import pytest

from tests.conformance.recordings import FOLDERS, Recording, differences
from tests.conformance.scheduler.rerun import RACES, Chances, Rerun
from tests.conformance.vectors import parametrised
from tests.engine.controllers.workloads.recorded import differences as status_differences

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

# By profile and recording: the chances that are known to do where the first ones do not. Tried
# first, they save hundreds of reruns; all others are tried as well when these no longer do.
KNOWN: dict[tuple[str, str], Chances] = {
    ("v1.20", "pdb-eviction"): Chances(seed=20, races=("assume_cache",)),
    ("v1.20", "rescued-by-new-node"): Chances(seed=40, races=("node_taint", "node_labels")),
    ("v1.36", "job-failure-policy-failjob"): Chances(seed=2, races=("run",)),
    ("v1.36", "pdb-eviction"): Chances(seed=9, races=("assume_cache",)),
}

# The fewest of them: for recordings that are known to differ.
FEW_CHANCES = [Chances(), Chances(follows=False)]

# By profile, recording → why it does not agree; see docs/conformance.md.
DIFFERENT: dict[str, dict[str, str]] = {
    "v1.20": {},
    "v1.36": {
        "daemonset-nodes": "the scheduler heard of the new node after its taint was removed",
        "statefulset-claim-deleted-pending": "the old volume stayed attached when its claim was made again",
        "statefulset-retention-delete": "a pod was tried while its claim got its owner",
    },
}


def recordings() -> list[Any]:
    """The recordings of each version, those that differ marked as expected to fail."""
    found: list[Any] = []
    for profile, folder in FOLDERS.items():
        if not folder.exists():
            found += parametrised(None, absent=folder.name)
            continue
        for name in sorted(path.name for path in folder.iterdir() if path.is_dir()):
            reason = DIFFERENT[profile].get(name)
            marks = [] if reason is None else [pytest.mark.xfail(reason=reason, strict=True)]
            found.append(pytest.param((profile, name), id=f"{profile}-{name}", marks=marks))
    return found


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


@pytest.mark.parametrize("case", recordings())
def test_the_recorded_scenario_goes_as_it_went(case: tuple[str, str]) -> None:
    profile, name = case
    recording = Recording(name, profile)
    closest: list[str] | None = None
    known = [KNOWN[case]] if case in KNOWN else []
    for chances in FEW_CHANCES if name in DIFFERENT[profile] else known + CHANCES:
        rerun = Rerun(recording, chances)
        rerun.run()
        found = found_different(recording, rerun)
        if not found:
            return
        if closest is None or len(found) < len(closest):
            closest = found
    assert closest == []


def scored() -> list[Any]:
    """The recordings with the nodes' scores in the scheduler's log."""
    logs = [(profile, log) for profile in FOLDERS for log in FOLDERS[profile].glob("*/*.log")]
    found = [
        (f"{profile}-{log.parent.name}", (profile, log.parent.name))
        for profile, log in sorted(logs)
        if " scores on " in log.read_text()
    ]
    return parametrised(found or None, absent="control-plane-1.20")


@pytest.mark.parametrize("case", scored())
def test_the_nodes_got_the_recorded_scores(case: tuple[str, str]) -> None:
    profile, name = case
    recording = Recording(name, profile)
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
