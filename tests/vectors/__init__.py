"""Where tests find the reference vectors: what the real Kubernetes components did, as data.

Each set is a folder. It is taken from `$KSCOPE_VECTORS` when that is set, and only from there; else
from the archive SET.tar.xz beside this file; else from ../shared/vectors beside the checkout.
"""

import hashlib
import os
import shutil
import tarfile
import tempfile
from functools import cache
from pathlib import Path

ARCHIVES = Path(__file__).parent
CHECKOUT = ARCHIVES.parents[1]
_UNPACKED = CHECKOUT / ".pytest_cache" / "vectors"


@cache
def vector_set(name: str) -> Path:
    """The folder of the set *name*, such as "decisions-v1.34"; it does not exist where it is absent."""
    if given := os.environ.get("KSCOPE_VECTORS"):
        return Path(given) / name
    archive = ARCHIVES / f"{name}.tar.xz"
    if archive.exists():
        return _unpacked(archive) / name
    return CHECKOUT.parent / "shared" / "vectors" / name


def why_absent(name: str) -> str:
    """What a test says when it is skipped because the set *name* is absent."""
    return f"no reference vectors in {vector_set(name)}; set KSCOPE_VECTORS"


def _unpacked(archive: Path) -> Path:
    """The folder that the archive was unpacked into, now or by an earlier session."""
    digest = hashlib.sha256(archive.read_bytes()).hexdigest()[:16]
    folder = _UNPACKED / f"{archive.name.removesuffix('.tar.xz')}-{digest}"
    if folder.exists():
        return folder
    _UNPACKED.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(dir=_UNPACKED))
    with tarfile.open(archive) as packed:
        # As extractall(filter="data"), which Python has only since 3.11.4.
        packed.extraction_filter = getattr(tarfile, "data_filter", None)
        packed.extractall(scratch)
    try:
        scratch.rename(folder)
    except OSError:  # a parallel worker was faster
        shutil.rmtree(scratch)
    return folder
