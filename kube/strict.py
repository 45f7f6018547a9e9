"""Strict validation: fields that a kind does not have, and fields that are given twice.

Upstream: sigs.k8s.io/json and sigs.k8s.io/yaml, the strict errors; apiserver/pkg/endpoints/handlers,
fieldValidation.
"""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import orjson

from engine.objects.documents import DocumentError, Limits, Path, yaml_documents
from engine.objects.openapi.findings import Findings
from kube.resources import Resource
from kube.status import ApiError, bad_request


def unknown_fields(found: Findings) -> list[str]:
    """Each field that the kind does not have, as in 'unknown field "spec.replicaz"'."""
    return [f'unknown field "{_text(field.path)}"' for field in found.unknown]


def repeated_fields(text: bytes) -> list[str]:
    """Each field that a JSON text gives twice, as in 'duplicate field "spec.replicas"'.

    For YAML they are named by their line: 'line 9: key "replicas" already set in map'. What cannot
    be read has no such fields.
    """
    try:
        if not _has_a_name_twice(text):
            return []
        found = json.loads(text, object_pairs_hook=_Object, **_NUMBERS)
    except (ValueError, RecursionError):
        return repeated_keys(text)
    return [*_repeated(found, "")]


def repeated_keys(text: bytes) -> list[str]:
    """Each key that a YAML text gives twice in a mapping, by its line; JSON is YAML, too."""
    try:
        documents = yaml_documents(text, Limits(takes_last=True))
    except DocumentError:
        return []
    lines = (each for one in documents for each in one.repeated)
    return [f'{_LINE}{line}: key "{key}" already set in map' for line, key in lines]


def problems(resource: Resource, text: bytes, found: Findings) -> list[str]:
    """Both, of the object in a text, in the order of upstream.

    What JSON has of Kubernetes' own kinds is named as it stands in the text; else what is given
    twice goes first.
    """
    repeated, unknown = repeated_fields(text), unknown_fields(found)
    if not repeated or not unknown or resource.custom or repeated[0].startswith(_LINE):
        return [*repeated, *unknown]
    places = {_text(field.path): one for field, one in zip(found.unknown, unknown, strict=True)}
    read = json.loads(text, object_pairs_hook=_Object, **_NUMBERS)
    in_text = [*_repeated(read, "", places)]
    return [*in_text, *(one for one in unknown if one not in in_text)]


def joined(problems: list[str]) -> str:
    """Problems in one text, those of YAML as its library tells them."""
    lines = [f"\n  {one}" for one in problems if one.startswith(_LINE)]
    others = [one for one in problems if not one.startswith(_LINE)]
    yaml = [f"yaml: unmarshal errors:{''.join(lines)}"] if lines else []
    return ", ".join([*yaml, *others])


def refusal(resource: Resource, problems: list[str]) -> ApiError:
    """The answer to an object with such fields."""
    kind, found = resource.written_kind, joined(problems)
    return bad_request(
        f'{kind} in version "{resource.version}" cannot be handled as a {kind}: '
        f"strict decoding error: {found}"
    )


def patch_refusal(patch: Any, why: str) -> ApiError:
    """The answer to a patch that leaves an object which cannot be read."""
    message = f'Invalid value: "{orjson.dumps(patch).decode()}": {why}'
    cause = {"reason": "FieldValueInvalid", "message": message, "field": "patch"}
    # Upstream has neither a kind nor a name here: kubectl then says "The request is invalid".
    return ApiError(422, "Invalid", f' "" is invalid: patch: {message}', {"causes": [cause]})


# What problems of YAML begin with.
_LINE = "line "
# Numbers of any length stay texts: to read some of them takes very long.
_NUMBERS: dict[str, Any] = {"parse_int": str, "parse_float": str, "parse_constant": str}


class _Twice(Exception):
    """An object of a JSON text has a name twice."""


def _check_names(pairs: list[tuple[str, Any]]) -> None:
    if len(dict(pairs)) < len(pairs):
        raise _Twice


_checker = json.JSONDecoder(object_pairs_hook=_check_names, **_NUMBERS)


def _has_a_name_twice(text: bytes) -> bool:
    """Whether an object of the text does; hardly any text has one, so nothing is kept of it."""
    try:
        _checker.decode(text.decode(json.detect_encoding(text)))
    except _Twice:
        return True
    return False


class _Object(dict[str, Any]):
    """An object of a JSON text, with all the pairs of names and values that stand there."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.pairs = pairs


def _repeated(value: Any, path: str, unknown: Mapping[str, str] | None = None) -> Iterator[str]:
    """What is given twice, and what stands at the paths of *unknown*, each once, in order."""
    if isinstance(value, list):
        for place, one in enumerate(value):
            yield from _repeated(one, f"{path}[{place}]", unknown)
    elif isinstance(value, _Object):
        seen: dict[str, int] = {}
        for name, one in value.pairs:
            where = _joined(path, name)
            seen[name] = seen.get(name, 0) + 1
            if seen[name] == 1 and unknown and where in unknown:
                yield unknown[where]
            if seen[name] == 2:
                yield f'duplicate field "{where}"'
            if one is value[name]:
                yield from _repeated(one, where, unknown)


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _text(path: Path) -> str:
    found = ""
    for part in path:
        found = f"{found}[{part}]" if isinstance(part, int) else _joined(found, part)
    return found
