"""How a run of kscope, a `.kscope` file, is told from other archives: its first member says so.

What the file holds is read by `engine.run_file`, which plays it.
"""

from __future__ import annotations

from typing import Final

MEDIA_TYPE: Final = "application/vnd.kscope.run+zip"
TYPE: Final = "mimetype"
IS_A_RUN: Final = "it is a run of kscope, which is played and not read as manifests"
_HEAD: Final = 30 + len(TYPE) + 32 + len(MEDIA_TYPE)


def is_run_file(head: bytes) -> bool:
    """Whether a file that begins with *head* is a run."""
    is_first = head.startswith(b"PK\x03\x04") and head[30 : 30 + len(TYPE)] == TYPE.encode()
    return is_first and MEDIA_TYPE.encode() in head[:_HEAD]
