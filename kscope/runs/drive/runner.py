"""The runner: drives one run in this thread, where no worker hosts it."""

from kscope.runs.drive.hosting.loop import Loop


def run_drive(run_id: int) -> None:
    """Take the run if it has no owner, and drive it until it has nothing to do for a while.

    Nothing is done where the database is a newer version's.
    """
    loop = Loop()
    loop.adopt(run_id)
    loop.run()
