"""What webhooks answer whose servers the script of a run answers for, as clients see it."""

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from kscope.runs import services
from kscope.runs.models import Run
from tests.engine.cluster.test_webhooks import configuration, hook, mutating, service
from tests.kube.server.client import Kube
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

GROUP = "/apis/admissionregistration.k8s.io/v1"
CORE = "/api/v1/namespaces/default"
SCENARIO = """
apiVersion: kscope.dev/v1
kind: Scenario
metadata: {name: webhooks}
spec:
  duration: 1h
  containers:
    - labels: {app: hooks}
      webhooks:
        - {path: /warn, warnings: ["told, twice", "again"]}
        - path: /deny
          code: 400
          validations: [{expression: "!has(object.data.bad)", message: "no: bad"}]
        - {path: /slow, latency: forever}
        - path: /connect
          validations:
            - expression: "!has(object.stdin)"
              messageExpression: "object.container + ' of ' + request.name + ' by ' + request.operation"
        - path: /add
          mutations: [{jsonPatch: {expression: "[JSONPatch{op: 'add', path: '/data/added', value: request.dryRun ? 'tried' : 'real'}]"}}]
---
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}
"""
SERVER: dict[str, Any] = {
    "metadata": {"name": "server", "labels": {"app": "hooks"}},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
MADE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"]}
RULE = {**MADE, "resources": ["configmaps"]}


@pytest.fixture
def run(transactional_db: Any, runs_here: None) -> Run:
    from engine.input.loader import load_files

    result = load_files([("webhooks.yaml", SCENARIO.encode())])
    scenario = services.scenario_store(name="webhooks", result=result)
    return services.run_create(scenario=scenario, play=True, speed="max")


@pytest.fixture
async def kube(kube_of: Callable[..., Kube], run: Run) -> AsyncIterator[Kube]:
    """A client of a run in which a server of webhooks is ready."""
    kube = kube_of(run)
    with driving(run):
        for path, one in (("pods", SERVER), ("services", service())):
            assert (await kube.ask("POST", f"{CORE}/{path}", one)).status == 201
        while (await kube.get(f"{CORE}/pods/server")).json["status"]["phase"] != "Running":
            await asyncio.sleep(0.05)
        yield kube


async def hold(kube: Kube, *made: dict[str, Any]) -> None:
    for one in made:
        answer = await kube.ask("POST", f"{GROUP}/{one['kind'].lower()}s", one)
        assert answer.status == 201, answer.json


def config_map(name: str, **data: str) -> dict[str, Any]:
    return {"metadata": {"name": name}, "data": data}


@pytest.mark.parametrize("query", ["", "?dryRun=All"])
async def test_denials_and_failures_are_in_upstreams_words(kube: Kube, query: str) -> None:
    slow = hook("/slow", {**MADE, "resources": ["services"]}, name="slow.example.com")
    await hold(kube, configuration(hook("/deny", RULE), slow))
    denied = await kube.ask("POST", f"{CORE}/configmaps{query}", config_map("a", bad="yes"))
    said = 'admission webhook "hook.example.com" denied the request: no: bad'
    assert (denied.status, denied.json["reason"], denied.json["message"]) == (
        400,
        "BadRequest",
        said,
    )
    fine = await kube.ask("POST", f"{CORE}/configmaps{query}", config_map("a", good="yes"))
    assert fine.status == 201
    body = {"metadata": {"name": "other"}, "spec": {"ports": [{"port": 80}]}}
    failed = await kube.ask("POST", f"{CORE}/services{query}", body)
    post = 'Post "https://hooks.default.svc:443/slow?timeout=10s": context deadline exceeded'
    why = f'failed calling webhook "slow.example.com": failed to call webhook: {post}'
    assert failed.status == 500
    assert failed.json["message"] == f"Internal error occurred: {why}"
    assert failed.json["details"]["causes"] == [{"message": why}]


@pytest.mark.parametrize(("query", "word"), [("", "real"), ("?dryRun=All", "tried")])
async def test_changes_and_warnings_are_answered(kube: Kube, query: str, word: str) -> None:
    await hold(kube, mutating(hook("/add", RULE)), configuration(hook("/warn", RULE)))
    made = await kube.ask("POST", f"{CORE}/configmaps{query}", config_map("a", own="yes"))
    assert (made.status, made.json["data"]) == (201, {"own": "yes", "added": word})
    assert made.headers["warning"] == '299 - "told, twice", 299 - "again"'


@pytest.mark.parametrize("method", ["GET", "POST"])
async def test_connections_to_containers_are_asked_about(kube: Kube, method: str) -> None:
    rule = {"operations": ["CONNECT"], "apiGroups": [""], "apiVersions": ["v1"]}
    parts = {**rule, "resources": ["pods/attach", "pods/exec"]}
    await hold(kube, configuration(hook("/connect", parts)))
    said = 'admission webhook "hook.example.com" denied the request: c of server by CONNECT'
    for part in ("attach", "exec"):
        path = f"{CORE}/pods/server/{part}?command=ls&container=c"
        for query, is_denied in (("&stdin=true", True), ("", False)):
            answer = await kube.ask(method, path + query)
            assert (answer.json["message"] == said) is is_denied, answer.json
