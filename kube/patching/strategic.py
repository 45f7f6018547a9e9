"""Strategic merge patches: merge patches that know which lists are maps by a key.

The keys are in the schemas (x-kubernetes-patch-merge-key). Directives in the patch say what is not
merged: $patch (replace, delete), $retainKeys, $deleteFromPrimitiveList/FIELD and
$setElementOrder/FIELD. Upstream: apimachinery/pkg/util/strategicpatch/patch.go.
"""

from collections.abc import Mapping
from typing import Any

from kube.openapi.definitions import Schema, definition_of, definitions
from kube.resources import Resource
from kube.status import bad_request

Manifest = dict[str, Any]

_PATCH, _RETAIN = "$patch", "$retainKeys"
_DELETE_FROM, _ORDER = "$deleteFromPrimitiveList/", "$setElementOrder/"


def strategic_patched(resource: Resource, target: Mapping[str, Any], patch: Any) -> Manifest:
    """*target*, an object of *resource*, with the patch. Raises ApiError for what makes no sense."""
    if not isinstance(patch, Mapping):
        raise bad_request("a strategic merge patch is an object")
    schema = definitions().get(definition_of(resource.api_version, resource.kind), {})
    found = _merged(schema, target, patch)
    return found if found is not None else {}


def _schema_of(schema: Schema) -> Schema:
    """The schema itself, or the one that it refers to."""
    reference = schema.get("$ref")
    return definitions().get(reference.rpartition("/")[2], {}) if reference else schema


def _property(schema: Schema, name: str) -> tuple[Schema, Schema]:
    """The property as it stands, with its merge key, and the schema of its content."""
    known = _schema_of(schema)
    own = (known.get("properties") or {}).get(name) or known.get("additionalProperties") or {}
    own = own if isinstance(own, Mapping) else {}
    return dict(own), _schema_of(dict(own))


def _merged(schema: Schema, target: Any, patch: Mapping[str, Any]) -> Manifest | None:
    """An object with the patch; None when the patch deletes it."""
    match patch.get(_PATCH):
        case "replace":
            return {name: part for name, part in patch.items() if name != _PATCH}
        case "delete":
            return None
        case None | "merge":
            pass
        case unknown:
            raise bad_request(f"unknown patch directive {unknown!r}")
    found: Manifest = {**target} if isinstance(target, Mapping) else {}
    retained = patch.get(_RETAIN)
    if isinstance(retained, list):
        found = {name: part for name, part in found.items() if name in retained}
    for name, part in patch.items():
        if name in (_PATCH, _RETAIN):
            continue
        if name.startswith(_DELETE_FROM):
            field = name.removeprefix(_DELETE_FROM)
            found[field] = [one for one in found.get(field) or [] if one not in (part or [])]
        elif name.startswith(_ORDER):
            continue  # afterwards, when the lists are merged
        elif part is None:
            found.pop(name, None)
        else:
            _merge_field(schema, found, name, part)
    for name, order in patch.items():
        if name.startswith(_ORDER) and isinstance(order, list):
            field = name.removeprefix(_ORDER)
            if isinstance(found.get(field), list):
                found[field] = _ordered(_key_of(schema, field), found[field], order)
    return found


def _merge_field(schema: Schema, found: Manifest, name: str, part: Any) -> None:
    own, content = _property(schema, name)
    if isinstance(part, Mapping):
        # Not every list of strategies is about lists: "retainKeys" is about objects.
        merged = _merged(content, found.get(name), part)
        if merged is None:
            found.pop(name, None)
        else:
            found[name] = merged
    elif isinstance(part, list) and _merges(own):
        items = _schema_of(own.get("items") or {})
        key = own.get("x-kubernetes-patch-merge-key")
        before = found.get(name) if isinstance(found.get(name), list) else []
        found[name] = _list_merged(items, before or [], part, key)
    else:
        found[name] = part


def _merges(own: Schema) -> bool:
    return "merge" in str(own.get("x-kubernetes-patch-strategy", "")).split(",")


def _key_of(schema: Schema, field: str) -> str | None:
    return _property(schema, field)[0].get("x-kubernetes-patch-merge-key")


def _list_merged(items: Schema, before: list[Any], part: list[Any], key: str | None) -> list[Any]:
    if key is None:
        return [*before, *(one for one in part if one not in before)]
    patches = [one for one in part if isinstance(one, Mapping)]
    if len(patches) < len(part):
        raise bad_request(f"each item of a list that is merged by {key} must be an object")
    if any(one.get(_PATCH) == "replace" and len(one) == 1 for one in patches):
        return [one for one in patches if one.get(_PATCH) != "replace"]
    found = [*before]
    for one in patches:
        if key not in one:
            if one.get(_PATCH) == "delete":
                continue
            raise bad_request(f"map: {dict(one)} does not contain declared merge key: {key}")
        place = _place_of(found, key, one[key])
        merged = _merged(items, found[place] if place is not None else None, one)
        if merged is None:
            if place is not None:
                del found[place]
        elif place is None:
            found.append(merged)
        else:
            found[place] = merged
    return found


def _place_of(found: list[Any], key: str, value: Any) -> int | None:
    for place, one in enumerate(found):
        if isinstance(one, Mapping) and one.get(key) == value:
            return place
    return None


def _ordered(key: str | None, found: list[Any], order: list[Any]) -> list[Any]:
    """*found* with the items of *order* in that order; others keep their place after the one before."""
    wanted = [one.get(key) if key and isinstance(one, Mapping) else one for one in order]

    def name(one: Any) -> Any:
        return one.get(key) if key and isinstance(one, Mapping) else one

    listed = sorted(
        (one for one in found if name(one) in wanted), key=lambda one: wanted.index(name(one))
    )
    result: list[Any] = []
    for one in found:
        if name(one) in wanted:
            result.append(listed.pop(0))
        else:
            result.append(one)
    return result
