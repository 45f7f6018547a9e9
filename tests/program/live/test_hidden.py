"""What RBAC hides: it is said, with what that means for the answer, and the rights to ask for."""

from __future__ import annotations

import json
from typing import Any

import pytest
import yaml

from kscope.program.acting.rbac import manifests
from kscope.program.asking.reading.scheduler_message import in_other_words, refusals_of
from kscope.program.live.kinds import KINDS, kinds_named
from kube.clusters import Cluster, cluster
from tests.program.asked import Asked, Program
from tests.program.live.conftest import Through

HIDDEN = "nodes,persistentvolumes,storageclasses,csinodes"
MESSAGE = (
    "0/6 nodes are available: 2 Insufficient memory, 4 node(s) didn't match PersistentVolume's node "
    "affinity. no new claims to deallocate, preemption: 0/6 nodes are available: 2 No preemption "
    "victims found for incoming pod, 4 Preemption is not helpful for scheduling."
)
DEVELOPER = {"forbidden": frozenset(HIDDEN.split(","))}
OF_SHOP = {"pods": "shop", "events": "shop", "persistentvolumeclaims": "shop"}


@pytest.fixture(scope="module")
def waiting() -> Any:
    """A cluster in which pod shop/web-3 waits, and says why."""
    running = cluster(_waiting())
    with running:
        yield running


def _waiting() -> list[dict[str, Any]]:
    def node(name: str, zone: str) -> dict[str, Any]:
        amounts = {"cpu": "4", "memory": "8Gi", "pods": "110"}
        labels = {"topology.kubernetes.io/zone": zone}
        return {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "status": {"allocatable": amounts, "conditions": [{"type": "Ready", "status": "True"}]},
        }

    def pod(name: str, memory: str, **spec: Any) -> dict[str, Any]:
        asked = {"requests": {"memory": memory}}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": name, "namespace": "shop"},
            "spec": {"containers": [{"name": "main", "image": "a", "resources": asked}], **spec},
        }

    told = {
        "type": "PodScheduled",
        "status": "False",
        "reason": "Unschedulable",
        "message": MESSAGE,
        "lastTransitionTime": "2026-01-02T10:21:33Z",
    }
    claim = {"persistentVolumeClaim": {"claimName": "data-web-3"}}
    held = pod("web-3", "4Gi", volumes=[{"name": "data", **claim}])
    held["status"] = {"phase": "Pending", "conditions": [told]}
    runs = pod("web-0", "6Gi", nodeName="a1")
    ready = [{"type": "Ready", "status": "True"}]
    runs["status"] = {"phase": "Running", "conditions": ready}
    return [node("a1", "a"), node("b1", "b"), held, runs, *_claim()]


def _claim() -> list[dict[str, Any]]:
    zone = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["a"]}
    size = {"storage": "1Gi"}
    return [
        {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": {
                "name": "data-web-3",
                "namespace": "shop",
                "uid": "8f2c",
                "annotations": {"pv.kubernetes.io/bind-completed": "yes"},
            },
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": "",
                "volumeName": "pvc-8f2c",
                "resources": {"requests": size},
            },
            "status": {"phase": "Bound", "capacity": size, "accessModes": ["ReadWriteOnce"]},
        },
        {
            "apiVersion": "v1",
            "kind": "PersistentVolume",
            "metadata": {"name": "pvc-8f2c"},
            "spec": {
                "capacity": size,
                "accessModes": ["ReadWriteOnce"],
                "hostPath": {"path": "/data"},
                "nodeAffinity": {"required": {"nodeSelectorTerms": [{"matchExpressions": [zone]}]}},
                "claimRef": {
                    "kind": "PersistentVolumeClaim",
                    "namespace": "shop",
                    "name": "data-web-3",
                    "uid": "8f2c",
                },
            },
            "status": {"phase": "Bound"},
        },
    ]


def _why(kscope: Program, config: str, *words: str) -> Asked:
    return kscope("why", "--context", "prod", "pod/web-3", *words, KUBECONFIG=config)


def test_without_nodes_the_schedulers_word_is_told(
    kscope: Program, waiting: Cluster, through: Through
) -> None:
    context = {"namespace": "shop"}
    _, config = through(waiting, **DEVELOPER, namespaced=OF_SHOP, context=context)
    said = _why(kscope, config)
    assert said.status == 3
    text = " ".join(said.out.split())
    for words in (
        "pod shop/web-3 waits, says the scheduler. kscope could not check it: it may not see the nodes.",
        "Unschedulable since 10:21:33Z",
        MESSAGE,
        "simulated ? nothing: nodes were not seen.",
        "4 of 6 nodes are out of reach of a volume of claim data-web-3 (Bound to pvc-8f2c).",
        "2 of 6 nodes lack memory. The pod asks for 4Gi.",
        "nodes which 2 nodes, and how much memory is short",
        "pods of other namespaces who holds the memory there",
        "persistentvolumes to which zone pvc-8f2c is tied",
        "storageclasses, csinodes whether a new volume could be elsewhere",
        "No change was tried: without nodes nothing can be proven.",
        f"next kscope rbac --read {HIDDEN} --user dev@example.com",
    ):
        assert words in text, words
    assert "TRIED" not in said.out


def test_a_warning_names_the_rights_to_ask_for(
    kscope: Program, waiting: Cluster, through: Through
) -> None:
    context = {"namespace": "shop"}
    _, config = through(waiting, **DEVELOPER, context=context)
    lines = _why(kscope, config).err.splitlines()
    assert lines[1:] == [
        "warning: you may not list nodes, persistentvolumes, storageclasses, csinodes in context prod",
        "  as     dev@example.com, namespace shop",
        "  effect the model cannot decide: without nodes there is no place to try",
        f"  help   ask for these rights: kscope rbac --read {HIDDEN}",
    ]


def test_the_document_says_what_was_not_seen(
    kscope: Program, waiting: Cluster, through: Through
) -> None:
    context = {"namespace": "shop"}
    _, config = through(waiting, **DEVELOPER, namespaced=OF_SHOP, context=context)
    found = json.loads(_why(kscope, config, "-o", "json").out)
    assert (found["complete"], found["changes"], found["predicted"]) == (False, [], None)
    unseen = {each["resource"]: each["seen_in_namespace"] for each in found["unseen"]}
    assert unseen == {
        **dict.fromkeys(HIDDEN.split(",")),
        "pods": "shop",
        "persistentvolumeclaims": "shop",
    }


def test_triage_without_nodes_decides_nothing(
    kscope: Program, waiting: Cluster, through: Through
) -> None:
    context = {"namespace": "shop"}
    _, config = through(waiting, **DEVELOPER, context=context)
    said = kscope("triage", "--context", "prod", KUBECONFIG=config)
    assert said.status == 3
    assert said.lines[0] == "1 cause holds 1 pod."
    assert said.lines[1].startswith("nodes not seen, 2 pods")
    assert "no change was tried: without nodes nothing can be proven" in said.out


def test_what_was_seen_whole_is_still_proven(
    kscope: Program, waiting: Cluster, through: Through
) -> None:
    _, config = through(waiting, forbidden=frozenset({"leases"}), context={"namespace": "shop"})
    said = _why(kscope, config)
    assert said.status == 1
    assert said.lines[0].startswith("pod shop/web-3 waits: it fits none of 2 nodes")
    assert "COULD NOT SEE" in said.out
    assert "leases" in said.out


def test_nothing_is_called_well_half_seen(
    kscope: Program, of_1000_nodes: Cluster, through: Through
) -> None:
    namespaced = {"pods": "ops", "events": "ops"}
    _, config = through(of_1000_nodes, namespaced=namespaced, context={"namespace": "ops"})
    said = kscope("triage", "--context", "prod", KUBECONFIG=config)
    assert said.status == 3
    assert said.lines[0] == "Nothing that could be seen is stuck, and not everything could be seen."
    assert "pods of other namespaces" in said.out


def test_secrets_are_missed_by_nobody(
    kscope: Program, waiting: Cluster, through: Through, tmp_path: Any
) -> None:
    _, config = through(waiting, forbidden=frozenset({"secrets"}), context={"namespace": "shop"})
    file = str(tmp_path / "prod.tar.gz")
    said = kscope("collect", "--context", "prod", file, KUBECONFIG=config)
    assert (said.status, "warning" in said.err) == (0, False)


def test_a_collection_in_part_says_so(
    kscope: Program, waiting: Cluster, through: Through, tmp_path: Any
) -> None:
    _, config = through(waiting, **DEVELOPER, context={"namespace": "shop"})
    file = str(tmp_path / "shop.tar.gz")
    said = kscope("collect", "--context", "prod", file, KUBECONFIG=config)
    assert said.status == 3
    assert "the archive lacks 4 kinds; triage will say what it could not see" in said.err
    again = kscope("why", file, "pod/web-3")
    assert again.status == 3
    assert again.lines[0].startswith("pod shop/web-3 waits, says the scheduler.")


# -- rbac ---------------------------------------------------------------------------------------------


def test_rbac_prints_what_is_read_and_no_more(kscope: Program) -> None:
    said = kscope("rbac")
    (role,) = yaml.safe_load_all(said.out)
    assert role == manifests([each for each in KINDS if each.kind != "Secret"], "")[0]
    granted = {
        (group, name)
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for name in rule["resources"]
    }
    assert granted == {(each.group, each.resource) for each in KINDS} - {("", "secrets")}
    assert {verb for rule in role["rules"] for verb in rule["verbs"]} == {"get", "list", "watch"}
    with_secrets = yaml.safe_load(kscope("rbac", "--secrets").out)
    assert "secrets" in with_secrets["rules"][0]["resources"]


def test_bindings_are_for_users_or_accounts(kscope: Program) -> None:
    said = kscope("rbac", "--read", "nodes,pv", "--user", "dev@example.com")
    role, binding = yaml.safe_load_all(said.out)
    assert role["rules"][0]["resources"] == ["nodes", "persistentvolumes"]
    assert binding["subjects"][0]["kind"] == "User"
    account = manifests(kinds_named("pods"), "system:serviceaccount:ops:kscope")[1]["subjects"]
    assert account == [{"kind": "ServiceAccount", "name": "kscope", "namespace": "ops"}]
    wrong = kscope("rbac", "--read", "nodez")
    assert wrong.err == (
        "error: kscope reads no kind called nodez\n  help: a kind with a similar name exists: nodes\n"
    )


def test_rights_are_asked_for_by_reading(
    kscope: Program, waiting: Cluster, through: Through
) -> None:
    context = {"namespace": "shop"}
    proxy, config = through(waiting, **DEVELOPER, namespaced={"pods": "shop"}, context=context)
    said = kscope("rbac", "--context", "prod", KUBECONFIG=config)
    assert said.status == 3
    assert said.lines[0] == (
        "You may list 33 of 37 kinds that kscope needs in context prod, namespace shop."
    )
    words = "pods in the namespace not known: what waits, and who holds the room on the nodes"
    assert words in " ".join(said.out.split())
    assert f"next       kscope rbac --read {HIDDEN} --user dev@example.com" in said.lines
    assert {each.method for each in proxy.asked} == {"GET"}
    lists = [each for each in proxy.asked if each.is_list]
    assert all(each.query.get("limit") == "1" for each in lists)


# -- the message of a scheduler -----------------------------------------------------------------------


def test_a_message_is_taken_apart_by_reason() -> None:
    assert [(each.count, each.of, each.reason) for each in refusals_of(MESSAGE)] == [
        (4, 6, "node(s) didn't match PersistentVolume's node affinity"),
        (2, 6, "Insufficient memory"),
    ]
    assert refusals_of("pod has unbound immediate PersistentVolumeClaims") == []


@pytest.mark.parametrize(
    ("reason", "words"),
    [
        (
            "node(s) had untolerated taint {gpu: present}",
            "have the taint {gpu: present}, which the pod does not tolerate",
        ),
        ("node(s) were unschedulable", "are cordoned"),
        ("Too many pods", "hold as many pods as they may"),
        ("node(s) had a rule of their own", 'were refused: "node(s) had a rule of their own"'),
    ],
)
def test_reasons_are_said_in_other_words(reason: str, words: str) -> None:
    from engine.diagnosis.observed.evidence import Evidence

    pod = {"kind": "Pod", "metadata": {"name": "a", "namespace": "b"}, "spec": {"containers": []}}
    message = f"0/3 nodes are available: 3 {reason}."
    assert list(in_other_words(Evidence([]), pod, message)) == [f"3 of 3 nodes {words}."]
