"""Logs and exec of containers that follow a script."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.models import Command, Run
from tests.kube.server.client import JSON, STRATEGIC, Kube
from tests.kube.server.faults import Faults
from tests.waiting import HANG_SECONDS
from tests.web.conftest import driving

pytestmark = pytest.mark.django_db(transaction=True)

POD = "/api/v1/namespaces/default/pods/web"
V5 = "v5.channel.k8s.io"
SCENARIO = """
apiVersion: kscope.dev/v1
kind: Scenario
metadata: {name: scripted}
spec:
  duration: 60s
  instant: "2026-02-01T12:00:00Z"
  containers:
    - container: main
      logs:
        - begins
        - {at: 2s, every: 10s, text: "tick\\ntock"}
      exec:
        - {command: "cat /etc/*", stdout: "a\\nb\\n"}
        - {command: "grep*", stderr: "no match", exit: 3}
        - {command: "mv *", stdout: "moved", then: {readiness: fail, liveness: pass}}
    - {container: crash, runs: [{for: 10s, exit: 1}], logs: ["fails"]}
    - {container: silent}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}
---
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers:
    - {name: main, image: i}
    - {name: crash, image: i}
    - {name: silent, image: i}
---
apiVersion: v1
kind: Pod
metadata: {name: waiting}
spec: {containers: [{name: main, image: i, resources: {requests: {cpu: "9"}}}]}
---
apiVersion: v1
kind: Pod
metadata: {name: plain}
spec: {containers: [{name: other, image: i}]}
"""


@pytest.fixture
def played(transactional_db: Any, runs_here: None) -> Run:
    from engine.input.loader import load_files

    result = load_files([("scripted.yaml", SCENARIO.encode())])
    scenario = services.scenario_store(name="scripted", result=result)
    run = services.run_create(scenario=scenario, play=True, speed="max")
    runner.run_drive(run.pk)
    run.refresh_from_db()
    return run


@pytest.fixture
def scripted(kube_of: Callable[..., Kube], played: Run) -> Kube:
    """A client of a run whose containers follow a script, played to its end."""
    return kube_of(played)


async def log(kube: Kube, options: str = "container=main", pod: str = POD) -> tuple[int, str]:
    answer = await kube.get(f"{pod}/log?{options}")
    text = answer.body.decode()
    return answer.status, text if answer.status == 200 else json.loads(text)["message"]


async def test_a_log_is_what_was_printed(scripted: Kube) -> None:
    status, text = await log(scripted)
    assert status == 200
    lines = text.splitlines()
    assert lines[:5] == ["begins", "tick", "tock", "tick", "tock"]
    assert len(lines) >= 9


async def test_options_of_a_log_are_heeded(scripted: Kube) -> None:
    assert await log(scripted, "container=main&tailLines=1") == (200, "tock\n")
    assert await log(scripted, "container=main&limitBytes=4") == (200, "begi")
    _, stamped = await log(scripted, "container=main&timestamps=true&limitBytes=38")
    assert stamped == "2026-02-01T12:00:00.000000000Z begins\n"
    _, late = await log(scripted, "container=main&sinceTime=2026-02-01T12:00:40Z")
    _, since = await log(scripted, "container=main&sinceSeconds=5")
    assert len(since) < len(late) < len((await log(scripted))[1])


async def test_options_that_make_no_sense_are_refused(scripted: Kube) -> None:
    assert await log(scripted, "container=main&tailLines=-1") == (
        422,
        'PodLogOptions "web" is invalid: tailLines: Invalid value: -1: must be greater than or '
        "equal to 0",
    )
    status, message = await log(scripted, "container=main&limitBytes=x")
    assert (status, message) == (400, 'strconv.ParseInt: parsing "x": invalid syntax')


async def test_a_container_has_to_be_named(scripted: Kube) -> None:
    names = "a container name must be specified for pod web, choose one of: [main crash silent]"
    assert await log(scripted, "") == (400, names)
    assert await log(scripted, "container=x") == (400, "container x is not valid for pod web")


async def test_the_run_before_has_its_log(scripted: Kube) -> None:
    assert await log(scripted, "container=crash&previous=true") == (200, "fails\n")
    assert await log(scripted, "container=main&previous=true") == (
        400,
        'previous terminated container "main" in pod "web" not found',
    )


async def test_pods_that_do_not_run_have_no_log(scripted: Kube) -> None:
    waiting = POD.replace("web", "waiting")
    assert await log(scripted, "", waiting) == (200, "")
    status, text = await log(scripted, "", POD.replace("web", "plain"))
    assert (status, text) == (200, "This is a simulation: containers run no processes.\n")


async def test_a_log_of_the_past_ends_there(kube_of: Callable[..., Kube], played: Run) -> None:
    kube = kube_of(played, "5s")
    assert await log(kube, "container=main&follow=true") == (200, "begins\ntick\ntock\n")
    assert await log(kube, "container=crash") == (200, "fails\n")


async def test_a_followed_log_ends_with_its_run(scripted: Kube, played: Run) -> None:
    async with scripted.reading(f"{POD}/log?container=main&follow=true") as lines:
        assert await anext(lines) == b"begins"
        await sync_to_async(services.run_delete)(run=played)
        assert {line async for line in lines} == {b"tick", b"tock"}


async def frames(kube: Kube, query: str, *protocols: str) -> tuple[dict[str, Any], list[bytes]]:
    """How the handshake ended, and the frames until the server closes."""
    found: list[bytes] = []
    async with kube.socket(f"{POD}/exec?{query}", *protocols) as socket:
        first = socket.first
        while first["type"] == "websocket.accept":
            frame = await socket.communicator.receive_output(HANG_SECONDS)
            if frame["type"] == "websocket.close":
                break
            found.append(frame["bytes"])
    return first, found


async def test_a_command_answers_from_the_table(scripted: Kube) -> None:
    query = "container=main&command=cat&command=/etc/hosts&stdout=true&stderr=true"
    first, found = await frames(scripted, query, V5, "v4.channel.k8s.io")
    assert first["subprotocol"] == V5
    assert found[:2] == [b"\x01", b"\x01a\nb\n"]
    assert found[2][:1] == b"\x03"
    assert json.loads(found[2][1:]) == {"metadata": {}, "status": "Success"}


async def test_a_command_fails_with_its_code(scripted: Kube) -> None:
    query = "container=main&command=grep&command=x&stdout=true&stderr=true"
    first, found = await frames(scripted, query, "v4.channel.k8s.io")
    assert first["subprotocol"] == "v4.channel.k8s.io"
    assert found[1] == b"\x02no match"
    status = json.loads(found[2][1:])
    assert status["reason"] == "NonZeroExitCode"
    assert status["details"] == {"causes": [{"reason": "ExitCode", "message": "3"}]}


async def test_a_command_without_an_answer_is_not_found(scripted: Kube) -> None:
    _, found = await frames(scripted, "container=main&command=vim&stdout=true", V5)
    status = json.loads(found[-1][1:])
    assert status["code"] == 500
    assert 'exec: "vim": executable file not found in $PATH' in status["message"]


@pytest.mark.parametrize(
    ("query", "protocol", "code", "message"),
    [
        ("container=main&command=ls", "binary.k8s.io", 403, "unable to negotiate protocol"),
        ("container=x&command=ls", V5, 400, "container x is not valid for pod web"),
        ("container=silent&command=ls", V5, 405, "simulated containers run no processes"),
        ("container=crash&command=ls", V5, 405, "simulated containers run no processes"),
    ],
)
async def test_a_socket_is_refused_with_a_reason(
    scripted: Kube, query: str, protocol: str, code: int, message: str
) -> None:
    async with scripted.socket(f"{POD}/exec?{query}", protocol) as socket:
        assert socket.first["status"] == code
        body = await socket.communicator.receive_output(HANG_SECONDS)
    assert message in json.loads(body["body"])["message"]


MOVES = "container=main&command=mv&command=a&command=b&stdout=true"


async def test_a_command_tells_what_probes_find(scripted: Kube, played: Run) -> None:
    with driving(played):
        for _ in range(2):
            _, found = await frames(scripted, MOVES, V5)
            assert found[1] == b"\x01moved"
        pod = (await scripted.get(POD)).json
    assert pod["metadata"]["annotations"] == {
        "kscope.dev/probes": "main:0:liveness=pass, main:0:readiness=fail"
    }


@pytest.mark.parametrize("way", ["past", "reader"])
async def test_nothing_is_told_where_nobody_may_write(
    kube_of: Callable[..., Kube], played: Run, way: str
) -> None:
    if way == "reader":
        owner = await sync_to_async(User.objects.create_user)("owner")
        await Run.objects.filter(pk=played.pk).aupdate(owner=owner, visibility="public")
    kube = kube_of(played, "10s" if way == "past" else "")
    async with kube.socket(f"{POD}/exec?{MOVES}", V5) as socket:
        assert socket.first["status"] in (401, 403, 405)
    assert "annotations" not in (await kube.get(POD)).json["metadata"]


async def test_command_that_is_not_stored_is_refused(scripted: Kube, faults: Faults) -> None:
    faults.refuse("INSERT INTO runs_command")
    async with scripted.socket(f"{POD}/exec?{MOVES}", V5) as socket:
        assert socket.first["status"] == 503


async def test_refused_protocol_leaves_a_command_undone(scripted: Kube) -> None:
    async with scripted.socket(f"{POD}/exec?{MOVES}", "binary.k8s.io") as socket:
        assert socket.first["status"] == 403
    assert not await sync_to_async(Command.objects.exists)()


async def test_spdy_is_refused_in_words_of_upstream(scripted: Kube) -> None:
    upgrade = {"connection": "Upgrade", "upgrade": "SPDY/3.1"}
    protocols = {"x-stream-protocol-version": "v4.channel.k8s.io"}
    query = f"{POD}/exec?container=main&command=ls"
    answer = await scripted.ask("POST", query, **upgrade, **protocols)
    assert (answer.status, answer.body.decode()) == (
        403,
        "unable to upgrade: unable to negotiate protocol: client supports [v4.channel.k8s.io], "
        "server accepts [v5.channel.k8s.io v4.channel.k8s.io]",
    )
    plain = await scripted.ask("POST", query)
    assert (plain.status, plain.json["message"]) == (400, "Upgrade request required")
    other = await scripted.ask("POST", f"{POD.replace('web', 'plain')}/exec?command=ls", **upgrade)
    assert other.json["message"] == "simulated containers run no processes"


BY_COMMAND = """
apiVersion: kscope.dev/v1
kind: Scenario
metadata: {name: by-command}
spec:
  duration: 60s
  containers:
    - {command: "sh -c exit 3", runs: [{exit: 3}]}
    - {command: "sleep *", runs: [{for: 5s}]}
---
apiVersion: v1
kind: Node
metadata: {name: n1}
status: {allocatable: {cpu: "4", memory: 8Gi, pods: "20"}}
"""


@pytest.fixture
def commanded(transactional_db: Any, runs_here: None) -> Run:
    """A run whose scenario knows containers by their commands."""
    from engine.input.loader import load_files

    result = load_files([("scripted.yaml", BY_COMMAND.encode())])
    scenario = services.scenario_store(name="by-command", result=result)
    return services.run_create(scenario=scenario, play=True, speed="max")


def ending(command: str, image: str = "busybox") -> dict[str, Any]:
    """A pod that a client creates."""
    container = {"name": "main", "image": image, "command": command.split(" ", 2)}
    spec = {"containers": [container], "restartPolicy": "Never"}
    return {"metadata": {"name": "web", "namespace": "default"}, "spec": spec}


async def test_what_clients_create_follows_its_command(
    kube_of: Callable[..., Kube], commanded: Run
) -> None:
    kube = kube_of(commanded)
    with driving(commanded):
        made = await kube.ask("POST", POD.removesuffix("/web"), ending("sh -c exit 3"))
        assert made.json["metadata"]["annotations"] == {"kscope.dev/commands": "main=0"}
        assert "command" not in made.json["spec"]["containers"][0]
        while (found := (await kube.get(POD)).json)["status"]["phase"] != "Failed":
            await asyncio.sleep(0.05)
    [status] = found["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 3


@pytest.mark.parametrize("way", ["PUT", "PATCH", "apply"])
async def test_a_changed_command_changes_its_mark(
    way: str, kube_of: Callable[..., Kube], commanded: Run
) -> None:
    kube, path = kube_of(commanded), "/apis/apps/v1/namespaces/default/deployments/web"
    labels = {"app": "web"}

    def deployment(command: str) -> dict[str, Any]:
        spec = ending(command)["spec"]
        template = {"metadata": {"labels": labels}, "spec": {**spec, "restartPolicy": "Always"}}
        return {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": template},
        }

    async def mark_after(command: str) -> str | None:
        if way == "apply":
            answer = await kube.ask(
                "PATCH",
                f"{path}?fieldManager=test",
                deployment(command),
                content_type="application/apply-patch+yaml",
            )
        else:
            answer = await kube.ask(
                way,
                path,
                deployment(command),
                content_type=STRATEGIC if way == "PATCH" else JSON,
            )
        assert answer.status in (200, 201), answer.json
        template = answer.json["spec"]["template"]["metadata"]
        return template.get("annotations", {}).get("kscope.dev/commands")

    with driving(commanded):
        if way != "apply":
            made = await kube.ask("POST", path.removesuffix("/web"), deployment("sleep 1"))
            assert made.status == 201
        assert await mark_after("sleep 9") == "main=1"
        assert await mark_after("sh -c exit 3") == "main=0"
        assert await mark_after("serve --port 80") is None
