"""A version of all static files, as a part of their addresses.

A browser then keeps each file for good, and never asks whether it is still the same: another
version has other addresses. Modules import each other by relative addresses, so that the version is
in all of these as well.
"""

import hashlib
from collections.abc import Iterable
from pathlib import Path

LENGTH = 12


def static_version(folder: Path, locks: Iterable[Path]) -> str:
    """A text that is another one when a file in *folder* is, or one of *locks*.

    The latter say which packages there are, of which some have static files, too. They may be
    absent.
    """
    digest = hashlib.blake2b(digest_size=LENGTH // 2)
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    for path in (*files, *filter(Path.exists, locks)):
        digest.update(f"{path.name}\0{path.stat().st_size}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()
