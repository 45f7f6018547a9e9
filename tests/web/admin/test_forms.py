"""Fields for what people edit: each is a part of the manifest, and all are saved as one command."""

import json
from typing import Any

import pytest
from django.test import Client

from engine.input.loader import load_files
from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.models import Command, Run
from scheduling.models import Node, Pod
from tests.web.admin.pages import FormReader, address, edit
from tests.web.conftest import CLUSTER
from volumes.models import PersistentVolume, PersistentVolumeClaim

pytestmark = pytest.mark.django_db(transaction=True)

DISK = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: ebs.csi.aws.com
allowVolumeExpansion: true
---
apiVersion: v1
kind: PersistentVolume
metadata: {name: disk}
spec:
  capacity: {storage: 10Gi}
  accessModes: [ReadWriteOnce]
  storageClassName: fast
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-1}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: fast
  resources: {requests: {storage: 10Gi}}
---
apiVersion: v1
kind: Pod
metadata: {name: held}
spec:
  schedulingGates: [{name: example.com/wait}]
  containers: [{name: c, image: app:1}]
"""


@pytest.fixture
def stored(transactional_db: Any) -> Run:
    """A run with a volume, its claim, and a pod that a gate holds back."""
    files = [("stored.yaml", f"{CLUSTER}---{DISK}".encode())]
    scenario = services.scenario_store(name="stored", result=load_files(files))
    run = services.run_create(scenario=scenario, play=True, speed="max")
    runner.run_drive(run.pk)
    run.refresh_from_db()
    return run


def test_many_fields_are_one_command(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    edit(
        admin,
        driven,
        node,
        unschedulable="on",
        taints="- key: dedicated\n  effect: NoSchedule",
        labels="disk: ssd\nrack: 7",
        capacity="cpu: 8\nmemory: 16Gi\npods: 110",
        allocatable="cpu: 7\nmemory: 15Gi\npods: 110",
    )
    command = Command.objects.get(run=driven)
    assert command.status == Command.Status.APPLIED
    node.refresh_from_db()
    assert node.unschedulable
    assert {"key": "dedicated", "effect": "NoSchedule"} in node.manifest["spec"]["taints"]
    assert node.manifest["metadata"]["labels"] == {"disk": "ssd", "rack": "7"}
    status = node.manifest["status"]
    assert (status["capacity"]["cpu"], status["allocatable"]["cpu"]) == ("8", "7")


def test_a_field_and_the_manifest_add_up(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    page = FormReader(admin.get(address(node)).content.decode()).fields
    text = page["manifest"].replace("  name: n1\n", "  name: n1\n  annotations:\n    by: hand\n")
    edit(admin, driven, node, manifest=text, labels="disk: ssd")
    node.refresh_from_db()
    assert node.metadata("annotations") == {"by": "hand"}
    assert node.metadata("labels") == {"disk": "ssd"}
    assert Command.objects.filter(run=driven).count() == 1


def test_an_emptied_field_is_taken_away(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    edit(admin, driven, node, labels="")
    node.refresh_from_db()
    assert not node.metadata("labels")


def test_the_same_in_other_words_is_no_change(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key="n1")
    labels = json.dumps(node.metadata("labels"))
    page = edit(admin, driven, node, labels=labels)
    assert "Nothing was changed" in page
    assert not Command.objects.exists()


@pytest.mark.parametrize(
    ("field", "text", "why"),
    [
        ("labels", "disk: 1.5", "disk is 1.5; expected a text"),
        ("labels", "- disk", "expected lines such as NAME: VALUE"),
        ("labels", "a: [", "Line 2: not YAML"),
        ("capacity", "cpu: lots", 'Invalid value: "lots"'),
        ("taints", "key: a", "expected a list of mappings"),
    ],
)
def test_wrong_fields_are_told_and_kept(
    admin: Client, driven: Run, field: str, text: str, why: str
) -> None:
    node = Node.objects.get(run=driven, key="n1")
    before = node.manifest
    page = edit(admin, driven, node, **{field: text})
    assert why in page
    assert FormReader(page).fields[field] == text
    node.refresh_from_db()
    assert node.manifest == before


def test_pods_are_labelled_and_let_go(admin: Client, stored: Run) -> None:
    pod = Pod.objects.get(run=stored, key="default/held")
    edit(
        admin,
        stored,
        pod,
        labels="app: shop",
        annotations="note: held",
        tolerations="- key: gpu\n  operator: Exists",
        scheduling_gates="",
    )
    pod.refresh_from_db()
    assert pod.metadata("labels")["app"] == "shop"
    assert pod.metadata("annotations")["note"] == "held"
    assert {"key": "gpu", "operator": "Exists"} in pod.manifest["spec"]["tolerations"]
    assert "schedulingGates" not in pod.manifest["spec"]
    assert pod.node_name


def test_claims_ask_for_another_size(admin: Client, stored: Run) -> None:
    claim = PersistentVolumeClaim.objects.get(run=stored)
    assert FormReader(admin.get(address(claim)).content.decode()).fields["size"] == "10Gi"
    assert "is not a quantity" in edit(admin, stored, claim, size="lots")
    assert "can not be less than" in edit(admin, stored, claim, size="5Gi")
    edit(admin, stored, claim, size="20Gi", labels="app: shop")
    claim.refresh_from_db()
    assert claim.request == "20Gi"
    assert claim.metadata("labels") == {"app": "shop"}


def test_volumes_get_another_reclaim_policy(admin: Client, stored: Run) -> None:
    volume = PersistentVolume.objects.get(run=stored)
    edit(admin, stored, volume, reclaim_policy="Delete")
    volume.refresh_from_db()
    assert volume.manifest["spec"]["persistentVolumeReclaimPolicy"] == "Delete"
    page = edit(admin, stored, volume, reclaim_policy="Burn")
    assert "Burn is not one of the available choices" in page
