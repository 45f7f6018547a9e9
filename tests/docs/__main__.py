"""Print what the documents name and does not exist. Exit status 1 when there is any.

python -m tests.docs [FILE…]     # all documents without a FILE
"""

import os
import sys
from pathlib import Path

import django


def main() -> int:
    """Check the files that are given, or every document."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kscope.settings")
    django.setup()
    # They read Django's commands and addresses.
    from tests.docs import documents, mentions

    paths = [Path(name).resolve() for name in sys.argv[1:]] or documents.paths()
    problems = [one for path in paths for one in mentions.missing(documents.read(path))]
    for problem in problems:
        print(problem)
    print(f"documents: {len(problems)} names that do not exist")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
