"""Which rule of a plugin differs between two versions: what made two runs decide differently."""

from __future__ import annotations

from dataclasses import dataclass

from scheduling.engine.versions.differences import Rule, rules
from scheduling.engine.versions.registry import VERSIONS

# A setting says more than the place and the weight of a plugin do.
_AREAS = ("Plugin settings", "Default plugins")


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
        for area in _AREAS
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
