"""The command `replace`: an object deleted at once and created anew, as kubectl replace --force."""

from typing import Any

import pytest

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.input.loader import load_files
from engine.kernel.errors import Invalid
from tests.builders import node, node_of, played, pod, scene


def _replace(cluster: Cluster, manifest: dict[str, Any]) -> str:
    return cluster.apply(Command(verb="replace", manifest=manifest)).reason


def test_replaced_pod_may_have_another_selector() -> None:
    cluster = played(Cluster.create(scene(node("n"), pod("p", nodeSelector={"disk": "ssd"}))))
    before = cluster.store.get("Pod", "default/p").uid
    assert _replace(cluster, pod("p")) == ""
    assert node_of(played(cluster), "p") == "n"
    assert cluster.store.get("Pod", "default/p").uid != before


def test_a_running_pod_is_replaced_without_grace() -> None:
    cluster = played(Cluster.create(scene(node("n"), node("m"), pod("p"))))
    assert _replace(cluster, pod("p", nodeSelector={"none": "such"})) == ""
    assert node_of(played(cluster), "p") == ""
    assert cluster_findings(cluster) == []


def test_what_is_not_there_is_created() -> None:
    cluster = played(Cluster.create(scene(node("n"))))
    assert _replace(cluster, pod("p")) == ""
    assert node_of(played(cluster), "p") == "n"


def test_a_replacement_waits_for_the_finalizers() -> None:
    held = pod("p", cpu="9")
    held["metadata"]["finalizers"] = ["kscope.dev/hold"]
    cluster = played(Cluster.create(scene(node("n"), held)))
    assert _replace(cluster, pod("p")) == ""
    assert played(cluster).store.get("Pod", "default/p").deletion_timestamp
    release = Command(verb="patch", object="pod/default/p", patch={"metadata": {"finalizers": []}})
    assert cluster.apply(release).applied
    assert node_of(played(cluster), "p") == "n"


def test_a_replacement_needs_a_manifest() -> None:
    with pytest.raises(Invalid, match="replace needs a manifest"):
        Command.from_dict({"verb": "replace", "object": "pod/default/p"})


def test_a_scenario_may_replace_objects() -> None:
    steps = """
apiVersion: kscope.dev/v1
kind: Scenario
metadata: {name: s}
spec:
  steps:
  - at: 5s
    replace: {apiVersion: v1, kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}}
"""
    (step,) = (load_files([("s.yaml", steps.encode())]).scenario or {})["steps"]
    assert (step["verb"], step["manifest"]["metadata"]["name"]) == ("replace", "p")
