"""`python manage.py up`: PostgreSQL, Valkey, web and worker as one, until Ctrl-C.

Loads no Django: that would cost half a second and 50 MB for as long as it runs.
"""

import argparse
import os
import sys
from pathlib import Path

from kscope.up.children import StartError
from kscope.up.command_line import run_command, say
from kscope.up.options import Options
from kscope.up.supervisor import serve

ROOM = Path(__file__).resolve().parents[2]


def main(arguments: list[str] | None = None) -> int:
    """0 when stopped on request, 1 when something could not start or died."""
    try:
        return serve(_options(arguments, os.environ))
    except StartError as error:
        say(f"\n{error}", sys.stderr)
        return 1
    except OSError as error:
        say(f"\nkscope could not start: {error}", sys.stderr)
        return 1


def _options(arguments: list[str] | None, env: "os._Environ[str]") -> Options:
    parser = argparse.ArgumentParser(
        prog="manage.py up", description="Start kscope on this machine, until Ctrl-C."
    )
    parser.add_argument("--host", default=env.get("KSCOPE_HOST") or "127.0.0.1")
    port = env.get("KSCOPE_PORT") or env.get("PORT") or "8000"
    parser.add_argument("--port", default=port, help="default: $KSCOPE_PORT, $PORT or 8000")
    parser.add_argument("--data", default=env.get("KSCOPE_DATA") or str(ROOM / ".kscope"))
    parser.add_argument(
        "--workers", default=env.get("KSCOPE_WORKERS") or "2", help="worker processes; default 2"
    )
    given = parser.parse_args(arguments)
    return Options(
        room=ROOM,
        data=Path(given.data).expanduser().resolve(),
        host=given.host,
        port=_number(given.port, "the port", 1, 65535),
        workers=_number(given.workers, "the number of workers", 1, 64),
    )


def _number(text: str, what: str, lowest: int, highest: int) -> int:
    if not text.isdecimal() or not lowest <= int(text) <= highest:
        raise StartError(f"{text!r} is not {what}: write a number from {lowest} to {highest}.")
    return int(text)


if __name__ == "__main__":
    sys.exit(run_command(main))
