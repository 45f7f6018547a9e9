"""Lists come in pages of one shape; objects and differences at any event."""

import base64
import json
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.test import Client

from kscope.runs.drive.beginning.clusters import cluster_create
from kscope.runs.models import Run, RunEvent
from tests.contract import document

pytestmark = pytest.mark.django_db(transaction=True)


def lists() -> dict[str, str]:
    """The addresses of all operations that answer with a page, by id."""
    return {
        operation["operationId"]: path
        for path, methods in document()["paths"].items()
        for operation in methods.values()
        if any(each["name"] == "continue" for each in operation.get("parameters", []))
    }


def every_page(client: Client, address: str, limit: int) -> list[Any]:
    """All items, read page by page."""
    found: list[Any] = []
    more = ""
    while more is not None:
        sign = "&" if "?" in address else "?"
        page = client.get(f"{address}{sign}limit={limit}&continue={more}").json()
        assert 0 < len(page["items"]) <= limit or (not found and page["continue"] is None)
        found += page["items"]
        more = page["continue"]
    return found


def test_whatever_ends_in_list_has_pages() -> None:
    named = {
        operation["operationId"]
        for methods in document()["paths"].values()
        for operation in methods.values()
        if operation["operationId"].endswith("_list")
    }
    assert named <= lists().keys()
    assert lists().keys() - named == {"runs_diff"}


@pytest.mark.parametrize("operation", sorted(lists()))
def test_pages_join_without_gap_or_repetition(
    client: Client, driven: Run, driver: None, operation: str
) -> None:
    for verb in ("cordon", "uncordon", "cordon"):
        body = {"verb": verb, "object": "node/n1"}
        client.post(f"/api/v1/runs/{driven.pk}/commands/", body, "application/json")
    address = lists()[operation].format(run_id=driven.pk)
    query = {"runs_objects_list": "?kind=Pod", "runs_diff": "?from=3&to=20"}.get(operation, "")
    whole = client.get(address + query).json()["items"]
    assert every_page(client, address + query, 2) == whole


def token_of(text: bytes) -> str:
    """*text* as a `continue` has it."""
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


# Not base64 of a place: other letters, padding, other JSON, and what no table can hold.
FOREIGN = {
    "one letter": "x",
    "a letter of no alphabet": "é",
    "a digit of another alphabet": "٣",
    "letters between that base64 leaves out": "M!w",
    "a blank": "M w",
    "padding": "Mw==",
    "NUL": "Mw\0",
    "half of a pair": "\ud83d",
    "standard base64": "+/+/",
    "too long": "A" * 1_025,
    "no UTF-8": token_of(b"\xff\xfe"),
    "no JSON": token_of(b'"'),
    "more than one value": token_of(b"1 2"),
    "null": token_of(b"null"),
    "a list": token_of(b"[1]"),
    "lists in lists": token_of(b"[" * 700),
    "a mapping": token_of(b'{"a":1}'),
    "true": token_of(b"true"),
    "a fraction": token_of(b"1.0"),
    "below zero": token_of(b"-1"),
    "beyond all seqs": token_of(b"9223372036854775808"),
    "NUL in a name": token_of(b'"pod/default/a\\u0000"'),
    "half of a pair in a name": token_of(b'"pod/\\ud800"'),
}


@pytest.mark.parametrize("operation", sorted(lists()))
def test_another_token_than_was_given_out_is_refused(
    client: Client, driven: Run, operation: str
) -> None:
    address = lists()[operation].format(run_id=driven.pk)
    asked = {
        "runs_objects_list": [{"kind": "Pod"}, {"kind": "Pod", "seq": "5"}],
        "runs_diff": [{"from": "3", "to": "20"}],
    }.get(operation, [{}])
    for query in asked:
        for name, token in FOREIGN.items():
            encoded = quote(token.encode("utf-8", "surrogatepass"))
            answer = client.get(f"{address}?{urlencode(query)}&continue={encoded}")
            assert answer.status_code == 400, (name, answer.content)
            assert answer["Content-Type"] == "application/problem+json"
            assert [each["name"] for each in answer.json()["errors"]] == ["continue"], name


def test_listed_objects_are_those_of_the_engine(client: Client, driven: Run) -> None:
    cluster = cluster_create(driven)
    address = f"/api/v1/runs/{driven.pk}/objects/"
    while cluster.next_at is not None:
        cluster.advance(cluster.next_at, max_steps=1)
        cluster.take()
        if cluster.seq % 7 == 0:
            for kind in ("Pod", "Node"):
                query = {"kind": kind, "seq": cluster.seq}
                shown = client.get(address, query).json()["items"]
                held = {each.id: each.raw for each in cluster.store.objects(kind)}
                assert {each["id"] for each in shown} == set(held)
                assert all(
                    each["manifest"].get("spec") == held[each["id"]].get("spec") for each in shown
                )


def test_objects_now_are_those_of_the_newest_event(client: Client, driven: Run) -> None:
    address = f"/api/v1/runs/{driven.pk}/objects/"
    for kind in ("Pod", "pod", "Node", "PersistentVolumeClaim"):
        now = client.get(address, {"kind": kind}).json()
        then = client.get(address, {"kind": kind, "seq": driven.head_seq}).json()
        assert now == then
    inside = client.get(address, {"kind": "Pod", "namespace": "kube-system"}).json()
    assert inside["items"] == []
    assert client.get(address).status_code == 400


def test_objects_read_alike_from_rows_and_replays(client: Client, driven: Run) -> None:
    address, head = f"/api/v1/runs/{driven.pk}/objects/", driven.head_seq
    for path in (f"{address}?kind=Pod", f"{address}?kind=Node", f"{address}pod/default/web/"):
        joint = "&" if "?" in path else "?"
        now = client.get(path).json()
        then = client.get(f"{path}{joint}seq={head}").json()
        shown = [each["manifest"] for each in now["items"]] if "items" in now else [now]
        assert [*shown[0]][:3] == ["apiVersion", "kind", "metadata"]
        assert json.dumps(shown) == json.dumps(shown, sort_keys=True)
        assert json.dumps(now) == json.dumps(then)


def test_a_difference_is_what_events_changed(client: Client, driven: Run) -> None:
    bound = RunEvent.objects.get(run=driven, object="pod/default/late", kind="PodBound").seq
    created = RunEvent.objects.filter(run=driven, object="pod/default/late").order_by("seq")[0].seq
    address = f"/api/v1/runs/{driven.pk}/diff/"
    [pod] = client.get(address, {"from": bound - 1, "to": bound, "kind": "Pod"}).json()["items"]
    assert (pod["id"], pod["change"], pod["patch"]["node"]) == (
        "pod/default/late",
        "modified",
        pod["after"]["node"],
    )
    found = client.get(address, {"from": created - 1, "to": bound}).json()
    changes = {each["id"]: each["change"] for each in found["items"]}
    assert changes["pod/default/late"] == "created"
    assert (found["from"]["seq"], found["to"]["seq"]) == (created - 1, bound)
    assert client.get(address, {"from": 4, "to": 4}).json()["items"] == []
    assert client.get(address, {"from": 5, "to": 4}).status_code == 400
    assert client.get(address, {"from": 0, "to": driven.head_seq + 1}).status_code == 404


def test_a_run_is_waited_for_by_its_seq(client: Client, start: Any, driver: None) -> None:
    run = start(play=True, speed="max")
    waited = client.get(f"/api/v1/runs/{run.pk}/wait/?seq=5&seconds=60").json()
    assert waited["head"] >= 5
    ended = client.get(f"/api/v1/runs/{run.pk}/wait/?seconds=60").json()
    assert ended["status"] in ("paused", "finished")


def test_waiting_ends_when_the_time_is_up(client: Client, start: Any) -> None:
    run = start(play=True)
    waited = client.get(f"/api/v1/runs/{run.pk}/wait/?seq=5&seconds=0").json()
    assert (waited["head"], waited["status"]) == (0, "playing")
