"""The custom kinds of a run are the same ones while their definitions say the same."""

import copy
from typing import Any

import orjson

from kube.custom_kinds import NO_CUSTOM, CustomResources
from kube.openapi.custom import documents_with
from kube.tables.custom import printer_of_custom
from tests.engine.cluster.test_custom_kinds import definition


def established(plural: str = "widgets", kind: str = "Widget") -> dict[str, Any]:
    conditions = [{"type": "Established", "status": "True"}]
    return {**definition(kind, plural), "status": {"conditions": conditions}}


def test_kinds_stay_while_only_a_status_changes() -> None:
    before = CustomResources.of([established()])
    later = copy.deepcopy(established())
    later["metadata"]["resourceVersion"] = "7"
    later["status"]["storedVersions"] = ["v1"]
    after = CustomResources.of([later])
    assert [one.plural for one in after.resources] == ["widgets"]
    assert after is before
    assert documents_with(after) is documents_with(before)


def test_changed_definition_leaves_others_as_they_are() -> None:
    before = CustomResources.of([established(), established("gadgets", "Gadget")])
    changed = established("gadgets", "Gadget")
    changed["spec"]["versions"][0]["additionalPrinterColumns"] = [{"jsonPath": ".a", "name": "A"}]
    after = CustomResources.of([established(), changed])
    assert after is not before
    kept, new = ({one.plural: one.custom for one in each.resources} for each in (before, after))
    assert kept["widgets"] is new["widgets"]
    assert kept["gadgets"] is not new["gadgets"]
    assert new["gadgets"] is not None
    assert [one.name for one in printer_of_custom(new["gadgets"]).headings][1:] == ["A"]


def test_deleted_definition_is_another_one() -> None:
    later = established()
    later["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    (found,) = CustomResources.of([later]).definitions
    assert found.is_terminating
    assert CustomResources.of([later]) is not CustomResources.of([established()])


def test_definition_counts_once_it_is_established() -> None:
    assert CustomResources.of([definition()]) is NO_CUSTOM
    assert CustomResources.of([established()]) is not NO_CUSTOM


def test_schemas_describe_what_all_objects_have() -> None:
    made = established()
    fields = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
    fields["spec"]["properties"]["whole"] = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "required": ["kind", "spec"],
    }
    found = documents_with(CustomResources.of([made]))
    defined = orjson.loads(found.v2_json)["definitions"]
    widget, widgets = defined["com.example.v1.Widget"], defined["com.example.v1.WidgetList"]
    for one in (widget, widgets):
        assert one["properties"]["apiVersion"]["description"].startswith("APIVersion defines")
        assert one["properties"]["kind"]["description"].startswith("Kind is a string")
    assert widget["properties"]["metadata"] == {
        "description": "Standard object's metadata. More info: https://git.k8s.io/community/"
        "contributors/devel/sig-architecture/api-conventions.md#metadata",
        "$ref": "#/definitions/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta",
    }
    assert widgets["description"] == "WidgetList is a list of Widget"
    assert widgets["properties"]["items"]["description"].startswith("List of widgets. More info:")
    whole = widget["properties"]["spec"]["properties"]["whole"]
    assert whole["properties"]["kind"]["description"].startswith("kind is a string value")
    assert whole["required"] == ["kind", "spec", "apiVersion"]


def test_kind_with_unknown_fields_is_any_object() -> None:
    made = established()
    schema = made["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    schema["x-kubernetes-preserve-unknown-fields"] = True
    found = documents_with(CustomResources.of([made]))
    assert orjson.loads(found.v2_json)["definitions"]["com.example.v1.Widget"] == {
        "type": "object",
        "x-kubernetes-group-version-kind": [
            {"group": "example.com", "kind": "Widget", "version": "v1"}
        ],
    }
