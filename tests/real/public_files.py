"""Files that others have published: where each is, its licence, and what an import makes of it.

The files are not ours, so that the repository has only this table (public_files.jsonl, one object a
line). `python -m tests.real.public_files FOLDER` fetches them, each checked against its digest; the
tests read them from $KSCOPE_PUBLIC_FILES. `read` counts the objects of each kind, as a YAML parser of
others counted them; `refused` is a part of the sentence that refuses the file.
"""

import hashlib
import os
import sys
import urllib.request
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import orjson

TABLE = Path(__file__).with_name("public_files.jsonl")
FOLDER = Path(os.environ.get("KSCOPE_PUBLIC_FILES") or "public-files-are-nowhere")


@dataclass(frozen=True, kw_only=True)
class PublicFile:
    """One file of a repository on GitHub."""

    repository: str
    commit: str
    path: str
    sha256: str
    licence: str
    read: dict[str, int] = field(default_factory=dict)
    refused: str = ""

    @property
    def name(self) -> str:
        """What a test calls it, and where it lies in the folder."""
        return f"{self.repository}/{self.path}"

    @property
    def address(self) -> str:
        """Where it can be fetched."""
        return f"https://raw.githubusercontent.com/{self.repository}/{self.commit}/{self.path}"


def public_files() -> list[PublicFile]:
    """All of the table."""
    return [PublicFile(**_fields(line)) for line in TABLE.read_bytes().splitlines()]


def _fields(line: bytes) -> dict[str, Any]:
    return orjson.loads(line)


def fetch(folder: Path) -> None:
    """Fetch what is not there yet. Raises OSError, and ValueError for another content."""
    for file in public_files():
        place = folder / file.name
        if place.exists():
            continue
        with urllib.request.urlopen(file.address, timeout=60) as answer:
            data = answer.read()
        if hashlib.sha256(data).hexdigest() != file.sha256:
            raise ValueError(f"{file.address} has another content")
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(data)


if __name__ == "__main__":
    fetch(Path(sys.argv[1]))
