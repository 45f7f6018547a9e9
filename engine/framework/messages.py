"""The texts of FailedScheduling events. Upstream: framework/types.go FitError.Error()."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Final

NO_NODES = "no nodes available to schedule pods"

# How Kubernetes writes a kind, by the lower-case word that upstream's texts begin with.
_KINDS: Final = {
    kind.lower(): kind
    for kind in ("PersistentVolumeClaim", "PersistentVolume", "StorageClass", "CSINode")
}
_ORDINARY: Final = re.compile(r"[a-z]+(\(s\))?[,:;]?")


def fit_error(
    node_count: int,
    reasons: Mapping[str, int],
    *,
    pre_filter: str = "",
    post_filter: str = "",
) -> str:
    """The message of a pod that fits nowhere; *reasons* counts the nodes that gave each reason."""
    text = f"0/{node_count} nodes are available:"
    if pre_filter:
        text += f" {pre_filter}."
    elif reasons:
        text += f" {histogram(reasons)}."
    if post_filter:
        text += f" {post_filter}"
    return text


def histogram(reasons: Mapping[str, int]) -> str:
    """ "3 Insufficient cpu, 1 …", sorted as strings, as upstream does."""
    return ", ".join(sorted(f"{count} {reason}" for reason, count in reasons.items()))


def aggregate(errors: list[str]) -> str:
    """One text for several errors. Upstream: utilerrors.NewAggregate() after MessageCountMap."""
    unique: dict[str, int] = {}
    for error in errors:
        unique[error] = unique.get(error, 0) + 1
    parts = [
        f"{text} (repeated {count} times)" if count > 1 else text for text, count in unique.items()
    ]
    return parts[0] if len(parts) == 1 else f"[{', '.join(parts)}]"


def combined(errors: Iterable[str]) -> str:
    """One text for several errors, each once. Upstream: utilerrors.NewAggregate().Error()."""
    unique = list(dict.fromkeys(errors))
    return unique[0] if len(unique) == 1 else f"[{', '.join(unique)}]"


def sentence_of(text: str) -> str:
    """*text* as a sentence: with a full stop, and a capital if it begins with an ordinary word.

    Names and quoted words stay as they are, and kinds are written as Kubernetes writes them.
    """
    first, space, rest = text.partition(" ")
    if first in _KINDS:
        first = _KINDS[first]
    elif _ORDINARY.fullmatch(first):
        first = first[0].upper() + first[1:]
    return f"{first}{space}{rest}" + ("" if text.endswith((".", "!", "?")) else ".")
