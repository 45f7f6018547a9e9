"""What is no object of a cluster, by content: it is skipped, and the reason is told.

Folders and archives hold more than manifests: values and templates of Helm charts, kustomizations,
policies and settings of programs. A manifest that is broken is none of these: it is a problem.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any, Final, cast

from engine.api_server.validation.kinds import KINDS
from engine.kernel.sentences import say
from engine.objects.unmodelled import EVIDENCE

Manifest = dict[str, Any]

HELM: Final = say(
    "it is a template of a Helm chart: render it with helm template, and import the result"
)
_CHART: Final = say(
    "it describes a Helm chart: render the chart with helm template, and import the result"
)
_KUSTOMIZATION: Final = say(
    "it is a kustomization: build it with kubectl kustomize, and import the result"
)
_VALUES: Final = say("it has neither apiVersion nor kind, as values of a Helm chart have none")
_NO_MANIFEST: Final = say("it has neither apiVersion nor kind, so it is no manifest")
NOT_TEXT: Final = say("it is not a text file")
NO_SUFFIX: Final = say(
    "its name does not end in .yaml, .yml, .json, .jsonl, .ndjson, .csv or .sktrace"
)
_SAID_OF_ITSELF: Final = say("it says what an API server serves, and has no object of a cluster")
_AUDIT: Final = say(
    "it is an audit log, which kscope does not read: record the cluster with kubectl get --watch "
    "--output-watch-events -o json instead"
)
_KWOK: Final = say(
    "it is a step of a KWOK recording, which kscope does not play: what is saved before the steps is read"
)

# What an API server says of itself; bundles have lists of it.
DISCOVERY: Final = frozenset(("APIResourceList", "APIGroupList", "APIGroup", "APIVersions"))

_ACTION: Final = re.compile(rb"\{\{-?\s*[\w.$\"(/*]")
_TYPED: Final = re.compile(rb"^\s*[{\[,-]*\s*[\"']?(apiVersion|kind)[\"']?\s*:", re.MULTILINE)
# Keys with which a kustomization that names no kind begins.
_OF_KUSTOMIZE: Final = frozenset(
    ("resources", "bases", "patches", "patchesStrategicMerge", "configMapGenerator", "components")
)
_SUFFIXES: Final = (".yaml", ".yml", ".json", ".jsonl", ".ndjson", ".csv", ".sktrace")


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, or a document of one, that was not read, and why."""

    file: str
    why: str
    document: int = 0

    def __str__(self) -> str:
        if not self.document:
            return say("{file} was skipped: {why}", file=self.file, why=self.why)
        return say(
            "{file}, document {document} was skipped: {why}",
            file=self.file,
            document=self.document,
            why=self.why,
        )


def is_template(data: bytes) -> bool:
    """Whether a text that is no YAML has the actions of a Go template."""
    return _ACTION.search(data) is not None


def names_a_type(data: bytes) -> bool:
    """Whether a text has a field that every manifest has."""
    return _TYPED.search(data) is not None


def name_fault(name: str, data: bytes) -> str:
    """Why a file that came with others is not even looked into; "" where it is."""
    if PurePath(name).suffix.lower() in _SUFFIXES:
        return ""
    is_like_manifests = PurePath(name).suffix in ("", ".txt") and names_a_type(data[:4096])
    return "" if is_like_manifests else NO_SUFFIX


def foreign_reason(file: str, manifest: Manifest) -> str:
    """Why a document is no object of a cluster; "" where it is one, or should be one."""
    kind, version = manifest.get("kind"), manifest.get("apiVersion")
    if str(version).startswith("kustomize.config.k8s.io/"):
        return _KUSTOMIZATION
    if kind is None or (version is None and "metadata" not in manifest and _is_values(file)):
        return _untyped_reason(file, manifest, version)
    if not isinstance(kind, str):
        return ""
    if kind in DISCOVERY:
        return _SAID_OF_ITSELF
    if not isinstance(version, str):
        return ""
    metadata: Any = manifest.get("metadata")
    named = cast("Manifest", metadata) if isinstance(metadata, dict) else {}
    if any("{{" in str(named.get(part) or "") for part in ("name", "namespace")):
        return HELM
    if metadata is not None and not isinstance(metadata, Mapping):
        return ""
    return "" if named.get("name") or named.get("generateName") else _unnamed_reason(kind, version)


def _untyped_reason(file: str, manifest: Manifest, version: Any) -> str:
    if version is not None:
        is_chart = version in ("v1", "v2") and {"name", "version"} <= manifest.keys()
        return _CHART if is_chart else ""
    if "metadata" in manifest or "spec" in manifest:
        # With a uid, a program has written it, and not a person who forgot two lines.
        metadata: Any = manifest.get("metadata")
        is_written = isinstance(metadata, dict) and "uid" in metadata
        return _NO_MANIFEST if is_written else ""
    stem = PurePath(file).stem.lower()
    if stem == "kustomization" and _OF_KUSTOMIZE & manifest.keys():
        return _KUSTOMIZATION
    return _VALUES if _is_values(file) else _NO_MANIFEST


def _is_values(file: str) -> bool:
    return "values" in PurePath(file).stem.lower()


def _unnamed_reason(kind: str, version: str) -> str:
    """Of what has no name: objects of kinds that kscope reads must have one."""
    group = version.rpartition("/")[0]
    if group == "audit.k8s.io" and kind == "Event":
        return _AUDIT
    if group == "action.kwok.x-k8s.io":
        return _KWOK
    is_custom = "." in group and not group.endswith(".k8s.io")
    if (kind in KINDS or kind in EVIDENCE) and not is_custom and not _is_setting(group):
        return ""
    return say(
        "a {kind} of {version} without metadata.name is a setting of a program, and no object of a cluster",
        kind=kind,
        version=version,
    )


def _is_setting(group: str) -> bool:
    return group in ("audit.k8s.io", "kubeadm.k8s.io", "kind.x-k8s.io") or ".config." in group
