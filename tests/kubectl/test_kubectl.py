"""Real kubectls on runs: each command's exit status, and what it prints."""

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import partial
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

from kube.clusters import Cluster
from kube.kubeconfig import kubeconfig_text
from tests.kube.transcripts.exchanges import Exchange, pack
from tests.kubectl import table
from tests.kubectl.commands import STORIES, Command
from tests.kubectl.programs import FILES, Kubectl, Printed, kubectls
from tests.kubectl.recorder import Recorder, recording

SCENARIO = FILES / "scenario.yaml"
ABSENT = "–"
WORKS = "works"
# From this minor version on, the path of `get --raw` begins below the server's address. 1.32 does
# not do so yet; those in between were not tried.
_RAW_BELOW = 36


@pytest.fixture(scope="session")
def results() -> Iterator[table.Results]:
    """What came of the commands; written into the page at the end."""
    found: table.Results = {}
    yield found
    # A run of some stories says nothing of the others.
    whole = {version: told for version, told in found.items() if told.keys() == STORIES.keys()}
    if whole:
        table.write(whole)


@pytest.fixture(scope="session")
def transcripts() -> Iterator[dict[tuple[str, str], list[Exchange]]]:
    """What was recorded, where that is wanted; kept at the end."""
    found: dict[tuple[str, str], list[Exchange]] = {}
    yield found
    if found:
        pack(found)


def server_of(kubeconfig: Path) -> str:
    """The address of the API that a kubeconfig names."""
    return str(yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]["server"])


def past_of(cluster: Cluster, folder: Path, instant: str) -> Path:
    """A kubeconfig for the cluster at an instant of its past."""
    origin, _, run = server_of(Path(cluster.kubeconfig)).partition("/k8s/runs/")
    path = folder / "past.yaml"
    path.write_text(kubeconfig_text(origin, int(run), instant=instant))
    return path


@pytest.mark.skipif(not kubectls(), reason="there is no kubectl")
@pytest.mark.parametrize("story", STORIES)
@pytest.mark.parametrize("kubectl", kubectls(), ids=lambda kubectl: kubectl.version)
def test_commands_do_what_they_say(
    kubectl: Kubectl,
    story: str,
    results: table.Results,
    transcripts: dict[tuple[str, str], list[Exchange]],
    kscope_cluster: Callable[..., Cluster],
    tmp_path: Path,
) -> None:
    cluster = kscope_cluster(SCENARIO, seed=1)
    cluster.advance(60)
    kubeconfig = Path(cluster.kubeconfig)
    with ExitStack() as stack:
        recorder: Recorder | None = None
        origin = ""
        if os.environ.get("KSCOPE_TRANSCRIPTS"):
            recorder, origin = stack.enter_context(
                recording(Recorder(cluster, server_of(kubeconfig)))
            )
            transcripts[kubectl.version, story] = recorder.exchanges
            kubeconfig = recorder.through(kubeconfig, origin)
        if story == "past":
            kubectl.run("run later --image=app", kubeconfig, tmp_path)
            kubectl.run("delete pod lonely --grace-period=0 --force", kubeconfig, tmp_path)
            cluster.advance(30)
            kubeconfig = past_of(cluster, tmp_path, "59s")
            if recorder is not None:
                kubeconfig = recorder.through(kubeconfig, origin)
        playing = recorder.playing if recorder is not None else partial(at_speed, cluster)
        wrong: list[str] = []
        cells = results.setdefault(kubectl.version, {}).setdefault(story, [])
        for command in STORIES[story]:
            if kubectl.minor < command.since or 0 < command.before <= kubectl.minor:
                cells.append(ABSENT)
                continue
            if recorder is not None:
                recorder.command = command.line
            with playing() if command.plays else nullcontext():
                printed = run(command, kubectl, kubeconfig, tmp_path)
            cluster.advance(command.then)
            problems = problems_of(command, printed)
            what = "; ".join(problems)
            cells.append(f"fails: {what}" if problems else command.differs or WORKS)
            if problems:
                wrong.append(f"kubectl {kubectl.version} {command.line}: {what}\n{printed.text}")
    assert not wrong, "\n\n".join(wrong)


@contextmanager
def at_speed(cluster: Cluster) -> Iterator[None]:
    """Time goes on by itself."""
    cluster.play("100")
    yield
    cluster.pause()


def run(command: Command, kubectl: Kubectl, kubeconfig: Path, home: Path) -> Printed:
    """What comes of the command."""
    # Newer ones begin a path of their own at the server's address.
    root = "" if kubectl.minor >= _RAW_BELOW else urlsplit(server_of(kubeconfig)).path
    line = command.line.replace("{root}", root).replace("{api}", f"{root}/api/v1")
    return kubectl.run(line, kubeconfig, home)


def problems_of(command: Command, printed: Printed) -> list[str]:
    """What is wrong with what it printed."""
    problems = [f"does not print {text!r}" for text in command.shows if text not in printed.text]
    problems += [f"prints {text!r}" for text in command.hides if text in printed.text]
    if printed.exit != command.exit:
        problems.append(f"exits with {printed.exit} instead of {command.exit}")
    return problems
