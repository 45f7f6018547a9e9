"""The command that the import page shows, on a cluster that lacks many of the kinds."""

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.input.load_result import LoadResult
from engine.input.loader import load_paths
from kscope.recipe import recipe, simple_recipe
from kube.clusters import Cluster
from tests.kubectl.programs import FILES, Kubectl, kubectls
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.skipif(not kubectls(), reason="there is no kubectl")

SCENARIO = FILES / "scenario.yaml"
SECRET = "hunter2"
PRIVATE = f"""
apiVersion: v1
kind: Secret
metadata: {{name: login, namespace: default}}
stringData: {{password: {SECRET}}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings, namespace: default}}
data: {{address: {SECRET}}}
"""


def printed(command: str, kubectl: Kubectl, cluster: Cluster, folder: Path) -> Path:
    """The file that the command writes."""
    programs = folder / "bin"
    programs.mkdir()
    (programs / "kubectl").symlink_to(kubectl.path)
    env = {
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(folder),
        "KUBECONFIG": cluster.kubeconfig,
    }
    shell = ["sh", "-c", command]
    subprocess.run(shell, cwd=folder, env=env, timeout=HANG_SECONDS, check=True)
    return folder / "cluster.yaml"


def kinds(loaded: LoadResult) -> dict[str, int]:
    """How many objects of each kind a file has."""
    [contents] = loaded.files.values()
    return contents.kinds | contents.aside


@pytest.mark.parametrize("kubectl", kubectls(), ids=lambda kubectl: kubectl.version)
def test_one_command_prints_all_evidence_and_no_data(
    kubectl: Kubectl, kscope_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = kscope_cluster(SCENARIO, seed=1)
    cluster.advance(60)
    (tmp_path / "private.yaml").write_text(PRIVATE)
    kubectl.run(f"apply -f {tmp_path / 'private.yaml'}", Path(cluster.kubeconfig), tmp_path)
    file = printed(recipe(), kubectl, cluster, tmp_path)
    loaded = load_paths([file])
    assert loaded.ok, loaded.problems
    found = kinds(loaded)
    assert {"Pod", "Node", "Deployment", "StorageClass", "Event"} <= found.keys()
    # One of the latter is kube-root-ca.crt in each of the four namespaces.
    assert (found["Secret"], found["ConfigMap"]) == (1, 1 + 4)
    assert SECRET not in file.read_text()


@pytest.mark.parametrize("kubectl", kubectls(), ids=lambda kubectl: kubectl.version)
def test_the_command_for_any_shell_can_be_read(
    kubectl: Kubectl, kscope_cluster: Callable[..., Cluster], tmp_path: Path
) -> None:
    cluster = kscope_cluster(SCENARIO, seed=1)
    loaded = load_paths([printed(simple_recipe(), kubectl, cluster, tmp_path)])
    assert loaded.ok, loaded.problems
    assert {"Pod", "Node"} <= kinds(loaded).keys()
