"""Sentences as JSON that is kept, so that an answer can still be read in any language.

    {"kscope.dev/sentence": {"id": "It fits {node} now.", "arguments": {"node": "n1"}}}

An answer that goes out has texts instead; texts that are not ours are kept as they are.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, cast

from engine.kernel.sentences import (
    Argument,
    Clause,
    Listed,
    Sentence,
    Unstopped,
    clause,
    made,
    made_of_count,
    unstopped,
)

_SENTENCE: Final = "kscope.dev/sentence"
_LIST: Final = "kscope.dev/list"
_INNER: Final = {
    "kscope.dev/clause": (Clause, clause),
    "kscope.dev/unstopped": (Unstopped, unstopped),
}


def stored(document: Any) -> Any:
    """The JSON-like *document* with the patterns of its sentences, not their texts."""
    if isinstance(document, Sentence):
        return _stored_sentence(document)
    if isinstance(document, Mapping):
        entries = cast("Mapping[Any, Any]", document).items()
        return {name: stored(value) for name, value in entries}
    if isinstance(document, list | tuple):
        return [stored(each) for each in cast("Sequence[Any]", document)]
    return document


def _stored_sentence(sentence: Sentence) -> Any:
    for marker, (kind, _) in _INNER.items():
        if isinstance(sentence, kind):
            return {marker: stored(sentence.sentence)}
    if isinstance(sentence, Listed):
        joints = {"between": sentence.between, "last": sentence.id}
        return {_LIST: {"items": stored(sentence.items), **joints}}
    if not sentence.id:
        return str(sentence)
    kept = {"id": sentence.id, "arguments": stored(sentence.arguments)}
    if sentence.plural:
        kept |= {"plural": sentence.plural, "count": sentence.number}
    return {_SENTENCE: kept}


def restored(document: Any) -> Any:
    """What was `stored`, with its sentences; what only looks like one stays as it is."""
    if isinstance(document, list):
        return [restored(each) for each in cast("list[Any]", document)]
    if not isinstance(document, dict):
        return document
    inner = {name: restored(value) for name, value in cast("dict[str, Any]", document).items()}
    if len(inner) != 1:
        return inner
    try:
        found = _restored_sentence(*next(iter(inner.items())))
    except (KeyError, TypeError, ValueError):
        return inner
    return inner if found is None else found


def _restored_sentence(marker: str, kept: Any) -> Sentence | None:
    """Raises KeyError, TypeError or ValueError for what was not `stored`."""
    if marker in _INNER:
        return _INNER[marker][1](kept) if isinstance(kept, Sentence) else None
    if marker == _LIST:
        items = cast("list[Argument]", kept["items"])
        return Listed.of(items, kept["between"], kept["last"])
    if marker != _SENTENCE:
        return None
    places = dict(cast("dict[str, Argument]", kept["arguments"]))
    if "plural" not in kept:
        return made(kept["id"], places)
    places.pop("count")
    return made_of_count(kept["id"], kept["plural"], kept["count"], places)
