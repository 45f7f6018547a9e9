"""The index of the vectors is that of the vectors that are kept."""

import os
from pathlib import Path

import pytest

from tests.vectors import index


@pytest.mark.skipif("KSCOPE_VECTORS" in os.environ, reason="the index is of the kept vectors")
def test_the_index_lists_every_kept_vector() -> None:
    path = Path(index.__file__).with_name("INDEX.md")
    again = "python -m tests.vectors.index > tests/vectors/INDEX.md"
    assert path.read_text() == index.page(), again
