"""What is written as YAML is read as what it was."""

import pytest

from engine.objects.documents import Limits, read_documents
from engine.objects.yaml_text import yaml_text


def read_again(text: str) -> object:
    """The one document of *text*."""
    (document,) = read_documents("written.yaml", text.encode(), Limits())
    return document.value


@pytest.mark.parametrize(
    "text",
    [
        *("1e3", "12e6", "1e-3", "0o17", "0755", "0x1F", "1_000", ".5", "+1", "1."),
        *("y", "No", "on", "null", "~", "", "=", "<<", "-", "1:30", "2001-01-01", ".inf"),
        *("a: b", "#", " padded ", "two\nlines", "tab\t", "ünïcode", "'", '"', "x" * 3000),
    ],
)
def test_a_text_stays_a_text(text: str) -> None:
    manifest = {"metadata": {"labels": {"a": text}}, "args": [text, {"b": text}]}
    assert read_again(yaml_text(manifest)) == manifest


def test_numbers_and_booleans_are_not_quoted() -> None:
    value = {"spec": {"replicas": 3, "paused": True, "none": None, "list": [], "map": {}}}
    assert read_again(yaml_text(value)) == value
    assert "replicas: 3\n" in yaml_text(value)


def test_order_is_kept_where_it_counts() -> None:
    value = {"kind": "Pod", "apiVersion": "v1"}
    assert yaml_text(value, keeps_order=True) == "kind: Pod\napiVersion: v1\n"
    assert yaml_text(value) == "apiVersion: v1\nkind: Pod\n"
