"""The changes that plugins propose."""

from __future__ import annotations

from collections.abc import Iterator

from engine.diagnosis.candidates import Candidate, Situation, patched
from engine.framework.explaining.proposes import Proposes


def plugin_changes(situation: Situation) -> Iterator[Candidate]:
    """What each plugin that refuses nodes proposes for them, in the order of the plugins."""
    world = situation.world
    for name in world.algorithm.framework.plugins.by_name:
        plugin = world.plugin(name)
        if not isinstance(plugin, Proposes):
            continue
        refused = [
            each
            for each in situation.refused
            if any(obstacle.name == name for obstacle in each.obstacles)
        ]
        for one in plugin.propose_changes(world, refused) if refused else ():
            command = patched(one.object.id, one.patch)
            yield Candidate(kind="plugin", text=one.text, command=command, note=one.note)
