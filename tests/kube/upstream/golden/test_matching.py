"""An answer that is another one is found to be so, and one that only names things otherwise is not."""

import json
from typing import Any

import pytest

from tests.kube.upstream.golden.matching import Differs, match, substituted
from tests.kube.upstream.golden.reducing import steps_of

UIDS = ["1b4e28ba-2fa1-11d2-883f-0016d3cca427", "6fa459ea-ee8a-3ca4-894e-db77e160355e"]


def pod(name: str, **status: Any) -> dict[str, Any]:
    return {"metadata": {"name": name, "generateName": "web-"}, "status": status}


@pytest.mark.parametrize(
    ("recorded", "found"),
    [
        ({"a": 1}, {"a": 2}),
        ({"a": 1}, {"a": True}),
        ({"a": 1}, {"a": 1, "b": 2}),
        ({"a": [1, 2]}, {"a": [2, 1]}),
        ("at <time>", "at noon"),
        ({"uid": "<uid 1>", "owner": "<uid 1>"}, {"uid": UIDS[0], "owner": UIDS[1]}),
        ([pod("<name 1>", phase="Running"), pod("<name 2>")], [pod("web-a"), pod("web-b")]),
    ],
)
def test_another_answer_does_not_match(recorded: Any, found: Any) -> None:
    with pytest.raises(Differs):
        match(recorded, found, {})


def test_names_are_the_same_wherever_they_stand() -> None:
    recorded = {"items": [pod("<name 1>"), pod("<name 2>", phase="Running")]}
    found = {"items": [pod("web-a", phase="Running"), pod("web-b")]}
    names = match(recorded, found, {})
    assert names == {"<name 1>": "web-b", "<name 2>": "web-a"}
    assert substituted("/pods/<name 2>/log", names) == "/pods/web-a/log"
    match('pods "<name 2>" not found', 'pods "web-a" not found', names)
    with pytest.raises(Differs):
        match('pods "<name 2>" not found', 'pods "web-b" not found', names)


def test_discovery_may_have_more_than_was_recorded() -> None:
    recorded = {"kind": "APIResourceList", "resources": [{"name": "pods"}]}
    match(recorded, {**recorded, "resources": [{"name": "nodes"}, {"name": "pods"}]}, {})
    with pytest.raises(Differs):
        match(recorded, {**recorded, "resources": [{"name": "nodes"}]}, {})


def asked(method: str, path: str, answer: Any, body: Any = None) -> dict[str, Any]:
    said = json.dumps(body) if body is not None else ""
    request = {"method": method, "path": path, "headers": {}, "body": said, "status": 200}
    return {"at": 5.0, **request, "answer": json.dumps(answer)}


def test_polls_are_one_and_values_are_named() -> None:
    def version(number: str, uid: str = UIDS[0]) -> dict[str, Any]:
        return {"metadata": {"name": "one", "resourceVersion": number, "uid": uid}}

    entries = [
        asked("POST", "/api/v1/pods", version("3"), {"metadata": {"name": "one"}}),
        asked("GET", "/api/v1/pods/one", version("4")),
        asked("GET", "/api/v1/pods/one", version("7")),
        asked("PUT", "/api/v1/pods/one", version("9"), version("7")),
        asked("GET", "/api/v1/pods/one", version("9")),
    ]
    steps = steps_of(entries, set())
    assert [one.method for one in steps] == ["POST", "GET", "PUT", "GET"]
    versions = [one.answer["metadata"]["resourceVersion"] for one in steps]
    assert versions == ["<version>", "<version 7>", "<version>", "<version>"]
    assert json.loads(steps[2].body)["metadata"] == {
        "name": "one",
        "resourceVersion": "<version 7>",
        "uid": steps[0].answer["metadata"]["uid"],
    }
    assert steps[0].answer["metadata"]["uid"].startswith("<uid ")
