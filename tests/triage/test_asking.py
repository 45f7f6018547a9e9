"""One object of a cluster as it stands: what was observed, what holds it, what the model predicts."""

from typing import Any

from scheduling.engine.triage.asking import explain_as_it_stands
from tests.builders.nodes import node
from tests.builders.pods import pod
from tests.triage.clusters import answer_about, cluster_of, deployment, event, leaving, placed

Manifest = dict[str, Any]


def test_asking_binds_and_writes_nothing() -> None:
    cluster = cluster_of(node("n1"), waiting := pod("web"))
    before = cluster.seq, cluster.steps
    answer = explain_as_it_stands(cluster, [node("n1"), waiting], "Pod", "default/web")
    assert answer is not None
    assert answer.predicted == "it runs on n1"
    assert (cluster.seq, cluster.steps) == before
    assert cluster.store.get("Pod", "default/web").spec.get("nodeName") is None


def test_files_win_over_a_model_that_would_run_it() -> None:
    web = placed(pod("web"))
    said = event(web, "FailedMount", 'MountVolume.SetUp failed : secret "tls" not found')
    answer = answer_about("Pod", "default/web", node("n1"), web, said)
    assert answer.contradicts
    assert "Secret default/tls does not exist" in answer.sentence
    assert answer.observed[-1].startswith("Event ×7, last 1 min before: FailedMount")
    assert "cause lies outside the model" in answer.text()


def test_pod_without_any_evidence_is_not_called_settled() -> None:
    web = placed(pod("web"), startTime="2026-11-20T11:59:30Z")
    answer = answer_about("Pod", "default/web", node("n1"), web)
    assert "its phase is Pending, and no Events are in the files" in answer.sentence


def test_plain_manifest_says_that_nothing_was_observed() -> None:
    answer = answer_about("Pod", "default/web", node("n1", cpu="1"), pod("web", cpu="2"))
    assert "nothing: the files have no status and no Event of it" in answer.text()
    assert "cpu 1 short" in answer.sentence


def test_workload_gets_the_answer_of_its_pod() -> None:
    web = deployment("web", 1, 0)
    owner = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": True}
    waiting = pod("web-1", cpu="8")
    waiting["metadata"]["ownerReferences"] = [{**owner, "uid": "deployment-web"}]
    of_pod = answer_about("Pod", "default/web-1", node("n1"), web, waiting)
    of_workload = answer_about("Deployment", "default/web", node("n1"), web, waiting)
    assert {each.sentence for each in of_pod.causes} <= {
        each.sentence for each in of_workload.causes
    }
    assert [each.text for each in of_pod.fixes] == [each.text for each in of_workload.fixes]


def test_kind_that_is_not_played_can_be_asked_about() -> None:
    widget = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "w"}}
    answer = answer_about("Widget", "w", node("n1"), leaving(widget, "example.com/hold"))
    assert "example.com/hold" in answer.sentence
    assert "with the finalizers example.com/hold" in answer.observed[0]
