"""Write docs/diagnosis-reasons.md, or say with --check whether it is up to date (exit status 1: no)."""

import sys

from tests.reasons.document import DOCUMENT, text

if "--check" in sys.argv[1:]:
    sys.exit(0 if DOCUMENT.read_text() == text() else f"{DOCUMENT.name} is out of date")
DOCUMENT.write_text(text())
