"""Texts that stand in documents, and not in the code, in the reader's language."""

from django.utils.translation import gettext


def in_language(text: str) -> str:
    """*text* as the catalogue has it, else as it is written.

    The one call of gettext whose message is not in the code: kscope.documents.messages finds these.
    """
    return gettext(text) if text else ""
