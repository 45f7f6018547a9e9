"""What two runs decided differently, over HTTP."""

from typing import Any

import pytest
import yaml
from django.test import Client

from engine.input.loader import load_files
from kscope.runs import services
from kscope.runs.compare import calculation, comparing
from kscope.runs.compare.answer import WholeHistories
from kscope.runs.compare.deciding import inputs_apart
from kscope.runs.models import Run, RunEvent
from tests.builders import pod
from tests.record import events_change
from tests.web.pages.test_candidates import FOLDER
from tests.web.pages.test_comparing import before_late, compared, cordoned
from tests.web.pages.test_forks import command, forked, play

pytestmark = pytest.mark.django_db(transaction=True)


def test_the_first_decision_is_no_command(client: Client, driven: Run) -> None:
    told = compared(client, driven, cordoned(driven))
    decision = told["decision"]
    assert told["divergence"]["b"]["kind"] == "NodeCordoned"
    assert decision["object"] == "pod/default/late"
    assert (decision["a"]["kind"], decision["b"]["kind"]) == ("PodBound", "FailedScheduling")
    assert told["sentence"].endswith(
        f"Then default/late: #{told['a']['id']} binds it to n2, #{told['b']['id']} finds no node for it."
    )
    assert [each["pod"] for each in told["partings"]] == ["pod/default/late"]
    [given] = told["inputs"]
    assert (given["kind"], given["a"]) == ("command", None)
    assert given["b"] == "NodeCordoned node/n2"


def test_equal_runs_have_no_decision_apart(client: Client, driven: Run) -> None:
    told = compared(client, driven, forked(driven))
    assert (told["decision"], told["inputs"], told["partings"]) == (None, [], [])
    assert (told["sentence"], told["waits"]) == ("", {"count": 0, "rows": []})


def test_pods_bound_later_lead_the_sentence(client: Client, driven: Run) -> None:
    fork = play(forked(driven))
    bound = RunEvent.objects.get(run=fork, kind="PodBound", object="pod/default/late")
    created = RunEvent.objects.get(run=fork, kind="PodCreated", object="pod/default/late")
    events_change(fork.pk, [bound.seq], at=bound.at + 10**9)
    fork.checkpoints.all().delete()
    told = compared(client, driven, fork)
    [row] = told["waits"]["rows"]
    assert told["decision"] is None
    assert (row["pod"], row["difference"]) == ("pod/default/late", 10**9)
    assert row["b"] == bound.at + 10**9 - created.at
    assert told["sentence"].startswith("The same decisions at different times. default/late")


def test_words_of_versions_are_no_decision(client: Client, driven: Run) -> None:
    left, right = (play(forked(driven, profile=profile)) for profile in ("v1.34", "v1.36"))
    refused = RunEvent.objects.filter(run=right, kind="FailedScheduling")
    seqs = [*refused.values_list("seq", flat=True)]
    assert seqs
    events_change(right.pk, seqs, message="in other words")
    assert compared(client, left, right)["decision"] is None


def test_the_boards_mark_pods_that_are_elsewhere(client: Client, driven: Run) -> None:
    boards = compared(client, driven, cordoned(driven))["boards"]
    placed = {pod["pod"]: pod["elsewhere"] for node in boards["a"]["nodes"] for pod in node["pods"]}
    assert placed["pod/default/late"] is True
    assert not all(placed.values())
    assert "pod/default/late" in [pod["pod"] for pod in boards["b"]["waits"]]


def test_the_line_of_waiting_ends_as_the_board(client: Client, driven: Run) -> None:
    told = compared(client, driven, cordoned(driven))
    for side in ("a", "b"):
        assert told["axis"]["waiting"][side][-1] == len(told["boards"][side]["waits"])


def test_a_pod_made_with_a_node_never_waits(client: Client, driven: Run) -> None:
    fork = forked(driven, seq=before_late(driven))
    placed = pod("placed", nodeName="n1")
    command(fork, verb="create", manifest=placed)
    command(fork, verb="delete", object="pod/default/placed", grace_seconds=0)
    told = compared(client, driven, play(fork))
    assert RunEvent.objects.filter(run=fork, kind="PodDeleted").exists()
    assert told["axis"]["waiting"]["b"][-1] == len(told["boards"]["b"]["waits"])


def test_choices_and_gates_are_named_as_inputs(driven: Run) -> None:
    other = forked(driven, seed=5, profile="v1.34")
    found = {each["what"]: (each["a"], each["b"]) for each in inputs_apart(driven, other, 0)}
    assert found == {"profile": (driven.profile, "v1.34"), "seed": (driven.seed, 5)}


def test_the_changed_factor_of_a_score_is_named() -> None:
    def evidence(weight: int) -> dict[str, object]:
        def node(raw: int, rest: int) -> dict[str, object]:
            plugins = {"Fit": [raw, raw, raw * weight], "Rest": [rest, rest, rest]}
            return {"total": raw * weight + rest, "plugins": plugins}

        return {
            "weights": {"Fit": weight, "Rest": 1},
            "scores": {"n1": node(40, 74), "n3": node(39, 76)},
        }

    told = calculation.beside("n3", "n1", evidence(1), evidence(3))
    assert told
    assert told["changed"] == ["Fit"]
    assert [(row["node"], row["a"]["total"], row["b"]["total"]) for row in told["rows"]] == [
        ("n3", 115, 193),
        ("n1", 114, 194),
    ]
    assert calculation.beside("n3", "n3", evidence(1), evidence(3)) is None


def test_the_rule_behind_a_later_binding_is_named(client: Client) -> None:
    path = FOLDER / "unheard-deletion.yaml"
    scenario = services.scenario_store(
        name="unheard", result=load_files([(path.name, path.read_bytes())])
    )
    older, newer = (
        play(services.run_create(scenario=scenario, profile=profile, seed=0))
        for profile in ("v1.34", "v1.36")
    )
    told = compared(client, older, newer)
    [row] = told["waits"]["rows"]
    assert (row["a"] // 10**9, row["b"] // 10**9, row["ratio"]) == (330, 6, 54.9)
    assert told["decision"] is None
    assert told["rule"]["rule"] == "InterPodAffinity: complete_pod_hints"
    assert "is bound 330.007 s after its creation" in told["sentence"]
    assert "54.9 times as long" in told["sentence"]


def test_another_moment_reads_no_whole_history(
    client: Client, driven: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    fork = cordoned(driven)
    whole = compared(client, driven, fork)
    monkeypatch.setattr(comparing, "divergence", pytest.fail)
    earlier = compared(client, driven, fork, "&at=1")
    assert earlier["placements"]["count"] == 0
    parts = WholeHistories.__annotations__
    assert {part: earlier[part] for part in parts} == {part: whole[part] for part in parts}


def test_a_run_that_went_on_is_read_again(client: Client, driven: Run) -> None:
    fork = forked(driven, seq=driven.head_seq // 2)
    before = compared(client, driven, fork)
    after = compared(client, driven, play(fork))
    assert before["shared"] < after["shared"] == driven.head_seq


def test_the_description_names_the_whole_answer(client: Client, driven: Run) -> None:
    told = compared(client, driven, cordoned(driven))
    schema = yaml.safe_load(client.get("/api/v1/schema/").content)
    parts = schema["components"]["schemas"]
    assert names_of(told, parts["ComparedComparison"], parts) == []


def names_of(
    value: Any, described: dict[str, Any], parts: dict[str, Any], at: str = ""
) -> list[str]:
    """Where an answer and its description name other fields."""
    described = (described.get("allOf") or described.get("oneOf") or [described])[0]
    described = parts[described["$ref"].rsplit("/", 1)[1]] if "$ref" in described else described
    if isinstance(value, list):
        items = described["items"]
        return [each for one in value for each in names_of(one, items, parts, f"{at}[]")]
    if not isinstance(value, dict) or not described.get("properties"):
        return []
    known = described["properties"]
    apart = [f"{at}.{name}" for name in {**value, **known} if (name in value) != (name in known)]
    inner = (names_of(value[name], known[name], parts, f"{at}.{name}") for name in known)
    return apart or [each for found in inner for each in found]
