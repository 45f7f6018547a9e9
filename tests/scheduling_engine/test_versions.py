"""Each version of Kubernetes is one file that spells out every rule."""

import ast
import inspect
from dataclasses import fields, is_dataclass
from pathlib import Path
from types import ModuleType

import pytest

from kscope.sim.objects import pod_resources
from scheduling.engine.configuration.profiles import PROFILES
from scheduling.engine.nodes import cache
from scheduling.engine.preemption import preemption
from scheduling.engine.queue import rules as queue_rules
from scheduling.engine.versions import configuration_rules, cycle_rules, kubernetes_version
from scheduling.engine.versions.choices import version_choices
from scheduling.engine.versions.differences import markdown, plugin_change, rules
from scheduling.engine.versions.plugin_settings import SETTINGS
from scheduling.engine.versions.registry import DEFAULT, VERSIONS
from scheduling.engine.workloads import rules as workload_rules
from volumes.engine import actors
from volumes.engine.binding import binder
from volumes.engine.pv_controller import writer

FOLDER = Path(inspect.getfile(kubernetes_version)).parent
FILES = sorted(FOLDER.glob("v1_*.py"))
MODULES: tuple[ModuleType, ...] = (
    actors,
    binder,
    cache,
    configuration_rules,
    cycle_rules,
    kubernetes_version,
    pod_resources,
    preemption,
    queue_rules,
    workload_rules,
    writer,
)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_a_version_file_spells_out_every_rule(file: Path) -> None:
    kinds = {name: kind for module in MODULES for name, kind in vars(module).items()}
    spelled: list[str] = []
    for node in ast.walk(ast.parse(file.read_text())):
        kind = kinds.get(node.func.id) if _is_plain_call(node) else None  # type: ignore[attr-defined]
        if isinstance(kind, type) and is_dataclass(kind):
            told = {keyword.arg for keyword in node.keywords}  # type: ignore[attr-defined]
            assert told == {field.name for field in fields(kind) if field.init}, kind.__name__
            spelled.append(kind.__name__)
    assert len(spelled) >= 12


def _is_plain_call(node: ast.AST) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name)


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


def test_every_rule_has_one_sentence() -> None:
    for rule in rules():
        assert rule.sentence.endswith("."), rule
        assert len(rule.values) == len(VERSIONS)


def test_anchors_of_rules_are_unique() -> None:
    anchors = [rule.anchor for rule in rules()]
    assert len(anchors) == len(set(anchors))


def test_the_document_of_versions_is_current() -> None:
    path = FOLDER.parents[2] / "docs" / "versions.md"
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
    assert (taint.since, taint.a, taint.b) == ("v1.35", "no", "yes")


def test_an_equal_plugin_has_no_change() -> None:
    assert plugin_change("NodeName", "v1.34", "v1.36") is None
    assert plugin_change("NodeName", "v1.34", "v9") is None
