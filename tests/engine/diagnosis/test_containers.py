"""Why containers end again and again, are not ready, or wait: what `why` says of scripted pods."""

from typing import Any

from engine.cluster.cluster import Cluster
from engine.diagnosis import Diagnosis
from engine.diagnosis.report import Cause
from engine.diagnosis.why import explain_object
from engine.kernel.units import SECOND
from tests.builders import Manifest, node, pod, scene
from tests.engine.controllers.workloads.builders import make

PROBE = {"httpGet": {"path": "/", "port": 80}, "periodSeconds": 10}


def asked(
    *objects: Manifest, key: str = "default/p", does: Any = (), seconds: int = 100
) -> Diagnosis:
    cluster = Cluster.create(scene(node("n1"), *objects, containers=does), profile="v1.36")
    cluster.advance(seconds * SECOND)
    return explain_object(cluster, "Pod", key)


def probed(field: str) -> Manifest:
    made = pod("p")
    made["spec"]["containers"][0][field] = PROBE
    return made


def only(found: Diagnosis) -> Cause:
    (cause,) = found.causes
    return cause


def fields(cause: Cause) -> list[str]:
    return [each.field for each in cause.because]


def test_crash_loop_tells_code_restarts_and_next_start() -> None:
    found = only(asked(pod("p"), does=[{"pod": "p", "runs": [{"for": "5s", "exit": 3}]}]))
    assert found.sentence == (
        "Container main of pod default/p ends again and again: restarted 4 times, it last ended with "
        "exit code 3 (Error)."
    )
    assert "The back-off is 1m20s" in found.why
    assert "it starts again in 77 s at the earliest" in found.why
    assert "Entry 1 of spec.containers" in found.why
    assert found.why.endswith("By its script the next run ends after 5 s with exit code 3.")
    assert fields(found) == [
        "status.containerStatuses[0].lastState.terminated.exitCode",
        "status.containerStatuses[0].restartCount",
        "status.containerStatuses[0].state.waiting.message",
    ]


def test_script_of_the_pod_itself_is_evidence() -> None:
    made = pod("p")
    made["metadata"]["annotations"] = {
        "kscope.dev/containers": "runs: [{for: 1s, exit: 9}, {for: forever}]"
    }
    found = only(asked(made, seconds=5))
    assert any("kscope.dev/containers" in each for each in fields(found))
    assert "By its script the next run goes on without an end of its own." in found.why


def test_failing_liveness_probe_is_helped_by_patience() -> None:
    found = asked(probed("livenessProbe"), does=[{"pod": "p", "liveness": "45s=pass"}])
    assert "spec.containers[0].livenessProbe" in fields(only(found))
    assert [each.kind for each in found.fixes] == ["probe", "probe"]
    assert "begin 60 s after its start" in found.fixes[0].text


def test_patience_that_does_not_suffice_is_not_offered() -> None:
    found = asked(probed("livenessProbe"), does=[{"pod": "p", "liveness": "200s=pass"}])
    assert len(found.fixes) == 1
    assert "begin 300 s after its start" in found.fixes[0].text


def test_pod_of_a_workload_is_helped_too() -> None:
    deployment = make("Deployment", replicas=1)
    deployment["spec"]["template"]["spec"] = {
        "containers": [{"name": "c", "image": "app:1", "livenessProbe": PROBE}]
    }
    cluster = Cluster.create(
        scene(node("n1"), deployment, containers=[{"liveness": "45s=pass"}]), profile="v1.36"
    )
    cluster.advance(100 * SECOND)
    (made,) = cluster.store.objects("Pod")
    found = explain_object(cluster, "Pod", made.key)
    assert "exit code 143" in only(found).sentence
    assert "template" in found.fixes[0].note
    assert "A container that hangs is found later." in found.fixes[0].note


def test_failing_readiness_probe_is_named() -> None:
    found = only(asked(probed("readinessProbe"), does=[{"pod": "p", "readiness": "10m=pass"}]))
    assert found.severity == "delays"
    assert "runs and is not ready: its readiness probe fails" in found.sentence
    assert found.reasons == (
        "Unhealthy: Readiness probe failed: HTTP probe failed with statuscode: 503",
    )


def test_init_container_that_never_ends_holds_others() -> None:
    made = pod("p")
    made["spec"]["initContainers"] = [{"name": "setup", "image": "x:1"}]
    never = only(asked(made, does=[{"container": "setup", "runs": [{"for": "forever"}]}]))
    assert (
        "Init container setup of pod default/p has run for 100 s and has not ended"
        in never.sentence
    )
    assert never.why.endswith("By its script it never ends.")
    fails = only(asked(made, does=[{"container": "setup", "runs": [{"for": "2s", "exit": 1}]}]))
    assert "Init container setup of pod default/p ends again and again" in fails.sentence


def test_container_that_stays_has_nothing_to_tell() -> None:
    runs = [{"for": "1s", "exit": 1}, {"for": "forever"}]
    assert asked(pod("p"), does=[{"pod": "p", "runs": runs}], seconds=300).causes == ()
    assert asked(probed("livenessProbe"), does=[{"pod": "p"}]).causes == ()
