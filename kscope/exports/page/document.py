"""The document: its head and foot, which were built with the program, and data as script elements."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any, Final

import orjson

from kscope.exports.encoder import ExportError
from kscope.static_files.one_file import BUILT, DATA, TITLE

_PAGE: Final = Path(__file__).resolve().parents[3] / BUILT
# What ends a script element, and what JavaScript once took for the end of a line.
_ESCAPES: Final = (
    (b"<", b"\\u003c"),
    (b"\xe2\x80\xa8", b"\\u2028"),
    (b"\xe2\x80\xa9", b"\\u2029"),
)


def is_built() -> bool:
    """Whether the page is here: it is built with the wheel, and by `make setup`."""
    return _PAGE.is_file()


def document_around(name: str) -> tuple[bytes, bytes]:
    """What stands before and after the data of a run. Raises ExportError."""
    if not is_built():
        raise ExportError("the page of this format was not built here; run `make setup`")
    text = _PAGE.read_text(encoding="utf-8")
    title = f"<title>{html.escape(name)} · kscope</title>"
    head, _, foot = text.replace(TITLE, title, 1).partition(DATA)
    return head.encode(), foot.encode()


def escaped(json: bytes) -> bytes:
    """JSON that a script element can hold: the signs occur in texts only, where an escape means the same."""
    for sign, escape in _ESCAPES:
        json = json.replace(sign, escape)
    return json


def part(kind: str, value: Any, **attributes: int | str) -> bytes:
    """A script element with data, which the page finds by its kind."""
    named = "".join(f' {name.replace("_", "-")}="{given}"' for name, given in attributes.items())
    data = escaped(orjson.dumps(value))
    opening = f'<script type="application/json" data-recorded="{kind}"{named}>'
    return opening.encode() + data + b"</script>\n"
