"""`python -m bench.drive RUN [--again]`: the worker's part of one run, without Celery around it."""

import sys

import django


def main(run_id: int, *, again: bool) -> None:
    """Drive the run until it has nothing to do, and, with *again*, until this process is stopped."""
    django.setup()
    from kscope.runs.drive.runner import run_drive

    run_drive(run_id)
    while again:
        run_drive(run_id)


if __name__ == "__main__":
    main(int(sys.argv[1]), again="--again" in sys.argv[2:])
