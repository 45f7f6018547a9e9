"""What an update may do to the metadata of an object, whoever asks for it.

Upstream: apiserver/pkg/registry/rest/update.go, BeforeUpdate(), and
apimachinery/pkg/api/validation/objectmeta.go, ValidateObjectMetaAccessorUpdate().
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple, cast

_DELETION: Final = ("deletionTimestamp", "deletionGracePeriodSeconds")


class MetadataFault(NamedTuple):
    """Why an update is refused: the reason of a cause in a Status, its message, and the field."""

    reason: str
    message: str
    field: str


def with_deletion_kept(old: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata *new*, in which a deletion that has begun goes on: no update takes it back."""
    found = {**new}
    timestamp, grace = (old.get(name) for name in _DELETION)
    if timestamp:
        found["deletionTimestamp"] = timestamp
    if grace is not None and found.get("deletionGracePeriodSeconds") is None:
        found["deletionGracePeriodSeconds"] = grace
    return found


def metadata_faults(old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[MetadataFault]:
    """What is wrong with the metadata *new*, in which a deletion that has begun is kept."""
    if old.get("deletionTimestamp"):
        added = sorted(_texts(new.get("finalizers")) - _texts(old.get("finalizers")))
        if added:
            listed = ", ".join(json.dumps(one, ensure_ascii=False) for one in added)
            yield MetadataFault(
                "FieldValueForbidden",
                "Forbidden: no new finalizers can be added if the object is being deleted, "
                f"found new finalizers []string{{{listed}}}",
                "metadata.finalizers",
            )
    for name in _DELETION:
        if old.get(name) != new.get(name):
            value = json.dumps(new.get(name), ensure_ascii=False)
            yield MetadataFault(
                "FieldValueInvalid",
                f"Invalid value: {value}: field is immutable",
                f"metadata.{name}",
            )


def _texts(found: Any) -> set[str]:
    """The texts of a list; what else a client may have written is refused elsewhere."""
    if not isinstance(found, list):
        return set()
    return {one for one in cast("list[Any]", found) if isinstance(one, str)}
