"""The schemas that clients read, in each form. Upstream: kube-openapi, gnostic OpenAPIv2.proto."""

import re
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import orjson

from kube import openapi
from kube.resources import SERVED, group_versions


def _fields(message: bytes) -> Iterator[tuple[int, Any]]:
    """The fields of a protobuf message: numbers and texts."""
    place = 0

    def varint() -> int:
        nonlocal place
        number = shift = 0
        while True:
            byte = message[place]
            place += 1
            number |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                return number

    while place < len(message):
        field, wire = divmod(varint(), 8)
        if wire == 0:
            yield field, varint()
        else:
            length = varint()
            yield field, message[place : place + length]
            place += length


def _all(message: bytes, *path: int) -> list[Any]:
    """What is at *path*, a field number for each level."""
    found: list[Any] = [message]
    for wanted in path:
        found = [value for each in found for field, value in _fields(each) if field == wanted]
    return found


def _version_2() -> dict[str, Any]:
    return orjson.loads(openapi.v2_json())


def _version_3(path: str) -> dict[str, Any]:
    text = openapi.v3(path)
    assert text is not None
    return orjson.loads(text)


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        for name, one in value.items():
            if name == "$ref" and isinstance(one, str):
                yield one
            yield from _references(one)
    elif isinstance(value, list):
        for one in value:
            yield from _references(one)


def test_every_kind_has_a_schema() -> None:
    definitions = _version_2()["definitions"].values()
    described = [
        (kind["group"], kind["version"], kind["kind"])
        for definition in definitions
        for kind in definition.get("x-kubernetes-group-version-kind", ())
    ]
    assert {(one.group, one.version, one.kind) for one in SERVED} <= {*described}


def test_references_lead_to_definitions() -> None:
    document = _version_2()
    assert {one.removeprefix("#/definitions/") for one in _references(document)} <= {
        *document["definitions"]
    }
    for one in group_versions():
        document = _version_3(f"apis/{one}" if "/" in one else f"api/{one}")
        schemas = document["components"]["schemas"]
        found = {name.removeprefix("#/components/schemas/") for name in _references(document)}
        assert found <= {*schemas}, one


def test_no_type_may_be_null() -> None:
    assert b'"null"' not in openapi.v2_json()


def test_merge_keys_are_kept() -> None:
    pod_spec = _version_2()["definitions"]["io.k8s.api.core.v1.PodSpec"]
    containers = pod_spec["properties"]["containers"]
    assert containers["x-kubernetes-patch-merge-key"] == "name"
    assert containers["x-kubernetes-list-map-keys"] == ["name"]


def test_patches_can_be_validated_and_tried() -> None:
    path = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
    for document in (_version_2(), _version_3("apis/apps/v1")):
        patch = document["paths"][path]["patch"]
        assert {"dryRun", "fieldValidation"} <= {one["name"] for one in patch["parameters"]}
        assert patch["x-kubernetes-group-version-kind"]["kind"] == "Deployment"


def test_quantities_are_written_in_two_ways() -> None:
    name = "io.k8s.apimachinery.pkg.api.resource.Quantity"
    assert _version_2()["definitions"][name]["type"] == "string"
    assert _version_3("api/v1")["components"]["schemas"][name]["oneOf"]


def test_protobuf_holds_the_same_as_json() -> None:
    document, message = _version_2(), openapi.v2_protobuf()
    assert _all(message, 1) == [b"2.0"]
    assert [name.decode() for name in _all(message, 9, 1, 1)] == [*document["definitions"]]
    assert [name.decode() for name in _all(message, 8, 2, 1)] == [*document["paths"]]
    pods = next(
        one for one in _all(message, 9, 1) if _all(one, 1) == [b"io.k8s.api.core.v1.PodSpec"]
    )
    properties = document["definitions"]["io.k8s.api.core.v1.PodSpec"]["properties"]
    assert [name.decode() for name in _all(pods, 2, 25, 1, 1)] == [*properties]
    assert _all(pods, 2, 19) == [b"containers"]


def test_index_names_each_group_version() -> None:
    paths = orjson.loads(openapi.v3_index("/k8s/runs/12"))["paths"]
    assert len(paths) == len(group_versions())
    address = paths["apis/apps/v1"]["serverRelativeURL"]
    assert address.startswith("/k8s/runs/12/openapi/v3/apis/apps/v1?hash=")
    assert openapi.v3("apis/unknown/v1") is None


def test_protobuf_is_given_without_an_at_sign() -> None:
    assert openapi.wants_protobuf("application/com.github.proto-openapi.spec.v2@v1.0+protobuf")
    assert not openapi.wants_protobuf("application/json, */*")
    assert "@" not in openapi.PROTOBUF


def test_no_validator_is_imported_for_schemas() -> None:
    code = (
        "import sys; from kube import openapi; openapi.v2_json();"
        " sys.exit('kubernetes_validate' in sys.modules)"
    )
    # In a process of its own: another test may have imported it.
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_nothing_stands_beside_a_reference() -> None:
    text = openapi.v3("api/v1") or b""
    schemas = orjson.loads(text)["components"]["schemas"]
    metadata = schemas["io.k8s.api.core.v1.Pod"]["properties"]["metadata"]
    meant = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
    assert metadata["allOf"] == [{"$ref": meant}]
    assert metadata["description"].startswith("Standard object's metadata.")
    assert not re.search(rb'"\$ref":"[^"]*",|,"\$ref":"', text)
