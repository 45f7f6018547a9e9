"""Packs the manifests of one run, and finds out by itself what those of a kind have in common.

    a manifest ──▶ does it become small with the dictionary of its kind? ──yes──▶ stored
                       │ no
                       └──▶ stored, and a sample: of some samples a new dictionary is made

The dictionary of a kind is the text of as many samples as are not alike. An object whose rows are
written again takes the newest one.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import orjson
import zstandard

from kscope.runs.hidden_values import without_hidden
from kscope.runs.manifests.packed import (
    ALONE,
    LEVEL,
    MAGIC,
    WITH_DICTIONARY,
    dictionary_of,
    digest_of,
)

# A stored manifest is small if it has at most so many bytes, and a part of its text.
_SMALL: Final = 128
_PART: Final = 16
# Of so many samples a dictionary is made at first, then of twice as many others, and so on.
_SAMPLES: Final = 16
# A dictionary has at most so many bytes, and a sample of it half as many.
_MOST: Final = 32_768
# A dictionary is worth its place if it makes of samples less than this part.
_WORTH: Final = 0.6


class Dictionary(NamedTuple):
    """Manifests of a kind, as text: `digest` names them."""

    kind: str
    digest: bytes
    content: bytes


@dataclass(slots=True)
class _Kind:
    """How manifests of a kind are packed now."""

    prefix: bytes
    compressor: zstandard.ZstdCompressor
    content: bytes = b""
    samples: list[bytes] | None = None
    seen: int = 0
    wanted: int = _SAMPLES

    def use(self, dictionary: Dictionary) -> None:
        """Pack with *dictionary* from now on."""
        found = dictionary_of(dictionary.content)
        found.precompute_compress(level=LEVEL)
        self.prefix, self.content = WITH_DICTIONARY + dictionary.digest, dictionary.content
        self.compressor = _compressor(found)


class Packer:
    """Packs manifests of a run; *kept* are the newest dictionaries that it has stored."""

    def __init__(self, kept: Iterable[Dictionary] = ()) -> None:
        self._alone = _compressor()
        self._kinds: dict[str, _Kind] = {}
        self._unsaved: dict[bytes, Dictionary] = {}
        for each in kept:
            self._kind(each.kind).use(each)

    @property
    def unsaved(self) -> list[Dictionary]:
        """Those that are not certainly stored; to be stored with what is packed, or before."""
        return [*self._unsaved.values()]

    def note_saved(self) -> None:
        """All that was packed so far is stored."""
        self._unsaved.clear()

    def packed(self, entity: str, manifest: dict[str, Any]) -> bytes:
        """The stored form of the manifest of *entity*."""
        text = orjson.dumps(manifest)
        kind = self._kind(entity.partition("/")[0])
        found = kind.prefix + kind.compressor.compress(text)[len(MAGIC) :]
        if not _is_small(found, text):
            self._sample(entity, kind, manifest)
        return found

    def _kind(self, name: str) -> _Kind:
        found = self._kinds.get(name)
        if found is None:
            found = self._kinds[name] = _Kind(ALONE, self._alone)
        return found

    def _sample(self, entity: str, kind: _Kind, manifest: dict[str, Any]) -> None:
        kind.seen += 1
        samples = kind.samples = [] if kind.samples is None else kind.samples
        if len(samples) < _SAMPLES:
            # Who reads dictionaries does not know whose values they are.
            text = orjson.dumps(without_hidden(manifest))
            if len(text) <= _MOST // 2:
                samples.append(text)
        if kind.seen < kind.wanted:
            return
        content = _chosen(kind.content, samples)
        kind.samples, kind.seen, kind.wanted = None, 0, 2 * kind.wanted
        if content:
            made = Dictionary(entity.partition("/")[0], digest_of(content), content)
            self._unsaved[made.digest] = made
            kind.use(made)


def _compressor(
    dictionary: zstandard.ZstdCompressionDict | None = None,
) -> zstandard.ZstdCompressor:
    return zstandard.ZstdCompressor(level=LEVEL, dict_data=dictionary, write_dict_id=False)


def _is_small(packed: bytes, text: bytes) -> bool:
    return len(packed) <= _SMALL + len(text) // _PART


def _chosen(before: bytes, samples: Iterable[bytes]) -> bytes:
    """The content *before* with those of *samples* that are not like others; "" if that is not worth it."""
    content, old_bytes, new_bytes = before, 0, 0
    old = _compressor(dictionary_of(before)) if before else _compressor()
    new = old
    for text in samples:
        found = new.compress(text)
        old_bytes += len(old.compress(text))
        new_bytes += len(found)
        if not _is_small(found, text):
            # What stands last is found best.
            content = (content + text)[-_MOST:]
            new = _compressor(dictionary_of(content))
    return content if new_bytes < _WORTH * old_bytes else b""
