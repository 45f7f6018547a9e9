"""CustomResourceDefinitions: names, schemas, and what becomes of their objects."""

from copy import deepcopy
from typing import Any

from engine.api_server.custom.checking import schema_errors
from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.input.scenario import Scenario
from engine.objects.custom.definition import CustomDefinition, condition_of
from engine.objects.objects import ApiObject, Manifest
from tests.builders import node, played, pod, scene

SCHEMA: Manifest = {
    "type": "object",
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 10},
                "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "port": {"x-kubernetes-int-or-string": True},
                "more": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                "parts": {
                    "type": "array",
                    "items": {
                        "type": "object",
                        "properties": {
                            "name": {"type": "string", "maxLength": 5},
                            "count": {"type": "integer", "default": 1},
                        },
                    },
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["name"],
                },
            },
        },
        "status": {"type": "object", "properties": {"ready": {"type": "boolean"}}},
    },
}


def definition(kind: str = "Widget", plural: str = "widgets", **spec: Any) -> Manifest:
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": deepcopy(SCHEMA)},
        "subresources": {"status": {}},
    }
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind},
            "versions": [version],
            **spec,
        },
    }


def widget(name: str = "one", kind: str = "Widget", **spec: Any) -> Manifest:
    return {
        "apiVersion": "example.com/v1",
        "kind": kind,
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"size": 3, **spec},
    }


def cluster_with(*objects: Manifest) -> Cluster:
    return played(Cluster.create(scene(node("n"), definition(), *objects)))


def told(cluster: Cluster, **parts: Any) -> str:
    return cluster.apply(Command.from_dict(parts)).reason


def found(cluster: Cluster, name: str = "one") -> ApiObject:
    return cluster.store.get("Widget.example.com", f"default/{name}")


def test_definition_is_established_with_its_names() -> None:
    cluster = played(Cluster.create(scene(node("n"))))
    assert told(cluster, verb="create", manifest=definition()) == ""
    stored = cluster.store.get("CustomResourceDefinition", "widgets.example.com").raw
    assert condition_of(stored, "Established")["status"] == "True"
    assert stored["status"]["acceptedNames"] == {
        "kind": "Widget",
        "listKind": "WidgetList",
        "plural": "widgets",
        "singular": "widget",
    }
    assert stored["status"]["storedVersions"] == ["v1"]


def test_second_definition_of_a_kind_is_not_accepted() -> None:
    cluster = cluster_with()
    assert told(cluster, verb="create", manifest=definition(plural="gadgets")) == ""
    stored = cluster.store.get("CustomResourceDefinition", "gadgets.example.com").raw
    names = condition_of(stored, "NamesAccepted")
    assert (names["status"], names["reason"]) == ("False", "ListKindConflict")
    assert names["message"] == '"WidgetList" is already in use'
    assert condition_of(stored, "Established")["status"] == "False"


def test_faulty_definition_is_refused_at_its_field() -> None:
    cluster = played(Cluster.create(scene(node("n"))))
    broken = definition(scope="Everywhere")
    broken["metadata"]["name"] = "widgets"
    reason = told(cluster, verb="create", manifest=broken)
    assert 'metadata.name: Invalid value: "widgets": must be spec.names.plural' in reason
    assert (
        'spec.scope: Unsupported value: "Everywhere": supported values: "Cluster", "Namespaced"'
        in reason
    )


def test_object_is_pruned_and_gets_its_defaults() -> None:
    cluster = cluster_with()
    made = widget(unknown=1, more={"any": 1}, port="http", parts=[{"name": "a"}])
    assert told(cluster, verb="create", manifest=made) == ""
    stored = found(cluster)
    assert stored.raw["spec"] == {
        "size": 3,
        "color": "red",
        "more": {"any": 1},
        "port": "http",
        "parts": [{"name": "a", "count": 1}],
    }
    assert stored.id == "widget.example.com/default/one"
    assert stored.metadata["generation"] == 1


def test_object_against_its_schema_is_refused() -> None:
    cluster = cluster_with()
    parts = [{"name": "a"}, {"name": "a"}, {"name": "abcdef"}]
    made = widget(size=11, color="green", port=True, parts=parts)
    reason = told(cluster, verb="create", manifest=made)
    assert reason.startswith('Invalid: Widget.example.com "one" is invalid: [')
    for error in (
        'spec.color: Unsupported value: "green": supported values: "red", "blue"',
        "spec.size: Invalid value: 11: spec.size in body should be less than or equal to 10",
        'spec.port: Invalid value: "boolean": spec.port in body must be of type integer,string: '
        '"boolean"',
        'spec.parts[1]: Duplicate value: {"name":"a"}',
        "spec.parts[2].name: Too long: may not be more than 5 bytes",
    ):
        assert error in reason
    del made["spec"]["size"]
    assert "spec.size: Required value" in told(cluster, verb="create", manifest=made)


def test_generation_counts_changes_of_the_spec_alone() -> None:
    cluster = cluster_with(widget())
    entity = "widget.example.com/default/one"
    status = {"status": {"ready": True}}
    assert told(cluster, verb="patch", object=entity, patch=status, permission="object") == ""
    assert "status" not in found(cluster).raw
    assert told(cluster, verb="patch", object=entity, patch=status, permission="status") == ""
    assert found(cluster).raw["status"] == {"ready": True}
    assert found(cluster).metadata["generation"] == 1
    assert told(cluster, verb="patch", object=entity, patch={"spec": {"size": 4}}) == ""
    assert found(cluster).metadata["generation"] == 2


def test_objects_go_with_their_definition() -> None:
    cluster = cluster_with(widget(), widget("two"))
    entity = "customresourcedefinition/widgets.example.com"
    assert told(cluster, verb="delete", object=entity) == ""
    played(cluster)
    assert cluster.store.objects("Widget.example.com") == []
    assert cluster.store.objects("CustomResourceDefinition") == []


def test_definition_waits_for_finalizers_of_its_objects() -> None:
    held = widget()
    held["metadata"]["finalizers"] = ["example.com/held"]
    cluster = cluster_with(held)
    assert told(cluster, verb="delete", object="customresourcedefinition/widgets.example.com") == ""
    cluster.advance(until=cluster.loop.now + 20_000_000_000)
    stored = cluster.store.get("CustomResourceDefinition", "widgets.example.com").raw
    assert condition_of(stored, "Terminating")["reason"] == "InstanceDeletionInProgress"
    patch = {"metadata": {"finalizers": None}}
    told(cluster, verb="patch", object="widget.example.com/default/one", patch=patch)
    played(cluster)
    assert cluster.store.objects("CustomResourceDefinition") == []


def test_what_a_custom_object_owns_goes_with_it() -> None:
    cluster = cluster_with(widget())
    owner = {"apiVersion": "example.com/v1", "kind": "Widget", "name": "one"}
    owned = {"ownerReferences": [{**owner, "uid": found(cluster).uid}]}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", **owned}}
    of_pod = pod("web")
    of_pod["metadata"] |= owned
    for made in (config, of_pod):
        assert told(cluster, verb="create", manifest=made) == ""
    played(cluster)
    assert cluster.store.find("ConfigMap", "default/c") is not None
    assert told(cluster, verb="delete", object="widget.example.com/default/one") == ""
    played(cluster)
    assert cluster.store.find("ConfigMap", "default/c") is None
    assert cluster.store.find("Pod", "default/web") is None


def test_custom_kind_may_have_a_known_name() -> None:
    cluster = played(Cluster.create(scene(node("n"), definition("Service", "services"))))
    assert told(cluster, verb="create", manifest=widget(kind="Service")) == ""
    assert cluster.store.objects("Service") == []
    assert cluster.store.find("Service.example.com", "default/one") is not None


def test_preferred_version_is_the_most_stable() -> None:
    versions = [{"name": name} for name in ("v1alpha1", "v2beta1", "v1", "v2", "other", "v2beta2")]
    read = CustomDefinition(definition(versions=versions))
    assert [one.name for one in read.versions] == [
        "v2",
        "v1",
        "v2beta2",
        "v2beta1",
        "v1alpha1",
        "other",
    ]


def test_scenario_keeps_definitions_with_their_objects() -> None:
    scenario: Scenario = scene(node("n"), widget(), definition())
    cluster = played(Cluster.create(scenario))
    assert found(cluster).raw["spec"]["color"] == "red"


def with_properties(**properties: Manifest) -> Manifest:
    made = definition()
    spec = {"type": "object", "properties": properties}
    schema = {"type": "object", "properties": {"spec": spec}}
    made["spec"]["versions"][0]["schema"] = {"openAPIV3Schema": schema}
    return made


def test_pattern_of_a_schema_takes_linear_time() -> None:
    cluster = played(Cluster.create(scene(node("n"))))
    slow = {"type": "string", "pattern": r"^(a+)+(?i)\pL$"}
    assert told(cluster, verb="create", manifest=with_properties(color=slow)) == ""
    assert told(cluster, verb="create", manifest=widget(color="aaé")) == ""
    reason = told(cluster, verb="create", manifest=widget("two", color="a" * 40 + "!"))
    assert "spec.color in body should match '^(a+)+(?i)\\pL$'" in reason


def test_definition_with_wrong_values_is_refused() -> None:
    cluster = played(Cluster.create(scene(node("n"))))
    wrong = {"type": "string", "anyOf": [{"pattern": "(?=a)"}], "pattern": "(a"}
    made = with_properties(color=wrong, size={"type": "integer", "multipleOf": 0})
    reason = told(cluster, verb="create", manifest=made)
    where = "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties"
    not_one = "must be a valid regular expression, but isn't: error parsing regexp"
    assert (
        f'{where}.color.pattern: Invalid value: "(a": {not_one}: missing closing ): `(a`' in reason
    )
    assert f'{where}.color.anyOf[0].pattern: Invalid value: "(?=a)": {not_one}' in reason
    assert f"{where}.size.multipleOf: Invalid value: 0: factor MultipleOf must be" in reason


def test_schema_stored_before_its_check_refuses_objects() -> None:
    color, size = {"type": "string", "pattern": "(a"}, {"type": "number", "multipleOf": 0}
    errors = schema_errors(
        CustomDefinition(with_properties(color=color, size=size)).stored, widget(color="a")
    )
    assert [one.partition(":")[0] for one in errors] == ["spec.color", "spec.size"]
    size["multipleOf"] = 0.5
    errors = schema_errors(
        CustomDefinition(with_properties(size=size)).stored, widget(size=10**400)
    )
    assert errors[0].endswith("spec.size in body should be a multiple of 0.5")
