"""Unknown plugins in a scheduler's configuration: refused, or left out where the user says so.

The kube-scheduler-simulator wraps every plugin, and calls the wrapper of NodeResourcesFit
NodeResourcesFitWrapped: a wrapper decides as the plugin that it wraps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, cast

from engine.kernel.sentences import say

Manifest = dict[str, Any]
IsKnown = Callable[[str], bool]

_WRAPPED: Final = "Wrapped"
_LISTS: Final = ("enabled", "disabled")
CHOICE: Final = say(
    "it can be left out, with a warning: --ignore-unknown-plugins, or Leave out unknown plugins in the form"
)


def without_unknown_plugins(
    configuration: Manifest, is_known: IsKnown
) -> tuple[Manifest, list[str]]:
    """*configuration* with wrappers by the names of what they wrap and without unknown plugins.

    Also returns what was changed, in words.
    """
    notes: list[str] = []
    profiles: Any = configuration.get("profiles")
    if not isinstance(profiles, list):
        return configuration, notes
    changed = [_profile(each, is_known, notes) for each in cast("list[Any]", profiles)]
    return {**configuration, "profiles": changed}, list(dict.fromkeys(notes))


def _profile(profile: Any, is_known: IsKnown, notes: list[str]) -> Any:
    if not isinstance(profile, dict):
        return profile
    parts = cast("Manifest", profile)
    changed = dict(parts)
    plugins: Any = parts.get("plugins")
    if isinstance(plugins, dict):
        changed["plugins"] = {
            point: _point(each, is_known, notes)
            for point, each in cast("Manifest", plugins).items()
        }
    arguments: Any = parts.get("pluginConfig")
    if isinstance(arguments, list):
        changed["pluginConfig"] = _kept(cast("list[Any]", arguments), is_known, notes)
    return changed


def _point(point: Any, is_known: IsKnown, notes: list[str]) -> Any:
    if not isinstance(point, dict):
        return point
    parts = dict(cast("Manifest", point))
    for name in _LISTS:
        if isinstance(parts.get(name), list):
            parts[name] = _kept(parts[name], is_known, notes)
    return parts


def _kept(entries: list[Any], is_known: IsKnown, notes: list[str]) -> list[Any]:
    """The entries whose plugins are known, each plugin once."""
    found: list[Any] = []
    seen: dict[str, None] = {}
    for each in entries:
        name: Any = cast("Manifest", each).get("name") if isinstance(each, dict) else None
        if not isinstance(name, str):
            found.append(each)
            continue
        kept = _known_name(name, is_known, notes)
        if kept and kept not in seen:
            seen[kept] = None
            found.append({**each, "name": kept})
    return found


def _known_name(name: str, is_known: IsKnown, notes: list[str]) -> str:
    if name == "*" or is_known(name):
        return name
    inner = name.removesuffix(_WRAPPED)
    if inner != name and is_known(inner):
        notes.append(
            say(
                "the plugin {name} of the configuration is read as {inner}, which it wraps",
                name=name,
                inner=inner,
            )
        )
        return inner
    notes.append(
        say(
            "the plugin {name} of the configuration is left out: kscope does not know it, so what it "
            "refuses and how it scores is missing in the run",
            name=name,
        )
    )
    return ""
