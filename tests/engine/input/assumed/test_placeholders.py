"""What the files name and do not hold gets a placeholder, instead of being destroyed."""

import json
from typing import Any

from engine.cluster.cluster import Cluster
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.asking import explain_as_it_stands
from engine.diagnosis.triage.triage import triage
from engine.input.load_result import LoadResult
from engine.input.loader import load_files
from engine.input.options import IntakeOptions
from engine.input.scenario import Scenario
from engine.kernel.units import SECOND
from engine.scheduler.configuration.scenario_schedulers import check_setup
from tests.builders.nodes import node

BOUND: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "PersistentVolumeClaim",
    "metadata": {
        "name": "data",
        "namespace": "shop",
        "uid": "c-1",
        "annotations": {"volume.kubernetes.io/storage-provisioner": "ebs.csi.aws.com"},
    },
    "spec": {
        "accessModes": ["ReadWriteOnce"],
        "resources": {"requests": {"storage": "5Gi"}},
        "storageClassName": "fast",
        "volumeName": "pv-1",
    },
    "status": {"phase": "Bound", "accessModes": ["ReadWriteOnce"], "capacity": {"storage": "5Gi"}},
}


def pod(name: str, **spec: Any) -> dict[str, Any]:
    requests = {"resources": {"requests": {"cpu": "500m", "memory": "1Gi"}}}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "shop", "uid": f"u-{name}"},
        "spec": {"containers": [{"name": "c", **requests}], **spec},
        "status": {"phase": "Running" if "nodeName" in spec else "Pending"},
    }


def load(*objects: dict[str, Any], **options: Any) -> LoadResult:
    text = "\n".join(json.dumps(each) for each in objects)
    loaded = load_files(
        [("a.json", text.encode())], check=check_setup, options=IntakeOptions(**options)
    )
    assert loaded.ok, loaded.problems
    return loaded


def assumed(loaded: LoadResult) -> list[str]:
    return [f"{each.kind} {each.key}" for each in loaded.placeholders]


def played(loaded: LoadResult, seconds: int = 120) -> Cluster:
    cluster = Cluster.create(Scenario.from_load(loaded, name="x"))
    cluster.advance(seconds * SECOND)
    return cluster


def test_an_absent_node_has_what_pods_ask() -> None:
    selector = {"disk": "ssd"}
    loaded = load(pod("a", nodeName="gone", nodeSelector=selector), pod("b", nodeName="gone"))
    assert assumed(loaded) == ["Node gone"]
    (found,) = [each for each in loaded.manifests if each["kind"] == "Node"]
    assert found["status"]["allocatable"] == {"cpu": "1000m", "memory": str(2 << 30), "pods": "2"}
    assert found["metadata"]["labels"] == {"disk": "ssd", "kubernetes.io/hostname": "gone"}


def test_pods_on_an_absent_node_stay_alone() -> None:
    cluster = played(load(pod("a", nodeName="gone"), pod("new")))
    pods = {
        each.name: each.raw["spec"].get("nodeName", "")
        for each in cluster.store.live("Pod").values()
    }
    assert pods == {"a": "gone", "new": ""}


def test_a_pod_never_admitted_gets_no_node() -> None:
    raw = pod("a", nodeName="gone")
    del raw["metadata"]["uid"], raw["status"]
    assert assumed(load(raw, node("n1"))) == []


def test_a_bound_claim_without_its_volume_stays_bound() -> None:
    loaded = load(BOUND, node("n1"))
    assert assumed(loaded) == ["PersistentVolume pv-1", "StorageClass fast"]
    claim = played(loaded).store.find("PersistentVolumeClaim", "shop/data")
    assert claim is not None
    assert claim.status["phase"] == "Bound"


def test_a_bound_volume_without_its_claim_stays_bound() -> None:
    ref = {"kind": "PersistentVolumeClaim", "namespace": "shop", "name": "data", "uid": "c-1"}
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "pv-1", "uid": "v"},
        "spec": {
            "capacity": {"storage": "5Gi"},
            "accessModes": ["ReadWriteOnce"],
            "claimRef": ref,
            "nfs": {"server": "s", "path": "/"},
        },
        "status": {"phase": "Bound"},
    }
    loaded = load(volume, node("n1"))
    assert assumed(loaded) == ["PersistentVolumeClaim shop/data"]
    found = played(loaded).store.find("PersistentVolume", "pv-1")
    assert found is not None
    assert found.status["phase"] == "Bound"


def test_a_running_pod_without_its_claim_keeps_running() -> None:
    volumes = [{"name": "d", "persistentVolumeClaim": {"claimName": "data"}}]
    loaded = load(pod("a", nodeName="n1", volumes=volumes), node("n1"))
    assert assumed(loaded)[0] == "PersistentVolumeClaim shop/data"
    found = played(loaded).store.find("Pod", "shop/a")
    assert found is not None
    assert found.status["phase"] == "Running"


def test_a_restored_claim_keeps_its_snapshot() -> None:
    source = {"apiGroup": "snapshot.storage.k8s.io", "kind": "VolumeSnapshot", "name": "s1"}
    claim = {**BOUND, "spec": {**BOUND["spec"], "dataSource": source}}
    assert "VolumeSnapshot shop/s1" in assumed(load(claim, node("n1")))


def test_steps_get_no_placeholders() -> None:
    header = {
        "apiVersion": "kscope.dev/v1",
        "kind": "Scenario",
        "spec": {"steps": [{"at": "1s", "cordon": "n1"}]},
    }
    assert assumed(load(header, node("n1"), pod("a", nodeName="gone"))) == []


def test_answers_name_the_placeholders_that_they_rest_on() -> None:
    loaded = load(pod("a", nodeName="gone"), pod("new"), node("n1", cpu="100m"))
    cluster, evidence = Cluster.create(Scenario.from_load(loaded, name="x")), Evidence.of(loaded)
    (group,) = triage(cluster, evidence, tries_changes=False).groups
    assert group.assumed == tuple(evidence.assumed.values()) != ()
    for name in ("a", "new"):
        answer = explain_as_it_stands(cluster, evidence, "Pod", f"shop/{name}", tries_changes=False)
        assert answer is not None
        assert "Node gone is not in these files" in answer.text()


def test_kinds_of_two_groups_are_kept_apart() -> None:
    ours = {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "a"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c"}]}}},
    }
    theirs = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "a"},
        "spec": {"x": 1},
    }
    evidence = Evidence.of(load(ours, theirs, node("n1")))
    found = evidence.find("Job", "a/j"), evidence.find("Job.batch.volcano.sh", "a/j")
    assert [each and each["apiVersion"] for each in found] == [
        "batch/v1",
        "batch.volcano.sh/v1alpha1",
    ]


def test_filters_let_in_what_they_name() -> None:
    objects = (
        pod("a", nodeName="n1"),
        node("n1"),
        {**BOUND, "metadata": {**BOUND["metadata"], "namespace": "other"}},
    )
    read = IntakeOptions.read
    for given, kinds in (
        ({"namespaces": "shop"}, ["Pod", "Node"]),
        ({"kinds": "pods,nodes"}, ["Pod", "Node"]),
        ({"selector": "app=web"}, ["Node"]),
        ({"selector": "!app, x notin (y)"}, ["Pod", "Node", "PersistentVolumeClaim"]),
    ):
        text = "\n".join(json.dumps(each) for each in objects)
        loaded = load_files([("a.json", text.encode())], options=read(given))
        mine = [one.manifest["kind"] for one in loaded.objects if one.origin.file == "a.json"]
        assert mine == kinds, given


def test_a_class_of_admitted_pods_is_assumed() -> None:
    admitted = pod("a", nodeName="n1", priorityClassName="high", priority=1000)
    loaded = load(node("n1"), admitted)
    assert assumed(loaded) == ["PriorityClass high"]
    assert "to have the value 1,000, which the one pod of it has" in loaded.placeholders[0].sentence
    # So a workload can make its pods again.
    cluster = Cluster.create(Scenario.from_load(loaded, name="a"))
    assert cluster.store.get("PriorityClass", "high").raw["value"] == 1000


def test_a_runtime_class_keeps_its_pods_overhead() -> None:
    overhead = {"cpu": "250m"}
    loaded = load(node("n1"), pod("a", nodeName="n1", runtimeClassName="kata", overhead=overhead))
    assert assumed(loaded) == ["RuntimeClass kata"]
    assert loaded.placeholders[0].manifest["overhead"] == {"podFixed": overhead}


def test_classes_of_the_system_need_no_placeholder() -> None:
    critical = pod(
        "a", nodeName="n1", priorityClassName="system-node-critical", priority=2000001000
    )
    assert assumed(load(node("n1"), critical)) == []


def test_the_class_of_a_made_volume_is_assumed() -> None:
    volume: dict[str, Any] = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {
            "name": "pv-9",
            "annotations": {"pv.kubernetes.io/provisioned-by": "pd.csi.storage.gke.io"},
        },
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "slow",
            "csi": {"driver": "pd.csi.storage.gke.io", "volumeHandle": "h"},
        },
        "status": {"phase": "Available"},
    }
    loaded = load(node("n1"), volume)
    assert assumed(loaded) == ["StorageClass slow"]
    assert loaded.placeholders[0].manifest["provisioner"] == "pd.csi.storage.gke.io"


def test_a_namespace_is_assumed_where_labels_count() -> None:
    running = pod("a", nodeName="n1")
    assert assumed(load(node("n1"), running)) == []
    selector = {"matchLabels": {"team": "a"}}
    term = {"topologyKey": "zone", "labelSelector": {}, "namespaceSelector": selector}
    apart = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    loaded = load(node("n1"), running, pod("b", affinity=apart))
    assert assumed(loaded) == ["Namespace shop"]
    assert "Of its labels only its name is known" in loaded.placeholders[0].sentence


def test_why_says_nothing_of_an_assumed_object() -> None:
    loaded = load(node("n1"), BOUND)
    cluster = Cluster.create(Scenario.from_load(loaded, name="a"))
    answer = explain_as_it_stands(cluster, Evidence.of(loaded), "PersistentVolume", "pv-1")
    assert answer is not None
    assert answer.diagnosis.state == "assumed"
    assert [str(each) for each in answer.observed] == [
        "not in these files: whatever is said of it is assumed"
    ]
    assert "PersistentVolumeClaim shop/data is bound to it" in answer.assumed[0]
