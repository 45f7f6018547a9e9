"""Which objects a request means: by labels, and by the fields that the API server knows.

Upstream: apimachinery/pkg/labels/selector.go (Parser), apimachinery/pkg/fields/selector.go, and the
field labels that each kind registers (pkg/apis/core/v1/conversion.go and others).
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kscope.sim.objects.selectors import DOES_NOT_EXIST, EXISTS, GT, IN, LT, NOT_IN, Requirement
from kube.resources import Resource
from kube.status import bad_request

Manifest = Mapping[str, Any]

_TOKEN = re.compile(r"\s*(==|!=|[=!(),<>]|[^\s=!(),<>]+)")
_SIGNS = frozenset({"=", "==", "!=", "!", "(", ")", ",", "<", ">"})


def labels_selected(text: str) -> tuple[Requirement, ...]:
    """The conditions of "app=web,tier in (a, b),!old". Raises ApiError."""
    return _LabelParser(text).requirements()


class _LabelParser:
    """Reads a label selector word by word."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._words = _TOKEN.findall(text)
        self._place = 0

    def requirements(self) -> tuple[Requirement, ...]:
        found: list[Requirement] = []
        while self._next is not None:
            found.append(self._requirement())
            if self._next is None:
                break
            if self._take() != ",":
                raise self._refusal(f"found '{self._last}', expected: ',' or 'end of string'")
            if self._next is None:
                raise self._refusal("found '', expected: identifier after ','")
        return tuple(found)

    @property
    def _next(self) -> str | None:
        return self._words[self._place] if self._place < len(self._words) else None

    @property
    def _last(self) -> str:
        return self._words[self._place - 1]

    def _take(self) -> str:
        word = self._next
        self._place += 1
        return word or ""

    def _requirement(self) -> Requirement:
        if self._next == "!":
            self._take()
            return Requirement(self._key(), DOES_NOT_EXIST)
        key = self._key()
        match self._next:
            case None | ",":
                return Requirement(key, EXISTS)
            case "=" | "==":
                self._take()
                return Requirement(key, IN, (self._value(),))
            case "!=":
                self._take()
                return Requirement(key, NOT_IN, (self._value(),))
            case ">" | "<" as sign:
                self._take()
                return Requirement(key, GT if sign == ">" else LT, (self._value(),))
            case "in" | "notin" as word:
                self._take()
                return Requirement(key, IN if word == "in" else NOT_IN, self._values())
            case word:
                raise self._refusal(f"found '{word}', expected: in, notin, =, ==, !=, gt, lt")

    def _key(self) -> str:
        word = self._take()
        if not word or word in _SIGNS:
            raise self._refusal(f"found '{word}', expected: identifier")
        return word

    def _value(self) -> str:
        # "app=" selects the empty value.
        if self._next is None or self._next == ",":
            return ""
        return self._key()

    def _values(self) -> tuple[str, ...]:
        if self._take() != "(":
            raise self._refusal(f"found '{self._last}' expected: '('")
        values: dict[str, None] = {}
        while True:
            if self._next in (",", ")"):
                values[""] = None
            else:
                values[self._key()] = None
            sign = self._take()
            if sign == ")":
                return tuple(sorted(values))
            if sign != ",":
                raise self._refusal(f"found '{sign}', expected: ',' or ')'")

    def _refusal(self, why: str) -> Exception:
        return bad_request(f"unable to parse requirement: {why}")


@dataclass(frozen=True, slots=True)
class FieldTerm:
    """One condition on one field: `wanted` or, for `is_equal` False, anything but that."""

    field: str
    wanted: str
    is_equal: bool = True


def fields_selected(text: str, resource: Resource) -> tuple[FieldTerm, ...]:
    """The conditions of "spec.nodeName=n1,status.phase!=Failed". Raises ApiError."""
    found: list[FieldTerm] = []
    for term in _split(text):
        field, sign, wanted = _term(term)
        if not sign:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        if field not in _fields_of(resource):
            raise bad_request(
                f'Unable to find "{resource.api_version.replace("/", ".")}, '
                f'Resource={resource.plural}" that match label selector "", field selector '
                f'"{text}": field label not supported: {field}'
                if resource.group
                else f"field label not supported: {field}"
            )
        found.append(FieldTerm(field, wanted, sign != "!="))
    return tuple(found)


def _split(text: str) -> list[str]:
    """The terms between commas; a backslash takes the meaning from the comma after it."""
    return [
        re.sub(r"\\([,=\\])", r"\1", term) for term in re.split(r"(?<!\\),", text) if term.strip()
    ]


def _term(text: str) -> tuple[str, str, str]:
    match = re.match(r"([^=!]+)(!=|==|=)(.*)", text)
    return (match[1].strip(), match[2], match[3].strip()) if match else ("", "", "")


# How the value of a field is found, where it is not simply at its path.
_Getter = Callable[[Manifest], str]


def _at(path: str) -> _Getter:
    parts = path.split(".")

    def value(manifest: Manifest) -> str:
        found: Any = manifest
        for part in parts:
            found = found.get(part) if isinstance(found, Mapping) else None
        if isinstance(found, bool):
            return str(found).lower()
        return "" if found is None else str(found)

    return value


def _pod_ip(manifest: Manifest) -> str:
    ips = (manifest.get("status") or {}).get("podIPs") or [{}]
    return str(ips[0].get("ip") or _at("status.podIP")(manifest))


def _reporter(manifest: Manifest) -> str:
    source = manifest.get("source") or {}
    return str(source.get("component") or manifest.get("reportingComponent") or "")


_METADATA = ("metadata.name", "metadata.namespace")
_PATHS: dict[str, tuple[str, ...]] = {
    "Pod": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.nominatedNodeName",
    ),
    "Node": ("spec.unschedulable",),
    "Namespace": ("status.phase",),
    "Secret": ("type",),
    "ReplicaSet": ("status.replicas",),
    "ReplicationController": ("status.replicas",),
    "Job": ("status.successful",),
    "Service": ("spec.clusterIP", "spec.type"),
    "ResourceSlice": ("spec.nodeName", "spec.driver"),
    "Event": (
        "involvedObject.kind",
        "involvedObject.namespace",
        "involvedObject.name",
        "involvedObject.uid",
        "involvedObject.apiVersion",
        "involvedObject.resourceVersion",
        "involvedObject.fieldPath",
        "reason",
        "type",
    ),
}
_OF_EVENTS_V1 = {
    **{
        f"regarding.{part}": _at(f"regarding.{part}")
        for part in ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion")
    },
    "reason": _at("reason"),
    "type": _at("type"),
    "reportingController": _at("reportingController"),
}


def _fields_of(resource: Resource) -> dict[str, _Getter]:
    fields = {path: _at(path) for path in _METADATA}
    if resource.group == "events.k8s.io":
        return {**fields, **_OF_EVENTS_V1}
    fields |= {path: _at(path) for path in _PATHS.get(resource.kind, ())}
    if resource.kind == "Pod":
        fields |= {"status.podIP": _pod_ip, "status.podIPs": _pod_ip}
    if resource.kind == "Event":
        fields |= {"source": _reporter, "reportingComponent": _reporter}
    return fields


@dataclass(frozen=True, slots=True)
class Selection:
    """The objects that a request means."""

    labels: tuple[Requirement, ...]
    fields: tuple[FieldTerm, ...]
    _getters: Mapping[str, _Getter]

    @classmethod
    def parse(cls, resource: Resource, labels: str, fields: str) -> "Selection":
        """What a labelSelector and a fieldSelector select. Raises ApiError."""
        return cls(labels_selected(labels), fields_selected(fields, resource), _fields_of(resource))

    @property
    def is_all(self) -> bool:
        """Whether every object is meant."""
        return not self.labels and not self.fields

    @property
    def name(self) -> str:
        """The only name that is meant, or "" for several."""
        wanted = (one.wanted for one in self.fields if one.is_equal and one.field == _METADATA[0])
        return next(wanted, "")

    def matches(self, manifest: Manifest) -> bool:
        """Whether the object is meant; *manifest* has its defaults."""
        labels = manifest["metadata"].get("labels") or {}
        return all(one.matches(labels) for one in self.labels) and all(
            (self._getters[one.field](manifest) == one.wanted) == one.is_equal
            for one in self.fields
        )
