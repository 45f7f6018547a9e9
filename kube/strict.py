"""Strict validation: fields that a kind does not have, and fields that are given twice.

Upstream: sigs.k8s.io/json, the strict errors; apiserver/pkg/endpoints/handlers, fieldValidation.
"""

import json
from collections.abc import Iterator
from typing import Any

import orjson

from engine.objects.documents import Path
from engine.objects.openapi.findings import Findings
from kube.resources import Resource
from kube.status import ApiError, bad_request


def unknown_fields(found: Findings) -> list[str]:
    """Each field that the kind does not have, as in 'unknown field "spec.replicaz"'."""
    return [f'unknown field "{_text(field.path)}"' for field in found.unknown]


def repeated_fields(text: bytes) -> list[str]:
    """Each field that a JSON text gives twice, as in 'duplicate field "spec.replicas"'.

    *text* is JSON that has been read before; what cannot be read has no such fields.
    """
    try:
        if not _has_a_name_twice(text):
            return []
        found = json.loads(text, object_pairs_hook=_Object, **_NUMBERS)
    except (ValueError, RecursionError):
        return []
    return [f'duplicate field "{path}"' for path in _repeated(found, "")]


def refusal(resource: Resource, problems: list[str]) -> ApiError:
    """The answer to an object with such fields."""
    kind, found = resource.written_kind, ", ".join(problems)
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
    """An object of a JSON text, and the names that it has twice."""

    def __init__(self, pairs: list[tuple[str, Any]]) -> None:
        super().__init__(pairs)
        self.repeated: dict[str, None] = {}
        if len(self) < len(pairs):
            names: dict[str, None] = {}
            for name, _ in pairs:
                (self.repeated if name in names else names)[name] = None


def _repeated(value: Any, path: str) -> Iterator[str]:
    if isinstance(value, list):
        for place, one in enumerate(value):
            yield from _repeated(one, f"{path}[{place}]")
    elif isinstance(value, _Object):
        for name, one in value.items():
            if name in value.repeated:
                yield _joined(path, name)
            yield from _repeated(one, _joined(path, name))


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _text(path: Path) -> str:
    found = ""
    for part in path:
        found = f"{found}[{part}]" if isinstance(part, int) else _joined(found, part)
    return found
