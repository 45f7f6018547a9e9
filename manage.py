#!/usr/bin/env python
"""Django's command line: `manage.py up`, `manage.py simulate FILE…`, `manage.py migrate`, …"""

import os
import sys
from pathlib import Path

from kscope.up.command_line import run_command, say


def main() -> int:
    """Run one command; `up` is handed to the supervisor, which must not load Django."""
    if sys.argv[1:2] == ["up"]:
        from kscope.up.__main__ import main as up

        return up(sys.argv[2:])
    from kscope.operations.at_rest import COMMANDS, database_at_rest
    from kscope.up.children import StartError

    if sys.argv[1:2] and sys.argv[1] in COMMANDS:
        data = os.environ.get("KSCOPE_DATA") or Path(__file__).with_name(".kscope")
        try:
            with database_at_rest(Path(data).resolve()):
                return _run_django()
        except StartError as error:
            say(f"\n{error}", sys.stderr)
            return 1
    return _run_django()


def _run_django() -> int:
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
