"""What a run does not do of what policies and webhooks ask for, as warnings to their author."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, Final

from engine.api_server.validation.policies.expressions import lacking
from engine.objects.cel.object_literals import with_plain_objects
from engine.objects.documents import Path, show_path
from engine.objects.manifest_parts import items, section
from engine.objects.values.cel_text import ExpressionError

Manifest = Mapping[str, Any]

_NO_WEBHOOK: Final = (
    "kscope calls no webhook: nothing is refused or changed by it, but where the scenario says what "
    "containers behind its Service answer"
)
_NO_SERVER: Final = "kscope calls no other API server: nothing is served by it"
_EXPRESSIONS: Final = (
    ("matchConditions", ("expression",)),
    ("variables", ("expression",)),
    ("validations", ("expression", "messageExpression")),
    ("auditAnnotations", ("valueExpression",)),
)


def not_done(manifest: Manifest) -> list[str]:
    """What of a right object of one of these kinds has no effect; nothing of any other."""
    kind, spec = str(manifest.get("kind") or ""), section(manifest, "spec")
    if kind.endswith("WebhookConfiguration"):
        return [_NO_WEBHOOK]
    if kind == "APIService":
        return [_NO_SERVER]
    if kind in ("MutatingAdmissionPolicy", "ValidatingAdmissionPolicy"):
        return [*_never_evaluated(spec)]
    return []


def _never_evaluated(spec: Manifest) -> Iterator[str]:
    for path, text in _expressions(spec):
        if names := lacking(text):
            why = "kscope never evaluates this expression, and takes it as true: it has no"
            yield f"{show_path(path)}: {why} {', '.join(names)}"


def _expressions(spec: Manifest) -> Iterator[tuple[Path, str]]:
    for part, names in _EXPRESSIONS:
        for place, one in enumerate(items(spec, part)):
            for name in names:
                if text := str(one.get(name) or "").strip():
                    yield ("spec", part, place, name), text
    for place, one in enumerate(items(spec, "mutations")):
        for name in ("applyConfiguration", "jsonPatch"):
            if text := str(section(one, name).get("expression") or "").strip():
                with suppress(ExpressionError):
                    yield ("spec", "mutations", place, name, "expression"), with_plain_objects(text)
