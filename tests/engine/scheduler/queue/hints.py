"""The queueing hints of the plugins of a version that register for events."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from engine.framework.handle import Handle
from engine.framework.registrations import EnqueueExtensions, Registration
from engine.scheduler.configuration.profiles import PROFILES
from engine.scheduler.queue.queueing_hints import QueueingHints


def hints_of(
    version: str = "v1.34",
    arguments: Mapping[str, Mapping[str, Any]] | None = None,
    handle: Handle | None = None,
    **own: Registration,
) -> QueueingHints:
    """Those of *version*, with other *arguments* of plugins, and registrations of one's *own*."""
    profile = PROFILES[version]
    given = dict(profile.arguments)
    for name, changed in (arguments or {}).items():
        given[name] = {**given.get(name, {}), **changed}
    framework = replace(profile, arguments=given).build(handle or Handle())
    registered = {
        name: plugin.events_to_register()
        for name, plugin in framework.plugins.by_name.items()
        if isinstance(plugin, EnqueueExtensions)
    }
    return QueueingHints({**registered, **{name: (one,) for name, one in own.items()}})
