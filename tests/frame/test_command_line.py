"""Commands end without a traceback when their reader goes, their user interrupts, the disk is full."""

import signal
import subprocess
import sys
from pathlib import Path

from tests.waiting import HANG_SECONDS

ROOM = Path(__file__).resolve().parents[2]
# More output than a pipe holds: whoever writes it waits for the reader.
SIMULATE = [sys.executable, ROOM / "manage.py", "simulate", ROOM / "scenarios/checkout-surge.yaml"]


def started(words: list[object], **streams: object) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # type: ignore[call-overload]
        words,
        cwd=ROOM,
        stderr=subprocess.PIPE,
        # A shell that starts the tests in the background has them ignore Ctrl-C, and their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        **streams,
    )


def end_of(process: "subprocess.Popen[bytes]") -> tuple[int, str]:
    """Its exit status and what it printed on stderr."""
    assert process.stderr
    try:
        status = process.wait(HANG_SECONDS)
    finally:
        process.kill()
        with process.stderr as errors:
            told = errors.read().decode()
    return status, told


def test_a_closed_pipe_ends_a_command_silently() -> None:
    process = started(SIMULATE, stdout=subprocess.PIPE)
    assert process.stdout
    with process.stdout as output:
        assert output.readline().startswith(b'{"seq":1,')
    assert end_of(process) == (128 + signal.SIGPIPE, "")


def test_ctrl_c_ends_a_command_in_silence() -> None:
    process = started(SIMULATE, stdout=subprocess.PIPE)
    assert process.stdout
    with process.stdout as output:
        output.readline()
        process.send_signal(signal.SIGINT)
        assert end_of(process) == (128 + signal.SIGINT, "")


def test_a_full_disk_is_named_as_the_cause() -> None:
    with Path("/dev/full").open("wb") as full:
        process = started(SIMULATE, stdout=full)
    told = "The output could not be written: No space left on device.\n"
    assert end_of(process) == (1, told)


def test_an_unknown_option_still_says_so() -> None:
    status, told = end_of(started([*SIMULATE, "--colour"], stdout=subprocess.DEVNULL))
    assert status == 2
    assert "unrecognized arguments: --colour" in told
