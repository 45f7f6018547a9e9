"""Sentences about files, as they are said of a cluster that was read itself.

The engine reads manifests and calls them files, wherever they come from. The program speaks English
alone, so that the few ways in which its sentences name them can be listed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_SAID: Final[Mapping[str, str]] = {
    "in these files": "in this cluster",
    "in this file": "in this cluster",
    "in the files": "in this cluster",
    "only its files tell": "only the cluster tells",
    "these files do not hold": "this cluster does not hold",
    "the files do not": "this cluster does not",
    "the files have": "this cluster has",
    "the files name": "this cluster names",
    "the files know": "this cluster knows",
    "the files ask": "this cluster asks",
    "the files say": "this cluster says",
    "contradicts the files, and they win": "contradicts the cluster, and the cluster wins",
}
_ALL: Final = {**_SAID, **{old.capitalize(): new.capitalize() for old, new in _SAID.items()}}
_FILES: Final = re.compile(r"\b(?:" + "|".join(_ALL) + r")\b")


def of_cluster(text: str) -> str:
    """A sentence about files, said of a cluster."""
    return _FILES.sub(lambda found: _ALL[found[0]], text)


def document_of_cluster(document: Any) -> Any:
    """The same for all texts of a document; names of fields stay."""
    if isinstance(document, str):
        return of_cluster(document)
    if isinstance(document, list):
        return [document_of_cluster(each) for each in document]
    if isinstance(document, dict):
        return {name: document_of_cluster(each) for name, each in document.items()}
    return document
