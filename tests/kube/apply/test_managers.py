"""`metadata.managedFields` is read and written as upstream reads and writes it."""

from typing import Any

import pytest

from kube.apply import fields
from kube.apply.managers import MOST_UPDATERS, Managers, capped, decoded, encoded

FIELDS = {
    "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
    "f:spec": {
        "f:replicas": {},
        'k:{"name":"c"}': {".": {}, "f:image": {}},
        'k:{"containerPort":80,"protocol":"TCP"}': {},
        'k:{"containerPort":443,"protocol":"TCP"}': {},
        'v:"a"': {},
    },
}


def entry(**other: Any) -> dict[str, Any]:
    mine = {"manager": "m", "operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1"}
    return mine | {"fieldsV1": {"f:spec": {}}} | other


def test_a_tree_of_fields_survives_reading() -> None:
    assert fields.encoded(fields.decoded(FIELDS)) == FIELDS


def test_keys_are_ordered_by_their_values() -> None:
    names = list(fields.encoded(fields.decoded(FIELDS))["f:spec"])
    assert names == [
        "f:replicas",
        'k:{"containerPort":80,"protocol":"TCP"}',
        'k:{"containerPort":443,"protocol":"TCP"}',
        'k:{"name":"c"}',
        'v:"a"',
    ]


def test_elements_of_unknown_forms_are_left_out() -> None:
    assert fields.decoded({"f:a": {}, "x:b": {}}) == {("f:a",)}


def test_entries_come_in_the_order_of_upstream() -> None:
    entries = [
        entry(manager="late", time="2026-01-01T00:00:02Z"),
        entry(manager="early", time="2026-01-01T00:00:01Z"),
        entry(manager="applier", operation="Apply", time="2026-01-01T00:00:03Z"),
    ]
    assert [one["manager"] for one in encoded(decoded(entries))] == ["applier", "early", "late"]


@pytest.mark.parametrize(
    "wrong",
    [
        "text",
        ["text"],
        [entry(operation="Delete")],
        [entry(apiVersion="")],
        [entry(fieldsType="FieldsV2")],
        [entry(fieldsV1={"k:[": {}})],
        [entry(fieldsV1={"f:a": 1})],
        [entry(manager=5)],
    ],
)
def test_malformed_entries_are_refused(wrong: Any) -> None:
    with pytest.raises(ValueError):  # noqa: PT011  # each case has words of its own
        decoded(wrong)


def test_the_oldest_updates_are_put_together() -> None:
    entries = [
        entry(manager=f"m{place}", time=f"2026-01-01T00:00:{place:02}Z") for place in range(13)
    ]
    left: Managers = capped(decoded(entries))
    assert len(left) == MOST_UPDATERS
    assert [one["manager"] for one in encoded(left)][:2] == ["ancient-changes", "m4"]
