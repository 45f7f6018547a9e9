#!/usr/bin/env python
"""Django's command line: `manage.py up`, `manage.py simulate FILE…`, `manage.py migrate`, …"""

import os
import sys

from kscope.up.command_line import run_command


def main() -> int:
    """Run one command; `up` is handed to the supervisor, which must not load Django."""
    if sys.argv[1:2] == ["up"]:
        from kscope.up.__main__ import main as up

        return up(sys.argv[2:])
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kscope.settings")
    from django.core.management import execute_from_command_line
    from django.db import DatabaseError

    try:
        execute_from_command_line(sys.argv)
    except DatabaseError as problem:
        from kscope.database_format import reason_of

        why = reason_of(problem)
        if not why:
            raise
        sys.exit(f"{why}.")
    return 0


if __name__ == "__main__":
    sys.exit(run_command(main))
