"""The Helm chart: helm finds nothing wrong in it, and a run starts what it makes."""

import os
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from kube.clusters import Cluster
from tests.kubectl.programs import FILES, kubectls
from tests.waiting import HANG_SECONDS

CHART = FILES.parents[1] / "distribution" / "chart"
HELM = os.environ.get("KSCOPE_HELM") or shutil.which("helm")
PASSWORDS = "secretKey=a,postgresPassword=b,valkeyPassword=c"
OWN = "postgres.enabled=false,databaseUrl=d,valkey.enabled=false,redisUrl=e"
pytestmark = pytest.mark.skipif(
    HELM is None or not kubectls(), reason="there is no helm ($KSCOPE_HELM), or no kubectl"
)


def helm(*words: str) -> str:
    """What helm prints."""
    assert HELM is not None
    return subprocess.run(
        [HELM, *words], capture_output=True, text=True, check=True, timeout=HANG_SECONDS
    ).stdout


@pytest.mark.parametrize("values", [PASSWORDS, f"secretKey=a,{OWN}"])
def test_lint_finds_nothing_in_the_chart(values: str) -> None:
    assert "0 chart(s) failed" in helm("lint", str(CHART), "--strict", "--set", values)


def test_a_missing_password_is_named() -> None:
    with pytest.raises(subprocess.CalledProcessError) as refused:
        helm("template", "demo", str(CHART))
    assert "secretKey: any random text of 50 characters or more" in refused.value.stderr


def test_a_run_starts_all_of_it(kscope_cluster: Callable[..., Cluster], tmp_path: Path) -> None:
    cluster = kscope_cluster(FILES / "scenario.yaml", seed=1)
    kubectl, home = kubectls()[-1], tmp_path
    values = f"{PASSWORDS},postgres.storageClassName=fast"
    (tmp_path / "demo.yaml").write_text(helm("template", "demo", str(CHART), "--set", values))
    kubeconfig = Path(cluster.kubeconfig)
    applied = kubectl.run(f"apply -f {tmp_path / 'demo.yaml'}", kubeconfig, home)
    assert applied.exit == 0, applied.text
    cluster.advance(120)
    label = "app.kubernetes.io/instance=demo"
    line = f"get pods -l {label} -o jsonpath='{{.items[*].status.phase}}'"
    phases = kubectl.run(line, kubeconfig, home)
    assert phases.out.split() == ["Running"] * 5, phases.text
