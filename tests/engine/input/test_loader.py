"""Files are read whole and checked, or refused with file, document, line, field and value."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from engine.input.load_result import LoadResult, Problem
from engine.input.loader import load_files, load_paths
from engine.input.scenario import Scenario
from engine.objects.documents import Limits

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
SCENARIOS = Path(__file__).parents[3] / "scenarios"

NAMED = b"apiVersion: v1\nkind: Node\nmetadata: {name: %b}\n"


def load(text: str | bytes, name: str = "a.yaml") -> LoadResult:
    return load_files([(name, text.encode() if isinstance(text, str) else text)])


def only_problem(text: str | bytes, name: str = "a.yaml") -> Problem:
    result = load(text, name)
    assert result.objects == [], "nothing may be taken from a file with a problem"
    assert result.scenario is None
    (problem,) = result.problems
    return problem


def pod(**fields: Any) -> str:
    """A pod as one line of JSON, which is YAML too; its fields replaced by *fields*."""
    manifest = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web"},
        "spec": {"containers": [{"name": "main"}]},
    }
    return json.dumps(manifest | fields)


def annotations_of(yaml: str) -> Any:
    """What *yaml*, the lines of a mapping, is read as."""
    lines = "".join(f"    {line}\n" for line in yaml.splitlines())
    # Of a custom resource nobody knows the fields.
    text = f"apiVersion: example.com/v1\nkind: Thing\nmetadata: {{name: x}}\nspec:\n{lines}"
    result = load(f"{text}\n---\n{pod()}")
    assert result.problems == []
    return result.kept_aside[0].manifest["spec"]


# Where a problem is


def test_a_bad_quantity_is_refused_with_its_place() -> None:
    problem = only_problem(POD + b"---\n" + POD.replace(b"100m", b"100mm"))
    assert problem == Problem(
        file="a.yaml",
        document=2,
        line=21,
        field="spec.containers[0].resources.requests.cpu",
        value='"100mm"',
        message='"100mm" is not a quantity: unknown suffix "mm"; use n u m k M G T P E or Ki…Ei',
    )


def test_a_problem_prints_as_one_line() -> None:
    text = str(only_problem(POD.replace(b"name: web", b"name: Web")))
    assert text.startswith("a.yaml, document 1, line 4, metadata.name: ")
    assert '"Web" is not a name' in text


def test_broken_list_items_have_their_own_lines() -> None:
    result = load("apiVersion: v1\nkind: List\nitems:\n- kind: Pod\n- 7\n")
    assert [(p.field, p.line, p.value) for p in result.problems] == [
        ("items[0].apiVersion", 4, ""),
        ("items[1]", 5, "7"),
    ]


def test_one_broken_item_keeps_the_whole_list_out() -> None:
    good, bad = json.loads(pod()), json.loads(pod(spec={"containers": []}))
    bad["metadata"]["name"] = "other"
    problem = only_problem(json.dumps({"apiVersion": "v1", "kind": "List", "items": [good, bad]}))
    assert problem.field == "items[1].spec.containers"


def test_conflicting_manifests_are_refused_with_both_places() -> None:
    other = pod(spec={"containers": [{"name": "other"}]}).encode()
    (problem,) = load_files([("a.yaml", POD), ("b.json", other)]).problems
    assert problem.file == "b.json"
    assert problem.field == "metadata.name"
    assert "first in a.yaml, document 1, line 1" in problem.message


def test_what_overlapping_dumps_share_is_taken_once() -> None:
    result = load_files([("a.yaml", POD), ("b.yaml", POD + b"---\n" + NAMED % b"n1")])
    assert [one.manifest["kind"] for one in result.objects] == ["Pod", "Node"]
    assert [sorted(file.kinds) for file in result.files.values()] == [["Pod"], ["Node", "Pod"]]
    assert "1 repeated" in result.warnings[0]


@pytest.mark.parametrize("versions", [("9", "10"), ("10", "9")])
def test_the_newer_of_two_versions_is_taken(versions: tuple[str, str]) -> None:
    files = [
        (version, pod(metadata={"name": "web", "uid": "u", "resourceVersion": version}).encode())
        for version in versions
    ]
    result = load_files(files)
    (only,) = result.objects
    assert only.manifest["metadata"]["resourceVersion"] == only.origin.file == "10"
    assert "1 outdated" in result.warnings[0]


@pytest.mark.parametrize(
    "again",
    [
        {"uid": "other", "resourceVersion": "10"},
        {"uid": "u", "resourceVersion": "newer"},
        {"uid": "u", "resourceVersion": "9", "labels": {"a": "b"}},
    ],
)
def test_versions_that_cannot_be_compared_are_refused(again: dict[str, Any]) -> None:
    first = pod(metadata={"name": "web", "uid": "u", "resourceVersion": "9"}).encode()
    second = pod(metadata={"name": "web", **again}).encode()
    (problem,) = load_files([("a.json", first), ("b.json", second)]).problems
    assert "first in a.json" in problem.message


def test_a_broken_file_does_not_spoil_another() -> None:
    result = load_files([("good.yaml", NAMED % b"n1"), ("broken.yaml", b"a: [1\nb: }")])
    assert not result.objects
    assert result.files["good.yaml"].kinds == {"Node": 1}
    assert result.files["broken.yaml"].kinds == {}


def test_a_repeated_uid_is_refused_with_both_places() -> None:
    first, copy = (pod(metadata={"name": name, "uid": "u-1"}) for name in ("web", "web-2"))
    result = load_files([("a.yaml", first.encode()), ("b.yaml", copy.encode())])
    (problem,) = result.problems
    assert (problem.file, problem.field, problem.value) == ("b.yaml", "metadata.uid", '"u-1"')
    assert 'Pod "web" has the same uid, in a.yaml, document 1, line 1' in problem.message


def test_the_same_name_elsewhere_is_another_object() -> None:
    other = POD.replace(b"  name: web", b"  name: web\n  namespace: shop")
    result = load(POD + b"---\n" + other)
    assert [m["metadata"]["namespace"] for m in result.manifests] == ["default", "shop"]


def test_problems_of_all_files_are_reported_at_once() -> None:
    result = load_files([("a.yaml", b"a: ["), ("b.yaml", POD), ("c.yaml", b"[]")])
    assert [p.file for p in result.problems] == ["a.yaml", "c.yaml"]


def test_problems_beyond_two_hundred_are_counted() -> None:
    items = [json.loads(pod(metadata={"name": f"Web_{n}"})) for n in range(1234)]
    result = load(json.dumps({"apiVersion": "v1", "kind": "List", "items": items}))
    assert len(result.problems) == 201
    assert result.problems[-1].message == "1,034 more problems in this document are left out"


@pytest.mark.parametrize(
    ("manifest", "field"),
    [
        ({"metadata": {}}, "metadata.name"),
        ({"metadata": None}, "metadata"),
        ({"apiVersion": None}, "apiVersion"),
        ({"metadata": {"name": "web", "labels": {"a": 1}}}, "metadata.labels.a"),
        ({"metadata": {"name": "web", "labels": {"-a": "b"}}}, "metadata.labels[-a]"),
        ({"metadata": {"name": "web", "creationTimestamp": "now"}}, "metadata.creationTimestamp"),
        ({"spec": {}}, "spec.containers"),
        ({"spec": {"containers": [{"name": "c"}], "priority": "high"}}, "spec.priority"),
        (
            {
                "spec": {
                    "containers": [{"name": "c"}],
                    "tolerations": [{"key": "a", "operator": "Is"}],
                }
            },
            "spec.tolerations[0].operator",
        ),
        (
            {
                "spec": {
                    "containers": [{"name": "c"}],
                    "affinity": {
                        "nodeAffinity": {
                            "requiredDuringSchedulingIgnoredDuringExecution": {
                                "nodeSelectorTerms": [
                                    {"matchExpressions": [{"key": "a", "operator": "Inn"}]}
                                ]
                            }
                        }
                    },
                }
            },
            "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution"
            ".nodeSelectorTerms[0].matchExpressions[0].operator",
        ),
    ],
)
def test_invalid_fields_are_refused_as_upstream_does(manifest: dict[str, Any], field: str) -> None:
    assert only_problem(pod(**manifest)).field == field


def test_a_file_of_other_kinds_names_them() -> None:
    problem = only_problem("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n")
    assert problem.message == "nothing that kscope simulates was found, only 1 ConfigMap"


# What is not a file of manifests


@pytest.mark.parametrize(
    ("text", "said", "line"),
    [
        ("a: [", "not YAML", 2),
        ("a: 1\n\tb: 2\n", "not YAML", 2),
        ("a: 1\na: 2", 'the key "a" appears twice in one mapping', 2),
        ("a: &x [*x]", "refers to itself or to nothing", 1),
        ("b: 1\na: *nobody", "refers to itself or to nothing", 2),
        ("? [a]\n: b", "a mapping key must be a text", 1),
        ("hello", "expected a manifest", 1),
    ],
)
def test_broken_yaml_is_refused_at_its_line(text: str, said: str, line: int) -> None:
    problem = only_problem(text)
    assert said in problem.message
    assert (problem.document, problem.line) == (1, line)


def test_broken_json_is_refused_with_its_line() -> None:
    problem = only_problem('{"kind": "List",\n "items": [}', "a.json")
    assert problem.message.startswith("not JSON: ")
    assert (problem.file, problem.document, problem.line) == ("a.json", 1, 2)


def test_a_binary_file_is_refused() -> None:
    problem = only_problem(b"kind: Pod\n\xff\xfe\x00")
    assert problem.message == "not a text file: it is not UTF-8"
    assert problem.line == 2


@pytest.mark.parametrize("code", ["utf-16", "utf-16-be"])
def test_file_of_windows_powershell_is_read(code: str) -> None:
    mark = "\ufeff" if code == "utf-16-be" else ""
    text = f"{mark}kind: Pod\r\nspec: none\r\n".encode(code)
    problem = only_problem(text)
    assert (problem.line, problem.field) == (1, "apiVersion")


@pytest.mark.parametrize("text", ["", "# nothing but words\n", "---\n---\n"])
def test_an_empty_file_is_refused(text: str) -> None:
    message = only_problem(text).message
    assert message.startswith("the file is empty; kubectl prints nothing when it does not know")


# What would hurt


@pytest.mark.parametrize(
    ("value", "tag"),
    [
        ("!!python/object/apply:os.system ['true']", "!!python/object/apply:os.system"),
        ("!!python/name:os.system x", "!!python/name:os.system"),
        ("!!binary aGk=", "!!binary"),
        ("!Ref thing", "!Ref"),
    ],
)
def test_custom_tags_are_refused_by_name(value: str, tag: str) -> None:
    problem = only_problem(f"apiVersion: v1\nkind: {value}\n")
    assert problem.message == f"the tag {tag} is not allowed; manifests need no tags"
    assert problem.line == 2


def test_an_alias_bomb_is_refused_before_expansion() -> None:
    bomb = "a0: &a0 [x]\n" + "".join(
        f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 12)
    )
    problem = only_problem(bomb)
    assert problem.message == "the aliases of this file stand for more than 200,000 values"
    assert problem.line == 6


@pytest.mark.parametrize("text", ["[" * 5000, '{"a":' * 5000, "[" * 102 + "]" * 102])
def test_deep_nesting_is_refused(text: str) -> None:
    assert only_problem(text).message == "nested more than 100 levels deep"


@pytest.mark.parametrize("levels", [100, 101])
def test_yaml_and_json_may_be_nested_equally_deep(levels: int) -> None:
    inner = "[" * (levels - 2) + "]" * (levels - 2)
    flow = f"{{apiVersion: v1, kind: Namespace, metadata: {{name: x}}, spec: {{a: {inner}}}}}"
    ahead = '"apiVersion":"v1","kind":"Namespace","metadata":{"name":"x"}'
    quoted = f'{{{ahead},"spec":{{"a":{inner}}}}}'
    assert load(flow).ok == load(quoted, "a.json").ok == (levels == 100)


def test_a_file_of_200_mb_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "big.yaml"
    with path.open("wb") as file:
        os.truncate(file.fileno(), 200 * 1024 * 1024)
    (problem,) = load_paths([path]).problems
    assert problem.file == str(path)
    assert problem.message.startswith(
        "the file is 200 MiB, and is no list as kubectl get prints one"
    )


def test_content_over_the_limit_is_refused() -> None:
    (problem,) = load_files([("a.yaml", b"\0" * 2048)], Limits(bytes=1024)).problems
    assert "at most" in problem.message


# What is read


def test_kubectl_lists_are_read_in_both_formats() -> None:
    listed = json.dumps({"apiVersion": "v1", "kind": "List", "items": [json.loads(pod())]})
    assert load(listed, "a.json").manifests == load(listed).manifests
    assert load(listed).manifests[0]["metadata"] == {"name": "web", "namespace": "default"}


def test_items_get_their_kind_from_their_list() -> None:
    items = "[{metadata: {name: a}}, {metadata: {name: b}}]"
    result = load(f"apiVersion: v1\nkind: NodeList\nitems: {items}\n")
    assert [(m["kind"], m["metadata"]["name"]) for m in result.manifests] == [
        ("Node", "a"),
        ("Node", "b"),
    ]


def test_snapshots_of_the_scheduler_simulator_get_their_kinds() -> None:
    snapshot = {
        "pods": [{"metadata": {"name": "web"}, "spec": {"containers": [{"name": "c"}]}}],
        "nodes": [{"metadata": {"name": "n1"}}],
        "pvcs": None,
        "schedulerConfig": None,
    }
    result = load(json.dumps(snapshot), "snapshot.json")
    assert [(m["apiVersion"], m["kind"]) for m in result.manifests] == [
        ("v1", "Node"),
        ("v1", "Pod"),
    ]


def test_every_object_knows_where_it_stood() -> None:
    result = load(POD + b"---\nkind: List\napiVersion: v1\nitems:\n- " + pod().encode())
    (problem,) = result.problems
    assert "first in a.yaml, document 1, line 1" in problem.message
    other = pod(metadata={"name": "b"}).encode()
    result = load(POD + b"---\nkind: List\napiVersion: v1\nitems:\n- " + other)
    assert [(o.origin.document, o.origin.line) for o in result.objects] == [(1, 1), (2, 15)]


def test_fields_that_nobody_reads_are_given_back() -> None:
    spec = {"containers": [{"name": "c", "env": [{"name": "A"}], "workingDir": "/srv"}]}
    assert load(pod(spec=spec)).manifests[0]["spec"] == spec


def test_unknown_kinds_are_kept_aside_and_said() -> None:
    result = load(POD + b"---\napiVersion: example.com/v1\nkind: Pod\nmetadata: {name: x}\n")
    assert result.ok
    assert len(result.objects) == 1
    assert result.aside_counts == {"Pod": 1}
    assert result.warnings == [
        "1 Pod (example.com) not modelled: kscope does not know this kind; what its controller does "
        "is not simulated, and its finalizers and conditions are read as evidence"
    ]


def test_secrets_managed_fields_and_last_applied_are_dropped() -> None:
    secret = "apiVersion: v1\nkind: Secret\nmetadata: {name: s}\ndata: {k: aHVudGVyMg==}\n"
    secret += "stringData: {k: hunter2}\ntype: Opaque\n"
    metadata = {
        "name": "web",
        "managedFields": [{"manager": "kubectl"}],
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": "hunter2",
            "kept": "yes",
        },
    }
    env = [{"name": "A", "value": "hunter2", "valueFrom": {"secretKeyRef": {"name": "s"}}}]
    spec = {"containers": [{"name": "c", "env": env}]}
    result = load(secret + "---\n" + pod(metadata=metadata, spec=spec))
    assert result.ok
    everything = repr([result.manifests, result.kept_aside])
    assert "hunter2" not in everything
    assert "aHVudGVyMg" not in everything
    assert "managedFields" not in everything
    assert result.manifests[0]["metadata"]["annotations"] == {"kept": "yes"}
    assert result.kept_aside[0].manifest["type"] == "Opaque"


# Scalars mean what they mean to kubectl, not to PyYAML


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("on", True),
        ("No", False),
        ("y", True),
        ("~", None),
        ("0755", 493),
        ("0x1F", 31),
        ("0b101", 5),
        ("1_000", 1000),
        ("1:30", "1:30"),
        ("2024-01-01", "2024-01-01"),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("1.10", 1.1),
        ("09", 9.0),
        ("'on'", "on"),
        ('"12"', "12"),
        ("!!str 12", "12"),
        ("!!int '12'", 12),
        (".inf", ".inf"),
    ],
)
def test_plain_scalars_mean_what_kubectl_says(written: str, meant: Any) -> None:
    found = annotations_of(f"a: {written}").get("a")
    assert (type(found), found) == (type(meant), meant)


def test_keys_that_are_no_texts_become_texts() -> None:
    assert annotations_of("1: a\non: b") == {"1": "a", "true": "b"}


def test_merge_keys_prefer_the_first_source() -> None:
    spec = annotations_of(
        "base: &base {a: 1, b: 1}\nmore: &more {b: 2, c: 2}\nall: {<<: [*base, *more], a: 0}"
    )
    assert spec["all"] == {"a": 0, "b": 1, "c": 2}


def test_merging_what_is_no_mapping_is_refused() -> None:
    assert only_problem("x: &x 1\ny: {<<: *x}").message == "<< can only merge mappings"


def test_an_anchor_ends_with_its_document() -> None:
    problem = only_problem("a: &x 1\n---\nb: *x\n")
    assert (problem.document, problem.line) == (2, 3)


def test_crlf_and_byte_order_marks_are_accepted() -> None:
    windows = b"\xef\xbb\xbf" + POD.replace(b"\n", b"\r\n")
    assert load(windows).manifests == load(POD).manifests


@pytest.mark.parametrize("path", sorted(SCENARIOS.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_demo_loads_and_survives_its_json_form(path: Path) -> None:
    result = load_files([(path.name, path.read_bytes())])
    assert result.problems == []
    scenario = Scenario.from_load(result, name=path.stem)
    assert scenario.title
    assert scenario.question.endswith("?")
    assert Scenario.from_dict(json.loads(json.dumps(scenario.to_dict()))) == scenario


@pytest.mark.parametrize(
    "text",
    [
        'kind: Node\napiVersion: v1\nmetadata: {name: "a\\0b"}\n',
        '{"kind": "Node",\n"apiVersion": "v1",\n"metadata": {"name": "a\\u0000b"}}',
    ],
)
def test_a_nul_character_is_refused_with_its_line(text: str) -> None:
    result = load_files([("nul", text.encode())])
    assert [(each.line, each.message) for each in result.problems] == [
        (3, "a text holds the character U+0000")
    ]


# What the API server would make of it


def test_null_fields_count_as_absent() -> None:
    volume = {"name": "v", "emptyDir": {}, "persistentVolumeClaim": None}
    spec = {"containers": [{"name": "c"}], "volumes": [volume], "overhead": None}
    metadata = {"name": "web", "deletionTimestamp": None, "labels": {"a": "b"}}
    (found,) = load(pod(metadata=metadata, spec=spec)).manifests
    assert found["metadata"] == {"name": "web", "namespace": "default", "labels": {"a": "b"}}
    assert found["spec"] == {
        "containers": [{"name": "c"}],
        "volumes": [{"name": "v", "emptyDir": {}}],
    }


def test_problems_of_cluster_objects_name_no_namespace() -> None:
    (found,) = load("{apiVersion: v1, kind: Node, metadata: {name: n1, namespace: x}}").manifests
    assert found["metadata"] == {"name": "n1"}


@pytest.mark.parametrize("name", ["a.b", "A", "a/b", "a" * 64])
def test_a_namespaces_name_is_a_dns_label(name: str) -> None:
    problem = only_problem(pod(metadata={"name": "web", "namespace": name}))
    assert problem.field == "metadata.namespace"
    assert "is not the name of a namespace" in problem.message


def test_a_repeated_json_key_is_refused() -> None:
    text = '{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "name" : "b"}}'
    assert only_problem(text, "a.json").message == 'the key "name" appears twice in one mapping'


def test_a_json_string_is_not_a_key() -> None:
    annotations = {"a": '"b": "c"', "d\\": '":', '"e"': ":"}
    assert load(pod(metadata={"name": "web", "annotations": annotations}), "a.json").ok


def test_every_broken_document_is_reported_with_its_line() -> None:
    result = load("---\n".join(["kind: Pod\n"] * 3_000))
    assert [problem.line for problem in result.problems] == list(range(1, 6_000, 2))


def test_an_empty_list_is_refused_with_its_file() -> None:
    problem = only_problem("{apiVersion: v1, kind: List}")
    assert (problem.file, problem.message) == (
        "a.yaml",
        "nothing that kscope simulates was found",
    )
