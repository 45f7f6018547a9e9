"""One request of a client with the shape of its answer, and how many of them are kept in a file."""

import base64
import json
import re
import tarfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

# In the path of a request whose answer does not end.
WATCH = re.compile(r"[?&]watch=true")
ARCHIVE = Path(__file__).with_name("transcripts.tar.xz")


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A request to the API of a run, and its answer.

    `path` is what comes after "/k8s/runs/NUMBER". `at` is the virtual time, in seconds. A body is a
    text, or in base64 after "base64:". `names` are the names, uids and versions in the answer, which
    may be others when the request is repeated.
    """

    command: str
    at: float
    method: str
    path: str
    headers: dict[str, str]
    body: str = ""
    status: int
    content_type: str
    shape: Any
    names: list[str] = field(default_factory=list[str])

    @property
    def content(self) -> bytes:
        """The body as it was sent."""
        return content_of(self.body)


def content_of(body: str) -> bytes:
    """What `text_of` made a text of."""
    text = body.removeprefix("base64:")
    return text.encode() if text == body else base64.b64decode(text)


def text_of(content: bytes) -> str:
    """A body as an Exchange keeps it."""
    try:
        return content.decode()
    except UnicodeDecodeError:
        return f"base64:{base64.b64encode(content).decode()}"


def pack(transcripts: Mapping[tuple[str, str], Sequence[Exchange]]) -> None:
    """Keep the exchanges of each version and story, beside those of others."""
    kept = {**transcripts_kept(), **transcripts} if ARCHIVE.exists() else transcripts
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
        for (version, story), exchanges in sorted(kept.items()):
            content = "".join(f"{json.dumps(asdict(each))}\n" for each in exchanges).encode()
            member = tarfile.TarInfo(f"{version}/{story}.jsonl")
            member.size = len(content)
            archive.addfile(member, BytesIO(content))


@cache
def transcripts_kept() -> dict[tuple[str, str], list[Exchange]]:
    """The exchanges by version of kubectl and story."""
    return dict(_read())


def _read() -> Iterator[tuple[tuple[str, str], list[Exchange]]]:
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            version, _, name = member.name.partition("/")
            found = archive.extractfile(member)
            assert found is not None
            exchanges = [Exchange(**json.loads(line)) for line in found]
            yield (version, name.removesuffix(".jsonl")), exchanges
