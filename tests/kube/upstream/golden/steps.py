"""One thing that a spec and a run say to each other, and how many of them are kept in a file."""

import json
import re
import tarfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cache
from io import BytesIO
from pathlib import Path
from typing import Any

ARCHIVE = Path(__file__).with_name("golden.tar.xz")
ACCEPTS = "application/json, */*"
JSON = "application/json"
# In the place of a method: a command in a container, over a WebSocket. Its answer is not kept.
SOCKET = "SOCKET"
# In the names of what upstream's own API does not have.
_SUBRESOURCE = re.compile(r"/(?:status|scale|approval|resize|finalize|eviction|binding)$")
_OTHER_GROUP = re.compile(r"^/apis/(?!\w+/|[\w.]+\.k8s\.io/)|^(?!io\.k8s\.)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A request with its answer, or the next line of an answer that goes on.

    `at` is the second of the run. A request has a `method`, and what follows "/k8s/runs/NUMBER" in
    its address. `stream` is the number of an answer that goes on, in the request that begins it and
    in each of its lines. An `answer` is a JSON document, or a text; None is not compared. What is
    another thing in each run has a name in angle brackets, see `reducing`.
    """

    at: float
    method: str = ""
    path: str = ""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    body: str = ""
    status: int = 0
    stream: int = 0
    answer: Any = None

    @property
    def is_line(self) -> bool:
        """Whether it is a line of an answer rather than a request."""
        return not self.method

    @property
    def changes(self) -> bool:
        """Whether it is a request that writes."""
        return self.method not in ("", "GET", "HEAD")


@dataclass(frozen=True, slots=True, kw_only=True)
class Golden:
    """What was said in one spec, on a run whose containers have a script or have not.

    `begins` is when the run began: clients say times that are compared with those of objects.
    """

    name: str
    is_scripted: bool
    begins: str
    steps: Sequence[Step]


def shortened(method: str, path: str, answer: Any) -> Any:
    """What of an answer is compared.

    Of the large document of all schemas, what is about other groups. Of an object that is changed or
    deleted, not its status: how far controllers are at that moment depends on the clock.
    """
    if not isinstance(answer, dict):
        return answer
    if path.startswith("/openapi/v2"):
        return {part: _others(answer.get(part, {})) for part in ("paths", "definitions")}
    if method not in ("PUT", "PATCH", "DELETE") or _SUBRESOURCE.search(path.partition("?")[0]):
        return answer
    if "items" in answer:
        return {**answer, "items": [_without_status(one) for one in answer["items"]]}
    return _without_status(answer)


def _others(named: dict[str, Any]) -> dict[str, Any]:
    return {name: one for name, one in named.items() if _OTHER_GROUP.search(name)}


def _without_status(one: dict[str, Any]) -> dict[str, Any]:
    metadata = dict(one.get("metadata") or {})
    if one.get("kind") == "Status" or "managedFields" not in metadata:
        return one
    managed = metadata.pop("managedFields")
    metadata["managedFields"] = [each for each in managed if not each.get("subresource")]
    return {name: value for name, value in one.items() if name != "status"} | {"metadata": metadata}


def pack(transcripts: Sequence[Golden]) -> None:
    """Keep these, and those of other specs that are kept already."""
    kept = {**goldens_kept()} if ARCHIVE.exists() else {}
    kept |= {one.name: one for one in transcripts}
    with tarfile.open(ARCHIVE, "w:xz", preset=9) as archive:
        for name, one in sorted(kept.items()):
            head = {"name": name, "is_scripted": one.is_scripted, "begins": one.begins}
            lines = [head, *(_short(step) for step in one.steps)]
            content = "".join(f"{json.dumps(each)}\n" for each in lines).encode()
            member = tarfile.TarInfo(f"{name.replace('/', '-')}.jsonl")
            member.size = len(content)
            archive.addfile(member, BytesIO(content))
    goldens_kept.cache_clear()


@cache
def goldens_kept() -> Mapping[str, Golden]:
    """What was said, by the names of the specs as the page has them."""
    found: dict[str, Golden] = {}
    with tarfile.open(ARCHIVE) as archive:
        for member in archive:
            file = archive.extractfile(member)
            assert file is not None
            head, *steps = [json.loads(line) for line in file]
            found[head["name"]] = Golden(**head, steps=[Step(**step) for step in steps])
    return found


def _short(step: Step) -> dict[str, Any]:
    return {name: value for name, value in asdict(step).items() if value or name == "at"}
