"""Names and hashes that controllers give to what they make.

Upstream: apiserver/pkg/storage/names/generate.go, apimachinery/pkg/util/rand (SafeEncodeString),
pkg/controller/controller_utils.go (ComputeHash), pkg/controller/history (HashControllerRevision).
"""

from typing import Any, Final

import orjson

from engine.kernel.rng import Stream
from engine.objects.objects import Manifest

# No vowels and no digits that look like them, so that no word comes out by accident.
ALPHABET: Final = "bcdfghjklmnpqrstvwxz2456789"

_SUFFIX: Final = 5
_MAX_BASE: Final = 63 - _SUFFIX

_FNV_OFFSET: Final = 2166136261
_FNV_PRIME: Final = 16777619
_MASK: Final = 0xFFFFFFFF


def generated_name(base: str, names: Stream) -> str:
    """*base* with five letters drawn from *names*, as the API server completes generateName."""
    return base[:_MAX_BASE] + "".join(names.choice(ALPHABET) for _ in range(_SUFFIX))


def safe_encode(text: str) -> str:
    """*text* spelled in ALPHABET, one letter per character."""
    return "".join(ALPHABET[ord(letter) % len(ALPHABET)] for letter in text)


def fnv32(data: bytes) -> int:
    """The 32-bit FNV-1 hash."""
    value = _FNV_OFFSET
    for byte in data:
        value = (value * _FNV_PRIME & _MASK) ^ byte
    return value


def fnv32a(data: bytes) -> int:
    """The 32-bit FNV-1a hash."""
    value = _FNV_OFFSET
    for byte in data:
        value = (value ^ byte) * _FNV_PRIME & _MASK
    return value


def template_hash(template: Any, collisions: int | None) -> str:
    """The pod-template-hash of a pod template.

    Upstream hashes Go's dump of the struct, which changes with every field that the API gains; what
    is hashed here is canonical JSON. The hash differs from upstream's, but serves the same purpose.
    """
    data = orjson.dumps(template, option=orjson.OPT_SORT_KEYS)
    if collisions is not None:
        data += collisions.to_bytes(8, "little")
    return safe_encode(str(fnv32a(data)))


def revision_hash(data: Manifest, collisions: int | None) -> str:
    """The hash in the name of a StatefulSet's ControllerRevision; the same as upstream's.

    *data* is the revision's. Go also writes a null creationTimestamp for the template.
    """
    template: Manifest = data["spec"]["template"]
    given: Manifest = template.get("metadata") or {}
    metadata: Manifest = {"creationTimestamp": None, **given}
    written = {"spec": {"template": {**template, "metadata": metadata}}}
    raw = orjson.dumps(written, option=orjson.OPT_SORT_KEYS)
    if collisions is not None:
        raw += str(collisions).encode()
    return safe_encode(str(fnv32(raw)))
