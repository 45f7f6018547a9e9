"""A run that leaves pods to a client, whatever its scenario says of its schedulers."""

from typing import Any

import pytest

from engine.cluster.cluster import Cluster
from engine.cluster.commands import Command
from engine.input.reading import ConfigurationError
from engine.input.scenario import Scenario
from engine.scheduler.configuration.scenario_schedulers import (
    check_setup,
    read_schedulers,
    with_external_scheduler,
)
from engine.versions.registry import DEFAULT
from tests.builders import node, node_of, played, pod, scene


def configuration(*names: str) -> dict[str, Any]:
    return {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "podMaxBackoffSeconds": 30,
        "profiles": [{"schedulerName": name} for name in names],
    }


def external(*entries: Any, document: Any = None) -> list[bool]:
    """Which of the schedulers leave their pods to a client."""
    specs = with_external_scheduler(read_schedulers(entries, document, DEFAULT))
    return [spec.setup.external for spec in specs]


def test_the_only_scheduler_leaves_its_pods() -> None:
    assert external() == [True]


def test_of_several_the_default_scheduler_leaves_its_pods() -> None:
    assert external({"name": "batch"}, {"name": "default-scheduler"}) == [False, True]


def test_entry_without_a_name_is_the_default_scheduler() -> None:
    assert external({"name": "batch"}, {}) == [False, True]


def test_without_default_scheduler_the_first_leaves_its_pods() -> None:
    assert external({"name": "batch"}, {"name": "second"}) == [True, False]


def test_an_entry_that_is_external_already_stays_so() -> None:
    assert external({"name": "batch", "external": True}, {}) == [True, True]


def test_a_configuration_among_the_files_is_kept() -> None:
    document = configuration("default-scheduler", "batch")
    [plain] = read_schedulers((), document, DEFAULT)
    [left] = read_schedulers((), document, DEFAULT, external=True)
    assert left.setup.external
    assert left.setup.profiles == plain.setup.profiles
    assert left.setup.max_backoff == plain.setup.max_backoff


def test_the_names_of_a_configuration_are_kept() -> None:
    [left] = read_schedulers((), configuration("mine"), DEFAULT, external=True)
    assert left.setup.names == ("mine",)


def test_replicas_are_refused_by_their_place() -> None:
    entries = ({"name": "batch"}, {"name": "default-scheduler", "replicas": 2})
    with pytest.raises(ConfigurationError, match="with external_scheduler") as refused:
        read_schedulers(entries, None, DEFAULT, external=True)
    assert (refused.value.path, refused.value.value) == ("schedulers[1].replicas", 2)


def test_replicas_of_another_scheduler_stay() -> None:
    entries = ({"name": "batch", "replicas": 2}, {"name": "default-scheduler"})
    specs = read_schedulers(entries, None, DEFAULT, external=True)
    assert [(spec.replicas, spec.setup.external) for spec in specs] == [(2, False), (1, True)]


def test_the_check_before_a_run_names_the_field() -> None:
    header = {"schedulers": [{"replicas": 2}]}
    assert check_setup(header, None).faults == []
    [fault] = check_setup({**header, "external_scheduler": True}, None).faults
    assert (fault.part, fault.path) == ("spec", "schedulers[0].replicas")


def test_a_client_decides_and_is_compared() -> None:
    cluster = played(Cluster.create(scene(node("a"), pod("p"), external_scheduler=True)), 1)
    assert node_of(cluster, "p") == ""
    assert cluster.apply(Command(verb="bind", object="pod/default/p", node="a")).applied
    [decision] = [one for one in cluster.untaken if one.kind == "ShadowDecision"]
    assert (decision.data or {})["verdict"] == "agrees"


def test_the_choice_is_part_of_the_scenario_form() -> None:
    chosen = scene(node("a"), external_scheduler=True)
    assert Scenario.from_dict(chosen.to_dict()) == chosen
    assert "external_scheduler" not in scene(node("a")).to_dict()
