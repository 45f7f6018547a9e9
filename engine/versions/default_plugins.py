"""The default plugins of a version, in their order, which stands nowhere else."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from engine.framework import names
from engine.versions.plugin_settings import SETTINGS

Weights = tuple[tuple[str, int], ...]


class InTreePlugin(NamedTuple):
    """A plugin of the default `multiPoint`: its weight, and the points that it extends."""

    name: str
    weight: int
    points: tuple[str, ...]


class OldScore(NamedTuple):
    """A score that the engine has under another name, or as a strategy of another plugin.

    The weight is multiplied by `scale`.
    """

    plugin: str
    strategy: str = ""
    scale: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class DefaultPlugins:
    """The plugins of the default profile.

    Their order is that of `multi_point`, or that of each point where a version has no multiPoint.
    The properties give the engine's names: `NodeResourcesLeastAllocated` of v1.20 is a strategy of
    NodeResourcesFit there. From Reserve to Bind the scheduler asks only its own plugins, and does
    the work of DynamicResources at these points itself.
    """

    multi_point: tuple[InTreePlugin, ...] = ()
    """The default plugins of `multiPoint`; none where configurations have no `multiPoint`."""
    by_point: Mapping[str, Weights] = field(default_factory=dict[str, Weights])
    """The default plugins of each extension point, where there is no `multiPoint`."""
    old_scores: Mapping[str, OldScore] = field(default_factory=dict[str, OldScore])
    """Scores that are now strategies of other plugins."""
    unasked: tuple[str, ...] = ()
    """Plugins of `multiPoint` that are not asked at PreEnqueue and Filter."""
    gated_scores: Weights = ()
    """Scores that feature gates have added; they come after all others."""
    arguments: Mapping[str, Mapping[str, Any]]
    """The settings by which a plugin follows this version; each is explained in `plugin_settings`."""
    reserves: tuple[str, ...] = (names.VOLUME_BINDING,)
    pre_binds: tuple[str, ...] = (names.VOLUME_BINDING,)
    binds: tuple[str, ...] = (names.DEFAULT_BINDER,)

    @property
    def pre_enqueues(self) -> tuple[str, ...]:
        """The plugins at PreEnqueue, in order."""
        return tuple(name for name in self._at("preEnqueue") if name not in self.unasked)

    @property
    def filters(self) -> tuple[str, ...]:
        """The plugins at Filter, in order."""
        return tuple(name for name in self._at("filter") if name not in self.unasked)

    @property
    def post_filters(self) -> tuple[str, ...]:
        """The plugins at PostFilter, in order."""
        return self._at("postFilter")

    @property
    def permits(self) -> tuple[str, ...]:
        """The plugins at Permit, in order."""
        return self._at("permit")

    @property
    def scores(self) -> Weights:
        """The plugins at Score with their weights, in order."""
        listed = self.by_point.get("score") or tuple(
            (plugin.name, plugin.weight)
            for plugin in self.multi_point
            if plugin.weight and "score" in plugin.points
        )
        return (*(self._engine_score(name, weight) for name, weight in listed), *self.gated_scores)

    def with_settings(self, changed: Mapping[str, Mapping[str, Any]]) -> DefaultPlugins:
        """These with other values for some settings; a plugin that had none has its defaults too.

        Raises KeyError for a plugin that has no settings.
        """
        known = {
            **self.arguments,
            **settings_of(*(name for name in changed if name not in self.arguments)),
        }
        arguments = {name: {**one, **changed.get(name, {})} for name, one in known.items()}
        return replace(self, arguments=arguments)

    def with_plugin(self, plugin: InTreePlugin) -> DefaultPlugins:
        """These with *plugin* in the place of the one of its name, or after all others."""
        known = {one.name: one for one in self.multi_point}
        return replace(
            self,
            multi_point=tuple({**known, plugin.name: plugin}.values()),
            unasked=tuple(name for name in self.unasked if name != plugin.name),
        )

    def without(self, *names: str) -> DefaultPlugins:
        """These without some of them."""
        return replace(
            self,
            multi_point=tuple(one for one in self.multi_point if one.name not in names),
            by_point={
                point: tuple(one for one in plugins if one[0] not in names)
                for point, plugins in self.by_point.items()
            },
        )

    def in_place_of(self, old: str, new: str) -> DefaultPlugins:
        """These with *new* in the place of *old* at each point."""
        by_point = {
            point: tuple((new if name == old else name, weight) for name, weight in plugins)
            for point, plugins in self.by_point.items()
        }
        return replace(self, by_point=by_point)

    def after(self, place: str, new: str, weight: int = 0) -> DefaultPlugins:
        """These with *new* right after *place* at each point."""
        by_point = {
            point: tuple(
                one
                for old in plugins
                for one in ((old, (new, weight)) if old[0] == place else (old,))
            )
            for point, plugins in self.by_point.items()
        }
        return replace(self, by_point=by_point)

    def with_gated_score(self, score: tuple[str, int], *, on: bool) -> DefaultPlugins:
        """These with a score that a gate adds, or without it."""
        others = tuple(one for one in self.gated_scores if one != score)
        return replace(self, gated_scores=(*others, score) if on else others)

    def _at(self, point: str) -> tuple[str, ...]:
        if self.multi_point:
            return tuple(one.name for one in self.multi_point if point in one.points)
        return tuple(name for name, _ in self.by_point.get(point, ()))

    def _engine_score(self, name: str, weight: int) -> tuple[str, int]:
        old = self.old_scores.get(name)
        return (name, weight) if old is None else (old.plugin, weight * old.scale)


def settings_of(*plugins: str) -> dict[str, Mapping[str, Any]]:
    """The default settings of *plugins*."""
    return {
        plugin: {name: setting.default for name, setting in SETTINGS[plugin].items()}
        for plugin in plugins
    }


def unweighted(*plugins: str) -> Weights:
    """*plugins* at a point where weights do not count."""
    return tuple((name, 0) for name in plugins)
