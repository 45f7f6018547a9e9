"""A cluster that is read: the same answer as from files, by GET alone, page by page."""

from __future__ import annotations

import json
import re
import sys
import tarfile
import time
from pathlib import Path
from typing import Any

import pytest

from kube.clusters import Cluster
from tests.program.asked import Asked, Program
from tests.program.live.api_proxy import ApiProxy, kubeconfig
from tests.program.live.conftest import Through

WHY = ("why", "--context", "prod", "pod/checkout-api-13", "-n", "shop")
TRIAGE = ("triage", "--context", "prod", "-A")


def _said(kscope: Program, config: str, *words: str) -> Asked:
    return kscope(*words, KUBECONFIG=config)


def _document(said: Asked) -> dict[str, Any]:
    return json.loads(said.out)


def _head(running: Cluster) -> int:
    """The number of the newest event of the run, a write or not."""
    return running._look()["seq"]


def test_a_cluster_is_triaged_as_its_file(
    kscope: Program, prod_eu: Cluster, through: Through
) -> None:
    _, config = through(prod_eu)
    found = _document(_said(kscope, config, *TRIAGE, "-o", "json"))
    of_file = _document(kscope("triage", "prod-eu.yaml", "-o", "json"))
    assert found["headline"] == of_file["headline"]
    assert found["counts"] == of_file["counts"]
    assert [each["pods"] for each in found["groups"]] == [
        each["pods"] for each in of_file["groups"]
    ]
    assert (found["complete"], found["unseen"], found["instant_from"]) == (True, [], "cluster")


def test_triage_asks_about_the_namespace_of_a_context(
    kscope: Program, prod_eu: Cluster, through: Through
) -> None:
    whole = _document(_said(kscope, through(prod_eu)[1], *TRIAGE, "-o", "json"))
    _, config = through(prod_eu, context={"namespace": "ml"})
    said = _said(kscope, config, "triage", "--context", "prod", "-o", "json")
    groups = _document(said)["groups"]
    assert 0 < len(groups) < len(whole["groups"])
    assert all(any(pod.startswith("ml/") for pod in each["pods"]) for each in groups)
    text = " ".join(said.err.split())
    assert "namespace ml, that of the context, was asked about;" in text
    assert f"{len(whole['groups']) - len(groups)} cause" in text
    named = _said(kscope, config, "triage", "--context", "prod", "-n", "ml", "-o", "json")
    assert _document(named)["groups"] == groups
    assert "was asked about" not in named.err


def test_without_a_namespace_the_context_has_default(
    kscope: Program, prod_eu: Cluster, through: Through
) -> None:
    _, config = through(prod_eu)
    said = _said(kscope, config, "triage", "--context", "prod")
    assert (said.status, "Nothing is stuck" in said.out) == (0, True)
    assert "elsewhere: -A tells all" in " ".join(said.err.split())


def test_only_gets_arrive_and_nothing_is_written(
    kscope: Program, prod_eu: Cluster, through: Through, tmp_path: Path
) -> None:
    proxy, config = through(prod_eu)
    before, text = _head(prod_eu), Path(config).read_text()
    for words in (TRIAGE, WHY, ("collect", "--context", "prod", str(tmp_path / "a.tar.gz"))):
        _said(kscope, config, *words)
    _said(kscope, config, "rbac", "--context", "prod")
    assert len(proxy.asked) > 100
    assert {each.method for each in proxy.asked} == {"GET"}
    assert _head(prod_eu) == before
    assert Path(config).read_text() == text


def test_a_collection_gives_the_answer_of_its_cluster(
    kscope: Program, prod_eu: Cluster, through: Through, tmp_path: Path
) -> None:
    _, config = through(prod_eu)
    file = tmp_path / "prod.tar.gz"
    said = _said(kscope, config, "collect", "--context", "prod", str(file))
    assert said.status == 0
    text = " ".join(said.err.split())
    assert re.search(
        r"wrote \S+prod\.tar\.gz \(38 kinds, 139 objects, [\d.]+ KiB; nothing was", text
    )
    live = _document(_said(kscope, config, *TRIAGE, "-o", "json"))
    again = _document(kscope("triage", str(file), "-o", "json"))
    live["instant"] = again["instant"]
    assert again == live


def test_data_of_secrets_never_leave_the_cluster(
    kscope: Program, prod_eu: Cluster, through: Through, tmp_path: Path
) -> None:
    copy = '{"data":{"password":"aHVudGVyMg=="}}'
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": "database",
            "namespace": "shop",
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": copy},
        },
        "data": {"token": "czNjcjN0"},
    }
    proxy, config = through(prod_eu, secrets=[secret])
    file = tmp_path / "prod.tar.gz"
    said = _said(kscope, config, "collect", "--context", "prod", str(file))
    assert "1 Secret by name only" in " ".join(said.err.split())
    asked = [each for each in proxy.asked if each.path.endswith("/secrets")]
    assert asked
    assert all("as=PartialObjectMetadataList" in each.accept for each in asked)
    assert not any("application/json," in f"{each.accept}," for each in asked)
    assert b"czNjcjN0" not in b"".join(proxy.sent)
    with tarfile.open(file) as archive:
        held = [archive.extractfile(each) for each in archive]
        text = b"".join(each.read() for each in held if each)
    assert b'"database"' in text
    assert b"czNjcjN0" not in text
    assert b"aHVudGVyMg" not in text


def test_why_reads_what_concerns_the_question(
    kscope: Program, prod_eu: Cluster, through: Through
) -> None:
    proxy, config = through(prod_eu)
    said = _said(kscope, config, *WHY)
    assert said.status == 1
    assert re.search(r"^read prod  \d+ of \d+ kinds  \d+ objects  \d+ requests", said.err)
    read = {each.path.rpartition("/")[2] for each in proxy.asked}
    assert {"nodes", "pods", "replicasets", "checkout-api-13"} <= read
    # It has no volumes, and it has not been placed.
    assert not {"secrets", "persistentvolumes", "storageclasses", "volumeattachments"} & read
    assert "/api/v1/namespaces/shop/events" in proxy.paths


def test_a_thousand_nodes_are_answered_in_seconds(
    kscope: Program, of_1000_nodes: Cluster, through: Through, capsys: pytest.CaptureFixture[str]
) -> None:
    proxy, config = through(of_1000_nodes)
    before = _head(of_1000_nodes)
    figures: list[str] = []
    for words in (TRIAGE, ("why", "--context", "prod", "pod/batch-07", "-n", "shop")):
        began, asked = time.process_time(), len(proxy.asked)
        said = _said(kscope, config, *words)
        seconds = time.process_time() - began
        figures.append(f"{words[0]}: {seconds:.1f} CPU s, {len(proxy.asked) - asked} requests")
        assert said.status == 1
        assert "1000 nodes" in " ".join(said.out.split())
        # Of both sides, as the proxy is in this process.
        assert seconds < 30
    assert {each.method for each in proxy.asked} == {"GET"}
    assert _head(of_1000_nodes) == before
    pages = [each.query for each in proxy.asked if each.path == "/api/v1/pods"]
    assert len(pages) == 2 * 7
    assert all(each["limit"] == "500" for each in pages)
    with capsys.disabled():
        print(f"\n1,000 nodes: {'; '.join(figures)}")


def test_a_page_that_is_gone_is_read_anew(
    kscope: Program, of_1000_nodes: Cluster, through: Through
) -> None:
    proxy, config = through(of_1000_nodes, expires=True)
    said = _said(kscope, config, *TRIAGE, "--read", "nodes,pods", "-o", "json")
    assert _document(said)["counts"]["nodes"] == 1_000
    assert _document(said)["counts"]["pods"] == 3_040
    assert proxy.expires is False


def test_a_busy_server_is_asked_again(kscope: Program, prod_eu: Cluster, through: Through) -> None:
    proxy, config = through(prod_eu, busy=3)
    said = _said(kscope, config, *TRIAGE, "--read", "nodes,pods,pv,pvc,sc")
    assert said.lines[0] == "3 causes hold 40 pods."
    assert proxy.busy == 0


def test_an_exec_plugin_gives_the_token(
    kscope: Program, prod_eu: Cluster, through: Through, tmp_path: Path
) -> None:
    credential = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "kind": "ExecCredential",
        "status": {"token": "t0ken"},
    }
    plugin = {
        "apiVersion": "client.authentication.k8s.io/v1",
        "command": sys.executable,
        "args": ["-c", f"print({json.dumps(json.dumps(credential))})"],
    }
    _, config = through(prod_eu, token="t0ken", context={"user": {"exec": plugin}})
    assert _said(kscope, config, *TRIAGE).status == 1
    plugin["args"] = ["-c", "import sys; sys.exit('no session: log in first')"]
    _, config = through(prod_eu, token="t0ken", context={"user": {"exec": plugin}})
    said = _said(kscope, config, *TRIAGE)
    assert said.status == 3
    assert "no session: log in first" in said.err


def test_a_wrong_token_is_said_to_be_unknown(
    kscope: Program, prod_eu: Cluster, through: Through
) -> None:
    _, config = through(prod_eu, token="t0ken", context={"user": {"token": "other"}})
    said = _said(kscope, config, *TRIAGE)
    assert said.status == 3
    assert said.err == (
        "error: the API server of context prod does not know you: 401 Unauthorized\n"
        "  help: kubectl --context prod auth whoami\n"
    )


def test_a_server_that_is_not_there_is_named(kscope: Program, tmp_path: Path) -> None:
    config = kubeconfig(tmp_path, "http://127.0.0.1:9")
    said = _said(kscope, str(config), *TRIAGE)
    assert said.status == 3
    assert said.err.splitlines()[:3] == [
        "error: the API server of context prod was not reached: http://127.0.0.1:9",
        "  tried 3 times within 10 s; the last answer: connection refused",
        "  help: kubectl --context prod get --raw /readyz",
    ]


def test_a_context_with_a_similar_name_is_named(kscope: Program, tmp_path: Path) -> None:
    config = str(kubeconfig(tmp_path, "http://127.0.0.1:9"))
    said = _said(kscope, config, "triage", "--context", "prd")
    assert (said.status, said.err) == (
        2,
        f"error: no context prd in {config}\n  help: a context with a similar name exists: prod\n",
    )
    said = _said(kscope, config, "triage")
    assert said.err == (
        "error: no cluster was named\n"
        "  help: kscope triage FILE, or kscope triage --context NAME (contexts: prod)\n"
    )


def test_a_name_that_is_not_there_is_corrected(
    kscope: Program, prod_eu: Cluster, through: Through
) -> None:
    _, config = through(prod_eu)
    said = _said(kscope, config, "why", "--context", "prod", "pod/checkout-api-99", "-n", "shop")
    assert said.status == 2
    assert said.err == (
        "error: no pod checkout-api-99 in namespace shop of context prod\n"
        "  help: pods with similar names: checkout-api-9, checkout-api-19\n"
        "        all that wait: kscope triage --context prod -n shop\n"
    )


def test_the_namespace_is_that_of_the_context(
    kscope: Program, prod_eu: Cluster, through: Through
) -> None:
    _, config = through(prod_eu, context={"namespace": "ml"})
    assert _said(kscope, config, "why", "--context", "prod", "pod/ranker-0").status == 0
    assert _said(kscope, config, "why", "--context", "prod", "pod/web-1").status == 2
    assert _said(kscope, config, "why", "--context", "prod", "pod/web-1", "-A").status == 0


def test_nodes_are_added_to_a_cluster(kscope: Program, prod_eu: Cluster, through: Through) -> None:
    _, config = through(prod_eu)
    said = _said(kscope, config, *TRIAGE, "--nodes", "4xgeneral-a1")
    assert said.lines[1].startswith("15 nodes, 74 pods")


def test_old_servers_are_asked_without_discovery(
    kscope: Program, prod_eu: Cluster, through: Through, monkeypatch: pytest.MonkeyPatch
) -> None:
    def older(self: ApiProxy, asked: Any) -> tuple[int, dict[str, str], bytes]:
        if asked.path in ("/api", "/apis"):
            kind = "APIVersions" if asked.path == "/api" else "APIGroupList"
            return 200, {"Content-Type": "application/json"}, json.dumps({"kind": kind}).encode()
        return answer(self, asked)

    answer = ApiProxy.answer
    monkeypatch.setattr(ApiProxy, "answer", older)
    _, config = through(prod_eu)
    assert _said(kscope, config, *TRIAGE).lines[0] == "3 causes hold 40 pods."
