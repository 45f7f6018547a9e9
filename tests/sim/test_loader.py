from pathlib import Path

import pytest

from kscope.sim.documents import Limits
from kscope.sim.loader import load_files
from kscope.sim.scenario import Scenario, parse_duration

POD = b"""apiVersion: v1
kind: Pod
metadata:
  name: web
spec:
  containers:
  - name: main
    resources:
      requests:
        cpu: 100m
"""
SCENARIOS = Path(__file__).parents[2] / "scenarios"


def test_a_bad_quantity_is_refused_with_document_line_and_field() -> None:
    result = load_files([("a.yaml", POD + b"---\n" + POD.replace(b"100m", b"100mm"))])
    (problem,) = result.problems
    assert (problem.document, problem.line) == (2, 21)
    assert problem.field == "spec.containers[0].resources.requests.cpu"
    assert result.objects == []


def test_an_item_of_a_list_that_is_broken_is_named() -> None:
    result = load_files([("a.yaml", b"apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n- 7\n")])
    assert [(p.field, p.line) for p in result.problems] == [
        ("items[0].apiVersion", 4),
        ("items[1]", 5),
    ]


def test_the_same_name_twice_is_refused_across_files() -> None:
    (problem,) = load_files([("a.yaml", POD), ("b.yaml", POD)]).problems
    assert problem.file == "b.yaml"
    assert "first in a.yaml, document 1, line 1" in problem.message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"a: [", "not YAML"),
        (b"a: !!python/name:os.system x", "not allowed"),
        (b"a: &x [*x]", "refers to itself"),
        (b"[" * 5000, "levels deep"),
        (b"a: 1\na: 2", "appears twice"),
    ],
)
def test_dangerous_or_broken_yaml_is_refused(text: bytes, said: str) -> None:
    (problem,) = load_files([("a.yaml", text)]).problems
    assert said in problem.message


def test_an_alias_bomb_is_refused() -> None:
    bomb = b"a0: &a0 [x]\n" + b"".join(
        b"a%d: &a%d [%s]\n" % (n, n, b",".join([b"*a%d" % (n - 1)] * 10)) for n in range(1, 12)
    )
    (problem,) = load_files([("a.yaml", bomb)]).problems
    assert "aliases" in problem.message


def test_a_file_over_the_limit_is_not_read() -> None:
    (problem,) = load_files([("a.yaml", b"\0" * 2048)], Limits(bytes=1024)).problems
    assert "at most" in problem.message


def test_unknown_kinds_are_kept_aside_and_secrets_lose_their_data() -> None:
    secret = b"---\napiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {a: b}\n"
    result = load_files([("a.yaml", POD + secret)])
    assert result.ok
    assert result.aside_counts == {"Secret": 1}
    assert "data" not in result.kept_aside[0].manifest
    assert result.manifests[0]["metadata"]["namespace"] == "default"


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_demo_loads_and_survives_its_json_form(path: Path) -> None:
    result = load_files([(path.name, path.read_bytes())])
    assert result.problems == []
    scenario = Scenario.from_load(result, name=path.stem)
    assert Scenario.from_dict(scenario.to_dict()) == scenario


def test_durations_are_exact() -> None:
    assert parse_duration("1m30s") == 90 * 10**9
    assert parse_duration("0.5ms") == 500_000
    with pytest.raises(ValueError, match="not a duration"):
        parse_duration("soon")
