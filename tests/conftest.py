"""Fixtures that every room may use. The temporary servers are started by tests/plugin.py."""

import os
from pathlib import Path

import pytest

ROOM = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def vectors() -> Path:
    """Recordings of the real Kubernetes components, in $KSCOPE_VECTORS or beside the checkout."""
    folder = Path(os.environ.get("KSCOPE_VECTORS") or ROOM.parent / "shared" / "vectors")
    if not folder.is_dir():
        pytest.skip(f"no reference vectors in {folder}; set KSCOPE_VECTORS")
    return folder
