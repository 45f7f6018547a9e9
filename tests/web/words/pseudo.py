"""A pseudo-language: every message in brackets of its own, so that what is none shows on a page."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from unittest.mock import patch

from django.utils import translation

OPEN, CLOSE = "⟦", "⟧"


@contextmanager
def pseudo_language(said: Callable[[str], str] | None = None) -> Iterator[None]:
    """Within, gettext puts each message in brackets, or says what *said* makes of it."""
    said = said or _marked
    translation.gettext("")  # Django chooses its functions at the first message.
    functions = translation._trans  # type: ignore[attr-defined]  # what all its functions ask
    with (
        patch.object(functions, "gettext", said),
        patch.object(functions, "pgettext", lambda _, message: _marked(message)),
        patch.object(functions, "ngettext", _marked_plural),
    ):
        yield


def _marked(message: str) -> str:
    return f"{OPEN}{message}{CLOSE}" if message else ""


def _marked_plural(one: str, many: str, number: int) -> str:
    return _marked(one if number == 1 else many)


def unmarked(text: str) -> str:
    """What of *text* stands in no brackets."""
    while re.search(f"{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}", text):
        text = re.sub(f"{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}", "", text)
    return text
