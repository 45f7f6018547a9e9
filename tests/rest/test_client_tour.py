"""A client that is generated from the OpenAPI document does the whole tour."""

import importlib
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from kscope.accounts.access import Role, Scope
from kscope.accounts.services import account_create, token_create
from tests.contract import document

# A cluster as it stands: one pod that fits nowhere.
CLUSTER = """
apiVersion: v1
kind: Node
metadata: {name: n1, uid: n1, creationTimestamp: "2026-11-20T11:00:00Z"}
status:
  allocatable: {cpu: "2", memory: 4Gi, pods: "10"}
  conditions: [{type: Ready, status: "True", lastTransitionTime: "2026-11-20T11:00:00Z"}]
---
apiVersion: v1
kind: Pod
metadata: {name: giant, uid: g1, creationTimestamp: "2026-11-20T11:30:00Z", labels: {app: giant}}
spec: {containers: [{name: c, image: app:1, resources: {requests: {cpu: "3"}}}]}
status: {phase: Pending}
"""
OPTIONS = """
post_hooks: []
package_name_override: kscope_client
"""


class Api:
    """The functions of the generated client by the ids of operations; each answer must be typed."""

    def __init__(self, package: ModuleType, client: Any) -> None:
        self.package = package
        self.client = client

    def call(self, tag: str, operation: str, status: int, **asked: Any) -> Any:
        """What came of an operation, made into an object of the client."""
        module = importlib.import_module(f"{self.package.__name__}.api.{tag}.{operation}")
        answer = module.sync_detailed(client=self.client, **asked)
        assert answer.status_code == status, answer.content
        return answer.parsed if answer.parsed is not None else answer.content

    def model(self, name: str, **fields: Any) -> Any:
        """An object of a request's body."""
        models = importlib.import_module(f"{self.package.__name__}.models")
        return getattr(models, name).from_dict(fields)


@pytest.fixture(scope="module")
def generated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModuleType]:
    """The client, made by openapi-python-client, which warns of nothing."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_text(json.dumps(document()))
    (folder / "options.yaml").write_text(OPTIONS)
    program = Path(sys.executable).with_name("openapi-python-client")
    made = subprocess.run(
        [program, "generate", "--path", "openapi.json", "--config", "options.yaml"]
        + ["--meta", "none", "--output-path", "kscope_client", "--fail-on-warning"],
        cwd=folder,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stdout + made.stderr
    with pytest.MonkeyPatch.context() as patched:
        patched.syspath_prepend(str(folder))
        yield importlib.import_module("kscope_client")


@pytest.fixture
def api(generated: ModuleType, address: str, settings: Any) -> Iterator[Api]:
    """The client of an editor's token, where a login is required."""
    settings.LOGIN_REQUIRED = True
    user, _ = account_create(name="eva", role=Role.EDITOR, password="a long enough phrase")
    token = token_create(user=user, name="tour", scope=Scope.WRITE)[1]
    with generated.AuthenticatedClient(base_url=address, token=token, timeout=300.0) as client:
        yield Api(generated, client)


def test_a_generated_client_does_the_whole_tour(api: Api) -> None:
    scenario = uploaded(api)
    run = played(api, scenario)
    fix = asked_why(api, run)
    fork = tried(api, run, fix)
    compared(api, run, fork)
    exported(api, run, scenario)
    for each in (fork, run):
        api.call("runs", "runs_destroy", 204, run_id=each)
    api.call("scenarios", "scenarios_destroy", 204, scenario_id=scenario)
    gone = api.call("runs", "runs_retrieve", 404, run_id=run)
    assert (gone.status, gone.title) == (404, "Not Found")


def uploaded(api: Api) -> int:
    """Upload a cluster, and see how it was read."""
    types = importlib.import_module(f"{api.package.__name__}.types")
    file = types.File(payload=io.BytesIO(CLUSTER.encode()), file_name="cluster.yaml")
    models = importlib.import_module(f"{api.package.__name__}.models")
    body = models.Upload(files=[file], name="mine")
    made = api.call("scenarios", "scenarios_create", 201, body=body)
    assert made.report.files[0].kinds.to_dict() == {"Node": 1, "Pod": 1}
    detail = api.call("scenarios", "scenarios_retrieve", 200, scenario_id=made.id)
    assert (detail.as_brought, detail.report.files[0].name) == (True, "cluster.yaml")
    listed = api.call("scenarios", "scenarios_list", 200)
    assert [each.id for each in listed.items] == [made.id]
    return int(made.id)


def played(api: Api, scenario: int) -> int:
    """Start a run, see what is stuck, play it, and wait until it has an event."""
    run = api.call("runs", "runs_create", 201, body=api.model("NewRun", scenario=scenario))
    triage = api.call("runs", "runs_triage", 200, run_id=run.id)
    assert triage.groups[0].pods == ["default/giant"]
    body = api.model("Transport", action="play", speed="max")
    api.call("runs", "runs_transport_create", 200, run_id=run.id, body=body)
    waited = api.call("runs", "runs_wait", 200, run_id=run.id, seq=10, seconds=60)
    assert waited.head >= 10
    api.call("runs", "runs_wait", 200, run_id=run.id, seconds=60)
    return int(run.id)


def asked_why(api: Api, run: int) -> Any:
    """Why the pod waits, and the smallest change that a command can make."""
    why = api.call("runs", "runs_why_retrieve", 200, run_id=run, entity="pod/default/giant")
    assert why.causes[0].check.short == 1000
    return next(each for each in why.fixes if each.command)


def tried(api: Api, run: int, fix: Any) -> int:
    """Try the change in a fork, and wait for what it promises."""
    seq = api.call("runs", "runs_retrieve", 200, run_id=run).head
    fork = api.call("runs", "runs_fork_create", 201, run_id=run, body=api.model("NewFork", seq=seq))
    for command in (fix.command, fix.then, *(fix.more or [])):
        if command:
            body = api.model("NewCommand", **command.to_dict())
            done = api.call("runs", "runs_commands_create", 200, run_id=fork.id, body=body)
            assert done.status == "applied"
    body = api.model("Transport", action="play", until_pod="pod/default/giant")
    api.call("runs", "runs_transport_create", 200, run_id=fork.id, body=body)
    api.call("runs", "runs_wait", 200, run_id=fork.id, seconds=60)
    pod = api.call("runs", "runs_objects_retrieve", 200, run_id=fork.id, entity="pod/default/giant")
    assert pod.to_dict()["spec"]["nodeName"] == fix.node
    return int(fork.id)


def compared(api: Api, run: int, fork: int) -> None:
    """Hold the fork against the run, and two instants of the fork against each other."""
    answer = api.call("runs", "runs_compare_retrieve", 200, run_id=run, with_=fork)
    assert [each.pod for each in answer.placements.rows] == ["pod/default/giant"]
    begin = api.call("runs", "runs_retrieve", 200, run_id=fork).forked_seq
    head = api.call("runs", "runs_retrieve", 200, run_id=fork).head
    found = api.call("runs", "runs_diff", 200, run_id=fork, from_=begin, to=head)
    [pod] = [each for each in found.items if each.id == "pod/default/giant"]
    assert (pod.change, bool(pod.patch.to_dict()["node"])) == ("modified", True)


def exported(api: Api, run: int, scenario: int) -> None:
    """Take out the events, the objects of an instant, and the scenario."""
    head = api.call("runs", "runs_retrieve", 200, run_id=run).head
    lines = api.call("runs", "runs_events_export", 200, run_id=run)
    events = [json.loads(line) for line in _text(lines).splitlines()]
    assert [each["seq"] for each in events] == list(range(1, head + 1))
    pods = api.call("runs", "runs_objects_list", 200, run_id=run, kind="Pod", seq=head)
    assert [each.id for each in pods.items] == ["pod/default/giant"]
    whole = api.call("scenarios", "scenarios_download", 200, scenario_id=scenario)
    assert [each.kind for each in whole.items] == ["Scenario", "Node", "Pod"]


def _text(answer: Any) -> str:
    return answer.decode() if isinstance(answer, bytes) else str(answer)
