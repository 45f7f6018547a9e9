"""The sentences of an answer, and those that are too long to be read at a glance."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from engine.diagnosis.report import Diagnosis

MOST_WORDS: Final = 30


def long_sentences(found: Diagnosis) -> list[str]:
    """The sentences of the answer, its facts among them, with more than `MOST_WORDS` words."""
    return [each for text in _texts(found) for each in _sentences(text) if _is_long(each)]


def _texts(found: Diagnosis) -> Iterator[str]:
    yield found.sentence
    yield found.conclusion
    for cause in found.causes:
        yield cause.sentence
        yield cause.why
        yield from (fact.text for fact in cause.because)


def _sentences(text: str) -> list[str]:
    return re.split(r"(?<=[.!?])\s+", text)


def _is_long(sentence: str) -> bool:
    return len(sentence.split()) > MOST_WORDS
