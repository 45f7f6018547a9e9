"""Helm keeps its releases in Secrets of a run, and brings custom kinds with a chart."""

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kube.clusters import Cluster
from tests.engine.cluster.test_custom_kinds import definition
from tests.kubectl.programs import FILES
from tests.kubectl.test_chart import HELM
from tests.waiting import HANG_SECONDS

pytestmark = pytest.mark.skipif(HELM is None, reason="there is no helm ($KSCOPE_HELM)")

TEMPLATES = """
apiVersion: example.com/v1
kind: Widget
metadata: {name: {{ .Release.Name }}}
spec: {size: {{ .Values.size }}}
---
apiVersion: v1
kind: Secret
metadata: {name: {{ .Release.Name }}}
stringData: {password: {{ .Values.password }}}
"""


@pytest.fixture
def chart(tmp_path: Path) -> Path:
    """A chart with a custom kind, an object of it, and a Secret."""
    found = tmp_path / "widgets"
    (found / "templates").mkdir(parents=True)
    (found / "crds").mkdir()
    (found / "Chart.yaml").write_text("apiVersion: v2\nname: widgets\nversion: 0.1.0\n")
    (found / "values.yaml").write_text("size: 2\npassword: first\n")
    (found / "templates" / "all.yaml").write_text(TEMPLATES)
    (found / "crds" / "widgets.yaml").write_text(json.dumps(definition()))
    return found


@pytest.fixture
def helm(kscope_cluster: Callable[..., Cluster], tmp_path: Path) -> Callable[..., str]:
    """Calls helm for a run, and returns what it prints."""
    cluster = kscope_cluster(FILES / "scenario.yaml", seed=1)
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "KUBECONFIG": str(cluster.kubeconfig)}

    def call(*words: str) -> str:
        assert HELM is not None
        done = subprocess.run(
            [HELM, *words],
            env=env,
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return call


def _releases(helm: Callable[..., str]) -> list[tuple[str, str]]:
    found: list[dict[str, Any]] = json.loads(helm("history", "one", "-o", "json"))
    return [(one["status"], one["description"]) for one in found]


def test_release_is_upgraded_rolled_back_and_removed(helm: Callable[..., str], chart: Path) -> None:
    assert "STATUS: deployed" in helm("install", "one", str(chart))
    assert "REVISION: 2" in helm("upgrade", "one", str(chart), "--set", "size=5,password=second")
    assert json.loads(helm("get", "values", "one", "-o", "json")) == {
        "size": 5,
        "password": "second",
    }
    helm("rollback", "one", "1")
    assert _releases(helm) == [
        ("superseded", "Install complete"),
        ("superseded", "Upgrade complete"),
        ("deployed", "Rollback to 1"),
    ]
    assert "password: first" in helm("get", "manifest", "one")
    assert json.loads(helm("list", "-o", "json"))[0]["revision"] == "3"
    assert 'release "one" uninstalled' in helm("uninstall", "one")
    assert json.loads(helm("list", "-o", "json")) == []
