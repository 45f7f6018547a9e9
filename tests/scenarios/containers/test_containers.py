"""Containers start in order, end as scripted, and start again as a kubelet lets them."""

from typing import Any

import pytest

from engine.cluster.checks.cluster_checks import cluster_findings
from engine.cluster.cluster import Cluster
from engine.kernel.units import SECOND
from tests.scenarios.containers.scripted import (
    condition,
    container,
    play,
    pod,
    scenario,
    status,
)
from tests.scenarios.played import Played

CRASH = {"container": "main", "runs": [{"for": "5s", "exit": 1}]}


def starts(played: Played, name: str) -> list[int]:
    return [
        event.at // SECOND
        for event in played.events
        if event.kind == "Started" and event.object == f"pod/default/{name}"
    ]


def messages(played: Played, kind: str) -> list[str]:
    return [event.message for event in played.events if event.kind == kind]


def test_a_crash_loop_waits_longer_each_time() -> None:
    played = play(pod("web"), containers=[CRASH], duration="5m")
    # Restarted at once, then 10, 20 and 40 s after the last end; of later starts no Event tells,
    # because a component may emit 25 of an object at once.
    assert starts(played, "web") == [0, 6, 21, 46, 92]


def waiting(played: Played, name: str) -> tuple[str, str]:
    state = container(played, name)["state"]["waiting"]
    return state["reason"], state["message"]


def test_an_image_that_no_registry_has() -> None:
    played = play(pod("web"), containers=[{"pull": "fail"}], duration="15s")
    error = (
        'rpc error: code = NotFound desc = failed to pull and unpack image "app:1": '
        'failed to resolve reference "app:1": app:1: not found'
    )
    assert played.cluster.store.get("Pod", "default/web").status["phase"] == "Pending"
    assert messages(played, "Failed")[:2] == [
        f'Failed to pull image "app:1": {error}',
        "Error: ErrImagePull",
    ]
    assert waiting(played, "web") == ("ErrImagePull", error)
    # Pulled again after 10, 20 and 40 s, and looked at each 10 s.
    played = play(pod("web"), containers=[{"pull": "fail"}], duration="70s")
    waits = f'Back-off pulling image "app:1": ErrImagePull: {error}'
    assert waiting(played, "web") == ("ImagePullBackOff", waits)
    assert messages(played, "Pulling") == ['Pulling image "app:1"'] * 3
    assert messages(played, "BackOff") == ['Back-off pulling image "app:1"'] * 4
    assert "Error: ImagePullBackOff" in messages(played, "Failed")


def test_an_image_that_comes_later() -> None:
    script = {"pull": {"times": "25s=pass", "output": "no route to host"}}
    played = play(pod("web"), containers=[script], duration="24s", profile="v1.20")
    assert waiting(played, "web") == ("ImagePullBackOff", 'Back-off pulling image "app:1"')
    played = play(pod("web"), containers=[script], duration="1m")
    assert starts(played, "web") == [32]
    assert container(played, "web")["restartCount"] == 0
    assert 'Failed to pull image "app:1": no route to host' in messages(played, "Failed")


def test_a_pod_without_its_image_is_deleted() -> None:
    steps = [{"at": "30s", "delete": "pod/default/web"}]
    played = play(pod("web"), containers=[{"pull": "fail"}], steps=steps, duration="2m")
    assert played.cluster.store.find("Pod", "default/web") is None


def test_a_crash_loop_shows_in_the_status() -> None:
    played = play(pod("web"), containers=[CRASH], duration="30s")
    shown = container(played, "web")
    uid = played.cluster.store.get("Pod", "default/web").uid
    assert shown["state"] == {
        "waiting": {
            "reason": "CrashLoopBackOff",
            "message": f"back-off 20s restarting failed container=main pod=web_default({uid})",
        }
    }
    ended = shown["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (1, "Error")
    assert (ended["startedAt"], ended["finishedAt"]) == (
        "2026-01-01T00:00:21Z",
        "2026-01-01T00:00:26Z",
    )
    assert (shown["restartCount"], shown["ready"], shown["started"]) == (2, False, False)
    assert status(played, "Pod", "web")["phase"] == "Running"
    assert condition(played, "Pod", "web", "Ready") == (
        "False",
        "ContainersNotReady",
        "containers with unready status: [main]",
    )
    assert set(messages(played, "BackOff")) == {
        f"Back-off restarting failed container main in pod web_default({uid})"
    }


def test_a_stable_run_ends_the_backoff() -> None:
    runs = [{"for": "1s", "exit": 1}] * 3 + [{"for": "11m", "exit": 1}, {"for": "forever"}]
    played = play(pod("web"), containers=[{"runs": runs}], duration="20m")
    # The fourth run lasts longer than twice the longest backoff: its end counts as the first.
    *_, before, last = starts(played, "web")
    assert last - before in (11 * 60, 11 * 60 + 1)


@pytest.mark.parametrize(
    ("policy", "code", "phase", "restarts"),
    [
        ("Never", 0, "Succeeded", 0),
        ("Never", 3, "Failed", 0),
        ("OnFailure", 0, "Succeeded", 0),
        ("OnFailure", 3, "Running", 2),
        ("Always", 0, "Running", 2),
    ],
)
def test_the_restart_policy_decides_after_an_end(
    policy: str, code: int, phase: str, restarts: int
) -> None:
    script = {"runs": [{"for": "5s", "exit": code}]}
    played = play(pod("web", restartPolicy=policy), containers=[script], duration="25s")
    assert status(played, "Pod", "web")["phase"] == phase
    assert container(played, "web")["restartCount"] == restarts


def test_a_reason_and_a_message_are_kept() -> None:
    script = {"runs": [{"for": "5s", "exit": 137, "reason": "OOMKilled", "message": "out"}]}
    played = play(pod("web", restartPolicy="Never"), containers=[script])
    ended = container(played, "web")["state"]["terminated"]
    assert (ended["exitCode"], ended["reason"], ended["message"]) == (137, "OOMKilled", "out")


def test_init_containers_and_sidecars_start_in_order() -> None:
    inits = [
        {"name": "first", "image": "i"},
        {"name": "side", "image": "i", "restartPolicy": "Always"},
        {"name": "second", "image": "i"},
    ]
    scripts = [
        {"container": "first", "runs": [{"for": "3s"}]},
        {"container": "second", "runs": [{"for": "2s", "exit": 1}, {"for": "2s"}]},
        {"container": "main", "runs": [{"for": "10s"}]},
    ]
    made = pod("web", initContainers=inits, restartPolicy="OnFailure")
    played = play(made, containers=scripts, duration="1m")
    told = [
        event.message
        for event in played.events
        if event.kind == "PodContainersChanged" and event.object == "pod/default/web"
    ]
    assert told == [
        "first: waiting; side: waiting; second: waiting; main: waiting",
        "first: running; side: waiting; second: waiting; main: waiting",
        "first: ended with 0; side: waiting; second: waiting; main: waiting",
        "first: ended with 0; side: ready; second: waiting; main: waiting",
        "first: ended with 0; side: ready; second: running; main: waiting",
        "first: ended with 0; side: ready; second: waiting; main: waiting",
        "first: ended with 0; side: ready; second: running; main: waiting",
        "first: ended with 0; side: ready; second: ended with 0; main: waiting",
        "first: ended with 0; side: ready; second: ended with 0; main: ended with 0",
    ]
    assert messages(played, "Killing") == ["Stopping container side"]
    final = status(played, "Pod", "web")
    assert final["phase"] == "Succeeded"
    codes = [each["state"]["terminated"]["exitCode"] for each in final["initContainerStatuses"]]
    assert codes == [0, 143, 0]
    assert final["initContainerStatuses"][2]["restartCount"] == 1


def test_a_failed_init_container_fails_the_pod() -> None:
    inits = [{"name": "setup", "image": "i"}]
    script = {"container": "setup", "runs": [{"for": "3s", "exit": 2}]}
    made = pod("web", initContainers=inits, restartPolicy="Never")
    played = play(made, containers=[script])
    assert status(played, "Pod", "web")["phase"] == "Failed"
    assert container(played, "web")["state"] == {"waiting": {"reason": "PodInitializing"}}
    assert condition(played, "Pod", "web", "Initialized") == (
        "False",
        "ContainersNotInitialized",
        "containers with incomplete status: [setup]",
    )


def probe(**fields: Any) -> dict[str, Any]:
    return {"httpGet": {"port": 80, "path": "/"}, "periodSeconds": 5, **fields}


def test_readiness_follows_what_probes_find() -> None:
    main = {"name": "main", "image": "i", "readinessProbe": probe()}
    script = {"readiness": "10s=pass, 60s=fail, 90s=pass"}
    played = play(pod("web", main), containers=[script], duration="2m")
    turns = [
        event.at // SECOND
        for event in played.events
        if event.kind == "PodContainersChanged" and "main: ready" in event.message
    ]
    # Probed each 5 s; ready after one success, unready after three failures.
    assert turns == [15, 95]
    told = [event.at // SECOND for event in played.events if event.kind == "Unhealthy"]
    assert told == [0, 5, 10, 65, 70, 75, 80, 85, 90]
    assert set(messages(played, "Unhealthy")) == {
        "Readiness probe failed: HTTP probe failed with statuscode: 503"
    }
    assert condition(played, "Pod", "web", "Ready")[0] == "True"


def test_a_failed_liveness_probe_restarts_the_container() -> None:
    main = {"name": "main", "image": "i", "livenessProbe": probe(failureThreshold=2)}
    script = {
        "liveness": {"times": "pass, 20s=fail", "output": "no pulse"},
        "stop": {"after": "2s", "exit": 0},
    }
    played = play(pod("web", main), containers=[script], duration="40s")
    assert messages(played, "Unhealthy") == ["Liveness probe failed: no pulse"] * 2
    assert messages(played, "Killing") == [
        "Container main failed liveness probe, will be restarted"
    ]
    shown = container(played, "web")
    assert shown["restartCount"] == 1
    assert shown["lastState"]["terminated"]["exitCode"] == 0


def test_a_container_that_ignores_sigterm_is_killed() -> None:
    main = {"name": "main", "image": "i", "livenessProbe": probe(failureThreshold=1)}
    script = {"liveness": "pass, 10s=fail", "stop": {"after": "1h"}}
    made = pod("web", main, terminationGracePeriodSeconds=4)
    played = play(made, containers=[script], duration="30s")
    ended = container(played, "web")["lastState"]["terminated"]
    assert (ended["exitCode"], ended["reason"]) == (137, "Error")


def test_other_probes_wait_for_the_startup_probe() -> None:
    main = {
        "name": "main",
        "image": "i",
        "startupProbe": probe(failureThreshold=10),
        "livenessProbe": probe(failureThreshold=1),
        "readinessProbe": probe(),
    }
    script = {"startup": "22s=pass", "liveness": "20s=pass", "readiness": "20s=pass"}
    played = play(pod("web", main), containers=[script], duration="1m")
    assert {text.split()[0] for text in messages(played, "Unhealthy")} == {"Startup"}
    shown = container(played, "web")
    assert (shown["started"], shown["ready"], shown["restartCount"]) == (True, True, 0)


def test_a_startup_that_takes_too_long_is_ended() -> None:
    main = {"name": "main", "image": "i", "startupProbe": probe(failureThreshold=2)}
    played = play(pod("web", main), containers=[{"startup": "1h=pass"}], duration="15s")
    assert messages(played, "Killing") == ["Container main failed startup probe, will be restarted"]


def test_readiness_gates_hold_a_pod_back() -> None:
    made = pod("web", readinessGates=[{"conditionType": "example.com/open"}])
    played = play(made, containers=[{"runs": [{"for": "forever"}]}], duration="1m")
    assert condition(played, "Pod", "web", "ContainersReady")[0] == "True"
    assert condition(played, "Pod", "web", "Ready") == (
        "False",
        "ReadinessGatesNotReady",
        'corresponding condition of pod readiness gate "example.com/open" does not exist.',
    )


def test_a_deleted_pod_is_stopped_container_by_container() -> None:
    made = pod("web", {"name": "main", "image": "i"}, {"name": "other", "image": "i"})
    scripts = [
        {"container": "main", "stop": {"after": "3s", "exit": 0}},
        {"container": "other", "stop": {"after": "7s", "exit": 0}},
    ]
    steps = [{"at": "10s", "delete": "pod/default/web"}]
    played = play(made, containers=scripts, steps=steps)
    assert messages(played, "Killing") == ["Stopping container main", "Stopping container other"]
    assert played.story("PodDeleted") == ["17 PodDeleted pod/default/web"]
    assert messages(played, "PodContainersChanged")[-1] == "its containers were stopped: Succeeded"


def test_an_annotation_comes_before_the_scenario() -> None:
    own = {"kscope.dev/containers": "{container: main, runs: [{for: 2s, exit: 7}]}"}
    made = pod("web", restartPolicy="Never", annotations=own)
    played = play(made, containers=[CRASH])
    assert container(played, "web")["state"]["terminated"]["exitCode"] == 7


@pytest.mark.parametrize(
    ("match", "is_about"),
    [
        ({"pod": "web-*"}, True),
        ({"pod": "default/web-1"}, True),
        ({"pod": "other/web-1"}, False),
        ({"image": "app:*"}, True),
        ({"image": "db:*"}, False),
        ({"container": "ma?n"}, True),
        ({"labels": {"app": "web"}}, False),
        ({"index": 0}, False),
    ],
)
def test_an_entry_is_about_what_it_names(match: dict[str, Any], is_about: bool) -> None:
    script = {**match, "runs": [{"for": "1s", "exit": 9}]}
    played = play(pod("web-1", restartPolicy="Never"), containers=[script])
    assert (status(played, "Pod", "web-1")["phase"] == "Failed") is is_about


def test_an_entry_is_about_a_command() -> None:
    main = {"name": "main", "image": "i", "command": ["sh", "-c"], "args": ["exit 9"]}
    other = {"name": "main", "image": "i", "command": ["sh", "-c"], "args": ["exit 8"]}
    script = {"command": "*exit 9", "runs": [{"for": "1s", "exit": 9}]}
    pods = pod("a", main, restartPolicy="Never"), pod("b", other, restartPolicy="Never")
    played = play(*pods, containers=[script])
    assert status(played, "Pod", "a")["phase"] == "Failed"
    assert status(played, "Pod", "b")["phase"] == "Running"


def test_a_stopped_kubelet_finds_what_ended_meanwhile() -> None:
    steps = [{"at": "10s", "stop_kubelet": "n1"}, {"at": "30s", "start_kubelet": "n1"}]
    script = {"runs": [{"for": "15s", "exit": 4}]}
    made = pod("web", restartPolicy="Never")
    played = play(made, containers=[script], steps=steps, duration="1m")
    assert played.story("PodFailed") == ["30 PodFailed pod/default/web"]
    ended = container(played, "web")["state"]["terminated"]
    assert (ended["exitCode"], ended["finishedAt"]) == (4, "2026-01-01T00:00:15Z")


def test_a_machine_that_comes_back_restarts_containers() -> None:
    faults = [{"at": "10s", "fault": {"die": "n1"}}, {"at": "20s", "fault": {"revive": "n1"}}]
    played = play(
        pod("web"), containers=[{"runs": [{"for": "forever"}]}], steps=faults, duration="1m"
    )
    shown = container(played, "web")
    assert "running" in shown["state"]
    assert shown["restartCount"] == 1


def test_a_run_goes_on_from_a_checkpoint() -> None:
    scripted = scenario(pod("web"), containers=[CRASH, {"container": "x"}], duration="5m")
    straight, paused = Cluster.create(scripted), Cluster.create(scripted)
    straight.advance(300 * SECOND)
    straight.take()
    for second in (3, 8, 23, 60):
        paused.advance(second * SECOND)
        paused.take()
        paused = Cluster.restore(paused.checkpoint())
    paused.advance(300 * SECOND)
    paused.take()
    assert paused.digest() == straight.digest()


def test_drawn_times_come_from_the_seed() -> None:
    script = {"runs": [{"for": {"uniform": ["1s", "9s"]}, "exit": 1}]}
    digests = {
        play(pod("web"), containers=[script], seed=seed).cluster.digest() for seed in (1, 1, 2)
    }
    assert len(digests) == 2


@pytest.mark.parametrize(
    ("profile", "created", "started"),
    [
        ("v1.11", "Created container", "Started container"),
        ("v1.20", "Created container main", "Started container main"),
        ("v1.34", "Created container: main", "Started container main"),
        ("v1.36", "Container created", "Container started"),
    ],
)
def test_each_version_words_its_events(profile: str, created: str, started: str) -> None:
    script = {"runs": [{"for": "forever"}]}
    played = play(pod("web"), containers=[script], profile=profile, duration="5s")
    assert messages(played, "Created") == [created]
    assert messages(played, "Started") == [started]


def test_pages_show_what_containers_do() -> None:
    main = {"name": "main", "image": "i", "readinessProbe": probe()}
    scripts = [{"pod": "web", **CRASH}, {"pod": "slow", "readiness": "20s=pass"}]
    played = play(pod("web"), pod("slow", main), containers=scripts, duration="1m")
    told = played.at(15)["pod/default/web"]["told"]
    assert (told["container"], told["reason"]) == ("main", "CrashLoopBackOff")
    assert (told["restarts"], told["is_fault"]) == (1, True)
    assert played.at(10)["pod/default/slow"]["told"]["reason"] == "ContainersNotReady"
    assert "told" not in played.end["pod/default/slow"]


def test_checks_find_nothing_in_a_scripted_run() -> None:
    main = {"name": "main", "image": "i", "readinessProbe": probe()}
    scripts = [{"pod": "web", **CRASH}, {"pod": "slow", "readiness": "20s=pass"}]
    cluster = Cluster.create(scenario(pod("web"), pod("slow", main), containers=scripts))
    for second in range(0, 60, 3):
        cluster.advance(second * SECOND)
        cluster.take()
        assert cluster_findings(cluster) == []


def test_a_command_changes_what_a_probe_finds() -> None:
    # What the web process writes of a command: kube/server/writes/writing.py, pod_told().
    def told(at: str, text: str) -> Any:
        patch = {"metadata": {"annotations": {"kscope.dev/probes": text}}}
        return {"at": at, "patch": {"object": "pod/default/web", "patch": patch}}

    ready = {"httpGet": {"port": 80}, "periodSeconds": 1, "failureThreshold": 1}
    main = {"name": "main", "image": "app:1", "readinessProbe": ready}
    steps = [
        told("20s", "main:0:readiness=fail"),
        told("40s", "main:0:readiness=pass"),
        # Of another container, of a later run, and what cannot be read: nothing of this one.
        told("60s", "other:0:readiness=fail, main:7:readiness=fail, main:0:readiness"),
        told("70s", "main:0:readiness=fail"),
    ]
    entry = {"container": "main", "runs": [{"for": "90s", "exit": 1}, {"for": "forever"}]}
    played = play(pod("web", main), containers=[entry], steps=steps, duration="3m")
    turns = [
        (event.message, event.at // SECOND)
        for event in played.events
        if event.kind == "PodContainersChanged" and event.at > 10 * SECOND
    ]
    # The container that is started again begins as the first one did.
    assert turns == [
        ("main: running", 20),
        ("main: ready", 40),
        ("main: running", 70),
        ("main: waiting", 90),
        ("main: ready", 91),
    ]
