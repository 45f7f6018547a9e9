"""Each version of Kubernetes is one file that states what it changed."""

import ast
import inspect
from itertools import pairwise
from pathlib import Path

import pytest

from engine.objects.pods.pod_resources import NEWEST
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.preemption.dry_run import COLUMN_RULES
from engine.versions import kubernetes_version
from engine.versions.gates import ON
from engine.versions.kubernetes_version import KubernetesVersion
from engine.versions.plugin_settings import SETTINGS
from engine.versions.registry import DEFAULT, VERSIONS
from engine.versions.shown.choices import version_choices
from engine.versions.shown.differences import markdown, plugin_change, rules

FOLDER = Path(inspect.getfile(kubernetes_version)).parent
FILES = sorted(FOLDER.glob("v1_*.py"))
OLDEST_FIRST = list(VERSIONS.values())[::-1]


@pytest.mark.parametrize(("before", "after"), [*pairwise(OLDEST_FIRST)], ids=lambda one: one.name)
def test_a_version_states_only_what_it_changes(
    before: KubernetesVersion, after: KubernetesVersion
) -> None:
    variable = after.name.upper().replace(".", "_")
    tree = ast.parse((FOLDER / f"{variable.lower()}.py").read_text())
    (made,) = (
        node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and variable == ast.unparse(node.targets[0])
    )
    assert isinstance(made, ast.Call)
    assert ast.unparse(made.func) == f"{before.name.upper().replace('.', '_')}.but"
    for keyword in made.keywords:
        area = str(keyword.arg)
        if isinstance(keyword.value, ast.Dict) and area not in ("feature_gates", "settings"):
            for rule in map(ast.literal_eval, filter(None, keyword.value.keys)):
                old, new = (getattr(getattr(one, area), rule) for one in (before, after))
                assert old != new, f"{area}: {rule}"


def test_a_difference_names_existing_rules() -> None:
    with pytest.raises(TypeError, match="waits_longer"):
        DEFAULT.but(name="v9", queue={"waits_longer": True})
    with pytest.raises(TypeError, match="kubelets"):
        DEFAULT.but(name="v9", kubelets={})


def test_a_gate_brings_its_rules_along() -> None:
    later = VERSIONS["v1.34"].but(name="v9", feature_gates={"NodeDeclaredFeatures": ON})
    assert later.plugins.filters[-1] == "NodeDeclaredFeatures"
    assert later.queue.sees_declared_features
    gone = later.but(name="v10", feature_gates={"NodeDeclaredFeatures": None})
    assert "NodeDeclaredFeatures" not in gone.feature_gates
    assert gone.plugins == later.plugins


def test_code_for_the_newest_follows_its_rules() -> None:
    assert DEFAULT.resources == NEWEST == DEFAULT.queue.resources == DEFAULT.cache.resources
    assert DEFAULT.preemption == COLUMN_RULES


@pytest.mark.parametrize(
    ("version", "scores"),
    [
        # Upstream: v1.36 default_plugins.go getDefaultPlugins().
        (
            "v1.36",
            {
                "TaintToleration": 3,
                "NodeAffinity": 2,
                "NodeResourcesFit": 1,
                "PodTopologySpread": 2,
                "InterPodAffinity": 2,
                "DynamicResources": 2,
                "NodeResourcesBalancedAllocation": 1,
                "ImageLocality": 1,
            },
        ),
        # Upstream: v1.20 registry.go getDefaultConfig(); the names and the scale are the engine's.
        (
            "v1.20",
            {
                "NodeResourcesBalancedAllocation": 1,
                "ImageLocality": 1,
                "InterPodAffinity": 1,
                "NodeResourcesFit": 1,
                "NodeAffinity": 1,
                "NodePreferAvoidPodsPriority": 100_000,
                "PodTopologySpread": 2,
                "TaintToleration": 1,
            },
        ),
    ],
)
def test_default_scores_have_the_weights_of_upstream(version: str, scores: dict[str, int]) -> None:
    assert VERSIONS[version].plugins.scores == tuple(scores.items())


def test_default_predicates_of_1_16_follow_upstreams_order() -> None:
    """Upstream: v1.16 predicates.go predicatesOrdering, defaults.go defaultPredicates()."""
    assert VERSIONS["v1.16"].plugins.filters == (
        "PodPassesBasicChecks",
        "CheckNodeUnschedulable",
        "GeneralPredicates",
        "NoDiskConflict",
        "PodToleratesNodeTaints",
        "MaxEBSVolumeCount",
        "MaxGCEPDVolumeCount",
        "MaxCSIVolumeCountPred",
        "MaxAzureDiskVolumeCount",
        "CheckVolumeBinding",
        "NoVolumeZoneConflict",
        "MatchInterPodAffinity",
    )


def test_versions_are_listed_newest_first() -> None:
    numbers = [tuple(map(int, name.removeprefix("v").split("."))) for name in VERSIONS]
    assert numbers == sorted(numbers, reverse=True)
    assert VERSIONS[DEFAULT.name] is DEFAULT
    assert list(PROFILES) == list(VERSIONS)


def test_every_version_file_is_registered() -> None:
    assert {file.stem.replace("_", ".") for file in FILES} == set(VERSIONS)


def test_every_plugin_setting_has_a_meaning() -> None:
    for version in VERSIONS.values():
        told = {name: set(arguments) for name, arguments in version.plugins.arguments.items()}
        assert told == {name: set(SETTINGS[name]) for name in told}


def test_every_default_plugin_states_its_settings() -> None:
    """Without them it would do what its class falls back to, which is the newest version's way."""
    for version in VERSIONS.values():
        plugins = version.plugins
        asked = {*plugins.filters, *plugins.post_filters, *(name for name, _ in plugins.scores)}
        silent = asked & set(SETTINGS) - set(plugins.arguments) - set(plugins.unasked)
        assert not silent, f"{version.name}: name them in settings_of()"


def test_every_rule_has_one_sentence() -> None:
    for rule in rules():
        assert rule.sentence.endswith("."), rule
        assert len(rule.values) == len(VERSIONS)


def test_anchors_of_rules_are_unique() -> None:
    anchors = [rule.anchor for rule in rules()]
    assert len(anchors) == len(set(anchors))


def test_the_document_of_versions_is_current() -> None:
    path = FOLDER.parents[1] / "docs" / "versions.md"
    assert path.read_text() == markdown(), "run manage.py versions --write"


def test_choices_say_what_state_machines_need() -> None:
    has = {choice.name: choice.has for choice in version_choices()}
    assert has["v1.34"] == ("gates", "early_pop")
    assert has["v1.20"] == has["v1.16"] == has["v1.11"] == ("expiry",)


def test_a_change_names_its_version() -> None:
    change = plugin_change("NodeResourcesBalancedAllocation", "v1.34", "v1.36")
    assert change is not None
    assert (change.rule, change.since, change.a, change.b) == (
        "NodeResourcesBalancedAllocation: scores_improvement",
        "v1.36",
        "no",
        "yes",
    )
    taint = plugin_change("TaintToleration", "v1.36", "v1.34")
    assert taint is not None
    assert (taint.since, taint.a, taint.b) == ("v1.34.9", "no", "yes")


def test_an_equal_plugin_has_no_change() -> None:
    assert plugin_change("NodeName", "v1.34", "v1.36") is None
    assert plugin_change("NodeName", "v1.34", "v9") is None
