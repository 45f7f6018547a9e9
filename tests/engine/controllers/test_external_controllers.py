"""Controllers that a scenario leaves to a client of the Kubernetes API."""

from typing import Any

import pytest

from engine.controllers.actors import EXTERNAL
from engine.input.header.external import EXTERNAL_CONTROLLERS
from engine.input.loader import load_files
from engine.input.scenario import Scenario
from engine.versions.registry import VERSIONS
from tests.engine.controllers.workloads.builders import World, make, make_node

OBJECTS = (make_node("n1"), make("Deployment", replicas=2))


def played(*external: str, profile: str = "v1.36") -> World:
    """A Deployment on one node after half a minute, with these controllers elsewhere."""
    world = World(*OBJECTS, profile=profile, external_controllers=external)
    world.run(30)
    return world


def kinds(world: World) -> dict[str, int]:
    """How many objects of each kind of the Deployment there are."""
    return {each: len(world.store.objects(each)) for each in ("ReplicaSet", "Pod")}


def test_external_controller_writes_nothing_in_run() -> None:
    assert kinds(played()) == {"ReplicaSet": 1, "Pod": 2}
    assert kinds(played("deployment")) == {"ReplicaSet": 0, "Pod": 0}
    assert kinds(played("replicaset")) == {"ReplicaSet": 1, "Pod": 0}


def test_external_controller_is_not_restarted() -> None:
    world = played("deployment")
    world.cluster.workloads.restart(["deployment-controller", "replicaset-controller"])
    world.run(30)
    assert kinds(world) == {"ReplicaSet": 0, "Pod": 0}


@pytest.mark.parametrize("profile", list(VERSIONS))
def test_all_external_controllers_may_be_elsewhere(profile: str) -> None:
    world = played(*EXTERNAL_CONTROLLERS, profile=profile)
    assert kinds(world) == {"ReplicaSet": 0, "Pod": 0}


def test_each_external_name_has_its_controller() -> None:
    assert EXTERNAL.keys() == set(EXTERNAL_CONTROLLERS)


def _header(external: Any) -> str:
    return f"apiVersion: kscope.dev/v1\nkind: Scenario\nmetadata: {{name: x}}\nspec: {{externalControllers: {external}}}\n"


def test_names_of_controllers_are_read_either_way() -> None:
    loaded = load_files([("x.yaml", _header("[job-controller, deployment, job]").encode())])
    scenario = Scenario.from_load(loaded, name="x")
    assert scenario.external_controllers == ("deployment", "job")
    assert Scenario.from_dict(scenario.to_dict()) == scenario


@pytest.mark.parametrize(
    ("given", "problem"),
    [
        (
            "[scheduler]",
            '"scheduler" is no controller that can be left to a client; these are cronjob,',
        ),
        ("[7]", "7 is no controller that can be left to a client"),
        ("job", 'expected a list, found "job"'),
    ],
)
def test_unknown_external_controllers_are_refused(given: str, problem: str) -> None:
    loaded = load_files([("x.yaml", _header(given).encode())])
    (found,) = loaded.problems
    assert problem in str(found)
    assert "externalControllers" in str(found)
