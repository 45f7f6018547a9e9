"""Real incidents, asked as their files stand: nothing is played, and any object of them may be asked."""

from functools import cache
from pathlib import Path
from typing import Any

import orjson
import pytest

from engine.cluster.cluster import Cluster
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.answer import Answer
from engine.diagnosis.triage.asking import explain_as_it_stands
from engine.diagnosis.triage.triage import triage
from engine.diagnosis.why import KIND_OF
from engine.input.loader import load_paths
from engine.input.scenario import Scenario
from tests.conformance.diagnosis.test_incidents import OWN, incidents

# The first change that an expert would name, as words of it; None where none is tried, with a reason.
FIRST_CHANGES: dict[str, str | None] = {
    "01-local-pv-wrong-hostname.yaml": "Recreate volume jenkins-pv-volume",
    "05-nodename-bypasses-wffc.yaml": "without nodeName",
    "07-default-class-filled-in-static-claim.yaml": 'again with storageClassName ""',
    "12-access-mode-rwx-claim-rwo-volume.yaml": "Let volume pvc-7ab0 offer",
    "15-two-volumes-two-zones.yaml": "Recreate the claims",
    "18-readwriteoncepod-second-pod.yaml": "Delete the pod default/app",
    "19-rwo-rolling-update-multi-attach.yaml": "by Recreate",
    "31-quota-blocks-rolling-update.yaml": "Raise ResourceQuota namespace-quota",
    "32-pdb-single-replica-blocks-drain.yaml": "Run 2 replicas",
    "42-no-csistoragecapacity-published.yaml": "publish 1Gi of class piraeus-storage",
    "52-copy-of-a-manual-volume.yaml": None,
    "54-device-claim-and-nodename.yaml": "without nodeName",
    "59-critical-class-outside-kube-system.yaml": "ResourceQuota in addons",
    "64-terminating-on-a-dead-node.yaml": "Taint s-2 with node.kubernetes.io/out-of-service",
    "65-secret-not-there.yaml": "Create Secret edge/contourcert",
    "69-beside-a-pod-of-another-namespace.yaml": "look in namespace db",
    "70-second-scheduler.yaml": "my-scheduler",
    "72-grows-only-when-detached.yaml": "Scale the workload of kafka/kafka-0 to 0",
    "74-restore-smaller-than-snapshot.yaml": "1Gi",
    "77-attachment-of-a-deleted-node.yaml": "VolumeAttachment csi-c0ffee",
    "23-spread-counts-tainted-control-plane.yaml": "nodeTaintsPolicy: Honor",
    "26-nodeselector-beta-os-label.yaml": "Select kubernetes.io/os=linux",
    "33-gpu-count-zero-after-upgrade.yaml": "advertise 1 nvidia.com/gpu",
    "36-victim-never-finishes-terminating.yaml": "by force",
}
# The first changes that lose something.
LOSSY = frozenset(
    ("01-local-pv-wrong-hostname.yaml", "15-two-volumes-two-zones.yaml")
    + ("18-readwriteoncepod-second-pod.yaml", "36-victim-never-finishes-terminating.yaml")
    + ("64-terminating-on-a-dead-node.yaml", "77-attachment-of-a-deleted-node.yaml")
)


@cache
def _read(path: Path, profile: str) -> tuple[Cluster, Evidence]:
    loaded = load_paths([path])
    scenario = Scenario.from_load(loaded, name=path.name)
    return Cluster.create(scenario, profile=profile), Evidence(loaded.everything)


def _asked(incident: dict[str, Any], *, tries_changes: bool) -> Answer:
    word, _, key = incident["subject"].partition(" ")
    cluster, evidence = _read(incident["folder"] / incident["file"], incident["profile"])
    answer = explain_as_it_stands(
        cluster, evidence, KIND_OF[word], key, tries_changes=tries_changes
    )
    assert answer is not None
    return answer


def _unnamed(answer: Answer, facts: list[str]) -> list[str]:
    named = orjson.dumps([each.to_dict() for each in answer.causes]).decode().lower()
    return [
        fact for fact in facts if not any(word.strip().lower() in named for word in fact.split("|"))
    ]


@pytest.mark.parametrize("incident", incidents())
def test_the_files_alone_give_every_fact(incident: dict[str, Any]) -> None:
    answer = _asked(incident, tries_changes=False)
    assert not _unnamed(answer, incident["must_name"]), answer.text()


def test_a_device_claim_answers_as_its_pod() -> None:
    (incident,) = (each.values[0] for each in incidents() if "54-device-claim" in str(each.id))
    cluster, evidence = _read(incident["folder"] / incident["file"], incident["profile"])
    asked = "ResourceClaim", "default/nic"
    answer = explain_as_it_stands(cluster, evidence, *asked, tries_changes=False)
    assert answer is not None
    assert not _unnamed(answer, incident["must_name"]), answer.text()


@pytest.mark.parametrize(
    "incident",
    [each for each in incidents() if each.id in FIRST_CHANGES],
    ids=lambda each: each["file"],
)
def test_the_first_change_is_the_experts(incident: dict[str, Any]) -> None:
    answer, wanted = _asked(incident, tries_changes=True), FIRST_CHANGES[incident["file"]]
    first = answer.fixes[0] if answer.fixes else None
    if wanted is None or first is None:
        assert (wanted, first) == (None, None), answer.text()
        assert answer.conclusion
        return
    assert wanted in first.text, answer.text()
    assert first.loses == (incident["file"] in LOSSY)


@pytest.mark.parametrize(
    "incident", [each for each in incidents() if each.values[0].get("folder") != OWN]
)
def test_triage_names_the_cause_without_being_asked(incident: dict[str, Any]) -> None:
    cluster, evidence = _read(incident["folder"] / incident["file"], incident["profile"])
    groups = triage(cluster, evidence, tries_changes=False).groups
    told = orjson.dumps([each.to_dict() for each in groups]).decode().lower()
    missing = [
        fact
        for fact in incident["must_name"]
        if not any(word.strip().lower() in told for word in fact.split("|"))
    ]
    assert not missing, told
