"""Who manages which fields, as `metadata.managedFields` says it.

Upstream: apimachinery/pkg/util/managedfields/internal/managedfields.go and capmanagers.go.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from kube.apply import fields
from kube.apply.fields import FieldSet

APPLY, UPDATE = "Apply", "Update"
MOST_UPDATERS = 10
_ANCIENT = "ancient-changes"


class Manager(NamedTuple):
    """A client in one of its roles.

    For those that apply, `api_version` is empty: they are the same in each version.
    """

    name: str
    operation: str
    api_version: str
    subresource: str

    @property
    def shown(self) -> str:
        """As upstream names it in a conflict."""
        text = _quoted(self.name)
        if self.subresource:
            text = f"{text} with subresource {_quoted(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == UPDATE else text


@dataclass(frozen=True, slots=True)
class Managed:
    """The fields of a manager, in terms of *api_version*; *time* is RFC 3339, "" for none."""

    fields: FieldSet
    api_version: str
    time: str = ""


Managers = dict[Manager, Managed]


def decoded(entries: Any) -> Managers:
    """The managers that `metadata.managedFields` names. Raises ValueError for anything else."""
    if not isinstance(entries, list):
        raise ValueError("managedFields must be a list")
    return dict(_decoded(place, entry) for place, entry in enumerate(entries))


def encoded(managers: Managers) -> list[dict[str, Any]]:
    """The value of `metadata.managedFields`, in upstream's order."""
    entries = [_encoded(manager, managed) for manager, managed in managers.items()]
    names = ("operation", "time", "manager", "apiVersion", "subresource")
    return sorted(entries, key=lambda entry: [entry.get(name, "") for name in names])


def capped(managers: Managers) -> Managers:
    """The same with the oldest updates of a version put together, so that ten updates are left."""
    updaters = [one for one in managers if one.operation == UPDATE]
    too_many = len(updaters) - MOST_UPDATERS
    found = {**managers}
    first: dict[str, Manager] = {}
    for manager in sorted(updaters, key=lambda one: (found[one].time, *one)):
        if too_many <= 0:
            break
        managed = managers[manager]
        version = managed.api_version
        if version not in first:
            first[version] = manager
            continue
        bucket = Manager(_ANCIENT, UPDATE, version, "")
        if bucket not in found:
            found[bucket] = found.pop(first[version])
        together = found[bucket].fields | managed.fields
        found[bucket] = Managed(together, version, managed.time)
        if manager != bucket:
            del found[manager]
        too_many -= 1
    return found


def _decoded(place: int, entry: Any) -> tuple[Manager, Managed]:
    if not isinstance(entry, Mapping):
        raise ValueError(f"managed fields entry {place} is no object")
    operation, version = entry.get("operation"), entry.get("apiVersion")
    if operation not in (APPLY, UPDATE):
        raise ValueError("operation must be `Apply` or `Update`")
    if not isinstance(version, str) or not version:
        raise ValueError("apiVersion must not be empty")
    if entry.get("fieldsType") != "FieldsV1":
        raise ValueError(f"missing or invalid fieldsType in managed fields entry {place}")
    name, subresource = _texts(entry, ("manager", "subresource"))
    (time,) = _texts(entry, ("time",))
    manager = Manager(name, operation, "" if operation == APPLY else version, subresource)
    return manager, Managed(fields.decoded(entry.get("fieldsV1") or {}), version, time)


def _texts(entry: Mapping[str, Any], names: Iterable[str]) -> list[str]:
    found = [entry.get(name) or "" for name in names]
    if not all(isinstance(one, str) for one in found):
        raise ValueError(f"{', '.join(names)}: expected a text")
    return found


def _encoded(manager: Manager, managed: Managed) -> dict[str, Any]:
    entry: dict[str, Any] = {"manager": manager.name, "operation": manager.operation}
    entry["apiVersion"] = managed.api_version
    if managed.time:
        entry["time"] = managed.time
    entry |= {"fieldsType": "FieldsV1", "fieldsV1": fields.encoded(managed.fields)}
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
