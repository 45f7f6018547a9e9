"""Which files are read piece by piece, and how."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from engine.input.streams.json_lists import JsonLists, is_json_list
from engine.input.streams.pieces import Piece
from engine.input.streams.window import Window
from engine.input.streams.yaml_lists import YamlLists, is_yaml_list
from engine.objects.documents import Limits

_LOOK: Final = 1 << 16  # bytes by which the form of a file is recognised


def pieces_of(window: Window, limits: Limits) -> Iterator[Piece] | None:
    """The pieces of a large file; None for one that has to be read as a whole."""
    begin = window.look(_LOOK)
    if is_json_list(begin):
        return JsonLists(window, limits).pieces()
    if is_yaml_list(begin):
        return YamlLists(window, limits).pieces()
    return None
