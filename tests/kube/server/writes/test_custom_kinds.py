"""A CustomResourceDefinition adds a kind to the API of its run."""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from engine.objects.kinds import entity_id
from kscope.runs.models import Run
from kscope.runs.services import command_prepare
from kube.resources import SERVED, Resource
from tests.engine.cluster.test_custom_kinds import SCHEMA, definition, widget
from tests.kube.server.client import JSON_PATCH, MERGE, STRATEGIC, Kube
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
WIDGETS = "/apis/example.com/v1/namespaces/default/widgets"
APPLY = "application/apply-patch+yaml"
TABLE = "application/json;as=Table;g=meta.k8s.io;v=v1"
AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"


def two_versions() -> dict[str, Any]:
    """Widgets of v1, which are stored, and of v1beta1, with columns, status and scale."""
    old = {
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": {"size": {"type": "integer"}}}},
    }
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {
            "name": "Ready",
            "type": "string",
            "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
        },
        {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
    ]
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    schema = {"type": "object", "properties": {**SCHEMA["properties"], "status": status}}
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    names = {
        "plural": "widgets",
        "kind": "Widget",
        "shortNames": ["wd"],
        "categories": ["all"],
    }
    versions = [
        {"name": "v1beta1", "served": True, "storage": False, "schema": {"openAPIV3Schema": old}},
        {
            "name": "v1",
            "served": True,
            "storage": True,
            "schema": {"openAPIV3Schema": schema},
            "additionalPrinterColumns": columns,
            "selectableFields": [{"jsonPath": ".spec.color"}],
            "subresources": {"status": {}, "scale": scale},
        },
    ]
    return definition(names=names, versions=versions)


@pytest.fixture
async def kube(kube_of: Callable[..., Kube], driven: Run) -> AsyncIterator[Kube]:
    """A client of a run that has Widgets, and that a worker looks after."""
    with driving(driven):
        found = kube_of(driven)
        made = await found.ask("POST", DEFINITIONS, two_versions())
        assert made.status == 201, made.json
        yield found


async def test_kind_is_there_once_it_is_established(kube: Kube) -> None:
    found = (await kube.get(f"{DEFINITIONS}/widgets.example.com")).json
    states = {one["type"]: one["status"] for one in found["status"]["conditions"]}
    assert states == {"NamesAccepted": "True", "Established": "True"}
    groups = (await kube.get("/apis")).json["groups"]
    group = next(one for one in groups if one["name"] == "example.com")
    assert group["preferredVersion"]["version"] == "v1"
    assert [one["version"] for one in group["versions"]] == ["v1", "v1beta1"]
    listed = (await kube.get("/apis/example.com/v1")).json["resources"]
    assert [one["name"] for one in listed] == ["widgets", "widgets/scale", "widgets/status"]
    assert (listed[0]["kind"], listed[0]["shortNames"]) == ("Widget", ["wd"])
    assert listed[0]["categories"] == ["all"]
    document = (await kube.get("/apis", accept=AGGREGATED)).json
    versions = next(one for one in document["items"] if one["metadata"]["name"] == "example.com")
    assert versions["versions"][0]["resources"][0]["resource"] == "widgets"
    assert "/apis/example.com/v1beta1" in (await kube.get("/")).json["paths"]


async def test_schemas_of_the_kind_are_published(kube: Kube) -> None:
    index = (await kube.get("/openapi/v3")).json["paths"]
    assert "apis/example.com/v1" in index
    document = (await kube.get("/openapi/v3/apis/example.com/v1")).json
    schema = document["components"]["schemas"]["com.example.v1.Widget"]
    assert schema["properties"]["spec"]["properties"]["size"]["minimum"] == 1
    assert "/apis/example.com/v1/namespaces/{namespace}/widgets/{name}" in document["paths"]
    older = (await kube.get("/openapi/v2")).json
    assert "com.example.v1.Widget" in older["definitions"]
    assert "io.k8s.api.core.v1.Pod" in older["definitions"]


async def test_objects_are_made_changed_and_deleted(kube: Kube) -> None:
    made = await kube.ask("POST", WIDGETS, widget(more={"a": [1]}))
    assert (made.status, made.json["spec"]["color"]) == (201, "red"), made.json
    assert made.json["metadata"]["generation"] == 1
    assert made.json["metadata"]["managedFields"][0]["operation"] == "Update"
    one = f"{WIDGETS}/one"
    changed = await kube.ask("PATCH", one, {"spec": {"size": 5}}, content_type=MERGE)
    assert changed.json["spec"]["size"] == 5
    patch = [{"op": "replace", "path": "/spec/color", "value": "blue"}]
    changed = await kube.ask("PATCH", one, patch, content_type=JSON_PATCH)
    assert (changed.json["spec"]["color"], changed.json["metadata"]["generation"]) == ("blue", 3)
    refused = await kube.ask("PATCH", one, {"spec": {"size": 1}}, content_type=STRATEGIC)
    assert refused.status == 415
    whole = {**changed.json, "spec": {"size": 7}}
    replaced = await kube.ask("PUT", one, whole)
    assert replaced.json["spec"] == {"size": 7, "color": "red"}
    assert (await kube.ask("PUT", one, whole)).status == 409
    assert (await kube.ask("DELETE", one)).status == 200
    missing = await kube.get(one)
    assert missing.json["message"] == 'widgets.example.com "one" not found'


async def test_faulty_object_is_refused_in_upstreams_words(kube: Kube) -> None:
    refused = await kube.ask("POST", WIDGETS, widget(size="x"))
    assert refused.status == 422
    assert refused.json["message"] == (
        'Widget.example.com "one" is invalid: spec.size: Invalid value: "string": '
        'spec.size in body must be of type integer: "string"'
    )
    cause = refused.json["details"]["causes"][0]
    assert cause["field"] == "spec.size"
    tried = await kube.ask("POST", f"{WIDGETS}?dryRun=All", widget(size="x"))
    assert tried.status == 422
    strict = await kube.ask("POST", f"{WIDGETS}?fieldValidation=Strict", widget(sise=1))
    assert 'unknown field "spec.sise"' in strict.json["message"]
    warned = await kube.ask("POST", WIDGETS, widget(sise=1))
    assert 'unknown field \\"spec.sise\\"' in warned.headers["warning"]
    assert "sise" not in warned.json["spec"]


async def test_status_and_scale_have_addresses(kube: Kube) -> None:
    await kube.ask("POST", WIDGETS, {**widget(), "status": {"size": 9}})
    assert "status" not in (await kube.get(f"{WIDGETS}/one")).json
    patch = {"status": {"size": 2}, "spec": {"size": 9}}
    written = await kube.ask("PATCH", f"{WIDGETS}/one/status", patch, content_type=MERGE)
    assert (written.json["status"], written.json["spec"]["size"]) == ({"size": 2}, 3)
    assert written.json["metadata"]["generation"] == 1
    scale = (await kube.get(f"{WIDGETS}/one/scale")).json
    assert (scale["spec"], scale["status"]) == ({"replicas": 3}, {"replicas": 2})
    patch = {"spec": {"replicas": 4}}
    scaled = await kube.ask("PATCH", f"{WIDGETS}/one/scale", patch, content_type=MERGE)
    assert scaled.json["spec"] == {"replicas": 4}
    assert (await kube.get(f"{WIDGETS}/one")).json["spec"]["size"] == 4


async def test_versions_show_the_same_object(kube: Kube) -> None:
    await kube.ask("POST", WIDGETS, widget(color="blue"))
    older = (await kube.get("/apis/example.com/v1beta1/namespaces/default/widgets/one")).json
    assert (older["apiVersion"], older["spec"]) == ("example.com/v1beta1", {"size": 3})
    made = {**widget("two"), "apiVersion": "example.com/v1beta1"}
    await kube.ask("POST", "/apis/example.com/v1beta1/namespaces/default/widgets", made)
    assert (await kube.get(WIDGETS)).names == ["one", "two"]
    assert (await kube.get(WIDGETS)).json["items"][1]["apiVersion"] == "example.com/v1"


async def test_columns_are_those_of_the_definition(kube: Kube) -> None:
    await kube.ask("POST", WIDGETS, widget())
    status = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
    await kube.ask("PATCH", f"{WIDGETS}/one/status", status, content_type=MERGE)
    table = (await kube.get(WIDGETS, accept=TABLE)).json
    assert [one["name"] for one in table["columnDefinitions"]] == ["Name", "Size", "Ready", "Age"]
    assert table["rows"][0]["cells"][:3] == ["one", 3, "True"]


async def test_objects_are_selected_and_watched(kube: Kube) -> None:
    head = (await kube.get(WIDGETS)).json["metadata"]["resourceVersion"]
    first = widget(color="blue")
    first["metadata"]["labels"] = {"a": "b"}
    async with kube.watching(f"{WIDGETS}?watch=1&resourceVersion={head}") as events:
        await kube.ask("POST", WIDGETS, first)
        await kube.ask("POST", WIDGETS, widget("two"))
        await kube.ask("PATCH", f"{WIDGETS}/two", {"spec": {"size": 4}}, content_type=MERGE)
        await kube.ask("DELETE", f"{WIDGETS}/two")
        seen = [(one["type"], one["object"]["metadata"]["name"]) async for one in _first(events, 4)]
    assert seen == [("ADDED", "one"), ("ADDED", "two"), ("MODIFIED", "two"), ("DELETED", "two")]
    await kube.ask("POST", WIDGETS, widget("two"))
    assert (await kube.get(f"{WIDGETS}?labelSelector=a=b")).names == ["one"]
    assert (await kube.get(f"{WIDGETS}?fieldSelector=spec.color=red")).names == ["two"]
    assert (await kube.get("/apis/example.com/v1/widgets")).names == ["one", "two"]


async def _first(events: AsyncIterator[dict[str, Any]], count: int) -> AsyncIterator[Any]:
    for _ in range(count):
        yield await anext(events)


async def test_applied_fields_have_their_managers(kube: Kube) -> None:
    one = f"{WIDGETS}/one"
    config = widget(color="blue", parts=[{"name": "a"}])
    made = await kube.ask("PATCH", f"{one}?fieldManager=me", config, content_type=APPLY)
    assert made.status == 201, made.json
    other = {"apiVersion": "example.com/v1", "kind": "Widget", "metadata": {"name": "one"}}
    added = {**other, "spec": {"parts": [{"name": "b", "count": 2}]}}
    merged = await kube.ask("PATCH", f"{one}?fieldManager=you", added, content_type=APPLY)
    assert merged.json["spec"]["parts"] == [
        {"name": "a", "count": 1},
        {"name": "b", "count": 2},
    ]
    taken = {**other, "spec": {"color": "red"}}
    refused = await kube.ask("PATCH", f"{one}?fieldManager=you", taken, content_type=APPLY)
    assert (refused.status, refused.json["reason"]) == (409, "Conflict")
    forced = f"{one}?fieldManager=you&force=true"
    assert (await kube.ask("PATCH", forced, taken, content_type=APPLY)).json["spec"][
        "color"
    ] == "red"


async def test_definition_can_be_applied_to(kube: Kube) -> None:
    one = f"{DEFINITIONS}/gadgets.example.com?fieldManager=me"
    made = await kube.ask("PATCH", one, definition("Gadget", "gadgets"), content_type=APPLY)
    assert made.status == 201, made.json
    later = definition("Gadget", "gadgets")
    later["spec"]["names"]["shortNames"] = ["gd"]
    changed = await kube.ask("PATCH", one, later, content_type=APPLY)
    assert changed.json["status"]["acceptedNames"]["shortNames"] == ["gd"], changed.json
    assert changed.json["metadata"]["generation"] == 2
    broken = definition("Gadget", "gadgets", scope="Cluster")
    refused = await kube.ask("PATCH", f"{one}&force=true", broken, content_type=APPLY)
    assert 'spec.scope: Invalid value: "Cluster": field is immutable' in refused.json["message"]


async def test_objects_and_addresses_go_with_the_definition(kube: Kube) -> None:
    made = await kube.ask("POST", WIDGETS, widget())
    head = made.json["metadata"]["resourceVersion"]
    gone = await kube.ask("DELETE", f"{DEFINITIONS}/widgets.example.com")
    assert gone.status == 200, gone.json
    async with kube.watching(f"{DEFINITIONS}?watch=1&resourceVersion={head}") as events:
        while (await anext(events))["type"] != "DELETED":
            pass
    assert (await kube.get(f"{DEFINITIONS}/widgets.example.com")).status == 404
    assert (await kube.get(WIDGETS)).status == 404
    assert "example.com" not in str((await kube.get("/apis")).json)


async def test_past_has_the_kinds_of_its_time(
    kube: Kube, kube_of: Callable[..., Kube], driven: Run
) -> None:
    made = await kube.ask("POST", WIDGETS, widget())
    then = kube_of(driven, made.json["metadata"]["resourceVersion"])
    assert (await then.get(WIDGETS)).names == ["one"]
    before = kube_of(driven, "1")
    assert (await before.get(WIDGETS)).status == 404


@pytest.mark.parametrize(
    "resource", [one for one in SERVED if "list" in one.verbs], ids=lambda one: one.plural
)
def test_a_command_names_its_object_as_the_run(driven: Run, resource: Resource) -> None:
    namespace, key = ("a", "a/one") if resource.namespaced else ("", "one")
    found = created(driven, resource.api_version, resource.kind, namespace)
    assert found == entity_id(resource.kind, key)


def test_custom_objects_are_named_with_their_group(driven: Run) -> None:
    assert created(driven, "example.com/v1", "Widget") == "widget.example.com/a/one"
    assert created(driven, "example.com/v1", "Ingress") == "ingress.example.com/a/one"


def created(run: Run, api_version: str, kind: str, namespace: str = "a") -> str:
    """What the command that creates an object calls it."""
    metadata = {"name": "one", **({"namespace": namespace} if namespace else {})}
    manifest = {"apiVersion": api_version, "kind": kind, "metadata": metadata}
    return command_prepare(run=run, body={"verb": "create", "manifest": manifest})["object"]


async def test_rules_of_a_schema_hold_for_each_write(kube: Kube) -> None:
    found = (await kube.get(f"{DEFINITIONS}/widgets.example.com")).json
    schema = found["spec"]["versions"][1]["schema"]["openAPIV3Schema"]
    rule = {"rule": "self.size >= oldSelf.size", "message": "size only grows"}
    schema["properties"]["spec"]["x-kubernetes-validations"] = [rule]
    assert (await kube.ask("PUT", f"{DEFINITIONS}/widgets.example.com", found)).status == 200
    assert (await kube.ask("POST", WIDGETS, widget())).status == 201
    less = {"spec": {"size": 2}}
    for query in ("", "?dryRun=All"):
        refused = await kube.ask("PATCH", f"{WIDGETS}/one{query}", less, content_type=MERGE)
        assert refused.status == 422
        wanted = 'Widget.example.com "one" is invalid: spec: Invalid value: size only grows'
        assert refused.json["message"] == wanted
        assert refused.json["details"]["causes"] == [
            {
                "reason": "FieldValueInvalid",
                "message": "Invalid value: size only grows",
                "field": "spec",
            }
        ]


async def test_definition_with_a_webhook_is_warned_of(kube: Kube) -> None:
    made = definition("Gadget", "gadgets")
    made["spec"]["conversion"] = {
        "strategy": "Webhook",
        "webhook": {"clientConfig": {"url": "https://a.b"}, "conversionReviewVersions": ["v1"]},
    }
    answer = await kube.ask("POST", DEFINITIONS, made)
    assert answer.status == 201
    assert "kscope calls no webhook" in answer.headers["warning"]
    made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["x-kubernetes-validations"] = [
        {"rule": "self.other == 1"}
    ]
    made["metadata"]["name"], made["spec"]["names"] = (
        "things.example.com",
        {"plural": "things", "kind": "Thing"},
    )
    refused = await kube.ask("POST", DEFINITIONS, made)
    assert refused.status == 422
    assert (
        "compilation failed: ERROR: <input>:1:5: undefined field 'other'" in refused.json["message"]
    )
