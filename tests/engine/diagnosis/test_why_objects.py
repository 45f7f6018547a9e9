"""Why a claim, a volume, a node, a workload or a placed pod is as it is."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.diagnosis import Diagnosis
from engine.diagnosis.subjects.changes import changes_for
from engine.diagnosis.subjects.scene import Scene
from engine.diagnosis.why import explain_object
from tests.builders import Manifest, budget, node, played, pod, scene


def _cluster(*objects: Manifest, seconds: int = 20) -> Cluster:
    return played(Cluster.create(scene(*objects), profile="v1.34"), seconds)


def _asked(cluster: Cluster, kind: str, key: str) -> Diagnosis:
    return explain_object(cluster, kind, key)


def _claim(name: str = "data", **spec: Any) -> Manifest:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {**wanted, "storageClassName": "", **spec},
    }


def _volume(name: str = "pv", **spec: Any) -> Manifest:
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
            "hostPath": {"path": "/mnt"},
            "persistentVolumeReclaimPolicy": "Retain",
            **spec,
        },
    }


def _class(name: str, **fields: Any) -> Manifest:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": "kubernetes.io/no-provisioner",
        **fields,
    }


def test_bound_claim_has_nothing_to_report() -> None:
    found = _asked(_cluster(_claim(), _volume()), "PersistentVolumeClaim", "default/data")
    assert found.causes == ()
    assert found.state == "Bound"


def test_an_absent_object_is_said_to_be_absent() -> None:
    found = _asked(_cluster(node("n")), "PersistentVolumeClaim", "default/data")
    assert found.state == "absent"


def test_a_claim_of_a_missing_class_says_so() -> None:
    found = _asked(
        _cluster(_claim(storageClassName="gone")), "PersistentVolumeClaim", "default/data"
    )
    assert found.sentence == "Claim default/data wants class gone, which does not exist."


def test_claim_that_nobody_uses_waits_for_a_pod() -> None:
    waits = _class("slow", volumeBindingMode="WaitForFirstConsumer")
    found = _asked(
        _cluster(waits, _claim(storageClassName="slow")), "PersistentVolumeClaim", "default/data"
    )
    assert found.sentence == "Claim default/data waits for its first consumer: no pod uses it."
    assert [each.severity for each in found.causes] == ["delays"]


@pytest.mark.parametrize(
    ("volume", "kind"),
    [
        (_volume(capacity={"storage": "500Mi"}), "claim"),
        (_volume(accessModes=["ReadOnlyMany"]), "volume"),
        (_volume(volumeMode="Block"), "claim"),
        (_volume(storageClassName="fast"), "claim"),
    ],
    ids=["size", "access modes", "mode", "class"],
)
def test_claim_that_nearly_fits_a_volume_is_helped(volume: Manifest, kind: str) -> None:
    cluster = _cluster(_claim(), volume)
    found = _asked(cluster, "PersistentVolumeClaim", "default/data")
    assert any(fact.object == "volume/pv" for cause in found.causes for fact in cause.because)
    assert found.fixes[0].kind == kind
    for command in found.fixes[0].commands:
        assert cluster.apply(Command.from_dict(command)).applied
    played(cluster, 30)
    claim = cluster.store.get("PersistentVolumeClaim", "default/data")
    assert claim.status["phase"] == "Bound"


def test_a_selector_on_a_provisioned_claim_is_refused() -> None:
    quick = _class("quick", provisioner="csi.example.com")
    claim = _claim(storageClassName="quick", selector={"matchLabels": {"a": "b"}})
    found = _asked(_cluster(quick, claim), "PersistentVolumeClaim", "default/data")
    assert "claim Selector is not supported" in found.sentence


def test_terminating_claim_names_the_pod_that_keeps_it() -> None:
    user = pod("user", volumes=[{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}])
    cluster = _cluster(node("n"), _claim(), _volume(), user)
    cluster.apply(Command(verb="delete", object="persistentvolumeclaim/default/data"))
    found = _asked(played(cluster, 30), "PersistentVolumeClaim", "default/data")
    assert found.causes[0].plugin == "pvc-protection-controller"
    assert "default/user" in found.causes[0].why


def test_a_released_volume_names_its_former_claim() -> None:
    cluster = _cluster(_claim(), _volume())
    cluster.apply(Command(verb="delete", object="persistentvolumeclaim/default/data"))
    found = _asked(played(cluster, 30), "PersistentVolume", "pv")
    assert found.sentence == "Volume pv is Released: claim default/data was deleted."
    assert "spec.claimRef.uid" in [fact.field for fact in found.causes[0].because]


def test_a_cordoned_node_says_so() -> None:
    cluster = _cluster(node("n"))
    cluster.apply(Command(verb="cordon", object="node/n"))
    found = _asked(played(cluster, 30), "Node", "n")
    assert found.sentence == "Node n is cordoned: it keeps its pods and takes no new ones."


def test_a_placed_pod_without_trouble_is_left_alone() -> None:
    found = _asked(_cluster(node("n"), pod("p")), "Pod", "default/p")
    assert (found.state, found.causes) == ("placed", ())


def _deployed(replicas: int) -> list[Manifest]:
    template = {"metadata": {"labels": {"app": "web"}}, "spec": pod("web")["spec"]}
    spec = {"selector": {"matchLabels": {"app": "web"}}, "template": template}
    meta = {"name": "web", "namespace": "default"}
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "ReplicaSet",
            "metadata": meta,
            "spec": {"replicas": replicas, **spec},
        }
    ]


def test_a_cordoned_node_can_be_uncordoned() -> None:
    cluster = _cluster(node("n"))
    cluster.apply(Command(verb="cordon", object="node/n"))
    found = _asked(played(cluster, 30), "Node", "n")
    assert [fix.kind for fix in found.fixes] == ["uncordon"]
    assert found.fixes[0].note


def test_a_blocked_drain_offers_budget_changes() -> None:
    cluster = _cluster(node("n"), *_deployed(1), budget("web", minAvailable=1), seconds=60)
    found = _asked(cluster, "Node", "n")
    assert [fix.kind for fix in found.fixes] == ["replicas", "budget", "budget"]
    assert all(fix.note for fix in found.fixes)
    for command in found.fixes[0].commands:
        assert cluster.apply(Command.from_dict(command)).applied
    played(cluster, 30)
    limit = cluster.store.get("PodDisruptionBudget", "default/web")
    assert limit.status["disruptionsAllowed"] == 1


def test_failing_job_tells_limit_and_last_exit_code() -> None:
    failing = _job("7", backoffLimit=4)
    cluster = played(Cluster.create(scene(node("n"), failing), profile="v1.36"), 20)
    (found,) = _asked(cluster, "Job", "default/once").causes
    assert found.severity == "delays"
    assert found.sentence.endswith("it gives up when more than 4 have (backoffLimit).")
    assert [each.field for each in found.because[:2]] == ["status.failed", "spec.backoffLimit"]


def _job(code: str, **spec: Any) -> Manifest:
    ends = {"kscope.dev/run-for": "1s", "kscope.dev/exit-code": code}
    containers = [{"name": "c", "image": "app"}]
    template = {
        "metadata": {"annotations": ends},
        "spec": {"containers": containers, "restartPolicy": "Never"},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "once", "namespace": "default"},
        "spec": {"template": template, **spec},
    }


@pytest.mark.parametrize(
    ("code", "spec", "sentences"),
    [
        ("0", {}, []),
        ("0", {"completions": 3, "parallelism": 3}, []),
        ("0", {"suspend": True}, ["Job default/once is suspended."]),
        (
            "1",
            {"backoffLimit": 0},
            ["Job default/once has failed: Job has reached the specified backoff limit."],
        ),
    ],
)
def test_a_job_that_has_ended_wants_no_pods(
    code: str, spec: dict[str, Any], sentences: list[str]
) -> None:
    cluster = played(Cluster.create(scene(node("n"), _job(code, **spec)), profile="v1.36"), 20)
    found = _asked(cluster, "Job", "default/once")
    assert [each.sentence for each in found.causes] == sentences
    assert all(each.because for each in found.causes)


@pytest.mark.parametrize("named", [{}, {"volumeName": "pv"}])
def test_volume_of_a_living_claim_stays_its(named: dict[str, str]) -> None:
    volume = _volume(claimRef={"namespace": "default", "name": "first"})
    whole = Scene.of(_cluster(_claim("first"), volume, _claim("second", **named)))
    second = whole.claim("default/second")
    assert second is not None
    proposed = [each.command.object for each in changes_for(whole, second)]
    assert "volume/pv" not in proposed


def test_claim_leaves_a_volume_of_another() -> None:
    taken = _volume(claimRef={"namespace": "default", "name": "first"})
    cluster = _cluster(_claim("first"), taken, _volume("spare"), _claim("second", volumeName="pv"))
    (fix, *_) = _asked(cluster, "PersistentVolumeClaim", "default/second").fixes
    assert fix.text.startswith("Make claim default/second again without volumeName")
