"""JSONPath of columns: what paths name, and that no path takes long."""

from time import process_time

import pytest

from kube.tables.json_path import first_at

OBJECT = {
    "status": {
        "conditions": [{"type": "A", "status": "no"}, {"type": "Ready", "status": "yes"}],
        "a.b": {"c": True},
    }
}


@pytest.mark.parametrize(
    ("path", "wanted"),
    [
        ('.status.conditions[?(@.type=="Ready")].status', "yes"),
        ("status.conditions[?(  @.type  !=  'A'  )].status", "yes"),
        (".status.conditions[*].type", "A"),
        (".status.conditions[-1]['type']", "Ready"),
        (r".status.a\.b.c", True),
        (".status.*[?(@==true)]", True),
        (".status.conditions[?(.type=='A')].status", None),
        (".status.conditions[?(@.type==  )].status", None),
        (".status.conditions[", None),
        (".status[7]", None),
    ],
)
def test_path_names_its_first_value(path: str, wanted: object) -> None:
    assert first_at(path, OBJECT) == wanted


@pytest.mark.parametrize(
    "path",
    [
        "[?(@" + " " * 980,
        "[?(@.a" + " " * 980 + "=",
        "[?(@==" + " " * 980,
        "[?(@==" + " )" * 480,
        "[?(@==" + " " * 100_000,
        "." + "a[?(" * 200,
        ".a" * 500 + "[",
        ".a" * 5_000,
    ],
)
def test_path_that_is_none_takes_no_time(path: str) -> None:
    begin = process_time()
    for _ in range(1_000):
        assert first_at(path, OBJECT) is None
    assert process_time() - begin < 0.5


def test_longest_path_does_not_overflow_the_stack() -> None:
    deep: object = "here"
    for _ in range(500):
        deep = {"a": deep}
    assert first_at(".a" * 500, deep) == "here"
