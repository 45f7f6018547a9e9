"""Hooks: what runs after a container's start and before its stop, and what that costs."""

from typing import Any

import pytest

from engine.objects.scripts.reading import read_scripts
from tests.scenarios.containers.scripted import container, play, pod
from tests.scenarios.containers.test_containers import messages, starts

DELETED = [{"at": "10s", "delete": "pod/default/web"}]
EXEC = {"exec": {"command": ["true"]}}


def hooked(name: str, hook: Any = EXEC, **spec: Any) -> Any:
    main = {"name": "main", "image": "i", "lifecycle": {name: hook}}
    return pod("web", main, **spec)


@pytest.mark.parametrize(
    ("hook", "stop", "grace", "gone"),
    [
        ({"for": "5s"}, {"after": "3s"}, 30, 18),
        # The hook takes eight of ten seconds; two are left to a container that wants seven.
        ({"for": "8s"}, {"after": "7s"}, 10, 20),
        # A hook that never ends is given up, and two seconds come on top.
        ({"for": "1h"}, {"after": "7s"}, 10, 22),
        ({}, {"after": "3s"}, 30, 13),
    ],
)
def test_pre_stop_counts_into_the_grace_period(hook: Any, stop: Any, grace: int, gone: int) -> None:
    made = hooked("preStop", terminationGracePeriodSeconds=grace)
    played = play(made, containers=[{"preStop": hook, "stop": stop}], steps=DELETED)
    assert played.story("PodDeleted") == [f"{gone} PodDeleted pod/default/web"]


def test_sleep_hook_takes_its_own_seconds() -> None:
    made = hooked("preStop", {"sleep": {"seconds": 6}})
    played = play(made, containers=[{"stop": {"after": "1s"}}], steps=DELETED)
    assert played.story("PodDeleted") == ["17 PodDeleted pod/default/web"]


def test_script_of_a_missing_hook_does_nothing() -> None:
    script = {"preStop": {"for": "9s", "exit": 1}, "postStart": {"for": "9s", "exit": 1}}
    played = play(pod("web"), containers=[{**script, "stop": {"after": "1s"}}], steps=DELETED)
    assert played.story("PodDeleted") == ["11 PodDeleted pod/default/web"]
    assert messages(played, "FailedPreStopHook") == []


def test_failed_pre_stop_hook_is_told() -> None:
    made = hooked("preStop")
    script = {"preStop": {"for": "2s", "exit": 1}, "stop": {"after": "1s"}}
    played = play(made, containers=[script], steps=DELETED)
    assert messages(played, "FailedPreStopHook") == ["PreStopHook failed"]


def test_container_is_told_of_after_post_start() -> None:
    made = hooked("postStart")
    played = play(made, containers=[{"postStart": {"for": "20s"}}], duration="10s")
    assert container(played, "web")["state"] == {"waiting": {"reason": "ContainerCreating"}}
    later = play(made, containers=[{"postStart": {"for": "20s"}}], duration="1m")
    assert later.story("PodRunning")[0].startswith("21 PodRunning")
    assert container(later, "web")["ready"] is True


def test_failed_post_start_hook_restarts_the_container() -> None:
    script = {"postStart": {"for": "2s", "exit": 1}, "stop": {"after": "1s", "exit": 0}}
    played = play(hooked("postStart"), containers=[script], duration="1m")
    assert set(messages(played, "FailedPostStartHook")) == {"PostStartHook failed"}
    assert set(messages(played, "Killing")) == {"FailedPostStartHook"}
    assert len(starts(played, "web")) > 2
    assert container(played, "web")["restartCount"] > 1


def test_hook_fields_are_read_with_their_faults() -> None:
    found: list[str] = []
    raw = [{"preStop": {"for": "soon"}, "postStart": {"code": 1}}]
    read_scripts(raw, (), lambda path, _, message: found.append(f"{path}: {message}"))
    assert len(found) == 2
