"""The status of a CustomResourceDefinition: whether its names are accepted, and its objects served.

An API server needs a moment for this after it has stored the definition; here it is written with it.
Upstream: pkg/controller/status/naming_controller.go, pkg/controller/establish, and
pkg/registry/customresourcedefinition/strategy.go.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from engine.objects.custom.definition import (
    ESTABLISHED,
    NAMES_ACCEPTED,
    CustomDefinition,
    condition_of,
    with_condition,
)
from engine.objects.manifest_parts import section

Manifest = dict[str, Any]
# Each name, and the reason of the condition where another definition has it.
_NAMES = (
    ("plural", "PluralConflict"),
    ("singular", "SingularConflict"),
    ("shortNames", "ShortNamesConflict"),
    ("kind", "KindConflict"),
    ("listKind", "ListKindConflict"),
)
_OF_KINDS = ("kind", "listKind")


def with_usual_names(raw: Manifest) -> Manifest:
    """The definition with what it may leave out. Upstream: v1/defaults.go."""
    read = CustomDefinition(raw)
    spec = section(raw, "spec")
    names = {**read.names, "singular": read.singular, "listKind": read.list_kind}
    conversion = spec.get("conversion") or {"strategy": "None"}
    return {**raw, "spec": {**spec, "names": names, "conversion": conversion}}


def with_status(raw: Manifest, others: Iterable[Manifest], now: str) -> Manifest:
    """The definition with its status at *now*, beside the *others* of the run."""
    read = CustomDefinition(raw)
    names, before = read.names, section(raw, "status", "acceptedNames")
    in_use = [
        section(one, "status", "acceptedNames")
        for one in others
        if section(one, "spec").get("group") == read.group
    ]
    accepted: Manifest = {"kind": before.get("kind", ""), "plural": before.get("plural", "")}
    accepted |= before
    if names.get("categories"):
        accepted["categories"] = names["categories"]
    reason, message = "NoConflicts", "no conflicts found"
    for name, why in _NAMES:
        taken = _taken(in_use, _OF_KINDS if name in _OF_KINDS else ("plural", "singular"))
        if name not in _OF_KINDS:
            taken += [each for one in in_use for each in one.get("shortNames") or ()]
        wanted = names.get(name) or ()
        mine: Any = before.get(name) or ()
        asked = [wanted] if isinstance(wanted, str) else [*wanted]
        has = [mine] if isinstance(mine, str) else [*mine]
        clashing = [each for each in asked if each in taken and each not in has]
        if clashing:
            told = [f'"{each}" is already in use' for each in clashing]
            reason, message = why, told[0] if len(told) == 1 else f"[{', '.join(told)}]"
        elif wanted:
            accepted[name] = wanted
    status = {**section(raw, "status"), "acceptedNames": accepted}
    stored = list(status.get("storedVersions") or ())
    if read.stored.name not in stored:
        stored.append(read.stored.name)
    status["storedVersions"] = stored
    state = "True" if reason == "NoConflicts" else "False"
    found = {**raw, "status": status}
    status["conditions"] = with_condition(found, NAMES_ACCEPTED, state, reason, message, now)
    if condition_of(raw, ESTABLISHED).get("status") != "True":
        why = ("InitialNamesAccepted", "the initial names have been accepted")
        told = why if state == "True" else ("NotAccepted", "not all names are accepted")
        status["conditions"] = with_condition(found, ESTABLISHED, state, *told, now)
    return found


def _taken(in_use: Iterable[Manifest], names: Iterable[str]) -> list[str]:
    return [str(one[name]) for one in in_use for name in names if one.get(name)]
