"""Checks whole manifests: name, namespace, metadata, and the rule of the kind."""

from __future__ import annotations

import re
from typing import Any, cast

from engine.api_server.validation.kinds import (
    KINDS,
    POLICIES,
    STORED_KINDS,
    is_known,
    unknown_kind,
)
from engine.api_server.validation.report import (
    LONGEST_OBJECT_NAME,
    Report,
    invalid_value,
    text_fault,
)
from engine.api_server.validation.rules import (
    DNS_LABEL,
    label_problems,
    subdomain,
    subdomain_problems,
    too_long,
)
from engine.api_server.validation.shared import METADATA
from engine.kernel.sentences import say
from engine.objects.documents import Path
from engine.objects.kinds import NAMESPACED
from engine.objects.openapi.checkers import Nulls
from engine.objects.openapi.definitions import NEWEST
from engine.objects.openapi.fields import check_fields, without
from engine.objects.openapi.findings import NOTHING
from engine.objects.values.shown import shown

_SUBDOMAIN = re.compile(
    r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*", re.ASCII
)
_KIND = re.compile(r"[A-Za-z][A-Za-z0-9]{0,62}", re.ASCII)
_DATA_KEY = re.compile(r"[-._a-zA-Z0-9]+", re.ASCII)
_NO_DATA_KEY = (
    "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. "
    "'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')"
)
# Kinds of core/v1 that no engine reads, whose names an API server looks at all the same.
SUBDOMAINS = frozenset({"ConfigMap", "Endpoints", "PodTemplate", "Secret", "ServiceAccount"})
# Names of these kinds are path segments, not DNS names. Upstream: ValidatePathSegmentName.
_LOOSE_NAMES = frozenset({"Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding", "Event"})


def check_manifest(
    raw: dict[str, Any], path: Path, report: Report, version: str = NEWEST
) -> Nulls | None:
    """Report what is wrong with a manifest that has a kind and metadata, and its unknown fields.

    A manifest with values of a wrong type is reported for these alone. *version* is the one of
    Kubernetes. Returns the objects in it that have fields which are null, if all its fields are right.
    """
    return _checked(raw, path, report, version, is_read=raw["kind"] in STORED_KINDS)


def _checked(
    raw: dict[str, Any], path: Path, report: Report, version: str, *, is_read: bool
) -> Nulls | None:
    is_simulated = is_known(raw)
    is_read = is_read or is_simulated
    nulls: Nulls | None = []
    found = check_fields(raw, version, is_simulated=is_read, nulls=nulls)
    if found is not NOTHING:
        nulls = None
        report.add_types(path, found)
        report.unknown += [(*path, *field.path) for field in found.unknown]
        if found.wrong:
            return None
        # Nobody has looked at the types of what is left out.
        raw = without(raw, [field.path for field in found.unknown])
    # Of a kind that no engine reads the name alone counts, and may be a path segment.
    kind = raw["kind"] if is_simulated else "Event"
    METADATA(raw.get("metadata"), (*path, "metadata"), report)
    metadata = raw.get("metadata")
    if isinstance(metadata, dict):
        _check_name(kind, cast("dict[str, Any]", metadata), (*path, "metadata"), report)
    rule = KINDS.get(kind)
    if rule is not None:
        rule(raw, path, report)
    return nulls


def check_stored(raw: dict[str, Any], path: Path, report: Report, version: str = NEWEST) -> None:
    """As check_manifest, for what an engine is going to store, of whatever kind it is.

    A file's objects of kinds that no engine reads are left out; a command's are stored.
    """
    kind: str = raw["kind"]
    wrong_before = len(report.problems)
    _checked(raw, path, report, version, is_read=kind in STORED_KINDS or kind in POLICIES)
    if is_known(raw):
        return
    if not _KIND.fullmatch(kind):
        wrong = say(
            "{found} is not a kind: at most 63 letters and digits, a letter first",
            found=shown(kind),
        )
        report.add((*path, "kind"), kind, wrong)
    elif kind in KINDS:
        given: Any = raw.get("apiVersion")
        wrong = say(
            "the {kind} of {found} is another kind than the one that is simulated",
            kind=kind,
            found=shown(given),
        )
        report.add((*path, "apiVersion"), given, wrong)
    metadata = raw.get("metadata")
    for name, longest in ("name", LONGEST_OBJECT_NAME), ("namespace", 63):
        value = cast("dict[str, Any]", metadata).get(name) if isinstance(metadata, dict) else None
        fault = text_fault(value, longest) if isinstance(value, str) else None
        if fault is not None:
            report.add((*path, "metadata", name), value, fault)
    if kind in POLICIES and len(report.problems) == wrong_before:
        POLICIES[kind](raw, path, report)
    STORED_KINDS.get(kind, unknown_kind)(raw, path, report)
    if kind in SUBDOMAINS and not cast("str", raw.get("apiVersion", "")).partition("/")[1]:
        name = cast("dict[str, Any]", metadata).get("name") if isinstance(metadata, dict) else None
        subdomain(name, (*path, "metadata", "name"), report)
    for problem in data_key_problems(raw):
        report.add(*problem)


def data_key_problems(raw: dict[str, Any]) -> list[tuple[Path, Any, str]]:
    """What is wrong with the keys of a ConfigMap or a Secret. Upstream: IsConfigMapKey()."""
    if raw.get("kind") not in ("ConfigMap", "Secret"):
        return []
    found: list[tuple[Path, Any, str]] = []
    for part in ("data", "binaryData", "stringData"):
        data = raw.get(part)
        for key in cast("dict[str, Any]", data) if isinstance(data, dict) else ():
            found += [((part, key), key, why) for why in _key_faults(key)]
    return found


def _key_faults(key: str) -> list[str]:
    if len(key) > LONGEST_OBJECT_NAME:
        return [too_long(LONGEST_OBJECT_NAME)]
    if not _DATA_KEY.fullmatch(key):
        return [_NO_DATA_KEY]
    if key in (".", ".."):
        return [f"must not be '{key}'"]
    return ["must not start with '..'"] if key.startswith("..") else []


def _check_name(kind: str, metadata: dict[str, Any], path: Path, report: Report) -> None:
    name = metadata.get("name")
    if name is None or name == "":
        message = (
            say("a {kind} needs a name; generateName alone does not name it", kind=kind)
            if metadata.get("generateName")
            else say("a {kind} needs a name", kind=kind)
        )
        answer = "Required value: name or generateName is required"
        report.add((*path, "name"), name, message, answer)
    elif not isinstance(name, str) or kind in _LOOSE_NAMES:
        return
    elif kind == "Namespace":
        _check_namespace(name, (*path, "name"), report)
    elif len(name) > 253 or not _SUBDOMAIN.fullmatch(name):
        report.add(
            (*path, "name"),
            name,
            say(
                '{found} is not a name: at most 253 lower case letters, digits, "-" or ".", with a letter or digit at both ends',
                found=shown(name),
            ),
            _answer(name, subdomain_problems(name)),
        )
    namespace = metadata.get("namespace")
    if kind in NAMESPACED and isinstance(namespace, str) and namespace:
        _check_namespace(namespace, (*path, "namespace"), report)


def _check_namespace(name: str, path: Path, report: Report) -> None:
    """Upstream: apimachinery validation.ValidateNamespaceName, IsDNS1123Label()."""
    if len(name) > 63 or not DNS_LABEL.fullmatch(name):
        report.add(
            path,
            name,
            say(
                '{found} is not the name of a namespace: at most 63 lower case letters, digits or "-", with a letter or digit at both ends',
                found=shown(name),
            ),
            _answer(name, label_problems(name)),
        )


def _answer(name: str, problems: list[str]) -> str:
    return invalid_value(name, problems[0])
