"""Applies the MutatingAdmissionPolicies of a run to an object that is about to be stored.

Upstream: apiserver/pkg/admission/plugin/policy/mutating/{dispatcher.go,patch/smd.go,patch/json_patch.go}.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar, Final, cast

from engine.api_server.policies.bound import BoundPolicies
from engine.api_server.policies.evaluating import Evaluation, PolicyError
from engine.api_server.policies.writes import Write
from engine.objects.cel.object_literals import with_plain_objects
from engine.objects.manifest_parts import items, section
from engine.objects.objects import ApiObject, Manifest
from engine.objects.openapi.definitions import Definitions, Schema, definitions
from engine.objects.openapi.merging import AtomicPart, merged
from engine.objects.openapi.names import definition_of
from engine.objects.values.cel_text import ExpressionError
from engine.objects.values.json_patch import PatchError, ValueDiffers, json_patched

_APPLY: Final = "applyConfiguration"
# By the type of a patch, the part of a mutation that has its expression.
_PARTS: Final = {"ApplyConfiguration": _APPLY, "JSONPatch": "jsonPatch"}
_AGAIN: Final = "IfNeeded"
_OF_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@dataclass(frozen=True, slots=True)
class MutatingPolicies(BoundPolicies):
    """Those that change what is written, by a configuration that is applied to it, or by a patch."""

    KIND: ClassVar[str] = "MutatingAdmissionPolicy"

    def changed(self, write: Write) -> Manifest:
        """The new object as the policies leave it. Raises Denied where one fails.

        Those that may be invoked again are, once, where any has changed it: upstream's dispatcher
        requires that of all that were invoked before (dispatcher.go, dispatchInvocations()).
        """
        first = self._invoked(write)
        if first.manifest == write.manifest:
            return write.manifest
        return self._invoked(first, again=True).manifest

    def _invoked(self, write: Write, *, again: bool = False) -> Write:
        for policy, binding in self.matching(write):
            if again and policy.spec.get("reinvocationPolicy") != _AGAIN:
                continue
            try:
                write = self._applied(policy, binding, write)
            except PolicyError as error:
                if policy.spec.get("failurePolicy") != "Ignore":
                    raise self.denied(policy, binding, write, str(error)) from None
        return write

    def _applied(self, policy: ApiObject, binding: ApiObject, write: Write) -> Write:
        for parameters in [*self.parameters(policy, binding, write)]:
            evaluation = Evaluation(policy.spec, self.variables(write, parameters))
            if not evaluation.is_wanted():
                continue
            for mutation in items(policy.spec, "mutations"):
                part = _PARTS.get(str(mutation.get("patchType")), "")
                text = str(section(mutation, part).get("expression") or "").strip()
                made = self._made(policy, write, parameters, text)
                # One that is never evaluated changes nothing; its author was told so.
                if made is not True:
                    with_made = self._configured if part == _APPLY else _patched
                    write = with_made(write, made)
        return write

    def _made(self, policy: ApiObject, write: Write, parameters: Manifest | None, text: str) -> Any:
        """What an expression makes of the object as the mutations before it have left it."""
        evaluation = Evaluation(policy.spec, self.variables(write, parameters))
        try:
            return evaluation.value(with_plain_objects(text))
        except ExpressionError as error:
            raise PolicyError(str(error)) from None

    def _configured(self, write: Write, made: Any) -> Write:
        """Upstream: patch/smd.go, ApplyStructuredMergeDiff()."""
        if not isinstance(made, dict):
            raise PolicyError("unsupported return type from ApplyConfiguration expression")
        schema, known = self._schema_of(write)
        try:
            new = merged(write.manifest, cast("Manifest", made), schema, known)
        except AtomicPart as part:
            why = f"may not mutate atomic arrays, maps or structs: {part}"
            raise PolicyError(f"error applying patch: invalid ApplyConfiguration: {why}") from None
        return replace(write, new=new)

    def _schema_of(self, write: Write) -> tuple[Schema, Definitions]:
        known = definitions()
        custom = self.custom.of(write.manifest)
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
