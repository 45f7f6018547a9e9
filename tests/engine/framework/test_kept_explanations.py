"""Explanations of a whole cluster's attempts, beside the evidence that is written down at once."""

from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from engine.cluster.cluster import Cluster
from engine.framework.columns.explanation import Explanation
from engine.framework.columns.kept_verdicts import KeptVerdicts
from engine.input.generate import synthetic
from engine.input.scenario import Scenario
from engine.kernel.units import SECOND
from engine.scheduler.cycle import state
from engine.scheduler.cycle.attempt import SchedulingAttempt
from tests.builders import host, local_disk, node, pod, scene, user_of

PROFILES = ["v1.34", "v1.20", "v1.16", "v1.11"]


class Judge:
    """An extender that refuses the node b, and likes the others the less the shorter their name."""

    def post(self, url: str, body: bytes, timeout: int) -> bytes:
        asked = orjson.loads(body)
        names = asked["NodeNames"]
        if url.endswith("prioritize"):
            return orjson.dumps([{"host": name, "score": len(name)} for name in names])
        left = [name for name in names if name != "b"]
        return orjson.dumps({"nodenames": left, "failedNodes": {"b": "b is not for you"}})


def _crowded() -> Scenario:
    """Pods of three priorities on too few nodes: preemption, nominations, and second tries."""
    nodes = [node(f"n{number}", cpu="2") for number in range(6)]
    pods = [
        pod(f"p{number}", cpu="700m", priority=number // 8, terminationGracePeriodSeconds=3)
        for number in range(24)
    ]
    return scene(*nodes, *pods)


def _with_disks() -> Scenario:
    names = [f"n{number}" for number in range(5)]
    disks = [part for name in names[:3] for part in local_disk(f"c-{name}", name)[1:]]
    users = [user_of(f"c-{name}", f"p-{name}") for name in names]
    return scene(*map(host, names), local_disk("x", "n0")[0], *disks, *users)


def _judged() -> Scenario:
    extender = {
        "urlPrefix": "http://judge",
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 2,
        "nodeCacheCapable": True,
    }
    configuration = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "extenders": [extender],
    }
    nodes = [node("a", cpu="1"), node("b"), node("long", cpu="2"), node("longest", cpu="2")]
    pods = [pod(f"p{number}") for number in range(7)]
    return scene(*nodes, *pods, configuration=configuration)


SCENARIOS = {
    "synthetic": lambda: synthetic(40, 150),
    "crowded": _crowded,
    "disks": _with_disks,
    "judged": _judged,
}


def _played(scenario: Scenario, profile: str, **options: bool) -> tuple[Cluster, Any]:
    cluster = Cluster.create(scenario, profile=profile)
    cluster.extender_calls.transport = Judge()
    for one in cluster.schedulers:
        for name, value in options.items():
            setattr(one, name, value)
    cluster.advance(90 * SECOND)
    return cluster, cluster.take().attempts


def _evidence(explanation: Explanation) -> dict[str, Any]:
    """The part of docs/evidence.md that an explanation tells."""
    scores = explanation.scores()
    told: dict[str, Any] = {}
    if scores is not None:
        for place, row in enumerate(scores.rows.tolist()):
            plugins = {
                one.name: [
                    int(one.raw[place]),
                    int(one.normalized[place]),
                    int(one.weighted[place]),
                ]
                for one in scores.plugins
            }
            told[explanation.names[row]] = {"total": int(scores.total[place]), "plugins": plugins}
    return {
        "scores": told,
        "verdicts": {
            name: {"plugin": one.plugin, "code": one.code.value, "reasons": list(one.reasons)}
            for name, one in explanation.refused().items()
        },
        "looked_at": {explanation.names[row] for row in explanation.rows.tolist()},
    }


def _written(attempt: SchedulingAttempt) -> dict[str, Any]:
    evidence = attempt.evidence
    assert evidence is not None
    verdicts = {
        name: {key: told[key] for key in ("plugin", "code", "reasons")}
        for name, told in evidence["verdicts"].items()
    }
    looked_at = set(evidence["nodes"]) - set(evidence["not_evaluated"])
    return {"scores": evidence["scores"], "verdicts": verdicts, "looked_at": looked_at}


@pytest.fixture
def in_full(monkeypatch: pytest.MonkeyPatch) -> Iterator[pytest.MonkeyPatch]:
    """While this lasts, evidence is worked out anew for every attempt."""
    with monkeypatch.context() as patched:
        patched.setattr(KeptVerdicts, "has_met", lambda kept, pod: False)
        yield patched


# Extenders are configured another way before v1.18.
EVERYWHERE = [(name, profile) for name in SCENARIOS if name != "judged" for profile in PROFILES]


@pytest.mark.parametrize(("name", "profile"), EVERYWHERE)
def test_what_is_kept_is_what_the_evidence_says(
    name: str, profile: str, in_full: pytest.MonkeyPatch
) -> None:
    _, written = _played(SCENARIOS[name](), profile)
    in_full.setattr(state, "EAGER_EVIDENCE_NODES", 0)
    _, kept = _played(SCENARIOS[name](), profile, keep_explanations=True)
    assert len(kept) == len(written) > 4
    for told, attempt in zip(kept, written, strict=True):
        assert told.evidence is None
        assert _evidence(told.explanation) == _written(attempt)


@pytest.mark.parametrize(("name", "profile"), [*EVERYWHERE, ("judged", "v1.34")])
def test_evidence_from_columns_equals_fresh_evidence(
    name: str, profile: str, in_full: pytest.MonkeyPatch
) -> None:
    whole, written = _played(SCENARIOS[name](), profile)
    in_full.undo()
    by_columns, again = _played(SCENARIOS[name](), profile)
    assert again == written
    assert by_columns.digest() == whole.digest()


def test_what_extenders_say_is_kept_as_well(in_full: pytest.MonkeyPatch) -> None:
    _, written = _played(_judged(), "v1.34")
    in_full.setattr(state, "EAGER_EVIDENCE_NODES", 0)
    _, kept = _played(_judged(), "v1.34", keep_explanations=True)
    found = [_evidence(told.explanation) for told in kept]
    assert found == [_written(attempt) for attempt in written]
    assert found[0]["verdicts"]["b"]["reasons"] == ["b is not for you"]
    assert found[0]["scores"]["long"]["plugins"]["http://judge"] == [4, 40, 80]


def test_evidence_and_explanations_can_both_be_asked_for() -> None:
    _, attempts = _played(_crowded(), "v1.34", keep_explanations=True)
    for attempt in attempts:
        assert _evidence(attempt.explanation) == _written(attempt)


@pytest.mark.parametrize("limit", [0, 200])
def test_explaining_a_run_does_not_change_it(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "EAGER_EVIDENCE_NODES", limit)
    for scenario in (_crowded, _with_disks, lambda: synthetic(40, 150)):
        plain, _ = _played(scenario(), "v1.34")
        explained, _ = _played(scenario(), "v1.34", keep_explanations=True)
        assert plain.digest() == explained.digest()


def test_a_checkpoint_between_explained_attempts_changes_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(state, "EAGER_EVIDENCE_NODES", 0)
    whole, _ = _played(_crowded(), "v1.34", keep_explanations=True)
    cluster = Cluster.create(_crowded(), profile="v1.34")
    cluster.scheduler.keep_explanations = True
    attempts: list[SchedulingAttempt] = []
    while cluster.now < 90 * SECOND and cluster.next_at is not None:
        cluster.advance(90 * SECOND, max_steps=7)
        attempts += cluster.take().attempts
        cluster = Cluster.restore(cluster.checkpoint())
    assert cluster.digest() == whole.digest()
    assert all(one.explanation is not None for one in attempts)
