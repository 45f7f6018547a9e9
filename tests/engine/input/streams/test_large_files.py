"""Large files are read item by item, and lead to what they would as a whole."""

import io
import json
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bench.dumps.writing import Form, pieces
from bench.sick import Size
from engine.input.load_result import LoadResult
from engine.input.loader import Loader, load_files
from engine.input.options import IntakeOptions
from engine.input.streams.window import Window
from engine.objects.documents import Limits

PIECEMEAL, WHOLE = IntakeOptions(whole_bytes=1), IntakeOptions(whole_bytes=1 << 30)
FORMS: tuple[Form, ...] = ("indented", "compact", "yaml")
each_form = pytest.mark.parametrize("form", FORMS)


def node(name: str, **more: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, **more}


def listed(*items: Any, indent: int | None = 4) -> bytes:
    return json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, indent=indent).encode()


def told(text: bytes, options: IntakeOptions) -> tuple[Any, ...]:
    return said(load_files([("dump", text)], options=options))


def said(loaded: LoadResult) -> tuple[Any, ...]:
    """What a reading tells and keeps."""
    lines = [(each.document, each.line, each.field, each.message) for each in loaded.problems]
    origins = [str(each.origin) for each in loaded.objects]
    return lines, origins, loaded.everything, loaded.warnings, loaded.newest, loaded.files


@each_form
def test_a_dump_leads_to_the_same_in_pieces(form: Form) -> None:
    text = b"".join(pieces(Size(12, 40, 20), form))
    (_, origins, *in_pieces), (_, of_whole, *whole) = told(text, PIECEMEAL), told(text, WHOLE)
    assert in_pieces == whole
    assert len(origins) > 100
    # Of JSON that is read as a whole no lines are known.
    assert origins == of_whole or (form != "yaml" and of_whole[0].endswith("line 0"))


@pytest.mark.parametrize("indent", [None, 0, 1, 4, 8])
def test_problems_have_the_lines_of_the_whole(indent: int | None) -> None:
    items = [node("a"), node("b", spec={"unschedulable": "no"}), node("c", spec={"taint": []})]
    text = listed(*items, {"kind": "Pod"}, indent=indent)
    lines, *_ = told(text, PIECEMEAL)
    assert lines == told(text, WHOLE)[0]
    assert [each[2] for each in lines][0] == "items[1].spec.unschedulable"


def test_unknown_fields_are_named_with_their_lines() -> None:
    text = listed(node("a"), node("b", spec={"taint": []}))
    loaded = load_files([("dump", text)], options=PIECEMEAL)
    assert loaded.unknown_fields == load_files([("dump", text)], options=WHOLE).unknown_fields
    assert "line 18, spec.taint" in loaded.unknown_fields[0]


def test_yaml_problems_have_the_lines_of_the_whole() -> None:
    managed = "    managedFields:\n    - manager: a\n      time: '2026-01-01T00:00:00Z'\n"
    text = "apiVersion: v1\nitems:\n" + "".join(
        f"- apiVersion: v1\n  kind: Node\n  metadata:\n{managed}    name: {name}\n  spec:\n"
        f"    unschedulable: {value}\n"
        for name, value in (("a", "true"), ("b", "[1]"))
    )
    text += "kind: List\n"
    lines, *_ = told(text.encode(), PIECEMEAL)
    assert lines == told(text.encode(), WHOLE)[0]
    assert lines[0][1] == 20


BROKEN = {
    "a double key": (listed(node("a")).replace(b'"name": "a"', b'"name": "a", "name": "b"'), 'key "name" appears twice'),
    "an open item": (listed(node("a"))[:90], "not JSON"),
    "a missing comma": (listed(node("a"), node("b")).replace(b"},\n        {", b"}\n        {"), "not JSON"),
    "a comma too many": (listed(node("a")).replace(b"}\n    ]", b"},\n    ]"), "not JSON"),
    "no list": (listed(node("a")).replace(b'"List"', b'"Lamp"'), "has kind: List"),
    "no text": (listed(node("a")).replace(b'"a"', b'"\xff"'), "not a text file: it is not UTF-8"),
    "a zero": (listed(node("a")).replace(b'"a"', b'"\\u0000"'), "U+0000"),
    "what follows": (listed(node("a")) + b"and more", "not JSON"),
}  # fmt: skip


@pytest.mark.parametrize("name", BROKEN)
def test_broken_lists_are_refused_in_pieces(name: str) -> None:
    text, message = BROKEN[name]
    problems = load_files([("dump.json", text)], options=PIECEMEAL).problems
    assert message in problems[0].message
    assert problems[0].line >= 1


def test_an_item_nested_too_deep_is_refused() -> None:
    text = listed(node("a", spec=json.loads('{"a":' * 120 + "1" + "}" * 120)))
    (problem,) = load_files([("dump.json", text)], options=PIECEMEAL).problems
    assert "levels deep" in problem.message


def test_items_get_the_kind_of_their_list() -> None:
    text = b'{"kind": "NodeList", "apiVersion": "v1", "items": [{"metadata": {"name": "a"}}]}'
    assert told(text, PIECEMEAL)[2:] == told(text, WHOLE)[2:]
    assert load_files([("d", text)], options=PIECEMEAL).manifests[0]["kind"] == "Node"


def test_lists_behind_each_other_are_read() -> None:
    logs = b"==== START logs for container c of pod a/b ====\n{ \n==== END logs for container c of pod a/b ====\n"
    text = listed(node("a")) + b"\n" + logs + listed(node("b"), indent=None) + b"\n"
    assert told(text, PIECEMEAL)[2:] == told(text, WHOLE)[2:]
    assert [each["metadata"]["name"] for each in told(text, PIECEMEAL)[2]] == ["a", "b"]


def test_lying_indentation_changes_nothing() -> None:
    text = b'{"items": [\n  {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "labels": {\n  }\n}},\n'
    text += (
        b'  {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "b"}\n  }], "kind": "List"}'
    )
    assert told(text, PIECEMEAL)[2:] == told(text, WHOLE)[2:]


@each_form
def test_a_large_file_needs_little_memory(form: Form) -> None:
    file = _Endless(form, 12 << 20)
    loader = Loader(options=IntakeOptions(kinds=frozenset(("namespace",))))
    tracemalloc.start()
    read = list(loader.stream("dump", Window(file)))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert read[-1] > 8 << 20
    assert peak < 11 << 20


class _Endless:
    """A file that makes its text while it is read."""

    def __init__(self, form: Form, size: int) -> None:
        self._parts, self._left, self._size = self._pieces(form), b"", size

    def _pieces(self, form: Form) -> Iterator[bytes]:
        first, *items, last = pieces(Size(12, 24, 4), form)
        pod = max(items, key=len)
        yield first
        for number in range(self._size // len(pod)):
            yield pod.removeprefix(b",") if form != "yaml" and not number else pod
        yield last

    def read(self, size: int, /) -> bytes:
        while len(self._left) < size and (piece := next(self._parts, b"")):
            self._left += piece
        found, self._left = self._left[:size], self._left[size:]
        return found


def test_a_file_beyond_the_limit_is_refused(tmp_path: Path) -> None:
    text = listed(*(node(f"n{number}") for number in range(200)))
    limits = Limits(stream_bytes=4096)
    sizes = ((0, "larger than"), (len(text), "larger than"))
    for total, message in sizes:
        loader = Loader(options=PIECEMEAL, limits=limits)
        list(loader.stream("dump", Window(io.BytesIO(text), total)))
        (problem,) = loader.finish().problems
        assert message in problem.message
