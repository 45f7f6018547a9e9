"""What was observed after the run was played: every fact is there, and marked where play went on."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import CommandError, call_command

from engine.cluster import cluster as cluster_module
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.observed_facts import ObservedFact, facts_after_play, facts_of
from engine.diagnosis.why import explain_object
from engine.kernel.units import SECOND
from engine.objects.objects import from_manifest
from tests.builders.clusters import played
from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.engine.diagnosis.triage.clusters import NOON, cluster_of, event, leaving, placed

Manifest = dict[str, Any]

_REFUSED = "0/1 nodes are available: 1 Insufficient memory."


def _played(kind: str, key: str, *manifests: Manifest, seconds: int = 60) -> list[ObservedFact]:
    cluster, evidence = cluster_of(*manifests), Evidence(manifests)
    cluster.advance(seconds * SECOND)
    return [*facts_after_play(cluster, evidence, kind, key)]


def _waiting() -> Manifest:
    return {**pod("web"), "status": {"phase": "Pending"}}


def test_pod_that_runs_keeps_its_facts() -> None:
    web = _waiting()
    said = event(web, "FailedScheduling", _REFUSED)
    phase, told = _played("Pod", "default/web", node("n1"), web, said)
    assert (phase.text, phase.source) == ("phase Pending", "status.phase")
    assert phase.superseded_by is not None
    assert phase.superseded_by.text == "PodRunning: Running"
    assert (told.at, told.source) == ("2026-11-20T11:59:00Z", "Event")
    assert told.superseded_by is not None
    assert told.superseded_by.text.startswith("Scheduled: Successfully assigned default/web to n1")


def test_fact_that_play_repeats_has_no_mark() -> None:
    web = placed(pod("web"), containerStatuses=[_waits_in("ImagePullBackOff")])
    phase, container, _ = _played("Pod", "default/web", node("n1"), web)
    assert (phase.superseded_by, container.superseded_by) == (None, None)
    assert container.source == "status.containerStatuses[main]"


def _waits_in(reason: str) -> Manifest:
    return {"name": "main", "ready": False, "state": {"waiting": {"reason": reason}}}


def test_event_is_superseded_by_another_text() -> None:
    web = {**pod("web", cpu="900"), "status": {"phase": "Pending"}}
    said = event(web, "FailedScheduling", _REFUSED)
    phase, told = _played("Pod", "default/web", node("n1"), web, said)
    assert phase.superseded_by is None
    assert told.superseded_by is not None
    assert "Insufficient cpu" in told.superseded_by.text


def test_facts_of_a_deleted_pod_are_kept() -> None:
    web = leaving(placed(pod("web"), phase="Running"))
    facts = _played("Pod", "default/web", node("n1"), web)
    assert [each.text for each in facts] == ["phase Running", "deleted at 2026-11-20T11:00:00Z"]
    assert all(each.superseded_by for each in facts)


def test_answer_about_a_deleted_object_says_who() -> None:
    web = placed(pod("web"), phase="Running")
    cluster = played(cluster_of(node("n1"), web))
    assert cluster.apply(Command(verb="delete", object="pod/default/web", grace_seconds=5)).applied
    played(cluster)
    found = explain_object(cluster, "Pod", "default/web")
    assert (found.state, found.sentence.split(",", 1)[0]) == (
        "deleted",
        "Pod default/web was deleted at t=61.001 s by kubelet",
    )
    assert "as command had asked" in found.sentence
    assert found.sentence.endswith("At the last its phase was Running and its node was n1.")


def test_second_life_of_a_name_unmarks_nothing() -> None:
    web = leaving(placed(pod("web"), phase="Running"))
    cluster, evidence = cluster_of(node("n1"), web), Evidence([node("n1"), web])
    cluster.advance(60 * SECOND)
    before = facts_after_play(cluster, evidence, "Pod", "default/web")
    assert cluster.apply(Command(verb="create", manifest=pod("web"))).applied
    cluster.advance(120 * SECOND)
    assert facts_after_play(cluster, evidence, "Pod", "default/web") == before


def test_checkpoint_keeps_what_superseded_a_fact() -> None:
    web = _waiting()
    cluster, evidence = cluster_of(node("n1"), web), Evidence([web])
    cluster.advance(60 * SECOND)
    cluster.take()
    restored = Cluster.restore(cluster.checkpoint())
    asked = (evidence, "Pod", "default/web")
    assert facts_after_play(restored, *asked) == facts_after_play(cluster, *asked)
    assert facts_after_play(cluster, *asked) != facts_of(evidence, web)


def test_nothing_is_noted_that_no_fact_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    web, lost = _waiting(), {**pod("lost"), "status": {"phase": "Running", "hostIP": "10.0.0.9"}}
    bare = pod("bare")
    said = [event(each, "FailedScheduling", _REFUSED) for each in (web, bare)]
    manifests = [node("n1"), web, bare, leaving(placed(pod("left"))), lost, *said]
    evidence = Evidence(manifests)

    def marked() -> tuple[Cluster, list[ObservedFact]]:
        cluster = cluster_of(*manifests)
        cluster.advance(60 * SECOND)
        cluster.take()
        asked = [("Node", "n1"), *(("Pod", f"default/{each}") for each in _NAMES)]
        return cluster, [
            one for each in asked for one in facts_after_play(cluster, evidence, *each)
        ]

    cluster, facts = marked()
    monkeypatch.setattr(cluster_module, "entities_told", _all_ids)
    with_all, facts_of_all = marked()
    assert facts == facts_of_all
    assert sum(each.superseded_by is not None for each in facts) > 3
    assert cluster.digest() == with_all.digest()
    assert len(cluster.checkpoint()) < len(with_all.checkpoint())


_NAMES = ("web", "bare", "left", "lost")


def _all_ids(manifests: Iterable[Manifest]) -> list[str]:
    return [from_manifest(each).id for each in manifests]


def test_node_shows_its_lease_as_observed() -> None:
    lease = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "spec": {"renewTime": NOON}}
    lease["metadata"] = {"name": "n1", "namespace": "kube-node-lease"}
    facts = facts_of(Evidence([node("n1"), lease]), node("n1"))
    assert f"its Lease was renewed at {NOON}" in [each.text for each in facts]


def _asked(path: Path, *words: str, capsys: pytest.CaptureFixture[str]) -> str:
    call_command("why", str(path), *words)
    return capsys.readouterr().out


@pytest.fixture
def brought(tmp_path: Path) -> Path:
    """A pod that waits in the files and would run, and an object of a kind that is not played."""
    web = _waiting()
    metadata = {"name": "w", "namespace": "default", "deletionTimestamp": NOON}
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": metadata}
    said = event(web, "FailedScheduling", _REFUSED)
    path = tmp_path / "cluster.yaml"
    path.write_bytes(b"\n---\n".join(map(orjson.dumps, (node("n1"), web, said, widget))))
    return path


def test_command_marks_what_play_superseded(
    brought: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = _asked(brought, "pod", "web", "--until", "60s", capsys=capsys)
    assert "Observed, as of 2026-11-20T12:00:00Z" in text
    assert "  phase Pending (superseded at t=" in text
    assert "Insufficient memory. (superseded at t=" in text
    told = json.loads(_asked(brought, "pod", "web", "--until", "60s", "--json", capsys=capsys))
    assert told["observed_facts"][0]["superseded_by"]["seq"] > 0
    assert told["observed"][0].startswith("phase Pending (superseded")


def test_kind_that_is_not_played_keeps_its_facts(
    brought: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = _asked(brought, "widget", "w", "--until", "60s", capsys=capsys)
    assert "only its files tell of it" in text
    assert f"  deleted at {NOON}" in text
    with pytest.raises(CommandError, match="no Widget default/x"):
        call_command("why", str(brought), "widget", "x", "--until", "60s")
