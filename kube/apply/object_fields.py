"""The managed fields of one object, as one request changes them.

Upstream: apimachinery/pkg/util/managedfields/internal, fieldmanager.go and the managers that it puts
around each other.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kube.apply import managers as entries
from kube.apply.checking import is_well_formed, problems_of
from kube.apply.fields import FieldSet, Path, fields_named, shown
from kube.apply.last_applied import fields_last_applied, noted
from kube.apply.managers import APPLY, UPDATE, Managed, Manager, Managers
from kube.apply.schemas import Shape, shape_of
from kube.apply.updater import Conflicts, Updater
from kube.decoding import decoding_problem, fields_of, undecodable
from kube.defaults import defaulted
from kube.resources import Resource
from kube.status import ApiError, bad_request

Manifest = dict[str, Any]

_FIRST = "before-first-apply"
# It takes over what `kubectl apply` without --server-side noted. Upstream: lastappliedmanager.go.
_KUBECTL = "kubectl"
# What has no manager. Upstream: stripmeta.go.
_UNMANAGED: FieldSet = fields_named(
    "apiVersion",
    "kind",
    "metadata",
    "metadata.name",
    "metadata.namespace",
    "metadata.creationTimestamp",
    "metadata.selfLink",
    "metadata.uid",
    "metadata.clusterName",
    "metadata.generation",
    "metadata.managedFields",
    "metadata.resourceVersion",
)


@dataclass(frozen=True, slots=True)
class ObjectFields:
    """Says who manages what after a request of the client *manager* at RFC 3339 *time*.

    Manifests are those that the API shows, with defaults.
    """

    resource: Resource
    subresource: str
    manager: str
    time: str

    def created(self, new: Manifest) -> list[Manifest]:
        """The managed fields of an object that the client creates, with or without defaults.

        A malformed object, which is refused later on, has none.
        """
        if not is_well_formed(self._shape, new):
            return []
        new = defaulted(self.resource, new)
        managers = _decoded_or_none(new) or {}
        return self._updated(self._nothing, new, managers, self._role(UPDATE))

    def updated(self, live: Manifest, new: Manifest) -> list[Manifest]:
        """Those of an object after an update; empty where they are not kept.

        They are kept from the moment that a client creates the object, or applies to it.
        """
        managers = self._given(live, new)
        if not managers:
            return []
        return self._updated(live, new, managers, self._role(UPDATE))

    def applied(self, live: Manifest | None, config: Manifest, *, force: bool) -> Manifest:
        """The object with the configuration, and with its managed fields; *live* None creates it.

        Raises ApiError, also for conflicts with other managers.
        """
        self._check(config)
        managers = _decoded_or_none(live) or {} if live else {}
        if live and not managers:
            first = Manager(_FIRST, UPDATE, self.resource.api_version, self.subresource)
            managers = entries.decoded(self._updated(self._nothing, live, {}, first))
        try:
            new, managers = self._applied(live, config, managers, force=force)
        except Conflicts as conflicts:
            raise _refusal(conflicts) from conflicts
        if self.manager == _KUBECTL:
            new = noted(new, config)
        new["metadata"] = {**new["metadata"], "managedFields": entries.encoded(managers)}
        return new

    # -- the parts of it -------------------------------------------------------------------------

    def _updated(
        self, live: Manifest, new: Manifest, managers: Managers, role: Manager
    ) -> list[Manifest]:
        found = self._updater.update(_plain(live), _plain(new), managers, role, self.time)
        return entries.encoded(entries.capped(_stripped(found, role)))

    def _applied(
        self, live: Manifest | None, config: Manifest, managers: Managers, *, force: bool
    ) -> tuple[Manifest, Managers]:
        role, before = self._role(APPLY), _plain(live or self._nothing)
        updater = self._updater
        try:
            new, found = updater.apply(before, config, managers, role, force=force)
        except Conflicts as conflicts:
            allowed = fields_last_applied(updater, before) if self.manager == _KUBECTL else None
            if allowed is None:
                raise
            left = [one for one in conflicts.found if one[1] not in allowed]
            if left:
                raise Conflicts(left) from conflicts
            new, found = updater.apply(before, config, managers, role, force=True)
        new = _without_nulls(new)
        if new != before and role in found:
            found[role] = Managed(found[role].fields, found[role].api_version, self.time)
        return new, _stripped(found, role)

    def _given(self, live: Manifest, new: Manifest) -> Managers:
        """The managers to begin with: those that the client wrote, else those that were there."""
        if not self.subresource:
            if _is_reset(new["metadata"].get("managedFields")):
                return {}
            if written := _decoded_or_none(new):
                return written
        return _decoded_or_none(live) or {}

    def _check(self, config: Manifest) -> None:
        """Raises ApiError for a configuration that cannot be applied here."""
        metadata = config.get("metadata")
        kind = (config.get("apiVersion") or "", config.get("kind") or "")
        if kind != (self.resource.api_version, self.resource.written_kind):
            raise bad_request(f"invalid object type: {kind[0] or '/'}, Kind={kind[1]}")
        if isinstance(metadata, Mapping) and metadata.get("managedFields") is not None:
            raise bad_request("metadata.managedFields must be nil")
        problems = problems_of(self._shape, config)
        if problems:
            lines = "\n".join(f"  {one}" for one in problems)
            what = problems[0] if len(problems) == 1 else f"errors:\n{lines}"
            # Upstream: no error of its own kind, so that it is answered as one of the server.
            place = metadata if isinstance(metadata, Mapping) else {}
            name = f"{place.get('namespace') or ''}/{place.get('name') or ''}"
            raise ApiError(
                500,
                "",
                f"failed to create typed patch object ({name}; {kind[0]}, Kind={kind[1]}): {what}",
            )
        if problem := decoding_problem(fields_of(self.resource, config)):
            raise undecodable(self.resource, problem)

    def _role(self, operation: str) -> Manager:
        version = "" if operation == APPLY else self.resource.api_version
        return Manager(self.manager, operation, version, self.subresource)

    @property
    def _shape(self) -> Shape:
        return shape_of(self.resource)

    @property
    def _updater(self) -> Updater:
        counts = _is_of_status if self.subresource == "status" else _is_not_of_status
        return Updater(self._shape, self.resource.api_version, counts)

    @property
    def _nothing(self) -> Manifest:
        """An object with nothing in it: the parts that are there even so."""
        return _parts(self._shape, _ALWAYS_THERE)


_POD: Manifest = {"metadata": {"creationTimestamp": None}, "spec": {"containers": None}}
# Upstream: what is no pointer in Go is there from the start.
_ALWAYS_THERE: Manifest = {**_POD, "spec": {**_POD["spec"], "template": _POD, "strategy": {}}}


def _parts(shape: Shape, wanted: Manifest) -> Manifest:
    return {
        name: part if part is None else _parts(shape.of_field(name), part)
        for name, part in wanted.items()
        if shape.has_field(name)
    }


def _is_of_status(path: Path) -> bool:
    return path[0] == "f:status"


def _is_not_of_status(path: Path) -> bool:
    return path[0] != "f:status"


def _plain(manifest: Manifest) -> Manifest:
    """The object without its managed fields, which have no manager themselves."""
    metadata = manifest.get("metadata")
    if not isinstance(metadata, Mapping) or "managedFields" not in metadata:
        return manifest
    kept = {name: part for name, part in metadata.items() if name != "managedFields"}
    return {**manifest, "metadata": kept}


def _stripped(managers: Managers, role: Manager) -> Managers:
    mine = managers.get(role)
    if mine is None:
        return managers
    left = mine.fields - _UNMANAGED
    others = {one: managed for one, managed in managers.items() if one != role}
    return {**others, role: Managed(left, mine.api_version, mine.time)} if left else others


def _decoded_or_none(manifest: Manifest) -> Managers | None:
    """The managers of an object; None where they are absent or make no sense."""
    try:
        return entries.decoded(manifest["metadata"].get("managedFields"))
    except ValueError:
        return None


def _is_reset(given: Any) -> bool:
    """Whether a client wants the managed fields to be forgotten."""
    return given in ([], [{}])


def _without_nulls(value: Any) -> Any:
    """The same without fields that are null, which an API server does not store."""
    if isinstance(value, dict):
        return {name: _without_nulls(part) for name, part in value.items() if part is not None}
    return [_without_nulls(one) for one in value] if isinstance(value, list) else value


def _refusal(conflicts: Conflicts) -> ApiError:
    """Upstream: apimachinery/pkg/util/managedfields/internal/conflict.go."""
    causes: list[dict[str, str]] = []
    by_manager: dict[str, list[str]] = {}
    for manager, path in conflicts.found:
        message = f"conflict with {manager.shown}"
        causes.append({"reason": "FieldManagerConflict", "message": message, "field": shown(path)})
        by_manager.setdefault(manager.shown, []).append(shown(path))
    if len(causes) == 1:
        said = f"1 conflict: {causes[0]['message']}: {causes[0]['field']}"
    else:
        lines = [
            "\n".join([f"conflicts with {one}:", *(f"- {path}" for path in paths)])
            for one, paths in by_manager.items()
        ]
        said = f"{len(causes)} conflicts: " + "\n".join(lines)
    return ApiError(409, "Conflict", f"Apply failed with {said}", {"causes": causes})
