"""The table of all rules: one row for each rule, one value for each version.

The sentence of a rule is the docstring beneath its field, so that it cannot be forgotten: `rules`
raises AssertionError for a field without one.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import Any, Final, cast

from engine.api_server.admission.rules import AdmissionRules
from engine.controllers.persistent_volumes.rules import ControllerRules
from engine.controllers.shared.rules import WorkloadRules
from engine.framework.nodes.cache_rules import CacheRules
from engine.framework.rules.preemption import PreemptionRules
from engine.framework.rules.queue import QueueRules
from engine.framework.wording import Wording
from engine.kernel.units import MILLISECOND, SECOND
from engine.kubelet.container_rules import ContainerRules
from engine.objects.pods.pod_resources import ResourceRules
from engine.storage.binding.binder import BinderRules
from engine.storage.rules import StorageRules
from engine.versions.configuration_rules import ConfigurationRules, PolicyRules
from engine.versions.cycle_rules import CycleRules, ExtenderRules
from engine.versions.default_plugins import DefaultPlugins
from engine.versions.gates import GATES
from engine.versions.kubernetes_version import KubernetesVersion
from engine.versions.plugin_settings import SETTINGS
from engine.versions.registry import VERSIONS

NONE: Final = "–"
# The class of rules behind each field of KubernetesVersion, and what the table calls its area.
_AREAS: Final[Mapping[str, tuple[str, type[Any]]]] = {
    "cycle": ("Scheduling and binding", CycleRules),
    "preemption": ("Preemption", PreemptionRules),
    "queue": ("Queue", QueueRules),
    "cache": ("Scheduler cache", CacheRules),
    "resources": ("Requests", ResourceRules),
    "extenders": ("Extenders", ExtenderRules),
    "admission": ("Admission and evictions", AdmissionRules),
    "workloads": ("Workload controllers", WorkloadRules),
    "containers": ("Containers", ContainerRules),
    "storage": ("Storage", StorageRules),
    "controller": ("PV controller", ControllerRules),
    "binder": ("Volume binder", BinderRules),
    "configuration": ("Configuration", ConfigurationRules),
    "policy": ("Policy", PolicyRules),
}
_VERSION: Final = ("is_measured", "formats", "namespaces_have_name_label", "wording")
# The rows about a plugin: a setting says more than its place and its weight do.
_PLUGIN_AREAS: Final = ("Plugin settings", "Default plugins")
_NANOSECONDS: Final = "nanoseconds"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One row. `values` are texts, one for each version, the newest first."""

    area: str
    name: str
    sentence: str
    values: tuple[str, ...]
    # The plugin that the rule is about, or "".
    plugin: str = ""

    @property
    def anchor(self) -> str:
        """The id of the row on a page."""
        words = f"{self.area} {self.name}".lower().replace("_", " ").replace(":", "").split()
        return "-".join(words)

    @property
    def differs(self) -> bool:
        """Whether two versions differ in it."""
        return len(frozenset(self.values)) > 1


@cache
def rules() -> tuple[Rule, ...]:
    """Every rule, by area."""
    return (*_rules_of_versions(), *_rules_of_gates(), *_rules_of_plugins(), *_rules_of_areas())


def _rules_of_versions() -> Iterator[Rule]:
    sentences = _sentences(KubernetesVersion)
    for name in _VERSION:
        values = tuple(_text(getattr(version, name)) for version in VERSIONS.values())
        yield Rule(area="Version", name=name, sentence=sentences[name], values=values)


def _rules_of_gates() -> Iterator[Rule]:
    for name, meaning in GATES.items():
        gates = (version.feature_gates.get(name) for version in VERSIONS.values())
        values = tuple(NONE if gate is None else gate.shown for gate in gates)
        yield Rule(area="Feature gates", name=name, sentence=meaning.sentence, values=values)


def _rules_of_areas() -> Iterator[Rule]:
    for attribute, (area, kind) in _AREAS.items():
        sentences = _sentences(kind)
        in_seconds = _NANOSECONDS in (kind.__doc__ or "")
        for field in fields(kind):
            if not field.init or field.name == "resources":
                continue
            assert field.name in sentences, f"{kind.__name__}.{field.name} has no docstring"
            held = (getattr(version, attribute) for version in VERSIONS.values())
            values = tuple(
                NONE if rules is None else _text(getattr(rules, field.name), in_seconds)
                for rules in held
            )
            yield Rule(area=area, name=field.name, sentence=sentences[field.name], values=values)


def _rules_of_plugins() -> Iterator[Rule]:
    defaults = [version.plugins for version in VERSIONS.values()]
    everything = (name for one in defaults for name in (*one.filters, *dict(one.scores)))
    for name in dict.fromkeys(everything):
        yield Rule(
            area="Default plugins",
            name=name,
            sentence=f"The place of {name} among the default filters, and its weight as a score.",
            values=tuple(_place_and_weight(name, one) for one in defaults),
            plugin=name,
        )
    yield Rule(
        area="Default plugins",
        name="old_scores",
        sentence=_sentences(DefaultPlugins)["old_scores"],
        values=tuple(_text(one.old_scores) for one in defaults),
    )
    for name, settings in SETTINGS.items():
        for setting, meaning in settings.items():
            arguments = [one.arguments.get(name) for one in defaults]
            yield Rule(
                area="Plugin settings",
                name=f"{name}: {setting}",
                sentence=meaning.sentence,
                values=tuple(NONE if one is None else _text(one[setting]) for one in arguments),
                plugin=name,
            )


def _place_and_weight(name: str, plugins: DefaultPlugins) -> str:
    said: list[str] = []
    if name in plugins.filters:
        said.append(f"filter {plugins.filters.index(name) + 1}")
    weight = dict(plugins.scores).get(name)
    if weight is not None:
        said.append(f"weight {weight:,}")
    return ", ".join(said) or NONE


@cache
def _sentences(kind: type[Any]) -> Mapping[str, str]:
    """The docstrings beneath the fields of *kind*."""
    (tree,) = ast.parse(inspect.getsource(kind)).body
    body = cast("ast.ClassDef", tree).body
    found: dict[str, str] = {}
    for before, after in zip(body, body[1:], strict=False):
        if isinstance(before, ast.AnnAssign) and isinstance(after, ast.Expr):
            name, text = cast("ast.Name", before.target).id, cast("ast.Constant", after.value).value
            found[name] = " ".join(str(text).split())
    return found


def _text(value: Any, in_seconds: bool = False) -> str:
    if value is None or value in ("", (), {}):
        return NONE
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return _duration(value) if in_seconds and value >= MILLISECOND else f"{value:,}"
    if isinstance(value, Wording):
        said = (reason for reasons in value.reasons.values() for reason in reasons)
        return "; ".join(dict.fromkeys(said))
    if isinstance(value, Mapping):
        entries = cast("Mapping[str, Any]", value).items()
        return "; ".join(f"{name}: {_text(one)}" for name, one in entries)
    if isinstance(value, tuple):
        found = cast("tuple[Any, ...]", value)
        if hasattr(found, "_fields"):
            return " ".join(str(one) for one in found if one)
        return ", ".join(_text(one) for one in found)
    return str(value)


def _duration(nanoseconds: int) -> str:
    return f"{nanoseconds / SECOND:g} s"


@dataclass(frozen=True, slots=True)
class PluginChange:
    """A rule of the table of differences, as the profiles *a* and *b* have it.

    `since` is the version that brought the newer value; `anchor` the row's id on the page /versions/.
    """

    plugin: str
    rule: str
    sentence: str
    since: str
    a: str
    b: str
    anchor: str


def plugin_change(plugin: str, a: str, b: str) -> PluginChange | None:
    """The rule of *plugin* that differs between the profiles *a* and *b*; None where none does."""
    names = tuple(VERSIONS)
    if a not in names or b not in names:
        return None
    newer, older = sorted((names.index(a), names.index(b)))
    found = [
        rule
        for area in _PLUGIN_AREAS
        for rule in rules()
        if rule.area == area and rule.plugin == plugin and rule.values[newer] != rule.values[older]
    ]
    if not found:
        return None
    rule = found[0]
    return PluginChange(
        plugin=plugin,
        rule=rule.name,
        sentence=rule.sentence,
        since=_since(rule, newer, older),
        a=rule.values[names.index(a)],
        b=rule.values[names.index(b)],
        anchor=rule.anchor,
    )


def _since(rule: Rule, newer: int, older: int) -> str:
    """The oldest version down to which the newer value holds; the newest version stands first."""
    place = newer
    while place + 1 < older and rule.values[place + 1] == rule.values[newer]:
        place += 1
    return tuple(VERSIONS)[place]


def markdown() -> str:
    """docs/versions.md: the rules in which versions differ, by area."""
    lines = [_HEAD]
    areas = dict.fromkeys(rule.area for rule in rules())
    for area in areas:
        rows = [rule for rule in rules() if rule.area == area and rule.differs]
        if not rows:
            continue
        lines += [f"## {area}", "", _row(("rule", *VERSIONS, "meaning"))]
        lines.append(_row("---" for _ in range(len(VERSIONS) + 2)))
        lines += [_row((f"`{rule.name}`", *rule.values, rule.sentence)) for rule in rows]
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _row(cells: Any) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


_HEAD: Final = """# What differs between the Kubernetes versions

A run follows one version of Kubernetes, its profile. This table has every rule in which the
versions differ; `manage.py versions --write` makes it from `engine/versions`. The page
`/versions/` shows the same, with the rules that are equal in all of them.
"""
