"""What a client reads before it asks for objects."""

from typing import Any

import pytest

from engine.api_server.validation.kinds import KINDS, STORED_KINDS
from engine.objects.kinds import NAMESPACED
from kube.discovery import document
from kube.forms import Form, form_of
from kube.resources import SERVED, found, group_versions
from kube.status import ApiError

_AGGREGATED = (
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,"
    "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList,application/json"
)
_TABLE = (
    "application/json;as=Table;v=v1;g=meta.k8s.io,"
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json"
)


def _document(path: str, accept: str = "application/json") -> dict[str, Any]:
    answer = document(path, form_of(accept), "localhost:8000")
    assert answer is not None
    return answer


def test_every_kind_of_the_engines_is_served() -> None:
    kinds = {one.kind for one in SERVED}
    assert {*KINDS, *STORED_KINDS} <= kinds


def test_scope_is_that_of_the_engines() -> None:
    stored = [one for one in SERVED if one.kind in {*KINDS, *STORED_KINDS} - {"ControllerRevision"}]
    assert {one.kind: one.namespaced for one in stored} == {
        one.kind: one.kind in NAMESPACED for one in stored
    }


def test_pods_list_their_subresources() -> None:
    listed = {one["name"]: one for one in _document("/api/v1")["resources"]}
    eviction = listed["pods/eviction"]
    assert (eviction["group"], eviction["version"], eviction["kind"]) == (
        "policy",
        "v1",
        "Eviction",
    )
    assert {"pods/binding", "pods/status", "pods/log", "pods/resize"} <= listed.keys()
    assert listed["serviceaccounts/token"]["kind"] == "TokenRequest"
    assert listed["pods"]["shortNames"] == ["po"]


def test_versions_of_older_clients_are_served_but_unlisted() -> None:
    # kube-scheduler 1.20 schedules nothing before it has listed these.
    budgets = found("policy", "v1beta1", "poddisruptionbudgets")
    assert budgets is not None
    assert (budgets.kind, budgets.api_version) == ("PodDisruptionBudget", "policy/v1beta1")
    replica_sets = found("extensions", "v1beta1", "replicasets")
    assert replica_sets is not None
    assert replica_sets.group_resource == "replicasets.extensions"
    listed = _document("/apis/policy/v1beta1")["resources"]
    assert "poddisruptionbudgets" in {one["name"] for one in listed}
    groups = {one["name"]: one["versions"] for one in _document("/apis")["groups"]}
    assert [one["version"] for one in groups["policy"]] == ["v1"]
    assert "extensions" not in groups


def test_groups_prefer_their_stable_version() -> None:
    groups = {one["name"]: one for one in _document("/apis")["groups"]}
    assert groups["scheduling.k8s.io"]["preferredVersion"]["version"] == "v1"
    assert _document("/apis/apps")["kind"] == "APIGroup"
    assert _document("/api")["versions"] == ["v1"]


def test_no_resource_is_served_twice() -> None:
    addresses = [(one.group, one.version, one.plural) for one in SERVED]
    assert len(set(addresses)) == len(addresses)


def test_no_group_version_is_empty() -> None:
    for one in group_versions():
        path = f"/apis/{one}" if "/" in one else f"/api/{one}"
        assert _document(path)["resources"]


@pytest.mark.parametrize("version", ["v2", "v2beta1"])
def test_two_documents_hold_all_that_is_served(version: str) -> None:
    accept = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
    items = [item for path in ("/api", "/apis") for item in _document(path, accept)["items"]]
    listed = [
        (item["metadata"].get("name", ""), each["version"], one["resource"])
        for item in items
        for each in item["versions"]
        for one in each["resources"]
    ]
    assert sorted(listed) == sorted((one.group, one.version, one.plural) for one in SERVED)
    assert _document("/apis", accept)["apiVersion"] == f"apidiscovery.k8s.io/{version}"


def test_another_form_gets_the_plain_documents() -> None:
    assert _document("/apis", _TABLE)["kind"] == "APIGroupList"


def test_paths_of_objects_are_no_documents() -> None:
    for path in ("/api/v1/pods", "/apis/unknown", "/apis/apps/v9", "/healthz"):
        assert document(path, Form(), "localhost") is None


def test_first_form_that_can_be_given_wins() -> None:
    assert form_of(_AGGREGATED) == Form("APIGroupDiscoveryList", "v2")
    assert form_of(_TABLE) == Form("Table", "v1")
    assert form_of("application/vnd.kubernetes.protobuf, */*") == Form()
    assert form_of("application/json;as=Table;v=v9;g=meta.k8s.io,application/json") == Form()
    assert form_of("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io").is_partial


def test_unknown_forms_are_not_acceptable() -> None:
    with pytest.raises(ApiError) as refused:
        form_of("application/vnd.kubernetes.protobuf")
    assert (refused.value.code, refused.value.reason) == (406, "NotAcceptable")


def test_namespaces_are_not_deleted_together() -> None:
    namespaces = found("", "v1", "namespaces")
    assert namespaces is not None
    assert "deletecollection" not in namespaces.verbs
