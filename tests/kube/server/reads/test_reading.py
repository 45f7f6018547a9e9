"""Reading a run: objects and lists with their versions, Tables, the past, and who may."""

import base64
from collections.abc import Callable
from random import Random

import pytest
from anyio import CancelScope, sleep
from asgiref.sync import sync_to_async
from django.test import override_settings
from psycopg.pq import TransactionStatus

from kscope.accounts.services import account_create, token_create
from kscope.runs.models import Run, RunEvent
from kscope.runs.selectors import run_state_at
from kscope.runs.served.links import SnapshotLinks
from kube.resources import found
from kube.server.objects import instants
from tests.kube.server.client import Kube
from tests.web.conftest import driving
from tests.web.drive.workers import left_behind

pytestmark = pytest.mark.django_db(transaction=True)

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PODS = "/api/v1/namespaces/default/pods"


async def test_list_has_the_version_of_the_newest_event(kube: Kube, driven: Run) -> None:
    answer = await kube.get(PODS)
    assert answer.status == 200
    assert answer.json["kind"] == "PodList"
    assert answer.json["metadata"]["resourceVersion"] == str(driven.head_seq)
    assert answer.names == ["giant", "late", "web"]


async def test_object_has_the_version_of_its_last_event(kube: Kube, driven: Run) -> None:
    web = (await kube.get(f"{PODS}/web")).json
    events = RunEvent.objects.filter(run=driven, seq=int(web["metadata"]["resourceVersion"]))
    event = await events.aget()
    assert (event.object, event.kind) == ("pod/default/web", "PodRunning")


async def test_objects_carry_the_defaults_of_an_api_server(kube: Kube) -> None:
    web = (await kube.get(f"{PODS}/web")).json
    assert web["spec"]["schedulerName"] == "default-scheduler"
    assert web["spec"]["containers"][0]["imagePullPolicy"] == "IfNotPresent"
    assert web["metadata"]["uid"]


@pytest.fixture
def lagging(start: Callable[..., Run]) -> Run:
    """A run whose rows of objects are those of an earlier event, and that no worker drives."""
    return left_behind(start(play=True, speed="1"))


async def test_rows_left_behind_are_never_read(lagging: Run, kube_of: Callable[..., Kube]) -> None:
    run, kube = lagging, kube_of(lagging)
    with driving(run):
        answers = [await kube.get(path) for path in (f"{PODS}/web", PODS)]
    assert answers[0].json["spec"]["nodeName"]
    (web,) = [one for one in answers[1].json["items"] if one["metadata"]["name"] == "web"]
    assert web["spec"]["nodeName"] == answers[0].json["spec"]["nodeName"]
    assert int(answers[1].json["metadata"]["resourceVersion"]) >= run.head_seq


@pytest.mark.parametrize("path", [PODS, f"{PODS}/web", f"{PODS}/web/log"])
async def test_rows_that_nobody_brings_are_not_there_yet(
    lagging: Run, kube_of: Callable[..., Kube], monkeypatch: pytest.MonkeyPatch, path: str
) -> None:
    monkeypatch.setattr("kscope.runs.served.fresh_rows.WAIT_SECONDS", 0.1)
    answer = await kube_of(lagging).get(path)
    assert answer.status == 503
    assert (
        f"no worker has brought them to event {lagging.head_seq} so far" in answer.json["message"]
    )
    assert answer.headers["retry-after"]


@pytest.mark.parametrize("path", [PODS, f"{PODS}/web"])
async def test_a_failed_run_is_read_from_its_record(
    lagging: Run, kube_of: Callable[..., Kube], path: str
) -> None:
    await Run.objects.filter(pk=lagging.pk).aupdate(status=Run.Status.FAILED, error="it broke")
    answer = await kube_of(lagging).get(path)
    assert answer.status == 200
    found = answer.json.get("items") or [answer.json]
    assert all(one["spec"]["nodeName"] for one in found if one["metadata"]["name"] == "web")


async def test_a_list_left_early_disturbs_no_later_one(
    driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kscope.runs.served.objects.BATCH", 1)
    pods, links = found("", "v1", "pods"), SnapshotLinks()
    assert pods is not None
    async with instants.now(links, driven.pk) as instant:
        left = instant.objects(pods)
        await anext(left)
    async with instants.now(links, driven.pk) as instant:
        later = instant.objects(pods)
        first = await anext(later)
        await left.aclose()
        rest = [batch async for batch in later]
    await links.close()
    assert len([first, *rest]) == 3


async def test_client_that_leaves_gives_its_connection_back_clean(driven: Run) -> None:
    pods, links = found("", "v1", "pods"), SnapshotLinks()
    assert pods is not None
    with CancelScope() as left:
        async with instants.now(links, driven.pk) as instant:
            await anext(instant.objects(pods))
            left.cancel()
            await sleep(0)
    assert instant.link.info.transaction_status is TransactionStatus.IDLE
    await links.close()


async def test_a_missing_object_is_refused_in_upstreams_words(kube: Kube) -> None:
    answer = await kube.get(f"{PODS}/nobody")
    assert answer.status == 404
    assert answer.json["message"] == 'pods "nobody" not found'
    assert answer.json["details"] == {"name": "nobody", "kind": "pods"}


async def test_kubectl_gets_the_rows_that_it_prints(kube: Kube) -> None:
    table = (await kube.get(PODS, accept=TABLE)).json
    rows = {row["cells"][0]: row["cells"][1:3] for row in table["rows"]}
    assert table["kind"] == "Table"
    assert rows == {
        "giant": ["0/1", "Pending"],
        "late": ["1/1", "Running"],
        "web": ["1/1", "Running"],
    }
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


async def test_selectors_choose_objects_of_lists(kube: Kube) -> None:
    placed = await kube.get(f"{PODS}?fieldSelector=spec.nodeName!=")
    assert placed.names == ["late", "web"]
    zone = await kube.get("/api/v1/nodes?labelSelector=topology.kubernetes.io/zone in (zb)")
    assert zone.names == ["n2"]


@pytest.mark.parametrize(
    "query",
    ["limit=x", "limit=%D9%A3", "watch=1&resourceVersion=%D9%A3", "watch=1&timeoutSeconds=x"],
)
async def test_numbers_that_are_none_are_refused(kube: Kube, query: str) -> None:
    answer = await kube.get(f"{PODS}?{query}")
    assert (answer.status, answer.json["kind"]) == (400, "Status")


async def test_an_address_with_nul_is_refused(kube: Kube) -> None:
    for path in (f"{PODS}/a\0b", f"{PODS}?watch=1".replace("default", "\0"), "/api/v1/nodes/\0"):
        for method in ("GET", "PATCH", "DELETE"):
            answer = await kube.ask(method, path, {})
            assert (answer.status, answer.json["reason"]) == (400, "BadRequest")


async def test_events_show_what_was_said_of_an_object(kube: Kube) -> None:
    selector = "involvedObject.name=giant,reason=FailedScheduling"
    answer = await kube.get(f"/api/v1/namespaces/default/events?fieldSelector={selector}")
    [event] = answer.json["items"]
    giant = (await kube.get(f"{PODS}/giant")).json
    assert event["involvedObject"]["uid"] == giant["metadata"]["uid"]
    assert event["message"].startswith("0/2 nodes are available: 2 Insufficient cpu.")
    newer = await kube.get("/apis/events.k8s.io/v1/events")
    assert event["message"] in [one["note"] for one in newer.json["items"]]


async def test_namespaces_exist_with_the_objects_in_them(kube: Kube) -> None:
    assert "default" in (await kube.get("/api/v1/namespaces")).names
    assert (await kube.get("/api/v1/namespaces/kube-system")).status == 200


async def test_the_past_is_what_pages_show_of_it(kube_of: Callable[..., Kube], driven: Run) -> None:
    draw = Random(5)
    for seq in sorted({draw.randint(1, driven.head_seq) for _ in range(20)}):
        state = (await sync_to_async(run_state_at)(driven, seq=seq)).state
        shown = {
            key.removeprefix("pod/default/"): (entity.get("node") or "")
            for key, entity in state.items()
            if key.startswith("pod/")
        }
        answer = await kube_of(driven, str(seq)).get(PODS)
        found = {
            one["metadata"]["name"]: one["spec"].get("nodeName", "") for one in answer.json["items"]
        }
        assert found == shown, seq
        versions = [int(one["metadata"]["resourceVersion"]) for one in answer.json["items"]]
        assert max(versions, default=0) <= seq


async def test_the_past_cannot_be_changed(kube_of: Callable[..., Kube], driven: Run) -> None:
    answer = await kube_of(driven, "1s").ask("DELETE", f"{PODS}/web")
    assert answer.status == 405
    assert f"fork the run there: /runs/{driven.pk}/" in answer.json["message"]


async def test_an_instant_to_come_is_not_found(kube_of: Callable[..., Kube], driven: Run) -> None:
    assert (await kube_of(driven, "50h").get(PODS)).status == 404
    assert (await kube_of(driven, "yesterday").get(PODS)).status == 400


async def test_pages_of_other_sites_are_refused(kube: Kube) -> None:
    for headers in (
        {"origin": "https://evil.example"},
        {"sec_fetch_site": "cross-site"},
        {"host": "evil.example"},
    ):
        assert (await kube.get(PODS, **headers)).status == 403


@override_settings(LOGIN_REQUIRED=True)
async def test_a_token_says_who_asks(kube: Kube, driven: Run) -> None:
    owner, _ = await sync_to_async(account_create)(name="owner", role="editor")
    await Run.objects.filter(pk=driven.pk).aupdate(owner=owner)
    make = sync_to_async(token_create)
    _, read = await make(user=owner, name="r", scope="read", days=1)
    _, write = await make(user=owner, name="w", scope="write", days=1)
    basic = base64.b64encode(f"any:{read}".encode()).decode()
    assert (await kube.get(PODS)).status == 404
    assert (await kube.get(PODS, authorization="Bearer nonsense")).status == 401
    assert (await kube.get(PODS, authorization=f"Bearer {read}")).status == 200
    assert (await kube.get(PODS, authorization=f"Basic {basic}")).status == 200
    deleted = await kube.ask("DELETE", f"{PODS}/web", authorization=f"Bearer {read}")
    assert deleted.status == 403
    tried = await kube.ask("DELETE", f"{PODS}/web?dryRun=All", authorization=f"Bearer {write}")
    assert tried.status == 200


async def test_a_version_to_come_is_too_large(kube: Kube, driven: Run) -> None:
    path, head = "/api/v1/pods", driven.head_seq
    for version in ("0", "1", str(head)):
        assert (await kube.get(f"{path}?resourceVersion={version}")).status == 200
    answer = await kube.get(f"{path}?resourceVersion={head + 1}&resourceVersionMatch=Exact")
    assert (answer.status, answer.json["details"]["causes"][0]["reason"]) == (
        504,
        "ResourceVersionTooLarge",
    )
    expected = f"Timeout: Too large resource version: {head + 1}, current: {head}"
    assert answer.json["message"] == expected
    assert (await kube.get(f"{path}?resourceVersion=x")).status == 400
