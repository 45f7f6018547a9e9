"""The faults as forms show them: what each does, and the fields that it has, from the tables of `faults`."""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from engine.api_server.store.faults import (
    AUTHORS,
    FAIL_FIELDS,
    KINDS,
    READY_DEVICES,
    REASONS,
    RESTARTABLE,
    WRITE,
)

SCHEDULER: Final = "scheduler"


class _Meaning(NamedTuple):
    """What a fault does, and what the value of its first field names."""

    does: str
    names: str


# Of each kind but `fail`, whose first field says which calls fail.
_MEANINGS: Final[Mapping[str, _Meaning]] = {
    "slow": _Meaning("Writes of a component take this long; a delay of 0 ends it.", "author"),
    "absent": _Meaning("A driver has neither provisioner nor resizer.", "driver"),
    "no_resizer": _Meaning("A driver has no resizer.", "driver"),
    "full": _Meaning("Nothing can be provisioned for a node.", "node"),
    "offline": _Meaning("A driver expands only volumes that no pod uses.", "driver"),
    "unregister": _Meaning("A driver is no longer registered on a node, or on any.", "driver"),
    "register": _Meaning("A driver is registered again.", "driver"),
    "missing": _Meaning("A Secret, ConfigMap or ServiceAccount is not there.", "named"),
    "present": _Meaning("A Secret, ConfigMap or ServiceAccount is there again.", "named"),
    "place": _Meaning("The immediate volume of a claim is created in this zone.", "claim"),
    "anywhere": _Meaning("Every node can reach the immediate volumes of a driver.", "driver"),
    "lag": _Meaning("Watches of a kind receive everything later; 0 ends it.", "kind"),
    "cut": _Meaning("Watches of a kind break.", "kind"),
    "mend": _Meaning("Watches of a kind that are broken list again.", "kind"),
    "vanish": _Meaning("An object is removed at once, finalizers or not.", "object"),
    "die": _Meaning("A node loses its power.", "node"),
    "revive": _Meaning("A node has power again, and its kubelet reports.", "node"),
    "restart": _Meaning("A kubelet, controller or scheduler starts with empty caches.", "process"),
    "heal": _Meaning("The containers of a pod run as if they were healthy.", "pod"),
}
_FAILS: Final[Mapping[str, str]] = {
    WRITE: "Writes of a component are refused.",
    READY_DEVICES: "The driver sets the binding failure conditions of a claim's devices.",
}
_NUMBERS: Final = {"times": "integer", "probability": "number"}
# What a field takes, where that is one of a list.
_CHOICES: Final[Mapping[str, Sequence[str]]] = {
    "by": AUTHORS,
    "reason": tuple(REASONS),
    "of": (SCHEDULER,),
}
_REQUIRED: Final = {(WRITE, "by"), ("place", "zone"), ("slow", "delay")}


def fault_forms() -> list[dict[str, Any]]:
    """Every fault as {kind, does, fixed, fields}.

    `fixed` are the fields that are as they are; each of `fields` has name, type, what it `names`,
    choices, and whether it is required.
    """
    fails = [_fail_form(call) for call in FAIL_FIELDS]
    return fails + [_form(kind) for kind in KINDS if kind != "fail"]


def _fail_form(call: str) -> dict[str, Any]:
    return {
        "kind": f"fail {call}",
        "does": _FAILS.get(call, f"The next calls of {call} fail."),
        "fixed": {"fail": call},
        "fields": [_field(name, call) for name in FAIL_FIELDS[call]],
    }


def _form(kind: str) -> dict[str, Any]:
    does, names = _MEANINGS[kind]
    choices = {"author": AUTHORS, "process": (SCHEDULER, *RESTARTABLE)}.get(names, ())
    # A kubelet is named by its node.
    is_open = names == "process"
    first = _described(kind, names, choices, is_open=is_open, is_required=True)
    return {
        "kind": kind,
        "does": does,
        "fixed": {},
        "fields": [first, *(_field(name, kind) for name in KINDS[kind])],
    }


def _field(name: str, of: str) -> dict[str, Any]:
    return _described(name, name, _CHOICES.get(name, ()), is_required=(of, name) in _REQUIRED)


def _described(
    name: str,
    names: str,
    choices: Sequence[str],
    *,
    is_open: bool = False,
    is_required: bool = False,
) -> dict[str, Any]:
    return {
        "name": name,
        "names": names,
        "type": _NUMBERS.get(name, "text"),
        "choices": list(choices),
        "open": is_open or not choices,
        "required": is_required,
    }
