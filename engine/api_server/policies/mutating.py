"""Applies the MutatingAdmissionPolicies of a run to an object that is about to be stored.

Upstream: apiserver/pkg/admission/plugin/policy/mutating/{dispatcher.go,patch/smd.go}.
"""

from __future__ import annotations

from collections.abc import Mapping
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

_APPLY: Final = "ApplyConfiguration"
_OF_METADATA: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"


@dataclass(frozen=True, slots=True)
class MutatingPolicies(BoundPolicies):
    """Those that change what is written, by a configuration that is applied to it."""

    KIND: ClassVar[str] = "MutatingAdmissionPolicy"

    def changed(self, write: Write) -> Manifest:
        """The new object as the policies leave it. Raises Denied where one fails."""
        for policy, binding in self.matching(write):
            try:
                write = self._applied(policy, binding, write)
            except PolicyError as error:
                if policy.spec.get("failurePolicy") != "Ignore":
                    raise self.denied(policy, binding, write, str(error)) from None
        return write.manifest

    def _applied(self, policy: ApiObject, binding: ApiObject, write: Write) -> Write:
        for parameters in [*self.parameters(policy, binding, write)]:
            evaluation = Evaluation(policy.spec, self.variables(write, parameters))
            if not evaluation.is_wanted():
                continue
            for mutation in items(policy.spec, "mutations"):
                if mutation.get("patchType") == _APPLY:
                    write = self._with(write, mutation, policy, parameters)
        return write

    def _with(
        self,
        write: Write,
        mutation: Mapping[str, Any],
        policy: ApiObject,
        parameters: Manifest | None,
    ) -> Write:
        text = str(section(mutation, "applyConfiguration").get("expression") or "")
        evaluation = Evaluation(policy.spec, self.variables(write, parameters))
        try:
            made = evaluation.value(with_plain_objects(text.strip()))
        except ExpressionError as error:
            raise PolicyError(str(error)) from None
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
