"""A made-up language, en-XA: English in brackets, with accents, a third longer.

Whoever reads it sees which words are in no catalogue, which sentences are made of pieces, and where
there is no room for longer words. It is offered only where KSCOPE_PSEUDO_LANGUAGE=1.
"""

import os
import re
from pathlib import Path

import polib

LANGUAGE = "en-xa"
LOCALE_NAME = "en_XA"
OPEN, CLOSE = "⟦", "⟧"
FILL = "~"
_ACCENTS = str.maketrans("aeiouycnszAEIOUYCNSZ", "áéíóúýçñšžÁÉÍÓÚÝÇÑŠŽ")
# What has to stay as it is: places, elements, and those of Python and of HTML.
_KEPT = re.compile(
    r"(\{\w*\}|</?\w+[^>]*>|%\(\w+\)[sd]|%[sd%]|&\w+;|\]\((?:\?[^()]*|[^()\s]+)\)|`[^`]+`)"
)
_EVERY = 3
# Longer languages have more words, too, and lines break between them.
_WORD = 10


def pseudo(message: str) -> str:
    """The message in the made-up language; separators, which have no letter, stay what they are."""
    if not any(letter.isalpha() for letter in _KEPT.sub("", message)):
        return message
    parts = _KEPT.split(message)
    words = [part if place % 2 else part.translate(_ACCENTS) for place, part in enumerate(parts)]
    letters = sum(len(part) for part in parts[::2])
    fill = FILL * -(-letters // _EVERY)
    more = " ".join(fill[place : place + _WORD] for place in range(0, len(fill), _WORD))
    return f"{OPEN}{''.join(words)}{more}{CLOSE}"


def write_pseudo(templates: Path, folder: Path) -> None:
    """Write the compiled catalogues of the language into *folder*, from the .pot in *templates*."""
    target = folder / LOCALE_NAME / "LC_MESSAGES"
    target.mkdir(parents=True, exist_ok=True)
    for source in sorted(templates.glob("*.pot")):
        catalogue = polib.pofile(str(source))
        catalogue.metadata["Plural-Forms"] = "nplurals=2; plural=(n != 1);"
        for entry in catalogue:
            _translate(entry)
        # Several processes may begin at once.
        written = target / f"{source.stem}.{os.getpid()}"
        catalogue.save_as_mofile(str(written))
        written.replace(target / f"{source.stem}.mo")


def _translate(entry: polib.POEntry) -> None:
    if entry.msgid_plural:
        entry.msgstr_plural = {0: pseudo(entry.msgid), 1: pseudo(entry.msgid_plural)}
    else:
        entry.msgstr = pseudo(entry.msgid)
