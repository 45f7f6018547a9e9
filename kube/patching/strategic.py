"""Strategic merge patches: merge patches that know which lists are maps by a key.

Directives in the patch say what is not
merged: $patch (replace, delete), $retainKeys, $deleteFromPrimitiveList/FIELD and
$setElementOrder/FIELD. Upstream: apimachinery/pkg/util/strategicpatch/patch.go.
"""

from collections.abc import Mapping
from typing import Any

from kube.patching.merge_keys import field_rules
from kube.resources import Resource
from kube.status import bad_request

Manifest = dict[str, Any]

_PATCH, _RETAIN = "$patch", "$retainKeys"
_DELETE_FROM, _ORDER = "$deleteFromPrimitiveList/", "$setElementOrder/"


def strategic_patched(resource: Resource, target: Mapping[str, Any], patch: Any) -> Manifest:
    """*target*, an object of *resource*, with the patch. Raises ApiError for what makes no sense."""
    if not isinstance(patch, Mapping):
        raise bad_request("a strategic merge patch is an object")
    definition = resource.definition_name(resource.kind)
    found = _merged(definition, target, patch)
    return found if found is not None else {}


def _merged(definition: str, target: Any, patch: Mapping[str, Any]) -> Manifest | None:
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
            _merge_field(definition, found, name, part)
    for name, order in patch.items():
        if name.startswith(_ORDER) and isinstance(order, list):
            field = name.removeprefix(_ORDER)
            if isinstance(found.get(field), list):
                key = field_rules().of(definition, field).key
                before = target.get(field) if isinstance(target, Mapping) else None
                found[field] = _ordered(key, found[field], order, before or [])
    return found


def _merge_field(definition: str, found: Manifest, name: str, part: Any) -> None:
    rule = field_rules().of(definition, name)
    if isinstance(part, Mapping):
        merged = _merged(rule.content, found.get(name), part)
        if merged is None:
            found.pop(name, None)
        else:
            found[name] = merged
    elif isinstance(part, list) and rule.merges:
        before = found.get(name)
        items = before if isinstance(before, list) else []
        found[name] = _list_merged(rule.content, items, part, rule.key)
    else:
        found[name] = part


def _list_merged(content: str, before: list[Any], part: list[Any], key: str) -> list[Any]:
    if not key:
        added = [one for place, one in enumerate(part) if one not in [*before, *part[:place]]]
        return _ordered(key, [*before, *added], part, before)
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
        merged = _merged(content, found[place] if place is not None else None, one)
        if merged is None:
            if place is not None:
                del found[place]
        elif place is None:
            found.append(merged)
        else:
            found[place] = merged
    return _ordered(key, found, patches, before)


def _place_of(found: list[Any], key: str, value: Any) -> int | None:
    for place, one in enumerate(found):
        if isinstance(one, Mapping) and one.get(key) == value:
            return place
    return None


def _ordered(key: str, found: list[Any], order: list[Any], before: list[Any]) -> list[Any]:
    """*found* with the items that *order* names in that order, and the others as they were *before*.

    An other one comes first only where it was before the next named one: what is new goes to the
    front. Upstream: strategicpatch/patch.go, normalizeElementOrder and mergeSortedSlice.
    """

    def name(one: Any) -> Any:
        return one.get(key) if key and isinstance(one, Mapping) else one

    wanted, places = [name(one) for one in order], [name(one) for one in before]

    def place(one: Any) -> int:
        return places.index(name(one)) if name(one) in places else -1

    named = [one for one in found if name(one) in wanted]
    named.sort(key=lambda one: wanted.index(name(one)))
    others = sorted((one for one in found if name(one) not in wanted), key=place)
    result: list[Any] = []
    while named and others:
        comes_first = 0 <= place(others[0]) < place(named[0])
        result.append((others if comes_first else named).pop(0))
    return [*result, *named, *others]
