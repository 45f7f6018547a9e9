"""`kscope follow`: the verdict beside each decision, a run in step, lists anew at 410, and forks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import pytest
from kubernetes import client, config

from engine.input.loader import load_paths
from kscope.program.acting.follow.mirror import Mirror
from kscope.program.acting.follow.verdicts import placed, short
from kube.clusters import Cluster, cluster
from tests.program.asked import DATA, ROOT, Program
from tests.program.live.api_proxy import ApiProxy, Asked
from tests.program.live.conftest import Through, address_of
from tests.waiting import wait_for

KSCOPE = [sys.executable, "-m", "kscope.program", "follow", "--context", "prod"]


class Followed:
    """A process that follows, and what it has said so far."""

    def __init__(self, process: subprocess.Popen[bytes], out: Path, err: Path) -> None:
        self.process, self._out, self._err = process, out, err

    @property
    def lines(self) -> list[str]:
        """Of standard output."""
        return self._out.read_text().splitlines()

    @property
    def err(self) -> str:
        """What stands on standard error, in one line."""
        return " ".join(self._err.read_text().split())

    def decision(self, pod: str, state: str) -> dict[str, Any] | None:
        """The newest decision of ndjson about a pod."""
        found = [json.loads(line) for line in self.lines if line.startswith("{")]
        told = [each for each in found if (each["pod"], each["state"]) == (pod, state)]
        return told[-1] if told else None


@contextmanager
def following(folder: Path, kubeconfig: str, *words: str) -> Iterator[Followed]:
    """A process that follows the cluster, ended by Ctrl-C."""
    out, err = folder / "out", folder / "err"
    environment = {**os.environ, "KUBECONFIG": kubeconfig, "PYTHONPATH": str(ROOT)}
    environment |= {"PYTHONUNBUFFERED": "1", "COLUMNS": "100"}
    with out.open("wb") as to_out, err.open("wb") as to_err:
        process = subprocess.Popen(
            [*KSCOPE, *words], cwd=folder, env=environment, stdout=to_out, stderr=to_err
        )
        try:
            yield Followed(process, out, err)
            process.send_signal(signal.SIGINT)
            assert process.wait(60) == 0, err.read_text()
        finally:
            process.kill()
            process.wait()


@pytest.fixture
def growing() -> Iterator[Cluster]:
    """The cluster prod-eu, whose time moves on."""
    running = cluster(DATA / "prod-eu.yaml", tie_break="name")
    with running:
        yield running


def _core(running: Cluster) -> client.CoreV1Api:
    return client.CoreV1Api(config.new_client_from_config(running.kubeconfig))


def _small_pod(name: str) -> dict[str, Any]:
    asked = {"requests": {"cpu": "100m"}}
    container = {"name": "main", "image": "app:1", "resources": asked}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}


def _is_told(found: Followed, pod: str, state: str) -> Callable[[], bool]:
    return lambda: found.decision(pod, state) is not None


def test_the_kscope_here_keeps_a_run_in_step(
    growing: Cluster, through: Through, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = growing.page.partition("/runs/")[0]
    data = tmp_path / "data"
    data.mkdir()
    (data / "run.json").write_text(json.dumps({"pid": os.getpid(), "address": f"{server}/"}))
    monkeypatch.setenv("KSCOPE_DATA", str(data))
    proxy, kubeconfig = through(growing)
    with following(tmp_path, kubeconfig, "-A") as found:
        wait_for(lambda: f"is in step: {server}/runs/" in found.err)
        wait_for(lambda: _watches(proxy))


def test_no_kscope_is_asked_that_nobody_named(
    growing: Cluster, through: Through, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = tmp_path / "data"
    data.mkdir()
    # Of one that was killed; no process has this number.
    (data / "run.json").write_text(json.dumps({"pid": 2**30, "address": "http://localhost:8000/"}))
    monkeypatch.setenv("KSCOPE_DATA", str(data))
    proxy, kubeconfig = through(growing, context={"namespace": "shop"})
    with following(tmp_path, kubeconfig, "-o", "ndjson") as found:
        wait_for(_is_told(found, "shop/checkout-api-13", "waits"))
        wait_for(lambda: _watches(proxy))
    assert "none was named (--server, KSCOPE_SERVER), and none runs here (kscope up)" in found.err
    # The pods are those of the namespace of the context.
    assert found.decision("ml/embeddings-0", "waits") is None


def test_each_decision_has_a_verdict_beside_it(
    growing: Cluster, through: Through, tmp_path: Path
) -> None:
    proxy, kubeconfig = through(growing)
    with following(tmp_path, kubeconfig, "-n", "shop", "-o", "ndjson") as found:
        wait_for(_is_told(found, "shop/checkout-api-13", "waits"))
        wait_for(lambda: any(each.is_watch and each.path.endswith("/pods") for each in proxy.asked))
        growing.advance(2)
        wait_for(
            lambda: (found.decision("shop/checkout-api-13", "waits") or {})["verdict"] == "alike"
        )
        _core(growing).create_namespaced_pod("shop", _small_pod("small"))
        growing.advance(3)
        wait_for(_is_told(found, "shop/small", "placed"))
        node = _core(growing).read_namespaced_pod("small", "shop").spec.node_name
        decision = found.decision("shop/small", "placed")
        assert decision is not None
        assert decision["node"] == node
        assert node in decision["best"]
        # Room is made: the pod that waited longest takes it, as kscope says.
        _core(growing).delete_namespaced_pod("web-1", "shop", grace_period_seconds=0)
        growing.advance(40)
        wait_for(_is_told(found, "shop/checkout-api-13", "placed"))
        decision = found.decision("shop/checkout-api-13", "placed") or {}
        assert (decision["node"], decision["verdict"]) == ("general-a1", "alike")
    assert found.decision("ml/embeddings-0", "waits") is None
    assert "decided since" in found.err
    assert {each.method for each in proxy.asked} == {"GET"}


def test_a_watch_that_is_gone_lists_anew(
    growing: Cluster, through: Through, tmp_path: Path
) -> None:
    proxy, kubeconfig = through(growing, gone={"pods"})
    with following(tmp_path, kubeconfig, "-n", "shop") as found:
        wait_for(lambda: any("the watch of pods ended: 410" in line for line in found.lines))
        wait_for(lambda: len(_watches(proxy)) == 2)
        _core(growing).create_namespaced_pod("shop", _small_pod("after"))
        growing.advance(3)
        wait_for(lambda: any("placed" in line and " after " in line for line in found.lines))
    (lost,) = [line for line in found.lines if " lost " in line]
    assert lost[10:] == "lost    the watch of pods ended: 410 Expired; read again in 1 s"


def _watches(proxy: ApiProxy) -> list[Asked]:
    return [each for each in proxy.asked if each.is_watch and each.path.endswith("/pods")]


def test_a_run_is_in_step_with_the_cluster(
    growing: Cluster, through: Through, tmp_path: Path
) -> None:
    _, kubeconfig = through(growing)
    server = growing.page.partition("/runs/")[0]
    with following(tmp_path, kubeconfig, "-A", "--server", server) as found:
        wait_for(lambda: "is in step" in found.err)
        number = int(found.err.partition("run ")[2].partition(" ")[0])
        _core(growing).create_namespaced_pod("shop", _small_pod("small"))
        growing.advance(5)
        _core(growing).delete_namespaced_pod("web-1", "shop", grace_period_seconds=0)
        _core(growing).patch_node("general-b1", {"spec": {"unschedulable": True}})
        growing.advance(40)
        wait_for(lambda: _places(server, number) == _places(server, _number(growing)))
        wait_for(lambda: _cordoned(server, number) == ["general-b1"])
    assert f"Run {number} is kept." in found.err
    assert "not in step" not in found.err
    assert "could not be taken over" not in found.err


def _number(running: Cluster) -> int:
    return int(address_of(running).rpartition("/")[2])


def _items(server: str, number: int, plural: str) -> list[dict[str, Any]]:
    with urlopen(f"{server}/k8s/runs/{number}/api/v1/{plural}") as answer:
        return json.loads(answer.read())["items"]


def _places(server: str, number: int) -> dict[str, str]:
    return {
        f"{each['metadata']['namespace']}/{each['metadata']['name']}": each["spec"].get(
            "nodeName", ""
        )
        for each in _items(server, number, "pods")
    }


def _cordoned(server: str, number: int) -> list[str]:
    nodes = _items(server, number, "nodes")
    return [each["metadata"]["name"] for each in nodes if each["spec"].get("unschedulable")]


def test_a_fork_holds_the_cluster_of_its_instant(
    growing: Cluster, through: Through, tmp_path: Path, kscope: Program
) -> None:
    _, kubeconfig = through(growing)
    with following(tmp_path, kubeconfig, "-A", "--fork", "now.tar.gz") as found:
        wait_for(lambda: "kill -USR1" in found.err)
        _core(growing).create_namespaced_pod("shop", _small_pod("small"))
        growing.advance(3)
        wait_for(lambda: any("shop/small" in line and "placed" in line for line in found.lines))
        found.process.send_signal(signal.SIGUSR1)
        wait_for(lambda: "kscope simulate now.tar.gz" in found.err)
    said = kscope("triage", "now.tar.gz", "-o", "json", folder=tmp_path)
    assert json.loads(said.out)["counts"]["pods"] == 75
    assert kscope("why", "now.tar.gz", "pod/small", "-n", "shop", folder=tmp_path).status == 0


def test_a_cluster_that_is_not_there_is_said(kscope: Program, tmp_path: Path) -> None:
    assert kscope("follow").err.startswith("error: no cluster was named\n")
    said = kscope("follow", "--context", "prod", KUBECONFIG=str(tmp_path / "none"))
    assert (said.status, "there is no kubeconfig" in said.err) == (2, True)


# -- the mirror, without a cluster ----------------------------------------------------------------------


@pytest.fixture
def mirror() -> Mirror:
    return Mirror.of(load_paths([DATA / "prod-eu.yaml"]), "v1.34")


def test_nothing_happens_in_a_mirror_by_itself(mirror: Mirror) -> None:
    at, steps = mirror.cluster.now, mirror.cluster.steps
    pod = mirror.pod("shop/checkout-api-13")
    assert pod is not None
    assert mirror.decision(pod) is not None
    mirror.put({**pod.raw, "metadata": {**pod.raw["metadata"], "labels": {"app": "other"}}})
    assert (mirror.cluster.now, mirror.cluster.steps) == (at, steps)
    changed = mirror.pod("shop/checkout-api-13")
    assert changed is not None
    assert changed.labels == {"app": "other"}


def test_what_may_not_change_is_made_anew(mirror: Mirror) -> None:
    pod = mirror.pod("shop/web-1")
    assert pod is not None
    container = {**pod.raw["spec"]["containers"][0], "name": "renamed"}
    mirror.put({**pod.raw, "spec": {**pod.raw["spec"], "containers": [container]}})
    found = mirror.pod("shop/web-1")
    assert found is not None
    assert found.raw["spec"]["containers"][0]["name"] == "renamed"
    assert (found.node_name, mirror.refused) == ("general-a1", [])


def test_a_verdict_names_ties_and_differences(mirror: Mirror) -> None:
    pod = mirror.pod("shop/checkout-api-13")
    assert pod is not None
    refused = mirror.decision(pod)
    assert placed(pod, "general-a1", refused).sign == "≠"
    mirror.remove("Pod", "shop/web-1")
    free = mirror.decision(pod)
    verdict = placed(pod, "general-a1", free)
    assert (verdict.sign, verdict.kscope) == ("=", "general-a1")


def test_messages_are_short_in_a_table() -> None:
    message = (
        "0/6 nodes are available: 2 Insufficient cpu, 4 node(s) had untolerated taint {a: b}. no"
    )
    assert short(message) == "untolerated taint on 4, 1 more"
    assert short("pod has unbound immediate PersistentVolumeClaims. x") == (
        "pod has unbound immediate PersistentVolumeClaims"
    )
