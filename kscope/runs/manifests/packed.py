"""The stored form of a manifest, and how it is read.

    manifest ──JSON──▶ text ──zstd, with a dictionary of alike manifests──▶ a tenth of the text

The first byte says which form follows:

| byte | what follows |
|---|---|
| 0 | the text as it is: what was stored before there were others |
| 1 | a frame of zstd without its magic number |
| 2 | the digest of a dictionary, and such a frame that was made with it |

A dictionary is the text of other manifests of its run. It never changes, so each process keeps those
that it has read. See docs/adr/0059.
"""

import hashlib
import logging
from collections import OrderedDict
from collections.abc import Mapping
from threading import Lock
from typing import Any, Final

import orjson
import zstandard

PLAIN: Final = b"\x00"
ALONE: Final = b"\x01"
WITH_DICTIONARY: Final = b"\x02"
DIGEST_BYTES: Final = 8
LEVEL: Final = 1
MAGIC: Final = zstandard.FRAME_HEADER
_FRAME_AT: Final = 1 + DIGEST_BYTES
# Of so many dictionaries a process is ready to read.
_MOST: Final = 64
DICTIONARY: Final = "SELECT digest, content FROM runs_manifestdictionary WHERE digest = %s LIMIT 1"

_log = logging.getLogger(__name__)
_alone = zstandard.ZstdDecompressor()
_known: OrderedDict[bytes, zstandard.ZstdDecompressor] = OrderedDict()
# One text at a time: a decompressor must not be used by two threads at once.
_lock = Lock()


class UnknownDictionary(LookupError):
    """The dictionary of this digest was not read yet."""

    def __init__(self, digest: bytes) -> None:
        super().__init__("there is no dictionary " + digest.hex())
        self.digest = digest


def loss_note(unknown: UnknownDictionary) -> None:
    """The dictionary is not stored either: it went with its run, unless the database lost it."""
    _log.warning("%s: its run was deleted, or the database is damaged", unknown)


def digest_of(content: bytes) -> bytes:
    """What names the dictionary of this content."""
    return hashlib.blake2b(content, digest_size=DIGEST_BYTES).digest()


def dictionary_of(content: bytes) -> zstandard.ZstdCompressionDict:
    """What zstd reads and writes with."""
    return zstandard.ZstdCompressionDict(content, dict_type=zstandard.DICT_TYPE_RAWCONTENT)


def packed_alone(manifest: Mapping[str, Any]) -> bytes:
    """*manifest* without a dictionary."""
    frame = zstandard.ZstdCompressor(level=LEVEL).compress(orjson.dumps(manifest))
    return ALONE + frame[len(MAGIC) :]


def dictionary_note(digest: bytes, content: bytes) -> None:
    """Be able to read with the dictionary of this digest."""
    with _lock:
        _known[digest] = zstandard.ZstdDecompressor(dict_data=dictionary_of(content))
        if len(_known) > _MOST:
            _known.popitem(last=False)


def text_of(value: bytes) -> bytes:
    """The JSON text of a stored manifest. Raises UnknownDictionary."""
    form = value[:1]
    if form == WITH_DICTIONARY:
        digest, frame = value[1:_FRAME_AT], value[_FRAME_AT:]
        with _lock:
            known = _known.get(digest)
            if known is None:
                raise UnknownDictionary(digest)
            _known.move_to_end(digest)
            return known.decompress(MAGIC + frame)
    if form == ALONE:
        with _lock:
            return _alone.decompress(MAGIC + value[1:])
    return value[1:]
