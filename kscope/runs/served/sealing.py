"""Seals the data of Secrets with a key of the installation (ADR 0054).

AES-256-GCM of the library cryptography. The key is derived from KSCOPE_SEALING_KEY, or else from the
key that signs sessions; it is in no database, no backup and no file of a run.
"""

import hashlib
import os
from functools import lru_cache
from typing import Any, Final

import orjson
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings

_PURPOSE: Final = b"kscope: data of Secrets"
_NONCE_BYTES: Final = 12


class OtherKey(Exception):
    """The data were sealed with another key than this installation has, or were changed."""


def sealed(data: Any, token: str) -> bytes:
    """*data*, any JSON, for the row called *token*; at no other place are they opened."""
    nonce = os.urandom(_NONCE_BYTES)
    return nonce + _cipher().encrypt(nonce, orjson.dumps(data), token.encode())


def opened(text: bytes, token: str) -> Any:
    """What was sealed. Raises OtherKey."""
    nonce, rest = text[:_NONCE_BYTES], text[_NONCE_BYTES:]
    try:
        return orjson.loads(_cipher().decrypt(nonce, rest, token.encode()))
    except (InvalidTag, ValueError) as problem:
        raise OtherKey from problem


def _cipher() -> AESGCM:
    return _cipher_of(settings.SEALING_KEY)


@lru_cache(maxsize=2)
def _cipher_of(secret: str) -> AESGCM:
    key = HKDF(SHA256(), hashlib.sha256().digest_size, salt=None, info=_PURPOSE)
    return AESGCM(key.derive(secret.encode()))
