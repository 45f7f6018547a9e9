"""Applies mutations to what is written: configurations and JSON patches that expressions make.

Upstream: apiserver/pkg/admission/plugin/policy/mutating/patch/{smd.go,json_patch.go}.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, Final, cast

from engine.api_server.custom.kinds import CustomKinds
from engine.api_server.policies.evaluating import Evaluation, PolicyError
from engine.api_server.policies.writes import Write
from engine.objects.cel.object_literals import with_plain_objects
from engine.objects.manifest_parts import items, section
from engine.objects.objects import Manifest
from engine.objects.openapi.definitions import Definitions, Schema, definitions
from engine.objects.openapi.merging import AtomicPart, merged
from engine.objects.openapi.names import definition_of
from engine.objects.values.cel_text import ExpressionError
from engine.objects.values.json_patch import PatchError, ValueDiffers, json_patched

_APPLY: Final = "applyConfiguration"
# By the type of a patch, the part of a mutation that has its expression.
_PARTS: Final = {"ApplyConfiguration": _APPLY, "JSONPatch": "jsonPatch"}
_OF_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


def mutated(
    spec: Mapping[str, Any],
    write: Write,
    given: Callable[[Write], Mapping[str, Any]],
    custom: CustomKinds,
) -> Write:
    """*write* as the mutations of *spec* leave it; *given* says what expressions see of a write.

    Raises PolicyError.
    """
    for mutation in items(spec, "mutations"):
        part = _PARTS.get(str(mutation.get("patchType")), "")
        text = str(section(mutation, part).get("expression") or "").strip()
        made = _made(spec, given(write), text)
        # One that is never evaluated changes nothing; its author was told so.
        if made is not True:
            write = _configured(write, made, custom) if part == _APPLY else _patched(write, made)
    return write


def _made(spec: Mapping[str, Any], given: Mapping[str, Any], text: str) -> Any:
    """What an expression makes of the object as the mutations before it have left it."""
    try:
        return Evaluation(spec, given).value(with_plain_objects(text))
    except ExpressionError as error:
        raise PolicyError(str(error)) from None


def _configured(write: Write, made: Any, custom: CustomKinds) -> Write:
    """Upstream: patch/smd.go, ApplyStructuredMergeDiff()."""
    if not isinstance(made, dict):
        raise PolicyError("unsupported return type from ApplyConfiguration expression")
    schema, known = _schema_of(write, custom)
    try:
        new = merged(write.manifest, cast("Manifest", made), schema, known)
    except AtomicPart as part:
        why = f"may not mutate atomic arrays, maps or structs: {part}"
        raise PolicyError(f"error applying patch: invalid ApplyConfiguration: {why}") from None
    return replace(write, new=new)


def _schema_of(write: Write, kinds: CustomKinds) -> tuple[Schema, Definitions]:
    known = definitions()
    custom = kinds.of(write.manifest)
    if custom is None:
        kind = str(write.manifest.get("kind"))
        return known.get(definition_of(write.api_version, kind), {}), known
    schema = dict(custom.stored.schema)
    metadata = {"metadata": {"$ref": f"#/$defs/{_OF_METADATA}"}}
    return {**schema, "properties": {**(schema.get("properties") or {}), **metadata}}, known


def _patched(write: Write, made: Any) -> Write:
    """Upstream: patch/json_patch.go: where a value is not what the patch says, nothing is changed."""
    if not isinstance(made, list):
        raise PolicyError("type mismatch: JSONPatchType.expression should evaluate to array")
    try:
        return replace(write, new=json_patched(write.manifest, made))
    except ValueDiffers:
        return write
    except PatchError as error:
        raise PolicyError(f"JSON Patch: {error}") from None
