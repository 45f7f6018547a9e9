"""Lists page by page, of a version that a client names, and watches that begin as it says."""

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest

from kscope.runs.models import Run
from kube.resources import SERVED, Resource
from tests.kube.server.client import MERGE, Answer, Kube
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

PODS = "/api/v1/namespaces/default/pods"
CONFIG_MAPS = "/api/v1/namespaces/default/configmaps"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
PARTIAL = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
MATCH = "resourceVersionMatch"
FORBIDDEN = f"{MATCH}: Forbidden: {MATCH} is forbidden"
SUPPORTED = f'{MATCH}: Unsupported value: "Newest": supported values:'
NULS = "a\0b\0"
NO_TOKEN = "invalid continue token: continue key is not valid"


def token(**told: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(told).encode()).decode().rstrip("=")


async def pages(kube: Kube, path: str, query: str = "limit=1", **headers: str) -> list[Answer]:
    """All pages of a list."""
    joint = "&" if "?" in path else "?"
    found = [await kube.get(f"{path}{joint}{query}", **headers)]
    while goes_on := found[-1].json["metadata"].get("continue"):
        found.append(await kube.get(f"{path}{joint}limit=1&continue={goes_on}", **headers))
    return found


async def config_maps(kube: Kube, *names: str) -> None:
    for name in names:
        answer = await kube.ask("POST", CONFIG_MAPS, {"metadata": {"name": name}})
        assert answer.status == 201


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (f"{MATCH}=Exact", f"{FORBIDDEN} unless resourceVersion is provided"),
        (
            f"{MATCH}=NotOlderThan&resourceVersion=0&continue=x",
            f"{FORBIDDEN} when continue is provided",
        ),
        (f"{MATCH}=Newest&resourceVersion=1", f'{SUPPORTED} "Exact", "NotOlderThan", ""'),
        (
            f"{MATCH}=Exact&resourceVersion=0",
            f'{MATCH}: Forbidden: {MATCH} "exact" is forbidden for resourceVersion "0"',
        ),
        (
            "sendInitialEvents=false",
            "sendInitialEvents: Forbidden: sendInitialEvents is forbidden for list",
        ),
        (
            "watch=1&sendInitialEvents=true",
            f"{MATCH}: Forbidden: sendInitialEvents requires setting {MATCH} to NotOlderThan",
        ),
        (
            f"watch=1&{MATCH}=NotOlderThan",
            f"{FORBIDDEN} for watch unless sendInitialEvents is provided",
        ),
        (
            f"watch=1&sendInitialEvents=1&{MATCH}=NotOlderThan&continue=x",
            f"{FORBIDDEN} when continue is provided",
        ),
        (
            f"{MATCH}=Newest",
            f"[{FORBIDDEN} unless resourceVersion is provided, "
            f'{SUPPORTED} "Exact", "NotOlderThan", ""]',
        ),
        (
            f"watch=1&sendInitialEvents=1&{MATCH}=Newest",
            f"[{MATCH}: Forbidden: sendInitialEvents requires setting {MATCH} to NotOlderThan, "
            f'{SUPPORTED} "NotOlderThan"]',
        ),
    ],
)
async def test_options_that_contradict_are_refused_as_upstream(
    kube: Kube, query: str, message: str
) -> None:
    for path, method in ((PODS, "GET"), ("/api/v1/nodes", "GET"), (CONFIG_MAPS, "DELETE")):
        answer = await kube.ask(method, f"{path}?{query}")
        assert (answer.status, answer.json["reason"]) == (422, "Invalid")
        assert answer.json["message"] == f'ListOptions.meta.k8s.io "" is invalid: {message}'
        assert answer.json["details"]["kind"] == "ListOptions"
        assert answer.json["details"]["group"] == "meta.k8s.io"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ("continue=x", f"{NO_TOKEN}: illegal base64 data at input byte 0"),
        ("continue=%C3%A9", f"{NO_TOKEN}: illegal base64 data at input byte 0"),
        ("continue=Mw==", f"{NO_TOKEN}: illegal base64 data at input byte 2"),
        ("limit=5&continue=Mw", NO_TOKEN),
        (
            f"continue={token(v='a')}",
            f"{NO_TOKEN}: server does not recognize this encoded version a",
        ),
        (
            f"continue={token(v='meta.k8s.io/v1', start='a')}",
            f"{NO_TOKEN}: incorrect encoded start resourceVersion (version meta.k8s.io/v1)",
        ),
        (
            f"continue={token(v='meta.k8s.io/v1', rv=1)}",
            f"{NO_TOKEN}: encoded start key empty (version meta.k8s.io/v1)",
        ),
        (f"continue={token(v='meta.k8s.io/v1', rv=1, start='../b')}", f"{NO_TOKEN}: ../b"),
        (f"continue={token(v='meta.k8s.io/v1', rv=-1, start=NULS)}", f"{NO_TOKEN}: {NULS}"),
        (f"continue={token(v='meta.k8s.io/v1', rv='1', start='b')}", NO_TOKEN),
        (
            f"resourceVersion=1&continue={token(v='meta.k8s.io/v1', rv=1, start='b')}",
            "specifying resource version is not allowed when using continue",
        ),
        ("limit=", 'strconv.ParseInt: parsing "": invalid syntax'),
        ("limit=" + "9" * 20, f'strconv.ParseInt: parsing "{"9" * 20}": value out of range'),
        ("timeoutSeconds=1s", 'strconv.ParseInt: parsing "1s": invalid syntax'),
        (
            "watch=1&resourceVersion=-1",
            'invalid resource version: resourceVersion: Invalid value: "-1": strconv.ParseUint: '
            'parsing "-1": invalid syntax',
        ),
    ],
)
async def test_options_that_cannot_be_read_are_refused(
    kube: Kube, query: str, message: str
) -> None:
    answer = await kube.get(f"{PODS}?{query}")
    assert (answer.status, answer.json["reason"]) == (400, "BadRequest")
    assert answer.json["message"] == message


async def test_pages_are_those_of_one_version(kube_of: Callable[..., Kube], driven: Run) -> None:
    kube = kube_of(driven)
    with driving(driven):
        await config_maps(kube, "a", "b", "c", "d")
        whole = (await kube.get(CONFIG_MAPS)).json
        first = (await kube.get(f"{CONFIG_MAPS}?limit=1")).json
        await config_maps(kube, "aa", "e")
        await kube.ask("DELETE", f"{CONFIG_MAPS}/d")
        await kube.ask("PATCH", f"{CONFIG_MAPS}/b", {"data": {"x": "y"}}, content_type=MERGE)
        goes_on = first["metadata"]["continue"]
        rest = [one.json for one in await pages(kube, CONFIG_MAPS, f"limit=1&continue={goes_on}")]
    found = [first, *rest]
    assert [item for page in found for item in page["items"]] == whole["items"]
    assert {page["metadata"]["resourceVersion"] for page in found} == {
        first["metadata"]["resourceVersion"]
    }
    left = [page["metadata"].get("remainingItemCount") for page in found]
    assert left == [*range(len(whole["items"]) - 1, 0, -1), None]


def _is_listed(resource: Resource) -> bool:
    return "list" in resource.verbs


@pytest.mark.parametrize("instant", ["", "older"])
async def test_pages_of_all_kinds_make_the_list(
    kube_of: Callable[..., Kube], driven: Run, instant: str
) -> None:
    kube = kube_of(driven)
    with driving(driven):
        lease = {"metadata": {"name": "mine", "namespace": "default"}, "spec": {}}
        leases = "/apis/coordination.k8s.io/v1/namespaces/default/leases"
        await kube.ask("POST", leases, lease)
        version = (await kube.get(PODS)).json["metadata"]["resourceVersion"]
        if instant:
            await config_maps(kube, "later")
    exact = f"?resourceVersion={version}&{MATCH}=Exact" if instant else ""
    counts: list[int] = []
    for resource in filter(_is_listed, SERVED):
        root = "/api/v1" if not resource.group else f"/apis/{resource.group}/{resource.version}"
        path = f"{root}/{resource.plural}"
        whole = await kube.get(f"{path}{exact}")
        found = await pages(
            kube, path, f"limit=1&resourceVersion={version}" if exact else "limit=1"
        )
        listed = [item for page in found for item in page.json["items"]]
        assert listed == whole.json["items"], path
        assert all(len(page.json["items"]) <= 1 for page in found)
        counts.append(len(listed))
    assert max(counts) > 3
    assert sum(map(bool, counts)) > 8


@pytest.mark.parametrize(("form", "field"), [(TABLE, "rows"), (PARTIAL, "items")])
async def test_pages_come_in_every_form(kube: Kube, form: str, field: str) -> None:
    whole = (await kube.get(PODS, accept=form)).json
    found = [page.json for page in await pages(kube, PODS, accept=form)]
    assert [one for page in found for one in page[field]] == whole[field]
    assert found[0]["metadata"]["remainingItemCount"] == 2


async def test_selected_pages_tell_no_remaining_count(kube: Kube) -> None:
    path = f"{PODS}?fieldSelector=spec.nodeName!="
    found = await pages(kube, path)
    assert [page.names for page in found] == [["late"], ["web"]]
    assert not any("remainingItemCount" in page.json["metadata"] for page in found)


async def test_old_token_brings_one_that_goes_on(
    kube_of: Callable[..., Kube], driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    kube = kube_of(driven)
    with driving(driven):
        await config_maps(kube, "a", "c")
    first = (await kube.get(f"{CONFIG_MAPS}?limit=1")).json["metadata"]
    monkeypatch.setattr("kube.server.listing.TOKEN_SECONDS", -1)
    path = f"{CONFIG_MAPS}?limit=1&continue={first['continue']}"
    # Nothing was written since: nobody drives the run.
    assert (await kube.get(path)).names == ["c"]
    with driving(driven):
        await config_maps(kube, "b")
    answer = await kube.get(path)
    assert (answer.status, answer.json["reason"]) == (410, "Expired")
    assert answer.json["message"].startswith("The provided continue parameter is too old to")
    monkeypatch.undo()
    fresh = answer.json["metadata"]["continue"]
    found = await pages(kube, CONFIG_MAPS, f"limit=1&continue={fresh}")
    assert [name for page in found for name in page.names] == ["b", "c", "kube-root-ca.crt"]
    versions = {page.json["metadata"]["resourceVersion"] for page in found}
    assert len(versions) == 1
    assert versions != {first["resourceVersion"]}


async def test_an_exact_version_is_what_was(
    kube_of: Callable[..., Kube], driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    kube = kube_of(driven)
    with driving(driven):
        await config_maps(kube, "a")
        before = (await kube.get(CONFIG_MAPS)).json
        await kube.ask("DELETE", f"{CONFIG_MAPS}/a")
        await config_maps(kube, "b")
    version = before["metadata"]["resourceVersion"]
    path = f"{CONFIG_MAPS}?resourceVersion={version}"
    assert (await kube.get(f"{path}&{MATCH}=Exact")).json == before
    assert (await kube.get(f"{path}&limit=500")).json == before
    for query in ("", f"&{MATCH}=NotOlderThan"):
        assert "b" in (await kube.get(f"{path}{query}")).names
    monkeypatch.setattr("kube.server.listing.FAR_BEHIND", 0)
    answer = await kube.get(f"{path}&{MATCH}=Exact")
    assert (answer.status, answer.json["reason"]) == (410, "Expired")
    assert answer.json["message"] == "The resourceVersion for the provided list is too old."


async def test_any_version_comes_as_a_whole(kube: Kube) -> None:
    whole = (await kube.get(PODS)).json
    assert (await kube.get(f"{PODS}?resourceVersion=0&limit=1")).json == whole


async def test_object_of_a_version_to_come_is_refused(kube: Kube, driven: Run) -> None:
    for version in ("0", "1", str(driven.head_seq)):
        assert (await kube.get(f"{PODS}/web?resourceVersion={version}")).status == 200
    answer = await kube.get(f"{PODS}/web?resourceVersion={driven.head_seq + 1}")
    assert answer.status == 504
    assert (await kube.get(f"{PODS}/web?resourceVersion=x")).status == 400


async def test_a_past_instant_has_pages_too(kube_of: Callable[..., Kube], driven: Run) -> None:
    past = kube_of(driven, str(driven.head_seq // 2))
    whole = (await past.get("/api/v1/pods")).json["items"]
    found = await pages(past, "/api/v1/pods")
    assert [item for page in found for item in page.json["items"]] == whole


async def test_a_limit_deletes_so_many_of_a_collection(
    kube_of: Callable[..., Kube], driven: Run
) -> None:
    kube = kube_of(driven)
    with driving(driven):
        await config_maps(kube, "a", "b", "c")
        answer = await kube.ask("DELETE", f"{CONFIG_MAPS}?limit=2")
        assert answer.names == ["a", "b"]
        assert (await kube.get(CONFIG_MAPS)).names == ["c", "kube-root-ca.crt"]


async def told(kube: Kube, path: str) -> list[tuple[str, str]]:
    """What a watch that ends by itself says: its types, and of whom."""
    async with kube.watching(path) as events:
        found: list[dict[str, Any]] = [one async for one in events]
    return [(one["type"], one["object"]["metadata"].get("name", "")) for one in found]


async def test_a_watch_begins_as_its_client_says(kube: Kube, driven: Run) -> None:
    there = [("ADDED", name) for name in ("giant", "late", "web")]
    not_older = f"{MATCH}=NotOlderThan"
    for query, seen in (
        ("", there),
        ("&resourceVersion=0", there),
        (f"&sendInitialEvents=true&{not_older}", there),
        (f"&sendInitialEvents=true&{not_older}&resourceVersion={driven.head_seq}", there),
        (f"&sendInitialEvents=false&{not_older}", []),
        (f"&sendInitialEvents=0&{not_older}&resourceVersion=0", []),
        (f"&resourceVersion={driven.head_seq}", []),
    ):
        assert await told(kube, f"{PODS}?watch=1&timeoutSeconds=1{query}") == seen
    query = f"&sendInitialEvents=true&{not_older}&resourceVersion={driven.head_seq + 1}"
    answer = await kube.get(f"{PODS}?watch=1{query}")
    assert (answer.status, answer.json["reason"]) == (504, "Timeout")


@pytest.mark.parametrize("path", [PODS, "/api/v1/endpoints", "/api/v1/events"])
async def test_bookmarks_end_the_beginning_and_the_watch(
    kube: Kube, driven: Run, path: str
) -> None:
    query = "?watch=1&timeoutSeconds=3&allowWatchBookmarks=true"
    async with kube.watching(f"{path}{query}") as events:
        found = [one async for one in events]
    marks = [one["object"]["metadata"] for one in found if one["type"] == "BOOKMARK"]
    assert [one.get("annotations") for one in marks] == [
        {"k8s.io/initial-events-end": "true"},
        None,
    ]
    assert {one["resourceVersion"] for one in marks} == {str(driven.head_seq)}
