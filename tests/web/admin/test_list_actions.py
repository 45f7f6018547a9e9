"""Actions of the lists: commands for every object that was chosen, told in one message."""

from collections.abc import Iterator
from html import unescape
from typing import Any

import pytest
from django.test import Client

from engine.input.loader import load_files
from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.models import Command, Run
from scheduling.models import Node, Pod
from tests.web.admin.pages import FormReader, changelist, chosen, edit
from tests.web.conftest import CLUSTER, driving
from volumes.models import PersistentVolume, PersistentVolumeClaim

pytestmark = pytest.mark.django_db(transaction=True)

CLASS = """
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: fast}
provisioner: ebs.csi.aws.com
allowVolumeExpansion: true
"""
DISK = """
apiVersion: v1
kind: PersistentVolume
metadata: {name: pv-NAME}
spec:
  capacity: {storage: SIZE}
  accessModes: [ReadWriteOnce]
  storageClassName: fast
  csi: {driver: ebs.csi.aws.com, volumeHandle: vol-NAME}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: NAME}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: fast
  resources: {requests: {storage: SIZE}}
"""


def told(page: str) -> list[str]:
    """The messages of a page."""
    _, _, rest = page.partition('<ul class="messagelist">')
    messages = rest.partition("</ul>")[0].split("<li")[1:]
    return [each.partition(">")[2].partition("</li>")[0].strip() for each in messages]


def nodes(run: Run) -> list[Node]:
    return list(Node.objects.filter(run=run).order_by("key"))


def commands(run: Run) -> list[tuple[str, str]]:
    sent = Command.objects.filter(run=run).order_by("pk")
    return [(each.verb, each.object) for each in sent]


def test_bulk_cordon_is_told_in_one_message(admin: Client, driven: Run) -> None:
    page = chosen(admin, driven, "cordon", *nodes(driven))
    assert told(page) == ["Cordon: 2 commands were sent, 2 applied."]
    assert commands(driven) == [("cordon", "node/n1"), ("cordon", "node/n2")]
    assert all(node.unschedulable for node in nodes(driven))
    chosen(admin, driven, "uncordon", *nodes(driven))
    assert not any(node.unschedulable for node in nodes(driven))


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (1, "n1: Run {run} is gone."),
        (2, "Cordon: 2 commands were sent, 0 applied. Run {run} is gone."),
    ],
)
def test_command_whose_run_is_deleted_is_told(
    admin: Client, driven: Run, monkeypatch: pytest.MonkeyPatch, number: int, words: str
) -> None:
    def moments(_: float) -> Iterator[None]:
        Run.objects.filter(pk=driven.pk).delete()
        yield

    monkeypatch.setattr(services, "moments", moments)
    chosen = nodes(driven)[:number]
    body = {"action": "cordon", "_selected_action": [str(each.pk) for each in chosen]}
    page = admin.post(changelist(chosen[0]), body, follow=True).content.decode()
    assert told(page) == [words.format(run=driven.pk)]


def test_all_rows_of_a_filtered_list_are_meant(admin: Client, driven: Run) -> None:
    first = nodes(driven)[0]
    query = f"?run__id__exact={driven.pk}"
    page = chosen(admin, driven, "delete", first, query=query, select_across="1")
    form = FormReader(page).fields
    assert form["select_across"] == "1"
    with driving(driven):
        answer = admin.post(changelist(first, query), form, follow=True)
    assert told(unescape(answer.content.decode())) == ["Delete: 2 commands were sent, 2 applied."]
    assert nodes(driven) == []


@pytest.mark.parametrize(
    ("model", "action"),
    [(Node, "drain"), (Node, "delete"), (Pod, "delete"), (Pod, "force_delete")],
)
def test_what_destroys_asks_first(
    admin: Client, driven: Run, model: type[Any], action: str
) -> None:
    row = model.objects.filter(run=driven).order_by("key").first()
    page = chosen(admin, driven, action, row)
    assert FormReader(page).fields["confirmed"] == "1"
    assert row.key in page
    assert commands(driven) == []


def test_drain_says_what_it_evicts(admin: Client, driven: Run) -> None:
    node = Node.objects.get(run=driven, key=Pod.objects.get(key="default/web").node_name)
    page = chosen(admin, driven, "drain", node)
    assert "1 pod is evicted." in page
    page = chosen(admin, driven, "drain", node, confirmed="1")
    assert told(page) == ["Drain: 2 commands were sent, 2 applied."]
    assert commands(driven) == [("cordon", node.entity), ("evict_pods", node.entity)]
    assert not Pod.objects.filter(run=driven, key="default/web").exists()


def test_taint_is_filled_in_on_a_page(admin: Client, driven: Run) -> None:
    page = chosen(admin, driven, "taint", *nodes(driven))
    assert 'name="effect"' in page
    page = chosen(admin, driven, "taint", *nodes(driven), confirmed="1", key="", effect="Odd")
    assert "This field is required." in page
    assert "Odd is not one of the available choices" in page
    taint = {"key": "gpu", "value": "yes", "effect": "NoSchedule"}
    for value in ("no", "yes"):
        filled = {**taint, "value": value}
        chosen(admin, driven, "taint", *nodes(driven), confirmed="1", **filled)
    assert [node.manifest["spec"]["taints"] for node in nodes(driven)] == [[taint], [taint]]


def test_not_ready_and_ready_are_conditions(admin: Client, driven: Run) -> None:
    first, _ = nodes(driven)
    chosen(admin, driven, "mark_not_ready", first)
    page = admin.get("/admin/scheduling/node/").content.decode()
    assert 'alt="False"' in page
    first.refresh_from_db()
    (ready,) = [one for one in first.manifest["status"]["conditions"] if one["type"] == "Ready"]
    assert (ready["status"], ready["reason"]) == ("False", "KubeletNotReady")
    taints = {taint["key"] for taint in first.manifest["spec"].get("taints", [])}
    chosen(admin, driven, "mark_ready", first)
    first.refresh_from_db()
    (ready,) = [one for one in first.manifest["status"]["conditions"] if one["type"] == "Ready"]
    assert (ready["status"], ready["reason"]) == ("True", "KubeletReady")
    assert taints <= {"node.kubernetes.io/not-ready"}


def test_silent_kubelet_is_started_to_be_ready(admin: Client, driven: Run) -> None:
    first, _ = nodes(driven)
    silent = {"status": {"conditions": [{"type": "Ready", "status": "Unknown"}]}}
    with driving(driven):
        body = {"verb": "patch", "object": first.entity, "patch": silent}
        services.command_wait(command=services.command_submit(run=driven, body=body))
    chosen(admin, driven, "mark_ready", first)
    assert commands(driven)[1:] == [("start_kubelet", "node/n1")]
    first.refresh_from_db()
    conditions = {one["type"]: one["status"] for one in first.manifest["status"]["conditions"]}
    assert conditions["Ready"] == "True"


def test_force_deletes_without_a_grace_period(admin: Client, driven: Run) -> None:
    web = Pod.objects.get(run=driven, key="default/web")
    chosen(admin, driven, "force_delete", web, confirmed="1")
    assert Command.objects.get(run=driven).body["grace_seconds"] == 0
    assert not Pod.objects.filter(pk=web.pk).exists()


@pytest.fixture
def stored(transactional_db: Any) -> Run:
    """A run with two volumes and their claims, played to its end."""
    disks = [
        DISK.replace("NAME", name).replace("SIZE", size)
        for name, size in (("data", "10Gi"), ("large", "30Gi"))
    ]
    files = [("stored.yaml", "---".join([CLUSTER, CLASS, *disks]).encode())]
    scenario = services.scenario_store(name="stored", result=load_files(files))
    run = services.run_create(scenario=scenario, play=True, speed="max")
    runner.run_drive(run.pk)
    run.refresh_from_db()
    return run


def test_claims_are_expanded_to_a_size(admin: Client, stored: Run) -> None:
    claim = PersistentVolumeClaim.objects.get(run=stored, name="data")
    page = chosen(admin, stored, "expand", claim, confirmed="1", size="lots")
    assert "is not a quantity" in page
    assert commands(stored) == []
    chosen(admin, stored, "expand", claim, confirmed="1", size="20Gi")
    claim.refresh_from_db()
    assert claim.request == "20Gi"


def test_what_is_refused_is_told_with_its_reason(admin: Client, stored: Run) -> None:
    claims = PersistentVolumeClaim.objects.filter(run=stored).order_by("key")
    page = chosen(admin, stored, "expand", *claims, confirmed="1", size="20Gi")
    (message,) = told(page)
    assert message.startswith("Expand: 2 commands were sent, 1 applied. 1 was refused: claim/def")
    assert "default/large (Invalid: " in message
    assert "can not be less than" in message


def test_next_operation_of_a_volume_fails(admin: Client, stored: Run) -> None:
    volume = PersistentVolume.objects.get(run=stored, key="pv-data")
    page = chosen(admin, stored, "fail_attach", volume)
    assert FormReader(page).fields["times"] == "1"
    chosen(admin, stored, "fail_attach", volume, confirmed="1", times="2")
    patch = Command.objects.get(run=stored).body["patch"]
    assert patch == {"fail": "attach", "volume": "pv-data", "times": 2}


def test_run_of_another_version_is_left_alone(
    admin: Client, driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Run, "cannot_continue_after", 5)
    (message,) = told(chosen(admin, driven, "cordon", *nodes(driven)))
    assert message.startswith("Cordon: 0 commands were sent, 0 applied. 1 was refused: small #")
    assert "From event 5 on" in message
    page = edit(admin, driven, nodes(driven)[0], labels="typed: here")
    assert "From event 5 on" in told(page)[0]
    assert FormReader(page).fields["labels"] == "typed: here"
    assert commands(driven) == []


def test_refused_faults_name_their_objects(admin: Client, driven: Run) -> None:
    fields = {"confirmed": "1", "asked": "ebs.csi.aws.com"}
    page = chosen(admin, driven, "unregister", *nodes(driven), **fields)
    assert told(page) == [
        "Unregister a driver there: 2 commands were sent, 0 applied. 2 were refused: "
        'node/n1 (NotFound: CSINode "n1" not found), node/n2 (NotFound: CSINode "n2" not found).'
    ]


def test_a_number_beyond_64_bits_stops_no_run(admin: Client, driven: Run) -> None:
    times = str(10**30)
    page = chosen(admin, driven, "fail_attach", *nodes(driven), confirmed="1", times=times)
    assert "Ensure this value is less than or equal to 2147483647." in page
    assert commands(driven) == []
    driven.refresh_from_db()
    assert driven.status != Run.Status.FAILED


@pytest.mark.parametrize("number", ["abc", "-1", "\u0662", ""])
def test_a_row_without_a_number_is_refused(admin: Client, driven: Run, number: str) -> None:
    answer = admin.post(
        changelist(nodes(driven)[0]), {"action": "delete_selected", "_selected_action": number}
    )
    assert answer.status_code == 400
