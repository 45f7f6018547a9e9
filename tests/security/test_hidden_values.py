"""What may be a secret in an uploaded cluster: never stored, or shown to those who may change the run.

The cluster has a marker in each such value, so that any answer can be searched for it.
"""

import asyncio
import gzip
import io
import json
import zipfile
from collections.abc import Iterator
from typing import Any

import pytest
from asgiref.sync import async_to_sync, sync_to_async
from django.contrib.auth.models import User
from django.test import Client

from engine.cluster.shadow.planned import Difference
from engine.input.cleaning import LAST_APPLIED
from engine.input.loader import load_files
from kscope.accounts.access import Role, Scope, visitor_for
from kscope.accounts.services import token_create
from kscope.runs import services
from kscope.runs.access import may_see_values
from kscope.runs.drive import runner
from kscope.runs.hidden_values import (
    CONFIG_FIELDS,
    HIDDEN,
    HIDDEN_IN,
    command_without_hidden,
    without_hidden,
)
from kscope.runs.models import Command, Run, Scenario
from tests.security.accounts import an_account
from tests.security.client import Asgi
from tests.web.accounts.test_access_table import RULES
from tests.web.conftest import driving

HUSH, NEVER = "hush-hush", "never-stored"
CLUSTER = f"""
apiVersion: v1
kind: Node
metadata: {{name: n1}}
status: {{allocatable: {{cpu: "2", memory: 4Gi, pods: "10"}}}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {{name: pv1}}
spec:
  capacity: {{storage: 1Gi}}
  accessModes: [ReadWriteOnce]
  storageClassName: fast
  csi:
    driver: d.example
    volumeHandle: h
    volumeAttributes: {{password: {HUSH}}}
    nodePublishSecretRef: {{name: of-the-driver, namespace: default}}
---
apiVersion: v1
kind: PersistentVolume
metadata: {{name: pv2}}
spec:
  capacity: {{storage: 1Gi}}
  accessModes: [ReadWriteOnce]
  flexVolume: {{driver: a/b, options: {{key: {HUSH}}}}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {{name: fast}}
provisioner: kubernetes.io/glusterfs
parameters: {{restuser: admin, restuserkey: {HUSH}}}
---
apiVersion: storage.k8s.io/v1
kind: VolumeAttachment
metadata: {{name: va}}
spec: {{attacher: d.example, nodeName: n1, source: {{persistentVolumeName: pv1}}}}
status: {{attached: true, attachmentMetadata: {{token: {HUSH}}}}}
---
apiVersion: v1
kind: Secret
metadata: {{name: s}}
data: {{password: bmV2ZXItc3RvcmVk}}
stringData: {{password: {NEVER}}}
---
apiVersion: v1
kind: Pod
metadata:
  name: web
  annotations:
    kubectl.kubernetes.io/last-applied-configuration: '{{"kind": "Pod", "a": "{NEVER}"}}'
spec:
  volumes:
  - {{name: v, csi: {{driver: d.example, volumeAttributes: {{password: {HUSH}}}}}}}
  containers:
  - {{name: c, image: "app:1", args: ["--key={NEVER}"], env: [{{name: KEY, value: {NEVER}}}]}}
---
apiVersion: apps/v1
kind: Deployment
metadata: {{name: d}}
spec:
  replicas: 0
  selector: {{matchLabels: {{app: d}}}}
  template:
    metadata: {{labels: {{app: d}}}}
    spec:
      volumes:
      - {{name: v, csi: {{driver: d.example, volumeAttributes: {{password: {HUSH}}}}}}}
      containers: [{{name: c, image: "app:1"}}]
"""
LATER = {
    "apiVersion": "v1",
    "kind": "PersistentVolume",
    "metadata": {"name": "later"},
    "spec": {
        "capacity": {"storage": "1Gi"},
        "accessModes": ["ReadWriteOnce"],
        "csi": {"driver": "d", "volumeHandle": "l", "volumeAttributes": {"key": HUSH}},
    },
}
CONFIG = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "made", "namespace": "default"},
    "data": {"app.conf": f"password={HUSH}"},
}
OBJECTS = ("volume/pv1", "volume/pv2", "volume/later", "class/fast", "volumeattachment/va")
OBJECTS += ("configmap/default/made", "pod/default/web", "deployment/default/d", "secret/default/s")
LISTS = (
    "api/v1/persistentvolumes",
    "apis/storage.k8s.io/v1/storageclasses",
    "apis/storage.k8s.io/v1/volumeattachments",
    "api/v1/configmaps",
    "api/v1/secrets",
    "api/v1/pods",
    "apis/apps/v1/deployments",
)
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"
WATCH = "?watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"


@pytest.fixture
def owner(transactional_db: Any) -> User:
    return an_account("owner")


@pytest.fixture
def reader(transactional_db: Any) -> User:
    return an_account("reader")


@pytest.fixture
def run(owner: User, settings: Any) -> Run:
    """A run of the cluster, shared with all accounts, in which a command has made a volume."""
    settings.LOGIN_REQUIRED = True
    loaded = load_files([("cluster.yaml", CLUSTER.encode())])
    assert not loaded.problems
    scenario = services.scenario_store(name="c", result=loaded, owner_id=owner.pk)
    Scenario.objects.update(visibility="shared")
    run = services.run_create(scenario=scenario, owner_id=owner.pk, play=True, speed="max")
    Run.objects.update(visibility="shared")
    for manifest in (LATER, CONFIG):
        services.command_submit(run=run, body={"verb": "create", "manifest": manifest})
    runner.run_drive(run.pk)
    assert {each.status for each in Command.objects.all()} == {"applied"}
    return Run.objects.get(pk=run.pk)


def browser_of(user: User) -> Client:
    client = Client()
    client.force_login(user)
    return client


def answers(client: Client, run: Run, only: tuple[str, ...] = ()) -> Iterator[tuple[str, str]]:
    """Every page and every REST answer about the run, with its address; or *only* some of them."""
    for route, rule in RULES.items():
        if "<int:run_id>" not in route or "<int:attempt_id>" in route or "GET" not in rule.methods:
            continue
        if only and not route.endswith(only):
            continue
        path = route.replace("<int:run_id>", str(run.pk))
        path = path.replace("<str:namespace>", "default").replace("<str:name>", "web")
        for entity in OBJECTS if route.endswith(OBJECT_ROUTE) else OBJECTS[:1]:
            for query in _queries(route, run):
                address = f"/{path.replace('<path:entity>', entity)}{query}"
                yield address, _text(client.get(address))


def _queries(route: str, run: Run) -> tuple[str, ...]:
    if not route.startswith("api/"):
        return ("",)
    if "/objects/" in route:
        return ("", "?format=yaml", f"?seq={run.head_seq - 1}")
    if route.endswith("/events/"):
        return ("", "?format=ndjson", "?format=csv")
    if route.endswith("/export/"):
        forms = ("ndjson", "csv", "perfetto", "otlp", "openmetrics", "events", "yaml")
        past = f"?format=yaml&seq={run.head_seq - 1}"
        diagram = "?format=mermaid&pod=default/web"
        return ("", "?history=1", past, diagram, *(f"?format={each}" for each in forms))
    return (f"?with={run.pk}",) if "compare" in route else ("",)


def _text(answer: Any) -> str:
    data = async_to_sync(_joined)(answer) if answer.streaming else answer.content
    return _plain(data).decode("utf-8", "replace")


def _plain(data: bytes) -> bytes:
    """What is packed, unpacked."""
    if data.startswith(b"\x1f\x8b"):
        return gzip.decompress(data)
    if data.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            return b"\n".join(archive.read(name) for name in archive.namelist())
    return data


async def _joined(answer: Any) -> bytes:
    return b"".join([part async for part in answer.streaming_content])


OBJECT_ROUTE = "objects/<path:entity>/"
# Where who may change the run is shown them, and nowhere else: so the next test says.
PLACES = (OBJECT_ROUTE, "commands/", "export/")


def test_no_answer_shows_such_values_to_readers(run: Run, reader: User) -> None:
    shown = dict(answers(browser_of(reader), run, PLACES))
    assert [path for path, text in shown.items() if HUSH in text or NEVER in text] == []
    object_of_volume = shown[f"/api/v1/runs/{run.pk}/objects/volume/pv1/"]
    assert "of-the-driver" in object_of_volume
    assert "volumeHandle" in object_of_volume


def test_those_allowed_to_change_see_hidden_values(run: Run, owner: User) -> None:
    shown = dict(answers(browser_of(owner), run))
    assert not any(NEVER in text for text in shown.values())
    places = {path.split("?")[0] for path, text in shown.items() if HUSH in text}
    root = f"/api/v1/runs/{run.pk}"
    wanted = {f"{root}/objects/{one}/" for one in OBJECTS[:-1]}
    assert wanted | {f"{root}/commands/", f"{root}/export/"} <= places
    # Events, states and what is computed from them hold none for anybody.
    ends = ("/commands/", "/export/")
    assert all("/objects/" in path or path.endswith(ends) for path in places)
    exported = {path for path, text in shown.items() if HUSH in text and "/export/" in path}
    assert all("format=yaml" in path or "format=" not in path for path in exported)


def test_a_token_that_only_reads_shows_none(run: Run, owner: User) -> None:
    path = f"/api/v1/runs/{run.pk}/objects/volume/pv1/"
    for scope, is_shown in ((Scope.READ, False), (Scope.WRITE, True)):
        _, token = token_create(user=owner, name=scope, scope=scope)
        answer = Client().get(path, headers={"Authorization": f"Token {token}"})
        assert (HUSH in _text(answer)) == is_shown


def token_of(user: User, scope: str = Scope.WRITE) -> str:
    return f"Bearer {token_create(user=user, name='kubectl', scope=scope)[1]}"


async def kube_answers(asgi: Asgi, run: Run, token: str, forms: int = 3) -> dict[str, str]:
    """Lists, tables and watches of the Kubernetes API, now and in the past; the first *forms*."""
    found: dict[str, str] = {}
    for root in (f"/k8s/runs/{run.pk}", f"/k8s/runs/{run.pk}@{run.head_seq - 1}"):
        for each in LISTS:
            for query, accept, until in (
                ("", "*/*", b""),
                ("?includeObject=Object", TABLE, b""),
                (WATCH, "*/*", b"initial-events-end"),
            )[:forms]:
                answer = await asgi.ask(
                    f"{root}/{each}{query}", until=until, authorization=token, accept=accept
                )
                assert answer.status == 200, answer.body
                found[f"{root}/{each}{query}"] = answer.body.decode()
    return found


async def test_the_kubernetes_api_shows_a_reader_none(asgi: Asgi, run: Run, reader: User) -> None:
    shown = await kube_answers(asgi, run, await sync_to_async(token_of)(reader))
    assert [path for path, text in shown.items() if HUSH in text or NEVER in text] == []
    configs = json.loads(shown[f"/k8s/runs/{run.pk}/api/v1/configmaps"])["items"]
    assert [each["data"] for each in configs if "ca.crt" not in each["data"]] == [{"app.conf": ""}]


async def test_the_kubernetes_api_shows_the_owner_all(asgi: Asgi, run: Run, owner: User) -> None:
    shown = await kube_answers(asgi, run, await sync_to_async(token_of)(owner), forms=1)
    without = {path for path, text in shown.items() if HUSH not in text}
    assert {path.split("?")[0].rsplit("/", 1)[1] for path in without} == {"secrets"}
    assert not any(NEVER in text for text in shown.values())


SPEAKS = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        "name": "speaks",
        "namespace": "default",
        "annotations": {
            "kscope.dev/containers": json.dumps(
                {
                    "logs": ["told: ${file.content:/etc/app/app.conf}"],
                    "http": [{"body": "told: ${file.content:/etc/app/app.conf}"}],
                }
            )
        },
    },
    "spec": {
        "nodeName": "n1",
        "containers": [
            {"name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/etc/app"}]}
        ],
        "volumes": [{"name": "v", "configMap": {"name": "made"}}],
    },
}


async def test_containers_tell_readers_no_content_of_files(
    asgi: Asgi, run: Run, owner: User, reader: User
) -> None:
    await sync_to_async(services.command_submit)(
        run=run, body={"verb": "create", "manifest": SPEAKS}
    )
    await sync_to_async(runner.run_drive)(run.pk)
    pod = f"/k8s/runs/{run.pk}/api/v1/namespaces/default/pods/speaks"
    for user, is_shown in ((reader, False), (owner, True)):
        token = await sync_to_async(token_of)(user)
        for part in ("log", "proxy/"):
            answer = await asgi.ask(f"{pod}/{part}", authorization=token)
            assert answer.body.decode().startswith("told: "), (part, answer.body)
            assert (HUSH in answer.body.decode()) is is_shown


async def test_watchers_share_no_text_with_such_values(
    asgi: Asgi, run: Run, owner: User, reader: User
) -> None:
    path = f"/k8s/runs/{run.pk}/api/v1/configmaps?watch=1&resourceVersion={run.head_seq}"
    tokens = [await sync_to_async(token_of)(user) for user in (owner, reader)]
    watching = [
        asyncio.create_task(asgi.ask(path, until=b"told-later", authorization=token))
        for token in tokens
    ]
    # Both follow the run before anything is written, and so read the same range of changes.
    await asyncio.sleep(1)
    later = {**CONFIG, "metadata": {"name": "told-later", "namespace": "default"}}
    body = {"verb": "create", "manifest": later}
    await sync_to_async(services.command_submit)(run=run, body=body)
    with driving(run):
        told = [answer.body.decode() for answer in await asyncio.gather(*watching)]
    assert [HUSH in text for text in told] == [True, False]


async def test_the_stream_holds_none_for_anybody(asgi: Asgi, run: Run, owner: User) -> None:
    key = await sync_to_async(lambda: browser_of(owner).cookies["sessionid"].value)()
    frames = await asgi.frames(f"/ws/runs/{run.pk}/?events=all", cookie=f"sessionid={key}")
    assert "snapshot" in frames
    assert HUSH not in frames


# A reader who makes a run of it may change that, and is not shown more for it.


@pytest.fixture
def fork(run: Run, reader: User) -> Run:
    made = services.run_fork(run=run, owner_id=reader.pk)
    runner.run_drive(made.pk)
    return Run.objects.get(pk=made.pk)


def test_a_fork_of_a_shared_run_shows_none(fork: Run, reader: User, owner: User) -> None:
    assert visitor_for(reader).may_change(fork)
    assert not may_see_values(visitor_for(reader), fork)
    path = f"/api/v1/runs/{fork.pk}/objects/volume/pv1/"
    assert HUSH not in _text(browser_of(reader).get(path))
    assert HUSH not in _text(browser_of(reader).get(f"/api/v1/runs/{fork.pk}/commands/"))
    admin = an_account("boss", Role.ADMIN)
    assert HUSH in _text(browser_of(admin).get(path))


def test_a_run_of_a_shared_scenario_shows_none(run: Run, reader: User) -> None:
    own = services.run_create(scenario=run.scenario, owner_id=reader.pk)
    assert not may_see_values(visitor_for(reader), own)
    Scenario.objects.update(is_demo=True)
    assert may_see_values(visitor_for(reader), own)


def test_ones_own_fork_shows_them(run: Run, owner: User) -> None:
    own = services.run_fork(run=run, owner_id=owner.pk)
    assert may_see_values(visitor_for(owner), own)


JSON_PATCH = "application/json-patch+json"
COPY = {"op": "copy", "from": "/spec/csi/volumeAttributes/password", "path": "/metadata/labels"}
TEST = {"op": "test", "path": "/spec/csi/volumeAttributes/password", "value": HUSH}
ADD = {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}}


async def test_a_write_shows_none_either(asgi: Asgi, fork: Run, reader: User) -> None:
    token = await sync_to_async(token_of)(reader)
    for operation, status in ((COPY, 403), ({**COPY, "op": "move"}, 403), (TEST, 403), (ADD, 200)):
        answer = await asgi.ask(
            f"/k8s/runs/{fork.pk}/api/v1/persistentvolumes/pv1?dryRun=All",
            "PATCH",
            json.dumps([operation]).encode(),
            authorization=token,
            content_type=JSON_PATCH,
        )
        assert answer.status == status, answer.body
        assert HUSH not in answer.body.decode()


# The values themselves


def test_manifest_copy_in_an_annotation_is_cleaned() -> None:
    note = "kubectl.kubernetes.io/last-applied-configuration"
    applied = json.dumps({"kind": "PersistentVolume", "spec": LATER["spec"]})
    given = {"kind": "PersistentVolume", "metadata": {"annotations": {note: applied, "a": "b"}}}
    kept = without_hidden(given)
    assert HUSH not in json.dumps(kept)
    assert json.loads(kept["metadata"]["annotations"][note])["spec"]["csi"]["driver"] == "d"
    given["metadata"]["annotations"][note] = f"no JSON, {HUSH}"
    assert HUSH not in json.dumps(without_hidden(given))


def test_what_holds_none_stays_the_same_object() -> None:
    manifest = {"kind": "Pod", "spec": {"containers": [{"name": "c"}]}, "list": [1, [2]]}
    assert without_hidden(manifest) is manifest


@pytest.mark.parametrize("entity", ["ConfigMap/default/c", "configmap/default/c"])
def test_a_patch_of_a_configmap_is_cleaned(entity: str) -> None:
    body = {"verb": "patch", "object": entity, "patch": {"data": {"k": HUSH}}}
    assert command_without_hidden(body)["patch"] == {"data": {"k": ""}}


@pytest.mark.parametrize(
    "field",
    [f"spec.volumes[v].csi.{name}" for name in sorted(HIDDEN)]
    + [f"spec.{name}.{part}" for name, part in HIDDEN_IN.items()]
    + [*CONFIG_FIELDS, f"metadata.annotations.{LAST_APPLIED}"],
)
def test_verdict_on_a_write_tells_no_hidden_value(field: str) -> None:
    assert HUSH not in json.dumps(Difference(field, HUSH, HUSH).as_json())
    assert HUSH not in json.dumps(Difference(f"{field}.key", HUSH, HUSH).as_json())
    assert HUSH in json.dumps(Difference("spec.replicas", HUSH, HUSH).as_json())
