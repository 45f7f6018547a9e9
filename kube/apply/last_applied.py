"""What `kubectl apply` without --server-side noted in an annotation of the object.

Upstream: apimachinery/pkg/util/managedfields/internal, lastappliedmanager.go and
lastappliedupdater.go.
"""

import json
from typing import Any

import orjson

from kube.apply.fields import FieldSet
from kube.apply.updater import Updater
from kube.apply.values import compared, fields_of

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

Manifest = dict[str, Any]


def fields_last_applied(updater: Updater, live: Manifest) -> FieldSet | None:
    """The fields that kubectl applied and that are still as applied; None without a note of it."""
    text = _annotations(live).get(LAST_APPLIED)
    try:
        last = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        return None
    if not isinstance(last, dict) or last.get("apiVersion") != updater.api_version:
        return None
    differing = compared(updater.shape, last, live)
    gone = differing.changed | differing.removed
    return fields_of(updater.shape, last) - gone


def noted(new: Manifest, config: Manifest) -> Manifest:
    """*new* with the configuration as its note, where it has a note."""
    if not _annotations(new).get(LAST_APPLIED):
        return new
    kept = {name: text for name, text in _annotations(config).items() if name != LAST_APPLIED}
    metadata = {**(config.get("metadata") or {})}
    if "annotations" in metadata:
        metadata["annotations"] = kept
    text = orjson.dumps({**config, "metadata": metadata}, option=orjson.OPT_SORT_KEYS).decode()
    annotations = {**_annotations(new), LAST_APPLIED: f"{text}\n"}
    return {**new, "metadata": {**new["metadata"], "annotations": annotations}}


def _annotations(manifest: Manifest) -> Manifest:
    metadata = manifest.get("metadata")
    found = metadata.get("annotations") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}
