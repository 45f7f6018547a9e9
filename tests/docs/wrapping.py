"""Lines of prose that are longer than STYLE.md allows."""

import re

from tests.docs.documents import Document

MOST_COLUMNS = 100
# A table's row and a link's target cannot be broken.
_TARGET = re.compile(r"(?<=\])\([^)]*\)|https?://\S+")


def long_lines(document: Document) -> list[str]:
    """`name:line: columns` of each line of prose over 100 columns; tables and link targets apart."""
    found: list[str] = []
    for number, line in document.prose:
        columns = len(_TARGET.sub("", line))
        if columns > MOST_COLUMNS and not line.lstrip().startswith("|"):
            found.append(f"{document.name}:{number}: {columns} columns")
    return found
