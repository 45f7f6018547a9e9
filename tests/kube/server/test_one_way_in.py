"""Every write follows the same rules, whichever door it comes through.

What a page or a scenario may do beyond a client of the Kubernetes API is its permission.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from engine.api_server.admission.permissions import (
    ANYTHING,
    OBJECT,
    PERMISSIONS,
    RESIZE,
    STATUS,
    Permission,
    permission_at,
)
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.kernel.errors import Invalid
from kscope.runs.models import Run
from tests.builders import node, scene
from tests.kube.server.client import MERGE, Kube
from tests.web.conftest import driving

CORE = "/api/v1/namespaces/default"
OTHER_UID = "00000000-0000-4000-8000-000000000000"
CONTAINER = {"name": "c", "image": "app:1"}
WAITING = {"containers": [CONTAINER], "nodeSelector": {"no": "where"}, "activeDeadlineSeconds": 5}
LABELS = {"matchLabels": {"a": "b"}}
TEMPLATE = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [CONTAINER]}}


@dataclass(frozen=True)
class Rule:
    """A patch of one of OBJECTS that is refused, with words of the refusal."""

    object: str
    patch: dict[str, Any]
    said: str


def _object(kind: str, name: str, **parts: Any) -> dict[str, Any]:
    versions = {"Deployment": "apps/v1", "StorageClass": "storage.k8s.io/v1"}
    return {
        "apiVersion": versions.get(kind, "v1"),
        "kind": kind,
        "metadata": {"name": name},
        **parts,
    }


OBJECTS = {
    f"{CORE}/pods/big": _object("Pod", "big", spec=WAITING),
    f"{CORE}/configmaps/fixed": _object("ConfigMap", "fixed", immutable=True, data={"a": "b"}),
    f"{CORE}/persistentvolumeclaims/data": _object(
        "PersistentVolumeClaim",
        "data",
        spec={
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "none",
            "resources": {"requests": {"storage": "2Gi"}},
        },
    ),
    "/apis/apps/v1/namespaces/default/deployments/app": _object(
        "Deployment", "app", spec={"replicas": 0, "selector": LABELS, "template": TEMPLATE}
    ),
    "/apis/storage.k8s.io/v1/storageclasses/fast": _object(
        "StorageClass", "fast", provisioner="a.b/c"
    ),
}
POD, CONFIG, CLAIM, DEPLOYMENT, CLASS = OBJECTS

# What the engine refuses of a pod only where the writer has no permission for it.
OF_CLIENTS = [
    Rule(POD, {"spec": {"terminationGracePeriodSeconds": 7}}, "pod updates may not change fields"),
    Rule(
        POD,
        {"spec": {"containers": [{**CONTAINER, "resources": {"requests": {"cpu": "1"}}}]}},
        '"cpu": "1"',
    ),
    Rule(
        POD, {"spec": {"activeDeadlineSeconds": 6}}, "must be less than or equal to previous value"
    ),
    Rule(
        POD,
        {"spec": {"containers": [CONTAINER, {**CONTAINER, "name": "d"}]}},
        "spec.containers: Forbidden: pod updates may not add or remove containers",
    ),
]
OF_ALL = [
    Rule(POD, {"spec": {"nodeSelector": None}}, "Forbidden: pod updates may not change fields"),
    Rule(POD, {"spec": {"schedulingGates": [{"name": "a"}]}}, "only deletion is allowed"),
    Rule(
        POD,
        {"metadata": {"deletionTimestamp": "2020-01-01T00:00:00Z"}},
        "metadata.deletionTimestamp: Invalid value",
    ),
    Rule(
        DEPLOYMENT,
        {
            "spec": {
                "selector": {"matchLabels": {"a": "c"}},
                "template": {"metadata": {"labels": {"a": "c"}}},
            }
        },
        "spec.selector: Invalid value",
    ),
    Rule(CLASS, {"provisioner": "d.e/f"}, "provisioner: Forbidden: updates to provisioner"),
    Rule(CONFIG, {"data": {"a": "c"}}, "data: Forbidden: field is immutable when `immutable`"),
    Rule(CLAIM, {"spec": {"volumeName": "v", "accessModes": ["ReadWriteMany"]}}, "immutable after"),
    Rule(
        CLAIM,
        {"spec": {"resources": {"requests": {"storage": "3Gi"}}}},
        "Only bound persistent volume claims can be expanded",
    ),
]
UID = Rule(CONFIG, {"metadata": {"uid": OTHER_UID}}, "metadata.uid: Invalid value")
RULES = [*OF_CLIENTS, *OF_ALL, UID]


def _entity(address: str) -> str:
    made = OBJECTS[address]
    kind, name = made["kind"].lower(), made["metadata"]["name"]
    key = name if made["kind"] == "StorageClass" else f"default/{name}"
    return f"{kind}/{key}"


def _cluster() -> Cluster:
    cluster = Cluster.create(scene(node("n")))
    for made in OBJECTS.values():
        assert cluster.apply(Command(verb="create", manifest=made)).applied
    return cluster


def _refusal(cluster: Cluster, rule: Rule, permission: str) -> str:
    parts = {"verb": "patch", "object": _entity(rule.object), "patch": rule.patch}
    return cluster.apply(Command.from_dict({**parts, "permission": permission})).reason


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.said)
def test_a_command_of_a_client_is_refused(rule: Rule) -> None:
    reason = _refusal(_cluster(), rule, OBJECT.name)
    assert reason.startswith(("Invalid: ", "Forbidden: "))
    assert rule.said in reason


@pytest.mark.django_db(transaction=True)
async def test_http_refuses_in_the_words_of_commands(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    cluster = _cluster()
    kube = kube_of(driven)
    with driving(driven):
        for address, made in OBJECTS.items():
            answer = await kube.ask("POST", address.rpartition("/")[0], made)
            assert answer.status == 201, answer.json
        for rule in RULES:
            answer = await kube.ask("PATCH", rule.object, rule.patch, content_type=MERGE)
            assert answer.status in (403, 422), rule
            assert rule.said in answer.json["message"]
            said = _refusal(cluster, rule, OBJECT.name).partition(" is invalid: ")[2]
            causes = answer.json["details"].get("causes", [])
            assert [f"{one['field']}: {one['message']}" for one in causes] == (
                [said] if said else []
            )


@pytest.mark.parametrize("rule", OF_CLIENTS, ids=lambda rule: rule.said)
def test_a_page_may_try_other_requests(rule: Rule) -> None:
    assert _refusal(_cluster(), rule, ANYTHING.name) == ""


@pytest.mark.parametrize("rule", OF_ALL, ids=lambda rule: rule.said)
def test_no_permission_goes_beyond_the_engine(rule: Rule) -> None:
    assert rule.said in _refusal(_cluster(), rule, ANYTHING.name)


@pytest.mark.parametrize(
    ("permission", "label", "phase"),
    [(OBJECT, "new", "Pending"), (STATUS, "new", "Failed"), (ANYTHING, "new", "Failed")],
)
def test_a_write_changes_what_it_may(permission: Permission, label: str, phase: str) -> None:
    cluster = _cluster()
    patch = {"metadata": {"labels": {"a": "new"}}, "status": {"phase": "Failed"}}
    assert _refusal(cluster, Rule(POD, patch, ""), permission.name) == ""
    found = cluster.store.get("Pod", "default/big")
    assert (found.labels.get("a"), found.raw["status"]["phase"]) == (label, phase)


@pytest.mark.parametrize("permission", [OBJECT, ANYTHING])
def test_only_pages_bring_what_a_server_writes(permission: Permission) -> None:
    cluster = _cluster()
    made = _object("ConfigMap", "brought")
    made["metadata"] |= {"uid": OTHER_UID, "creationTimestamp": "2020-01-01T00:00:00Z"}
    given = {"verb": "create", "manifest": made, "permission": permission.name}
    assert cluster.apply(Command.from_dict(given)).applied
    found = cluster.store.get("ConfigMap", "default/brought")
    assert (found.uid == OTHER_UID) == permission.system
    assert (found.metadata["creationTimestamp"][:4] == "2020") == permission.system


@pytest.mark.parametrize(
    ("subresource", "permission"),
    [("", OBJECT), ("scale", OBJECT), ("finalize", OBJECT), ("status", STATUS), ("resize", RESIZE)],
)
def test_each_address_gives_one_permission(subresource: str, permission: Permission) -> None:
    assert permission_at(subresource) == permission


def test_a_command_keeps_its_permission() -> None:
    given = {"verb": "patch", "object": "pod/default/a", "patch": {}, "permission": "status"}
    assert Command.from_dict(given).to_dict() == given


@pytest.mark.parametrize(
    ("parts", "said"),
    [
        ({"permission": "all"}, f'permission is "all"; it must be one of {", ".join(PERMISSIONS)}'),
        ({"permission": 1}, "permission: expected a text, found 1"),
        ({"permission": "object", "verb": "delete"}, "permission: delete takes none"),
    ],
)
def test_an_unknown_permission_is_refused(parts: dict[str, Any], said: str) -> None:
    with pytest.raises(Invalid, match=said):
        Command.from_dict({"verb": "patch", "object": "pod/default/a", "patch": {}, **parts})
