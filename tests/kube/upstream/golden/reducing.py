"""Makes steps of a recording: what is said again and again is kept once, what differs gets a name.

- Of reads of the same address between two writes: the last. Of lines about the same object in a
  watch: the last, and those of versions that the client wrote. No line after the last write.
- What the framework of the suite reads before and around each spec: in the spec that comes first.
- Uids, addresses, ports, tokens, names that the server made and versions that a request names:
  "<uid 3>", and so on. Other versions: "<version>". Times in answers: "<time>".
"""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple
from urllib.parse import unquote

from kube.protobuf.decoding import MAGIC, decoded
from tests.kube.transcripts.exchanges import content_of
from tests.kube.upstream.golden.matching import TOKEN
from tests.kube.upstream.golden.steps import ACCEPTS, JSON, Step, shortened

Entry = dict[str, Any]
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_IP = re.compile(r"(?<![\d.])(?:\d{1,3}\.){3}\d{1,3}(?![\d.])")
# The Events of a run itself are called by the number of what happened.
_EVENT = re.compile(r"(?<=\.)[0-9a-f]{16}$")
_RUN = re.compile(r"/k8s/runs/\d+")
_PORTS = ("nodePort", "healthCheckNodePort")
_NAMESPACE = re.compile(r"/namespaces/[^/?]+")
_FURNITURE = re.compile(r"fieldSelector=metadata.name%3D(?:default|kube-root-ca.crt)&")
_VERSION_IN_BODY = re.compile(r'(\\?"resourceVersion\\?"\s*:\s*\\?")(\d+)')
_VERSION_IN_PATH = re.compile(r"((?:[?&]|^)resourceVersion=)(\d+)")
_END_OF_SECOND = 0.95
_INITIAL_END = "k8s.io/initial-events-end"


class Value(NamedTuple):
    """What differs in each run, and of what kind it is."""

    kind: str
    text: str


def steps_of(entries: Sequence[Entry], framework: set[str]) -> list[Step]:
    """The steps of one spec; *framework* has what those before it have read, and gets more."""
    read = [*_read(entries)]
    _set_seconds(read, begins(entries))
    kept = _last_ones([*_without_framework(read, framework)])
    return [*_Naming(read, kept).steps()]


# -- what is kept ---------------------------------------------------------------------------------


def _read(entries: Sequence[Entry]) -> Iterator[Entry]:
    for number, entry in enumerate(entries):
        one = {**entry, "number": number}
        text = one.pop("line", None) if "of_stream" in one else one.get("answer")
        if one.get("is_end") or (one.get("of_stream") and not text):
            continue
        one["answer"] = shortened(one.get("method", ""), one.get("path", ""), _document(text))
        if _is_bookmark(one["answer"]):
            continue
        if (content := content_of(one.get("body", ""))).startswith(MAGIC):
            # Names are put into what can be read only.
            one["body"] = json.dumps(decoded(content))
            one["headers"] = {**one["headers"], "Content-Type": JSON}
        yield one


def _is_bookmark(answer: Any) -> bool:
    """Whether a line tells nothing but a version: it comes by the clock of the wall."""
    if not isinstance(answer, dict) or answer.get("type") != "BOOKMARK":
        return False
    return _INITIAL_END not in (answer["object"]["metadata"].get("annotations") or {})


def _set_seconds(read: Sequence[Entry], began: str) -> None:
    """Put each write in the second of the run that its answer tells: `at` is a little later."""
    for one in read:
        metadata = one["answer"].get("metadata") if isinstance(one["answer"], dict) else None
        if not (began and metadata and one.get("method") in ("POST", "PUT", "PATCH")):
            continue
        told = [each["time"] for each in metadata.get("managedFields") or () if "time" in each]
        if one["method"] == "POST" and "creationTimestamp" in metadata:
            told = [metadata["creationTimestamp"]]
        if told:
            then = datetime.fromisoformat(max(told)) - datetime.fromisoformat(began)
            second = then.total_seconds()
            if second + 1 <= one["at"] < second + 2:
                one["at"] = second + _END_OF_SECOND


def _document(text: str | None) -> Any:
    if text is None or text.startswith("base64:"):
        return None
    try:
        return json.loads(text)
    except ValueError:
        return text


def _without_framework(read: Sequence[Entry], framework: set[str]) -> Iterator[Entry]:
    """Leave out what has been kept already of what all specs read."""
    first = next((one["number"] for one in read if _writes(one)), 0)
    left_out: set[int | None] = set()
    for one in read:
        if one.get("of_stream") in left_out:
            continue
        path = one.get("path", "")
        if one.get("method") == "GET" and (one["number"] < first or _FURNITURE.search(path)):
            key = re.sub(r"timeout(?:Seconds)?=\w+", "", _NAMESPACE.sub("/namespaces/*", path))
            if key in framework:
                left_out |= {one["stream"]} if "stream" in one else set()
                continue
            framework.add(key)
        yield one


def _last_ones(entries: Sequence[Entry]) -> list[Entry]:
    written = {_version_of(one["answer"]) for one in entries if _writes(one)} - {None}
    kept: list[Entry] = []
    later: set[Any] = set()
    later_lines: set[Any] = set()
    # The framework deletes the namespace once the spec is over.
    last = max((one["number"] for one in entries if _writes(one)), default=0)
    for one in reversed(entries):
        if "of_stream" in one:
            if one["number"] > last:
                continue
            key = _line_about(one)
            if key in later_lines and _version_of(one["answer"].get("object")) not in written:
                continue
            later_lines.add(key)
        elif _writes(one):
            later.clear()
        elif not one.get("stream"):
            if one["path"] in later:
                continue
            later.add(one["path"])
        kept.append(one)
    return kept[::-1]


def _writes(entry: Entry) -> bool:
    return entry.get("method", "GET") != "GET"


def _version_of(one: Any) -> Any:
    """What tells a version of an object from all others; None where it is no object."""
    metadata = one.get("metadata") if isinstance(one, dict) else None
    if not metadata or "uid" not in metadata:
        return None
    return metadata["uid"], metadata.get("resourceVersion")


def _line_about(entry: Entry) -> Any:
    """What later lines would say anew."""
    answer = entry["answer"]
    if not isinstance(answer, dict):
        return entry["of_stream"], answer
    metadata = answer.get("object", {}).get("metadata", {})
    is_initial = _INITIAL_END in (metadata.get("annotations") or {})
    return entry["of_stream"], metadata.get("uid"), is_initial


# -- what gets a name -----------------------------------------------------------------------------


class _Naming:
    """Gives names to values, in the order in which the steps have them."""

    def __init__(self, read: Sequence[Entry], kept: Sequence[Entry]) -> None:
        self._kept = list(kept)
        self._kinds: dict[str, str] = {}
        self._numbers: dict[Value, int] = {}
        said = ""
        for one in read:
            # What a client has said first is no other in the next run.
            said += unquote(one.get("path", "")) + one.get("body", "")
            for value in _values(one["answer"], one.get("method")):
                if value.text not in self._kinds and value.text not in said:
                    self._kinds[value.text] = value.kind
        self._versions = {
            found[2]
            for one in read
            for where in (one.get("path", ""), one.get("body", ""))
            for found in (*_VERSION_IN_BODY.finditer(where), *_VERSION_IN_PATH.finditer(where))
        } - {"0"}
        texts = sorted((one for one in self._kinds if not one.isdigit()), key=len, reverse=True)
        self._made = re.compile("|".join(rf"(?<![\w.]){re.escape(one)}(?!\w)" for one in texts))
        self._add_sources(read)

    def _add_sources(self, read: Sequence[Entry]) -> None:
        """Keep also what says first what a request names."""
        there: set[str] = set()
        more: list[Entry] = []
        for one in self._kept:
            wanted = self._tokens_of_request(one) - there
            for earlier in reversed(read[: one["number"]] if wanted else []):
                # Of what a request itself names, its answer is no source.
                new = self._tokens_of_answer(earlier) - self._tokens_of_request(earlier)
                if earlier["number"] < one["number"] and (found := wanted & new):
                    more.append(earlier)
                    wanted -= found
                    there |= self._tokens_of_answer(earlier)
            there |= self._tokens_of_answer(one)
        numbers = {one["number"]: one for one in (*self._kept, *more)}
        self._kept = [numbers[number] for number in sorted(numbers)]

    def _tokens_of_request(self, entry: Entry) -> set[str]:
        if "path" not in entry:
            return set()
        return {
            *TOKEN.findall(self._named_path(entry["path"])),
            *TOKEN.findall(self._named_body(entry["body"])),
        }

    def _tokens_of_answer(self, entry: Entry) -> set[str]:
        return {*TOKEN.findall(json.dumps(self._named(entry["answer"])))}

    def steps(self) -> Iterator[Step]:
        """The steps, with names."""
        self._numbers.clear()
        for one in self._kept:
            answer = self._named(one["answer"])
            if "of_stream" in one:
                yield Step(at=one["at"], stream=one["of_stream"], answer=answer)
                continue
            headers = {
                name: value
                for name, value in one["headers"].items()
                if (name, value) not in (("Accept", ACCEPTS), ("Content-Type", JSON))
            }
            yield Step(
                at=one["at"],
                method=one["method"],
                path=self._named_path(one["path"]),
                headers=headers,
                body=self._named_body(one["body"]),
                status=one["status"],
                stream=one.get("stream", 0),
                answer=answer,
            )

    def _name(self, kind: str, text: str) -> str:
        number = self._numbers.setdefault(Value(kind, text), len(self._numbers) + 1)
        return f"<{kind} {number}>"

    def _version(self, text: str) -> str:
        return f"<version {text}>" if text in self._versions else "<version>"

    def _named_text(self, text: str) -> str:
        if not self._kinds:
            return text
        return self._made.sub(lambda one: self._name(self._kinds[one[0]], one[0]), text)

    def _named(self, one: Any, key: str = "") -> Any:
        match one:
            case dict():
                return {
                    self._named_text(name): self._named(value, name) for name, value in one.items()
                }
            case list():
                return [self._named(value) for value in one]
            case str() if key == "resourceVersion" and one.isdigit():
                return self._version(one) if one != "0" else one
            case str() if key == "continue" and one:
                return self._name("token", one)
            case str():
                text = _EVENT.sub("<hash>", one) if key == "name" else one
                return _TIME.sub("<time>", self._named_text(text))
            case int() if key in _PORTS and str(one) in self._kinds:
                return self._name("port", str(one))
            case _:
                return one

    def _named_body(self, body: str) -> str:
        text = self._named_text(body)
        text = _VERSION_IN_BODY.sub(lambda one: one[1] + self._version(one[2]), text)
        for key in _PORTS:
            text = re.sub(
                rf'("{key}":\s*)(\d+)',
                lambda one: (
                    one[1] + (self._name("port", one[2]) if one[2] in self._kinds else one[2])
                ),
                text,
            )
        return text

    def _named_path(self, path: str) -> str:
        text = _VERSION_IN_PATH.sub(
            lambda one: one[1] + (self._version(one[2]) if one[2] != "0" else "0"), path
        )
        return self._named_text(text)


def _values(one: Any, method: str | None, key: str = "") -> Iterator[Value]:
    """The values in an answer that differ in each run, if no client has said them before."""
    match one:
        case dict():
            metadata = one.get("metadata")
            if isinstance(metadata, dict) and (made := metadata.get("generateName")):
                name = str(metadata.get("name"))
                if name.startswith(made) and name != made:
                    yield Value("name", name)
            for name, value in one.items():
                yield from _values(value, method, name)
        case list():
            for value in one:
                yield from _values(value, method, key)
        case str():
            for found in _UID.findall(one):
                yield Value("uid", found)
            for found in _IP.findall(one):
                yield Value("ip", found)
            for found in _RUN.findall(one):
                yield Value("name", found)
            if key == "continue" and one:
                yield Value("token", one)
        case int() if key in _PORTS and one:
            yield Value("port", str(one))
        case _:
            return


def begins(entries: Sequence[Entry]) -> str:
    """The instant at which the run began, in whole seconds, as most of what was created tells it."""
    found: Counter[datetime] = Counter()
    for one in entries:
        answer = _document(one.get("answer")) if one.get("method") == "POST" else None
        metadata = answer.get("metadata") if isinstance(answer, dict) else None
        if metadata and (made := metadata.get("creationTimestamp")):
            found[datetime.fromisoformat(made) - timedelta(seconds=int(one["at"]))] += 1
    return found.most_common(1)[0][0].isoformat() if found else ""
