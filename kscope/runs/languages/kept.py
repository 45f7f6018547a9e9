"""Sentences in columns: who reads a row finds English text, which can be said in another language."""

import json
from typing import Any, Final

from django.db import models

from engine.kernel.sentences import Sentence
from engine.kernel.stored_sentences import restored, stored

_BEGINS: Final = '{"kscope.dev/'


def sentence_kept(text: str) -> str:
    """What a column holds of *text*: of our sentences their patterns, as JSON; other text as it is."""
    found = stored(text) if isinstance(text, Sentence) else text
    return found if isinstance(found, str) else json.dumps(found)


def sentence_read(kept: str) -> str:
    """What was `sentence_kept`: a `Sentence` where it has a pattern."""
    if not kept.startswith(_BEGINS):
        return kept
    try:
        found = restored(json.loads(kept))
    except ValueError:
        return kept
    return found if isinstance(found, str) else kept


class SentenceField(models.TextField):
    """A text that may be a sentence of ours. It cannot be searched by its words."""

    def from_db_value(self, value: str | None, *_: Any) -> str | None:
        """See Django's Field."""
        return value if value is None else sentence_read(value)

    def get_prep_value(self, value: Any) -> Any:
        """See Django's Field."""
        return sentence_kept(value) if isinstance(value, str) else value
