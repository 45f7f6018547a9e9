"""What is in force says what is asked, and marks what is not as the version comes."""

from typing import Any

import pytest

from engine.scheduler.configuration.configuration import read_setup
from engine.scheduler.configuration.in_force import described
from engine.scheduler.configuration.setup import default_setup
from engine.versions.registry import DEFAULT, VERSIONS

CONFIGURED: dict[str, Any] = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "podInitialBackoffSeconds": 2,
    "profiles": [
        {
            "plugins": {
                "score": {
                    "disabled": [{"name": "ImageLocality"}],
                    "enabled": [{"name": "NodeResourcesFit", "weight": 5}],
                }
            },
            "pluginConfig": [{"name": "InterPodAffinity", "args": {"hardPodAffinityWeight": 7}}],
        }
    ],
}


def point(found: dict[str, Any], name: str) -> dict[str, Any]:
    """The extension point of that name of the only profile."""
    return next(one for one in found["profiles"][0]["points"] if one["point"] == name)


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_is_marked_without_a_configuration(version: str) -> None:
    found = described(default_setup(VERSIONS[version]))
    points = found["profiles"][0]["points"]
    assert [one["point"] for one in points if one["removed"]] == []
    assert [each for one in points for each in one["plugins"] if each["is_changed"]] == []
    assert len(point(found, "filter")["plugins"]) > 5


def test_another_weight_is_marked() -> None:
    score = point(described(read_setup(CONFIGURED, DEFAULT)), "score")
    plugins = {one["name"]: (one["weight"], one["is_changed"]) for one in score["plugins"]}
    assert plugins["NodeResourcesFit"] == (5, True)
    assert plugins["TaintToleration"] == (3, False)


def test_a_plugin_that_is_disabled_is_named() -> None:
    score = point(described(read_setup(CONFIGURED, DEFAULT)), "score")
    assert score["removed"] == ["ImageLocality"]


def test_arguments_are_those_of_the_configuration() -> None:
    found = described(read_setup(CONFIGURED, DEFAULT))
    filters = {one["name"]: one["arguments"] for one in point(found, "filter")["plugins"]}
    assert filters["InterPodAffinity"] == {"hardPodAffinityWeight": 7}
    assert filters["NodeResourcesFit"] == {}
    assert found["initial_backoff"] == 2_000_000_000
