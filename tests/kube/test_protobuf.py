"""Messages of Kubernetes are read as the JSON that an API server would make of them."""

import pytest

from kube.protobuf.decoding import MAGIC, decoded
from kube.resources import SERVED, Resource

SECONDS_OF_YEAR_1 = -62_135_596_800


def varint(number: int) -> bytes:
    number &= 2**64 - 1
    pieces = []
    while number > 127:
        pieces.append(number & 127 | 128)
        number >>= 7
    return bytes([*pieces, number])


def part(number: int, content: bytes) -> bytes:
    return varint(number << 3 | 2) + varint(len(content)) + content


def message(api_version: bytes, kind: bytes, content: bytes) -> bytes:
    types = part(1, api_version) + part(2, kind)
    return MAGIC + part(1, types) + part(2, content)


def lease(seconds: int) -> bytes:
    time = varint(1 << 3) + varint(seconds)
    spec = part(1, b"me") + part(4, time)
    return message(b"coordination.k8s.io/v1", b"Lease", part(2, spec))


@pytest.mark.parametrize(
    ("seconds", "told"),
    [
        (0, "1970-01-01T00:00:00.000000Z"),
        (SECONDS_OF_YEAR_1 + 1, "0001-01-01T00:00:01.000000Z"),
    ],
)
def test_times_have_years_of_four_digits(seconds: int, told: str) -> None:
    assert decoded(lease(seconds))["spec"] == {"holderIdentity": "me", "renewTime": told}


def entry(key: bytes, value: bytes) -> bytes:
    return part(1, key) + part(2, value)


@pytest.mark.parametrize(
    ("api_version", "kind", "content", "read"),
    [
        (
            b"node.k8s.io/v1",
            b"RuntimeClass",
            part(2, b"runsc")
            + part(3, part(1, entry(b"cpu", part(1, b"250m"))))
            + part(4, part(1, entry(b"disk", b"ssd"))),
            {
                "handler": "runsc",
                "overhead": {"podFixed": {"cpu": "250m"}},
                "scheduling": {"nodeSelector": {"disk": "ssd"}},
            },
        ),
        (
            b"storage.k8s.io/v1",
            b"VolumeAttributesClass",
            part(2, b"ebs.csi.aws.com") + part(3, entry(b"iops", b"3000")),
            {"driverName": "ebs.csi.aws.com", "parameters": {"iops": "3000"}},
        ),
        (
            b"networking.k8s.io/v1",
            b"Ingress",
            part(2, part(3, part(1, b"a.example") + part(2, part(1, part(1, part(1, b"/")))))),
            {"spec": {"rules": [{"host": "a.example", "http": {"paths": [{"path": "/"}]}}]}},
        ),
        (
            b"admissionregistration.k8s.io/v1",
            b"ValidatingAdmissionPolicy",
            part(2, part(7, part(1, b"v") + part(2, b"true"))),
            {"spec": {"variables": [{"name": "v", "expression": "true"}]}},
        ),
        (
            b"admissionregistration.k8s.io/v1",
            b"ValidatingAdmissionPolicyBinding",
            part(2, part(3, part(3, part(2, part(1, b"CREATE") + part(2, part(3, b"pods")))))),
            {
                "spec": {
                    "matchResources": {
                        "resourceRules": [{"operations": ["CREATE"], "resources": ["pods"]}]
                    }
                }
            },
        ),
        (
            b"scheduling.k8s.io/v1alpha2",
            b"PodGroup",
            part(2, part(2, part(2, varint(1 << 3) + varint(3)))),
            {"spec": {"schedulingPolicy": {"gang": {"minCount": 3}}}},
        ),
        (
            b"apps/v1",
            b"ControllerRevision",
            part(2, part(1, b'{"spec": {}}')) + varint(3 << 3) + varint(4),
            {"data": {"spec": {}}, "revision": 4},
        ),
    ],
)
def test_other_served_kinds_are_read(
    api_version: bytes, kind: bytes, content: bytes, read: dict[str, object]
) -> None:
    found = decoded(message(api_version, kind, content))
    assert {
        name: part for name, part in found.items() if name not in ("kind", "apiVersion")
    } == read


@pytest.mark.parametrize("resource", SERVED, ids=lambda one: f"{one.api_version} {one.kind}")
def test_every_served_kind_is_read(resource: Resource) -> None:
    named = resource.api_version.encode(), resource.kind.encode()
    found = decoded(message(*named, part(1, part(1, b"mine"))))
    assert found == {
        "kind": resource.kind,
        "apiVersion": resource.api_version,
        "metadata": {"name": "mine"},
    }
