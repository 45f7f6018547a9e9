"""Texts that stand in documents, and not in the code, in the reader's language."""

from django.utils.translation import gettext as found_in_catalogue


def in_language(text: str) -> str:
    """*text* as the catalogue has it, else as it is written.

    The one look-up whose message is not in the code, so that tools that collect the messages of
    code pass it over: kscope.documents.messages has these.
    """
    return found_in_catalogue(text) if text else ""
