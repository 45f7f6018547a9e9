"""A change is tried in a fork up to the instant that was promised, and says what came of it."""

from typing import Any

import pytest
from django.test import Client

from engine.kernel.recorder import Event
from engine.kernel.units import MINUTE, SECOND
from kscope.runs import services
from kscope.runs.drive import runner
from kscope.runs.drive.decided import Wait
from kscope.runs.models import Run, RunEvent
from scheduling.selectors import diagnosis

pytestmark = pytest.mark.django_db(transaction=True)

GIANT = "pod/default/giant"


def tried(run: Run, seq: int, commands: list[dict[str, Any]], trial: dict[str, Any]) -> Run:
    """A fork of *run* in which the commands were tried, played as the page plays it."""
    fork = services.run_fork(run=run, seq=seq)
    runner.run_drive(fork.pk)
    for body in commands:
        services.command_submit(run=fork, body=body)
    runner.run_drive(fork.pk)
    fork.refresh_from_db()
    services.run_transport(run=fork, action="play", until_pod=GIANT, trial=trial)
    runner.run_drive(fork.pk)
    fork.refresh_from_db()
    return fork


def placed(fork: Run) -> list[tuple[str, int]]:
    found = RunEvent.objects.filter(
        run=fork, object=GIANT, kind="PodBound", seq__gt=fork.forked_seq
    )
    return [(event.changes[GIANT]["node"], event.at) for event in found]


def moments(run: Run) -> list[int]:
    """Where the pod is in flight, where it was just refused, while it backs off, and at the end."""
    about = RunEvent.objects.filter(run=run, object=GIANT).order_by("seq")
    started = about.filter(kind="AttemptStarted")[0].seq
    refused = about.filter(kind="FailedScheduling")[0].seq
    return [started, refused, refused + 3, run.head_seq]


@pytest.mark.parametrize("place", range(4), ids=["in flight", "refused", "later", "at the end"])
def test_a_promise_is_kept_in_the_fork(driven: Run, place: int) -> None:
    seq = moments(driven)[place]
    [fix, *_] = diagnosis(driven, "Pod", "default/giant", seq=seq)["fixes"]
    commands = [each for each in (fix["command"], fix["then"]) if each]
    promise = {"order": fix["text"], "node": fix["node"], "at": fix["at"]}
    fork = tried(driven, seq, commands, promise)
    assert placed(fork) == [(fix["node"], fix["at"])]
    assert (fork.status, fork.until_pod, fork.head_at) == (Run.Status.PAUSED, "", fix["at"])


def test_an_older_attempts_end_is_no_answer(driven: Run) -> None:
    seq = moments(driven)[0]
    label = {"metadata": {"labels": {"team": "a"}}}
    commands = [{"verb": "patch", "object": GIANT, "patch": label}]
    fork = tried(driven, seq, commands, {"order": "Label it", "node": "n1", "at": None})
    refused = RunEvent.objects.filter(
        run=fork, object=GIANT, kind="FailedScheduling", seq__gt=seq
    ).count()
    assert refused == 2
    assert fork.status == Run.Status.PAUSED


def test_a_broken_promise_ends_at_its_instant(driven: Run) -> None:
    seq = moments(driven)[1]
    at = RunEvent.objects.get(run=driven, seq=seq).at + 3 * SECOND
    fork = tried(driven, seq, [], {"order": "Nothing", "node": "n1", "at": at})
    assert placed(fork) == []
    assert (fork.status, fork.head_at, fork.until_pod) == (Run.Status.PAUSED, at, "")


def test_a_mere_decision_is_given_six_minutes(driven: Run) -> None:
    fork = services.run_fork(run=driven, seq=moments(driven)[1])
    promise = {"order": "Ask for less", "node": "n1", "at": None}
    services.run_transport(run=fork, action="play", until_pod=GIANT, trial=promise)
    fork.refresh_from_db()
    assert fork.trial["by"] == fork.forked_at + 6 * MINUTE
    assert (fork.trial["object"], fork.trial["order"]) == (GIANT, "Ask for less")


def test_another_objects_trial_ends_at_its_instant(driven: Run) -> None:
    seq = moments(driven)[1]
    at = RunEvent.objects.get(run=driven, seq=seq).at + 5 * SECOND
    fork = services.run_fork(run=driven, seq=seq)
    runner.run_drive(fork.pk)
    promise = {"order": "Wait", "node": "", "at": at, "outcome": "it is ready"}
    services.run_transport(run=fork, action="play", until_pod="node/n1", trial=promise)
    runner.run_drive(fork.pk)
    fork.refresh_from_db()
    assert (fork.status, fork.head_at, fork.until_pod) == (Run.Status.PAUSED, at, "")
    assert (fork.trial["object"], fork.trial["outcome"]) == ("node/n1", "it is ready")


def test_pods_without_promise_are_followed_to_their_instant(driven: Run) -> None:
    bound = RunEvent.objects.get(run=driven, object="pod/default/late", kind="PodBound")
    fork = services.run_fork(run=driven, seq=bound.seq - 4)
    runner.run_drive(fork.pk)
    promise = {"order": "Wait", "node": "", "at": bound.at + SECOND, "outcome": "it runs on n1"}
    services.run_transport(run=fork, action="play", until_pod=bound.object, trial=promise)
    runner.run_drive(fork.pk)
    fork.refresh_from_db()
    assert (fork.status, fork.head_at) == (Run.Status.PAUSED, bound.at + SECOND)


def test_the_api_shows_what_is_tried(driven: Run, client: Client) -> None:
    path = f"/api/v1/runs/{driven.pk}/transport/"
    trial = {"order": "Uncordon n1", "node": "n1", "at": 5}
    wish = {"action": "play", "until_pod": GIANT, "trial": trial}
    answer = client.post(path, wish, content_type="application/json")
    assert answer.json()["trial"] | trial == answer.json()["trial"]
    refused = client.post(path, wish | {"trial": {"at": "soon"}}, content_type="application/json")
    assert refused.status_code == 400


def told(seq: int, kind: str, **data: Any) -> Event:
    return Event(seq, 0, kind, GIANT, "scheduler", None, "", data or None, None)


def test_only_an_attempt_after_the_command_decides() -> None:
    wait = Wait(GIANT, since=10)
    refusal = told(13, "FailedScheduling", type="Warning")
    assert not wait.is_over([refusal], began=9, now=0)
    assert wait.is_over([refusal], began=11, now=0)
    assert wait.is_over([told(12, "AttemptStarted"), refusal], began=9, now=0)
    assert wait.is_over([told(13, "PodBound")], began=9, now=0)


def test_an_earlier_refusal_does_not_decide() -> None:
    wait = Wait(GIANT, at=5 * SECOND)
    refusal = told(13, "FailedScheduling", type="Warning")
    assert not wait.is_over([refusal], began=11, now=4 * SECOND)
    assert wait.is_over([refusal], began=11, now=5 * SECOND)
