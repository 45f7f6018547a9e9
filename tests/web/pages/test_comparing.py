"""Two runs beside each other, over HTTP."""

from typing import Any

import pytest
from django.test import Client

from kscope.runs.compare import comparison
from kscope.runs.compare.comparing import divergence
from kscope.runs.models import Checkpoint, Run, RunEvent
from kscope.runs.selectors import event_dict
from tests.web.pages.test_forks import command, forked, play

pytestmark = pytest.mark.django_db(transaction=True)


def compared(client: Client, run: Run, other: Run, query: str = "") -> dict[str, Any]:
    answer = client.get(f"/api/v1/runs/{run.pk}/compare/?with={other.pk}{query}")
    assert answer.status_code == 200, answer.json()
    return answer.json()


def before_late(run: Run) -> int:
    return RunEvent.objects.filter(run=run, at__lt=2_000_000_000).order_by("-seq")[0].seq


def cordoned(run: Run) -> Run:
    """A fork before the pod that comes late, in which no node takes it."""
    fork = forked(run, seq=before_late(run))
    command(fork, verb="cordon", object="node/n2")
    command(fork, verb="cordon", object="node/n1")
    return play(fork)


def parted_by_hand(a: Run, b: Run) -> int | None:
    """The first event that differs, by looking at every one."""
    pairs = zip(*(RunEvent.objects.filter(run=run).order_by("seq") for run in (a, b)), strict=False)
    for one, other in pairs:
        if comparison.content(event_dict(one)) != comparison.content(event_dict(other)):
            return one.seq
    return None


def test_fork_and_parent_part_with_the_first_command(client: Client, driven: Run) -> None:
    fork = cordoned(driven)
    told = compared(client, driven, fork)
    assert told["shared"] == fork.forked_seq == told["divergence"]["seq"] - 1
    assert told["divergence"]["b"]["kind"] == "NodeCordoned"
    assert "NodeCordoned node/n2" in told["parting"]
    assert told["divergence"]["seq"] == parted_by_hand(driven, fork)


def test_a_waiting_pod_names_the_deciding_event(client: Client, driven: Run) -> None:
    fork = cordoned(driven)
    told = compared(client, driven, fork)
    [row] = told["placements"]["rows"]
    bound = RunEvent.objects.get(run=driven, kind="PodBound", object="pod/default/late")
    assert (row["pod"], row["a"]["seq"], row["at"]) == ("pod/default/late", bound.seq, bound.at)
    assert (row["b"]["state"], row["b"]["node"]) == ("waits", "")
    refused = RunEvent.objects.get(run=fork, seq=row["b"]["seq"])
    assert (refused.kind, refused.object) == ("FailedScheduling", "pod/default/late")
    assert "could not use" in told["placing"]
    found = {each["key"]: (each["a"], each["b"], each["difference"]) for each in told["measures"]}
    assert found["bound"] == (2, 1, -1)
    assert found["pending"] == (1, 2, 1)


def test_before_they_part_nothing_is_elsewhere(client: Client, driven: Run) -> None:
    told = compared(client, driven, cordoned(driven), "&at=1")
    assert told["placements"]["count"] == 0
    assert (told["a"]["seq"], told["at"]) == (told["b"]["seq"], 1)


def test_a_run_that_goes_on_has_not_parted(client: Client, driven: Run) -> None:
    fork = forked(driven, seq=driven.head_seq // 2)
    told = compared(client, driven, fork)
    assert told["divergence"] is None
    assert told["shared"] == told["a"]["seq"] == told["b"]["seq"] == fork.head_seq
    assert told["parting"].startswith(f"Identical as far as #{fork.pk} has come")
    assert told["reached"] == fork.head_at


@pytest.mark.parametrize("choice", [{"profile": "v1.16"}, {"seed": 5}])
def test_other_profiles_part_where_event_content_differs(
    client: Client, driven: Run, choice: dict[str, Any]
) -> None:
    fork = forked(driven, **choice)
    told = divergence(driven, fork)
    assert (told and told["seq"]) == parted_by_hand(driven, fork)
    compared(client, driven, fork)


def test_common_checkpoints_need_not_be_looked_at_again(driven: Run) -> None:
    fork = cordoned(driven)
    parted = divergence(driven, fork)
    Checkpoint.objects.all().delete()
    assert divergence(driven, fork) == parted


def test_two_instants_of_one_run_are_compared(client: Client, driven: Run) -> None:
    told = compared(
        client, driven, driven, f"&seq={before_late(driven)}&with_seq={driven.head_seq}"
    )
    assert [row["pod"] for row in told["placements"]["rows"]] == ["pod/default/late"]
    assert told["placements"]["rows"][0]["a"]["state"] == "absent"


def test_events_come_in_pages_without_gap_or_repetition(
    client: Client, driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("kscope.runs.compare.comparing.BESIDE", 9)
    fork = cordoned(driven)
    seen: dict[str, list[int]] = {"a": [], "b": []}
    query = ""
    while True:
        page = compared(client, driven, fork, query)["events"]
        for row in page["rows"]:
            for side, found in seen.items():
                found += [row[side]["seq"]] if row[side] else []
        if page["next"] is None:
            break
        query = "&after={}&with_after={}".format(*page["next"])
    parted = (fork.forked_seq or 0) + 1
    assert sorted(seen["a"]) == list(range(parted, driven.head_seq + 1))
    assert sorted(seen["b"]) == list(range(parted, fork.head_seq + 1))


def test_the_time_to_bind_counts_from_creation(client: Client, driven: Run) -> None:
    told = {each["key"]: each["a"] for each in compared(client, driven, driven)["measures"]}
    taken = []
    for bound in RunEvent.objects.filter(run=driven, kind="PodBound"):
        created = RunEvent.objects.get(run=driven, kind="PodCreated", object=bound.object)
        taken.append(bound.at - created.at)
    assert told["time to bind, worst"] == max(taken)
    assert told["time to bind, median"] in taken
    assert told["bindings"] == len(taken)


def test_what_cannot_be_compared_is_refused_in_words(client: Client, driven: Run) -> None:
    path = f"/api/v1/runs/{driven.pk}/compare/"
    assert client.get(path).status_code == 400
    answer = client.get(f"{path}?with=999999")
    assert (answer.status_code, answer.json()["detail"]) == (404, "There is no run 999999.")
    answer = client.get(f"{path}?with={driven.pk}&seq=99999&with_seq=1")
    assert answer.status_code == 404


def test_the_change_of_version_that_decided_is_named(client: Client, driven: Run) -> None:
    rules = [{"action": "RestartAllContainers", "exitCodes": {"operator": "In", "values": [1]}}]
    container = {"name": "c", "image": "app:1", "restartPolicyRules": rules}
    pod = {
        "kind": "Pod",
        "metadata": {"name": "restarts"},
        "spec": {"containers": [{**container, "restartPolicy": "Never"}]},
    }
    command(driven, verb="create", manifest=pod)
    play(driven)
    told = compared(client, driven, play(forked(driven, profile="v1.34")))
    change = told["version_change"]
    assert (change["plugin"], change["since"], change["b"]) == (
        "NodeDeclaredFeatures",
        "v1.36",
        "–",
    )
    assert "NodeDeclaredFeatures differs since v1.36" in change["words"]
    assert compared(client, driven, driven)["version_change"] is None
