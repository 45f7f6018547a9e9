"""`python -m bench.drive RUN`: the worker's part of one run, without Celery around it."""

import sys

import django


def main(run_id: int) -> None:
    """Drive the run until it is finished."""
    django.setup()
    from kscope.runs.drive.runner import run_drive

    run_drive(run_id)


if __name__ == "__main__":
    main(int(sys.argv[1]))
