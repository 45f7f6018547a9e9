"""Trials in forked processes give the answers that trials in copies give."""

import json
import subprocess
import sys

import pytest

from tests.scenarios.played import FOLDER

# In a process of its own: a fork of one with several threads may inherit a locked lock.
_ASK = """
import json, sys
from pathlib import Path
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from engine.kernel.units import SECOND
from engine.cluster.cluster import Cluster
from engine.diagnosis.fork import CopiedForks
from engine.diagnosis.inquiry import diagnose
from scheduling.process_forks import ProcessForks

loaded = load_paths([Path(sys.argv[1])])
scenario = Scenario.from_load(loaded, name="demo")
cluster = Cluster.create(scenario, profile=scenario.profile, seed=scenario.seed)
cluster.advance(int(sys.argv[2]) * SECOND)
cluster.take()
waiting = [pod.key for pod in cluster.store.objects("Pod") if not pod.node_name]
print(json.dumps([
    [diagnose(cluster, key, make_forks=forks).to_dict() for key in waiting]
    for forks in (CopiedForks, ProcessForks)
]))
"""


@pytest.mark.parametrize(
    ("name", "second"), [("fits-nowhere", 30), ("zone-mismatch", 10), ("missing-gpu", 30)]
)
def test_forked_trials_answer_as_copies_do(name: str, second: int) -> None:
    command = [sys.executable, "-c", _ASK, FOLDER / f"{name}.yaml", str(second)]
    done = subprocess.run(command, cwd=FOLDER.parent, capture_output=True, check=True, text=True)
    in_copies, in_processes = json.loads(done.stdout)
    assert in_copies
    assert in_processes == in_copies
