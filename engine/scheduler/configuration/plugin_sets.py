"""Which plugins take part at which extension point, as a configuration's `plugins` says.

Upstream: pkg/scheduler/apis/config/*/default_plugins.go mergePlugins(), framework/runtime/
framework.go expandMultiPointPlugins() (v1.34); apis/config Plugins.Apply() (v1.20).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from engine.framework import names
from engine.framework.simple import ColumnsFactory
from engine.input.reading import ConfigurationError, Fields
from engine.scheduler.configuration.registry import IN_TREE, OWN_PLUGINS, UnknownPlugin, factory_of
from engine.versions.kubernetes_version import KubernetesVersion

POINTS = (
    "preEnqueue",
    "queueSort",
    "preFilter",
    "filter",
    "postFilter",
    "preScore",
    "score",
    "reserve",
    "permit",
    "preBind",
    "bind",
    "postBind",
)
_MULTI_POINT = "multiPoint"
# In this order multiPoint is expanded. Upstream: getExtensionPoints().
_EXPANDED = (
    *("preFilter", "filter", "postFilter", "reserve", "preScore", "score"),
    *("preBind", "bind", "postBind", "permit", "preEnqueue", "queueSort"),
)
# What a plugin class has at each point.
_METHODS = {
    "preEnqueue": "pre_enqueue",
    "queueSort": "sort_key",
    "preFilter": "pre_filter",
    "filter": "filter",
    "postFilter": "post_filter",
    "preScore": "pre_score",
    "score": "score",
    "reserve": "reserve",
    "permit": "permit",
    "preBind": "pre_bind",
    "bind": "bind",
    "postBind": "post_bind",
}
# The scheduler itself does what these do; they have no class.
BUILT_IN = frozenset(
    (
        names.SCHEDULING_GATES,
        names.PRIORITY_SORT,
        names.DYNAMIC_RESOURCES,
        names.DEFAULT_PREEMPTION,
        names.DEFAULT_BINDER,
    )
)


@dataclass(slots=True)
class PluginSets:
    """The plugins that take part at each extension point, in order."""

    points: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    weights: dict[str, int] = field(default_factory=dict[str, int])

    def of(self, point: str) -> tuple[str, ...]:
        """The plugins at *point*."""
        return self.points.get(point, ())

    def weight(self, name: str) -> int:
        """The weight of a score."""
        return self.weights.get(name) or 1


class Catalogue:
    """The in-tree plugins that a configuration for *version* can name, and what they extend."""

    def __init__(self, version: KubernetesVersion) -> None:
        self.version = version.name
        self.plugins = version.plugins
        # Scheduling gates, and with them PreEnqueue, came with a multiPoint that had them.
        self.points = POINTS if self.plugins.multi_point else POINTS[1:]
        self.in_tree: Mapping[str, tuple[str, ...]] = _points_of_plugins(version)

    def points_of(self, name: str) -> tuple[str, ...]:
        """The extension points that plugin *name* takes part at. Raises UnknownPlugin."""
        points = self.in_tree.get(name)
        if points is not None:
            return points
        known = ", ".join(self.in_tree)
        problem = f"there is no plugin {name!r} in {self.version}; known are {known}"
        if name in IN_TREE:
            # A predicate or priority of v1.16, say, which this format cannot name.
            raise UnknownPlugin(problem)
        try:
            factory = factory_of(name)
        except UnknownPlugin:
            raise UnknownPlugin(f"{problem}; {OWN_PLUGINS}") from None
        built = factory.columns if isinstance(factory, ColumnsFactory) else factory
        return tuple(point for point in self.points if hasattr(built, _METHODS[point]))

    def check(self, item: Fields, name: str, point: str) -> None:
        """Raise ConfigurationError unless *name* is a plugin, and one that extends *point*."""
        try:
            points = self.points_of(name)
        except UnknownPlugin as unknown:
            raise item.error("name", str(unknown)) from unknown
        if point and point not in points:
            raise item.error("name", f'plugin "{name}" does not extend {_interface(point)} plugin')


def _points_of_plugins(version: KubernetesVersion) -> dict[str, tuple[str, ...]]:
    """The extension points by plugin."""
    assert version.configuration is not None
    optional = version.configuration.optional_plugins
    found = {plugin.name: plugin.points for plugin in version.plugins.multi_point}
    for point, plugins in version.plugins.by_point.items():
        for name, _ in plugins:
            found[name] = (*found.get(name, ()), point)
    return {**found, **{plugin.name: plugin.points for plugin in optional}}


@dataclass(slots=True)
class _Choice:
    """What one extension point enables (name → weight) and disables."""

    enabled: dict[str, int] = field(default_factory=dict[str, int])
    disabled: frozenset[str] = frozenset()
    # What multiPoint enables again: a fault where such a plugin comes from there.
    again: list[Fields] = field(default_factory=list[Fields])

    def inherits(self, name: str) -> bool:
        """Whether this point takes plugin *name* from multiPoint."""
        return not {"*", name} & self.disabled and name not in self.enabled


def plugin_sets(fields: Fields | None, catalogue: Catalogue) -> PluginSets:
    """What `plugins` makes of the defaults. Raises ConfigurationError."""
    if not catalogue.plugins.multi_point:
        return _appended(fields, catalogue)
    choices = {point: _Choice() for point in (_MULTI_POINT, *POINTS)}
    if fields is not None:
        fields.only(_MULTI_POINT, *POINTS)
        for point in choices:
            chosen = fields.mapping(point)
            if chosen is not None:
                choices[point] = _choice(chosen.only("enabled", "disabled"), point, catalogue)
    multi = _merged(choices[_MULTI_POINT], catalogue)
    _check_again(choices, catalogue)
    sets = PluginSets()
    for point in POINTS:
        choice = choices[point]
        # First what is enabled here and by multiPoint, then multiPoint's others, then the rest.
        implementing = [name for name in multi if point in catalogue.points_of(name)]
        # A plugin that is disabled here does not come from multiPoint, and comes last if it is enabled.
        if "*" in choice.disabled:
            implementing = []
        implementing = [name for name in implementing if name not in choice.disabled]
        both = [name for name in choice.enabled if name in implementing]
        inherited = [name for name in implementing if name not in choice.enabled]
        rest = [name for name in choice.enabled if name not in both]
        sets.points[point] = (*both, *inherited, *rest)
    for name in sets.of("score"):
        sets.weights[name] = choices["score"].enabled.get(name, multi.get(name, 0)) or 1
    return sets


def _check_again(choices: Mapping[str, _Choice], catalogue: Catalogue) -> None:
    """Refuse a plugin that multiPoint enables twice, unless each point enables it too.

    Upstream: expandMultiPointPlugins().
    """
    for point in _EXPANDED:
        for item in choices[_MULTI_POINT].again:
            name = item.text("name")
            if point in catalogue.points_of(name) and choices[point].inherits(name):
                raise item.error("name", _registered(name, point))


def _appended(fields: Fields | None, catalogue: Catalogue) -> PluginSets:
    """Without multiPoint: at each point the defaults that are not disabled, then what is enabled."""
    if fields is not None:
        fields.only(*catalogue.points)
    sets = PluginSets()
    for point in catalogue.points:
        chosen = None if fields is None else fields.mapping(point)
        choice = _Choice()
        if chosen is not None:
            choice = _choice(chosen.only("enabled", "disabled"), point, catalogue)
        found = {
            name: weight
            for name, weight in catalogue.plugins.by_point.get(point, ())
            if "*" not in choice.disabled and name not in choice.disabled
        }
        for name in choice.enabled:
            if name in found:
                path = "" if chosen is None else chosen.at("enabled")
                raise ConfigurationError(path, name, _registered(name, point))
        found |= choice.enabled
        sets.points[point] = tuple(found)
        if point == "score":
            sets.weights = {name: weight or 1 for name, weight in found.items()}
    return sets


def _merged(custom: _Choice, catalogue: Catalogue) -> dict[str, int]:
    """The default multiPoint with what is enabled and disabled laid over it."""
    merged: dict[str, int] = {}
    if "*" not in custom.disabled:
        for name, weight, _ in catalogue.plugins.multi_point:
            if name not in custom.disabled:
                merged[name] = custom.enabled.get(name, weight)
    for name, weight in custom.enabled.items():
        merged.setdefault(name, weight)
    return merged


def _choice(fields: Fields, point: str, catalogue: Catalogue) -> _Choice:
    choice = _Choice()
    disabled: list[str] = []
    for item in fields.items("disabled"):
        name = item.only("name", "weight").text("name")
        # Upstream accepts here the name of a plugin that does not exist.
        disabled.append(name)
    for item in fields.items("enabled"):
        name = item.only("name", "weight").text("name")
        catalogue.check(item, name, "" if point == _MULTI_POINT else point)
        if name in choice.enabled and point != _MULTI_POINT:
            raise item.error("name", _registered(name, point))
        if name in choice.enabled:
            choice.again.append(item)
        choice.enabled[name] = item.integer("weight", 0, low=-(1 << 31), high=(1 << 31) - 1)
    choice.disabled = frozenset(disabled)
    return choice


def _registered(name: str, point: str) -> str:
    """Upstream: updatePluginList(), expandMultiPointPlugins()."""
    return f'plugin "{name}" already registered as "{_interface(point)}"'


def _interface(point: str) -> str:
    """The interface of plugins at *point*, as upstream calls it."""
    return f"{point[0].upper()}{point[1:]}Plugin"
