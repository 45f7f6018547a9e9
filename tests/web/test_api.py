"""The REST API: runs, transport, state, events and their exports, commands, errors."""

import csv
import io
import json
import zlib
from collections.abc import Callable
from typing import Any

import pytest
import yaml
from asgiref.sync import sync_to_async
from django.db import connections
from django.test import AsyncClient, Client

from engine.input.loader import load_files
from kscope.runs import services
from kscope.runs.drive import replay
from kscope.runs.drive.beginning.clusters import cluster_create
from kscope.runs.models import Run, RunEvent, Scenario
from kscope.runs.web import past
from kscope.runs.web.past import log_replayed
from scheduling.models import RecordedAttempt
from tests.record import events_change
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)


def post(client: Client, path: str, body: Any) -> Any:
    return client.post(path, json.dumps(body), content_type="application/json")


async def exported(path: str) -> bytes:
    response = await AsyncClient().get(path)
    assert response.status_code == 200
    content = b"".join([part async for part in response.streaming_content])
    # The thread that answered keeps its connection otherwise.
    await sync_to_async(connections.close_all)()
    return content


def test_a_run_is_made_of_a_scenario(client: Client, scenario: Scenario) -> None:
    answer = post(client, "/api/v1/runs/", {"scenario": scenario.pk, "seed": 5, "profile": "v1.16"})
    assert answer.status_code == 201
    assert (answer.json()["seed"], answer.json()["profile"]) == (5, "v1.16")
    assert client.get("/api/v1/runs/").json()["items"][0]["id"] == answer.json()["id"]


def test_an_unknown_profile_is_refused_in_words(client: Client, scenario: Scenario) -> None:
    answer = post(client, "/api/v1/runs/", {"scenario": scenario.pk, "profile": "v9"})
    assert answer.status_code == 400
    assert "v1.34" in answer.json()["detail"]


def test_the_transport_plays_and_pauses(client: Client, scenario: Scenario) -> None:
    run = post(client, "/api/v1/runs/", {"scenario": scenario.pk}).json()
    path = f"/api/v1/runs/{run['id']}/transport/"
    played = post(client, path, {"action": "play", "speed": "100"}).json()
    assert (played["status"], played["speed"]) == ("playing", "100")
    assert post(client, path, {"action": "pause"}).json()["status"] == "paused"
    assert post(client, path, {"action": "fly"}).status_code == 400


def test_the_state_at_a_moment_includes_its_events(client: Client, driven: Run) -> None:
    at = client.get(f"/api/v1/runs/{driven.pk}/state/?at=1500000000").json()
    seq = RunEvent.objects.filter(run=driven, at__lte=1_500_000_000).order_by("-seq")[0].seq
    assert at["seq"] == seq
    assert "pod/default/late" not in at["state"]
    head = client.get(f"/api/v1/runs/{driven.pk}/state/").json()
    assert head["state"]["pod/default/late"]["phase"] == "Running"
    assert head["events"][-1]["seq"] == driven.head_seq


def test_a_future_state_is_not_found(client: Client, driven: Run) -> None:
    answer = client.get(f"/api/v1/runs/{driven.pk}/state/?seq={driven.head_seq + 1}")
    assert answer.status_code == 404
    assert answer.json()["head"] == driven.head_seq


def test_pages_of_events_join_without_gap_or_repetition(client: Client, driven: Run) -> None:
    seen: list[int] = []
    more: str | None = ""
    while more is not None:
        page = client.get(f"/api/v1/runs/{driven.pk}/events/?limit=7&continue={more}").json()
        seen += [event["seq"] for event in page["items"]]
        more = page["continue"]
    assert seen == list(range(1, driven.head_seq + 1))
    assert (page["lowest"], page["highest"]) == (1, driven.head_seq)


def test_events_filter_by_kind_object_component_and_time(client: Client, driven: Run) -> None:
    path = f"/api/v1/runs/{driven.pk}/events/"
    bound = client.get(f"{path}?kind=PodBound,PodRunning").json()["items"]
    assert {event["kind"] for event in bound} == {"PodBound", "PodRunning"}
    web = client.get(f"{path}?object=pod/default/web").json()["items"]
    assert {event["object"] for event in web} == {"pod/default/web"}
    changed = client.get(f"{path}?changes=pod/default/web").json()["items"]
    assert {event["object"] for event in changed} == {"pod/default/web"}
    assert all("pod/default/web" in event["changes"] for event in changed)
    nodes = client.get(f"{path}?object=node/").json()["items"]
    assert {event["object"] for event in nodes} == {"node/n1", "node/n2"}
    kubelet = client.get(f"{path}?component=kubelet").json()["items"]
    assert {event["component"] for event in kubelet} == {"kubelet"}
    late = client.get(f"{path}?from=2000000000").json()["items"]
    assert min(event["at"] for event in late) >= 2_000_000_000
    newest = client.get(f"{path}?order=desc&limit=1").json()["items"]
    assert newest[0]["seq"] == driven.head_seq


def test_a_filter_without_matches_gives_an_empty_list(client: Client, driven: Run) -> None:
    assert client.get(f"/api/v1/runs/{driven.pk}/events/?kind=Nothing").json()["items"] == []


async def test_ndjson_holds_every_event_on_a_line(driven: Run) -> None:
    lines = (await exported(f"/api/v1/runs/{driven.pk}/events/export/?format=ndjson")).splitlines()
    events = [json.loads(line) for line in lines]
    assert [event["seq"] for event in events] == list(range(1, driven.head_seq + 1))
    assert events[0]["changes"]["run"]["name"] == "small"


async def test_csv_has_a_header_and_json_columns(driven: Run) -> None:
    text = (await exported(f"/api/v1/runs/{driven.pk}/events/export/?format=csv")).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == driven.head_seq
    assert json.loads(rows[0]["changes"])["run"]["name"] == "small"


def test_an_unknown_format_is_refused(client: Client, driven: Run) -> None:
    answer = client.get(f"/api/v1/runs/{driven.pk}/events/export/?format=xml")
    assert (answer.status_code, "ndjson" in answer.json()["detail"]) == (400, True)


def test_the_histogram_counts_every_event_once(client: Client, driven: Run) -> None:
    histogram = client.get(f"/api/v1/runs/{driven.pk}/histogram/?buckets=10").json()
    assert len(histogram["counts"]) == 10
    assert sum(histogram["counts"]) == driven.head_seq


def test_events_filter_by_being_kubernetes_events(client: Client, driven: Run) -> None:
    address = f"/api/v1/runs/{driven.pk}/events/?limit=1000"
    every = client.get(address).json()["items"]
    only = client.get(f"{address}&kubernetes=1").json()["items"]
    assert only == [event for event in every if (event["data"] or {}).get("event")]
    assert 0 < len(only) < len(every)


@pytest.mark.parametrize("buckets", [1, 7, 120, 1000])
def test_each_histogram_bar_counts_its_events(client: Client, driven: Run, buckets: int) -> None:
    histogram = client.get(f"/api/v1/runs/{driven.pk}/histogram/?buckets={buckets}").json()
    counts = [0] * buckets
    for at in RunEvent.objects.filter(run=driven).values_list("at", flat=True):
        counts[min(at * buckets // driven.head_at, buckets - 1)] += 1
    assert histogram["counts"] == counts
    assert histogram["to"] == driven.head_at


def test_the_time_of_events_never_goes_back(driven: Run) -> None:
    times = list(RunEvent.objects.filter(run=driven).order_by("seq").values_list("at", flat=True))
    assert times == sorted(times)


def test_a_time_range_includes_both_ends(client: Client, driven: Run) -> None:
    times = sorted(set(RunEvent.objects.filter(run=driven).values_list("at", flat=True)))
    start, end = times[1], times[-2]
    path = f"/api/v1/runs/{driven.pk}/events/?limit=1000"
    found = client.get(f"{path}&from={start}&to={end}").json()["items"]
    events = RunEvent.objects.filter(run=driven, at__gte=start, at__lte=end).order_by("seq")
    assert [event["seq"] for event in found] == [event.seq for event in events]
    assert client.get(f"{path}&from={times[-1] + 1}").json()["items"] == []


def test_the_histogram_marks_what_happened_after_the_beginning(client: Client, driven: Run) -> None:
    events_change(driven.pk, [1, driven.head_seq], kind="NodeCordoned")
    marks = client.get(f"/api/v1/runs/{driven.pk}/histogram/").json()["marks"]
    newest = RunEvent.objects.get(run=driven, seq=driven.head_seq)
    assert marks == [{"at": newest.at, "kind": "NodeCordoned", "seq": driven.head_seq}]


def test_what_was_replayed_once_needs_no_database(
    driven: Run, django_assert_num_queries: Any
) -> None:
    noted = log_replayed(driven.pk, 5)
    with django_assert_num_queries(0):
        assert log_replayed(driven.pk, driven.head_seq) is noted


def object_at(client: Client, run: Run, entity: str, seq: int) -> Any:
    """The manifest, or the status of a refusal."""
    answer = client.get(f"/api/v1/runs/{run.pk}/objects/{entity}/?seq={seq}")
    return answer.json() if answer.status_code == 200 else answer.status_code


def test_an_object_can_be_read_at_any_event(client: Client, driven: Run) -> None:
    told = RunEvent.objects.filter(run=driven, object="pod/default/late")
    created = told.order_by("seq")[0].seq
    bound = told.get(kind="PodBound").seq
    assert object_at(client, driven, "pod/default/late", created - 1) == 404
    assert "nodeName" not in object_at(client, driven, "pod/default/late", created)["spec"]
    assert "nodeName" not in object_at(client, driven, "pod/default/late", bound - 1)["spec"]
    assert object_at(client, driven, "pod/default/late", bound)["spec"]["nodeName"]
    newest = client.get(f"/api/v1/runs/{driven.pk}/objects/pod/default/late/").json()
    assert object_at(client, driven, "pod/default/late", driven.head_seq) == newest
    assert object_at(client, driven, "pod/default/late", driven.head_seq + 1) == 404


def test_a_manifest_can_be_read_as_yaml(client: Client, driven: Run) -> None:
    path = f"/api/v1/runs/{driven.pk}/objects/pod/default/web/"
    answer = client.get(f"{path}?format=yaml")
    assert answer.headers["Content-Type"] == "application/yaml"
    assert answer.content.decode().startswith("apiVersion: v1\nkind: Pod\n")
    assert yaml.safe_load(answer.content) == client.get(path).json()
    assert client.get(f"{path}?format=xml").status_code == 400


def test_every_version_of_every_object_is_readable(client: Client, driven: Run) -> None:
    cluster = cluster_create(driven)
    versions: dict[str, Any] = {}
    while cluster.next_at is not None:
        cluster.advance(cluster.next_at, max_steps=1)
        piece = cluster.take()
        versions |= piece.touched
        # Within one callback an object may be written twice; its last write is at the last event.
        for entity, manifest in versions.items() if piece.touched else ():
            assert object_at(client, driven, entity, cluster.seq) == (manifest or 404)


def test_an_object_of_the_past_is_shown_unchanged(client: Client, driven: Run) -> None:
    before = driven.head_seq
    path = f"/api/v1/runs/{driven.pk}/commands/"
    label = {"metadata": {"labels": {"team": "shop"}}}
    with driving(driven):
        patch = {"verb": "patch", "object": "pod/default/web", "patch": label}
        patched = post(client, path, patch).json()["seq"]
        body = {"verb": "delete", "object": "pod/default/web", "grace_seconds": 0}
        deleted = post(client, path, body).json()["seq"]
    driven.refresh_from_db()
    assert client.get(f"/api/v1/runs/{driven.pk}/objects/pod/default/web/").status_code == 404
    assert object_at(client, driven, "pod/default/web", driven.head_seq) == 404
    labels = [
        object_at(client, driven, "pod/default/web", seq)["metadata"].get("labels", {})
        for seq in (deleted - 1, patched, before)
    ]
    assert [each.get("team") for each in labels] == ["shop", "shop", None]


def test_neighbouring_moments_are_replayed_once(
    client: Client, driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    replays: list[int] = []

    def counted(run: Run, **options: Any) -> Any:
        replays.append(options["seq"])
        return replay.engine_at_seq(run, **options)

    monkeypatch.setattr(past, "engine_at_seq", counted)
    bound = RunEvent.objects.get(run=driven, object="pod/default/late", kind="PodBound").seq
    for seq in (bound, bound - 1, bound + 1):
        object_at(client, driven, "pod/default/late", seq)
    assert len(replays) == 1


def test_an_attempt_shows_its_evidence(client: Client, driven: Run) -> None:
    attempts = client.get(f"/api/v1/runs/{driven.pk}/attempts/?pod=default/giant").json()["items"]
    evidence = client.get(f"/api/v1/runs/{driven.pk}/attempts/{attempts[-1]['id']}/").json()
    assert evidence["verdicts"]["n1"]["plugin"] == "NodeResourcesFit"
    assert evidence["verdicts"]["n1"]["detail"]["cpu"]["requested"] == 3000


@pytest.mark.parametrize("pod", ["giant", "web"])
def test_evidence_that_was_not_kept_is_made_again(client: Client, driven: Run, pod: str) -> None:
    number, path = attempt_of(client, driven, pod)
    kept = client.get(path).json()
    RecordedAttempt.objects.filter(pk=number).update(evidence=None)
    assert client.get(path).json() == kept


def test_scores_are_reported_by_node(client: Client, driven: Run) -> None:
    _, path = attempt_of(client, driven, "web")
    scores = client.get(path).json()["scores"]
    assert list(scores) == sorted(scores) != []
    for score in scores.values():
        weighted = [columns[2] for columns in score["plugins"].values()]
        assert score["total"] == sum(weighted)


def test_evidence_of_an_older_version_is_shown_unchanged(client: Client, driven: Run) -> None:
    number, path = attempt_of(client, driven, "web")
    told = client.get(path).json()
    stored = zlib.compress(json.dumps(told).encode())
    RecordedAttempt.objects.filter(pk=number).update(evidence=stored)
    assert client.get(path).json() == told


def attempt_of(client: Client, run: Run, pod: str) -> tuple[int, str]:
    """The newest attempt of the pod, and where its evidence is."""
    attempts = client.get(f"/api/v1/runs/{run.pk}/attempts/?pod=default/{pod}").json()["items"]
    number = attempts[-1]["id"]
    return number, f"/api/v1/runs/{run.pk}/attempts/{number}/"


def test_a_command_answers_with_its_outcome(client: Client, driven: Run) -> None:
    taint = {"key": "k", "value": "v", "effect": "NoSchedule"}
    body = {"verb": "patch", "object": "node/n1", "patch": {"spec": {"taints": [taint]}}}
    with driving(driven):
        answer = post(client, f"/api/v1/runs/{driven.pk}/commands/", body)
    assert (answer.status_code, answer.json()["status"]) == (200, "applied")
    event = RunEvent.objects.get(run=driven, seq=answer.json()["seq"])
    assert (event.kind, event.changes["node/n1"]["taints"]) == ("NodeUpdated", [taint])


SCRIPTED = b"""
apiVersion: kscope.dev/v1
kind: Scenario
metadata: {name: by-command}
spec:
  containers:
    - {command: "sleep *", runs: [{for: 5s}]}
    - {command: "sh -c exit 3", runs: [{exit: 3}]}
"""


@pytest.mark.parametrize("verb", ["create", "patch"])
def test_a_command_marks_what_the_scenario_scripts(verb: str, client: Client) -> None:
    scenario = services.scenario_store(name="scripted", result=load_files([("s.yaml", SCRIPTED)]))
    run = services.run_create(scenario=scenario, play=True, speed="max")
    labels = {"app": "web"}

    def deployment(command: str) -> dict[str, Any]:
        container = {"name": "main", "image": "busybox", "command": command.split(" ", 2)}
        template = {"metadata": {"labels": labels}, "spec": {"containers": [container]}}
        spec = {"replicas": 0, "selector": {"matchLabels": labels}, "template": template}
        named = {"metadata": {"name": "web"}, "spec": spec}
        return {"apiVersion": "apps/v1", "kind": "Deployment", **named}

    entity, path = "deployment/default/web", f"/api/v1/runs/{run.pk}/commands/"
    bodies = [{"verb": "create", "manifest": deployment("sh -c exit 3")}]
    if verb == "patch":
        changed = {"spec": {"template": deployment("sleep 5")["spec"]["template"]}}
        bodies.append({"verb": "patch", "object": entity, "patch": changed})
    with driving(run):
        for body in bodies:
            assert post(client, path, body).status_code == 200
    made = client.get(f"/api/v1/runs/{run.pk}/objects/{entity}/").json()["spec"]["template"]
    mark = {"create": "main=1", "patch": "main=0"}[verb]
    assert made["metadata"]["annotations"]["kscope.dev/commands"] == mark
    assert "command" not in made["spec"]["containers"][0]


@pytest.mark.parametrize(("profile", "is_marked"), [("v1.34", True), ("v1.36", False)])
def test_commands_mark_jobs_where_the_version_asks(
    client: Client, start: Callable[..., Run], profile: str, is_marked: bool
) -> None:
    run = start(profile=profile, play=True, speed="max")
    template = {"spec": {"containers": [{"name": "c", "image": "app:1"}], "restartPolicy": "Never"}}
    spec = {"completionMode": "Indexed", "completions": 2, "template": template}
    manifest = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "sums"}, "spec": spec}
    with driving(run):
        path = f"/api/v1/runs/{run.pk}/commands/"
        assert post(client, path, {"verb": "create", "manifest": manifest}).status_code == 200
    made = client.get(f"/api/v1/runs/{run.pk}/objects/job/default/sums/").json()
    assert ("kscope.dev/job-tracking" in made["metadata"].get("annotations", {})) is is_marked


def test_an_invalid_command_is_refused_at_once(client: Client, driven: Run) -> None:
    answer = post(client, f"/api/v1/runs/{driven.pk}/commands/", {"verb": "explode"})
    assert answer.status_code == 400
    assert "cordon" in answer.json()["detail"]


@pytest.mark.parametrize("metadata", ["web", {"name": 7}, {"name": "x", "namespace": ["a"]}])
def test_the_engine_refuses_an_invalid_manifest(client: Client, driven: Run, metadata: Any) -> None:
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {}}
    with driving(driven):
        body = {"verb": "create", "manifest": manifest}
        answer = post(client, f"/api/v1/runs/{driven.pk}/commands/", body)
    assert (answer.status_code, answer.json()["command"]["status"]) == (409, "rejected")
    assert answer.json()["detail"].startswith("Invalid: ")


@pytest.mark.parametrize(
    ("part", "status", "reason"),
    [
        (
            {"hostAliases": {}},
            409,
            'Invalid: Pod "x" is invalid: spec.hostAliases: Invalid value: expected a list, found '
            "a mapping",
        ),
        (
            {"hostAlias": []},
            200,
            "spec.hostAlias: unknown field, which is left out; the nearest is spec.hostAliases",
        ),
    ],
)
def test_a_command_shows_what_is_wrong_with_fields(
    client: Client, driven: Run, part: dict[str, Any], status: int, reason: str
) -> None:
    spec = {"containers": [{"name": "c"}], **part}
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "x"}, "spec": spec}
    with driving(driven):
        body = {"verb": "create", "manifest": manifest}
        answer = post(client, f"/api/v1/runs/{driven.pk}/commands/", body)
    told = answer.json()
    assert (answer.status_code, told.get("command", told)["reason"]) == (status, reason)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('{"verb": "create", "manifest": {"a": NaN}}', "not JSON"),
        ('{"verb": "create\\u0000"}', "U+0000"),
        ('{"verb": "create", "manifest": "\\ud800"}', "not JSON"),
        ("[" * 5000, "levels deep"),
    ],
)
def test_json_that_no_database_could_keep_is_refused(
    client: Client, driven: Run, text: str, said: str
) -> None:
    path = f"/api/v1/runs/{driven.pk}/commands/"
    answer = client.post(path, text, content_type="application/json")
    assert answer.status_code == 400
    assert said in answer.json()["detail"]


def test_a_number_beyond_64_bits_becomes_a_float(client: Client, driven: Run) -> None:
    # What a revision holds is opaque, so that any number may be in it.
    named = {"name": "r", "namespace": "default"}
    kind = {"apiVersion": "apps/v1", "kind": "ControllerRevision", "metadata": named}
    body = {"verb": "create", "manifest": {**kind, "revision": 1, "data": {"field": 10**30}}}
    with driving(driven):
        assert post(client, f"/api/v1/runs/{driven.pk}/commands/", body).status_code == 200
    kept = client.get(f"/api/v1/runs/{driven.pk}/objects/controllerrevision/default/r/").json()
    assert float(kept["data"]["field"]) == 1e30


@pytest.mark.parametrize(
    "path", ["objects/pod/default/%00/", "events/?kind=%00", "events/?after=²", "state/?seq=1²"]
)
def test_an_address_no_query_can_hold_is_refused(client: Client, driven: Run, path: str) -> None:
    answer = client.get(f"/api/v1/runs/{driven.pk}/{path}")
    assert answer.status_code == 400
    assert answer.json()["detail"]


def test_an_object_keeps_fields_that_nobody_reads(client: Client, driven: Run) -> None:
    manifest = client.get(f"/api/v1/runs/{driven.pk}/objects/pod/default/web/").json()
    assert manifest["spec"]["containers"][0]["image"] == "app:1"


def test_the_schema_names_every_resource(client: Client) -> None:
    text = client.get("/api/v1/schema/").content.decode()
    for path in (
        "/api/v1/runs/",
        "/api/v1/runs/{run_id}/events/",
        "/api/v1/runs/{run_id}/commands/",
    ):
        assert path in text


def test_a_missing_run_has_the_usual_error_shape(client: Client) -> None:
    answer = client.get("/api/v1/runs/12345/")
    assert answer.status_code == 404
    assert "detail" in answer.json()


def test_a_run_with_odd_name_can_be_exported(client: Client, driven: Run) -> None:
    Run.objects.update(name='a\r\nX-Evil: 1 "b" é')
    answer = client.get(f"/api/v1/runs/{driven.pk}/events/export/?format=csv&limit=1")
    assert answer.status_code == 200
    assert "X-Evil" not in answer.headers


def test_a_form_on_a_foreign_page_cannot_command(client: Client, driven: Run) -> None:
    answer = client.post(f"/api/v1/runs/{driven.pk}/transport/", {"action": "play"})
    assert answer.status_code == 415
