"""What a CustomResourceDefinition has to be.

Upstream: apiextensions-apiserver pkg/apis/apiextensions/validation/validation.go and
pkg/apiserver/schema/validation.go. Rules of CEL are checked by `rules`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final, cast

from engine.api_server.validation.custom.rules import (
    expression_faults,
    form_faults,
    lacking_functions,
)
from engine.api_server.validation.report import Report, invalid_value, unsupported
from engine.api_server.validation.rules import subdomain_problems
from engine.objects.custom.definition import ESTABLISHED, condition_of
from engine.objects.documents import Path, show_path
from engine.objects.manifest_parts import items, section
from engine.objects.values.patterns import pattern_fault

Manifest = Mapping[str, Any]

_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?", re.ASCII)
_NO_LABEL: Final = (
    "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an "
    "alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', "
    f"regex used for validation is '{_LABEL.pattern}')"
)
_SCOPES: Final = ("Cluster", "Namespaced")
_STRATEGIES: Final = ("None", "Webhook")
_TYPES: Final = ("array", "boolean", "integer", "number", "object", "string")
# Where a schema has others.
_LOGICAL: Final = ("allOf", "anyOf", "oneOf")
# Words that a structural schema does not have.
_NOT_STRUCTURAL: Final = ("$ref", "additionalItems", "definitions", "dependencies", "id")


def custom_definition(value: Any, path: Path, report: Report) -> None:
    """Report what is wrong with a definition whose fields are of the right types."""
    spec = section(value, "spec")
    names, group = section(spec, "names"), str(spec.get("group") or "")
    _check_name(value, f"{names.get('plural') or ''}.{group}", report)
    if not group:
        report.add(("spec", "group"), None, "is missing", "Required value")
    elif problems := subdomain_problems(group):
        report.add(("spec", "group"), group, problems[0])
    elif "." not in group:
        why = "should be a domain with at least one dot"
        report.add(("spec", "group"), group, why)
    if spec.get("scope") not in _SCOPES:
        scope = spec.get("scope")
        answer = unsupported(scope, _SCOPES) if scope else "Required value"
        report.add(("spec", "scope"), scope, answer, answer)
    for name in ("plural", "kind"):
        if not names.get(name):
            report.add(("spec", "names", name), None, "is missing", "Required value")
    _check_names(names, report)
    _check_versions(items(spec, "versions"), report)
    _check_conversion(section(spec, "conversion"), report)


def _check_conversion(conversion: Manifest, report: Report) -> None:
    """Upstream: validateCustomResourceConversion(). Of webhooks `not_done` tells."""
    path: Path = ("spec", "conversion")
    strategy = conversion.get("strategy") or "None"
    if strategy not in _STRATEGIES:
        answer = unsupported(strategy, _STRATEGIES)
        report.add((*path, "strategy"), strategy, answer, answer)
    if strategy == "Webhook":
        _check_webhook(section(conversion, "webhook"), report)
        return
    for name in ("webhook", "conversionReviewVersions"):
        if conversion.get(name):
            why = "Forbidden: should not be set when strategy is not set to Webhook"
            report.add((*path, name), conversion[name], why, why)


def _check_webhook(webhook: Manifest, report: Report) -> None:
    path: Path = ("spec", "conversion", "webhook")
    client = section(webhook, "clientConfig")
    if not client:
        why = "Required value: required when strategy is set to Webhook"
        report.add((*path, "clientConfig"), None, why, why)
    elif bool(client.get("url")) == bool(client.get("service")):
        why = "Required value: exactly one of url or service is required"
        report.add((*path, "clientConfig"), None, why, why)
    if not webhook.get("conversionReviewVersions"):
        report.add((*path, "conversionReviewVersions"), None, "is missing", "Required value")


def not_done(definition: Manifest) -> list[str]:
    """What a run does not do of what a right definition asks for, as warnings to its author."""
    spec, found = section(definition, "spec"), list[str]()
    if section(spec, "conversion").get("strategy") == "Webhook":
        found.append(
            "spec.conversion.strategy: kscope calls no webhook: objects are not converted, and "
            "each version shows the fields that its own schema has"
        )
    for place, one in enumerate(items(spec, "versions")):
        schema = section(one, "schema", "openAPIV3Schema")
        where: Path = ("spec", "versions", place, "schema", "openAPIV3Schema")
        for path, names in lacking_functions(schema, where):
            found.append(
                f"{show_path(path)}: kscope never evaluates this rule: it has no {', '.join(names)}"
            )
    return found


def _check_name(value: Manifest, wanted: str, report: Report) -> None:
    name = section(value, "metadata").get("name")
    if name and name != wanted:
        report.add(("metadata", "name"), name, 'must be spec.names.plural+"."+spec.group')


def _check_names(names: Manifest, report: Report) -> None:
    """Upstream: ValidateCustomResourceDefinitionNames()."""
    for name in ("plural", "singular", "kind", "listKind"):
        text = str(names.get(name) or "")
        is_kind = name.lower().endswith("kind")
        if text and not _LABEL.fullmatch(text.lower() if is_kind else text):
            why = "may have mixed case, but should otherwise match: " if is_kind else ""
            report.add(("spec", "names", name), text, f"{why}{_NO_LABEL}")
    for name in ("shortNames", "categories"):
        for place, text in enumerate(names.get(name) or ()):
            if not _LABEL.fullmatch(str(text)):
                report.add(("spec", "names", name, place), text, _NO_LABEL)
    if names.get("kind") and names.get("kind") == names.get("listKind"):
        why = "kind and listKind may not be the same"
        report.add(("spec", "names", "listKind"), names["listKind"], why)


def _check_versions(versions: list[dict[str, Any]], report: Report) -> None:
    path: Path = ("spec", "versions")
    if not versions:
        report.add(path, None, "is missing", "Required value")
        return
    known = [str(one.get("name") or "") for one in versions]
    if len({*known}) < len(known):
        report.add(path, known, "must contain unique version names")
    if sum(one.get("storage") is True for one in versions) != 1:
        why = "must have exactly one version marked as storage version"
        report.add(path, known, why)
    for place, one in enumerate(versions):
        if not _LABEL.fullmatch(known[place]):
            report.add((*path, place, "name"), known[place], _NO_LABEL)
        schema = section(one, "schema").get("openAPIV3Schema")
        where: Path = (*path, place, "schema", "openAPIV3Schema")
        if not isinstance(schema, dict):
            report.add(where, None, "is missing", "Required value")
            continue
        _check_root(cast("Manifest", schema), where, report)
        faults = [
            *_structural(cast("Manifest", schema), where),
            *_value_faults(cast("Manifest", schema), where),
        ]
        # What is said of an expression helps nobody as long as its schema is wrong.
        for found, wrong in faults or expression_faults(cast("Manifest", schema), where):
            report.add(found, None, wrong, wrong)


def _check_root(schema: Manifest, path: Path, report: Report) -> None:
    kind = schema.get("type")
    if kind and kind != "object":
        why = "must be object at the root"
        report.add((*path, "type"), kind, why)
    elif not kind:
        why = "Required value: must not be empty at the root"
        report.add((*path, "type"), None, why, why)


def _structural(schema: Manifest, path: Path) -> Iterator[tuple[Path, str]]:
    """Upstream: ValidateStructural(), and of types validateCustomResourceDefinitionOpenAPISchema()."""
    kind = schema.get("type")
    is_free = schema.get("x-kubernetes-int-or-string") or schema.get(
        "x-kubernetes-preserve-unknown-fields"
    )
    if kind and kind not in _TYPES:
        yield (*path, "type"), unsupported(kind, _TYPES)
    elif not kind and not is_free and len(path) > 5:
        yield (*path, "type"), "Required value: must not be empty for specified object fields"
    for name in _NOT_STRUCTURAL:
        if schema.get(name):
            yield (*path, name), "Forbidden: must not be set"
    if schema.get("uniqueItems") is True:
        why = "Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield (*path, "uniqueItems"), why
    properties: Mapping[str, Manifest] = schema.get("properties") or {}
    others = schema.get("additionalProperties")
    if properties and others:
        why = "Forbidden: additionalProperties and properties are mutual exclusive"
        yield (*path, "additionalProperties"), why
    for name, inner in properties.items():
        yield from _structural(inner, (*path, "properties", name))
    if isinstance(others, dict):
        yield from _structural(cast("Manifest", others), (*path, "additionalProperties"))
    inner_items: Any = schema.get("items")
    if isinstance(inner_items, list):
        yield (*path, "items"), "Forbidden: items must be a schema object and not an array"
    elif isinstance(inner_items, dict):
        yield from _structural(cast("Manifest", inner_items), (*path, "items"))
    elif kind == "array":
        yield (*path, "items"), "Required value: must be specified"
    if schema.get("x-kubernetes-list-type") == "map" and not schema.get(
        "x-kubernetes-list-map-keys"
    ):
        why = "Required value: must not be empty if x-kubernetes-list-type is map"
        yield (*path, "x-kubernetes-list-map-keys"), why


def _value_faults(schema: Manifest, path: Path) -> Iterator[tuple[Path, str]]:
    """Upstream: validateValueValidation(). It finds a wrong factor by the first object."""
    yield from form_faults(schema, path)
    pattern, factor = schema.get("pattern"), schema.get("multipleOf")
    if isinstance(pattern, str) and (fault := pattern_fault(pattern)):
        why = f"must be a valid regular expression, but isn't: {fault}"
        yield (*path, "pattern"), invalid_value(pattern, why)
    if isinstance(factor, (int, float)) and factor <= 0:
        yield (*path, "multipleOf"), invalid_value(factor, "factor MultipleOf must be positive")
    for where, inner in _inner_schemas(schema):
        yield from _value_faults(inner, (*path, *where))


def _inner_schemas(schema: Manifest) -> Iterator[tuple[Path, Manifest]]:
    found: list[tuple[Path, Any]] = [
        ((name,), schema.get(name)) for name in ("additionalProperties", "items", "not")
    ]
    for name, inner in section(schema, "properties").items():
        found.append((("properties", name), inner))
    for name in _LOGICAL:
        found += [((name, place), inner) for place, inner in enumerate(schema.get(name) or ())]
    for where, inner in found:
        if isinstance(inner, dict):
            yield where, cast("Manifest", inner)


def definition_update(old: Manifest, new: Manifest) -> Iterator[str]:
    """What of an established definition may not change.

    Upstream: validateCustomResourceDefinitionSpecUpdate().
    """
    before, after = section(old, "spec"), section(new, "spec")
    paths = [("group",)]
    if condition_of(old, ESTABLISHED).get("status") == "True":
        paths += [("scope",), ("names", "kind"), ("names", "plural")]
    for *outer, name in paths:
        was, now = section(before, *outer).get(name), section(after, *outer).get(name)
        if was != now:
            field = ".".join(("spec", *outer, name))
            yield f'{field}: Invalid value: "{now}": field is immutable'
