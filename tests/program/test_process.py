"""The program as a process: closed pipes, Ctrl-C, a taken port, shells."""

import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys

import pytest

from tests.program.asked import DATA, ROOT, SCENARIOS

KSCOPE = [sys.executable, "-m", "kscope.program"]
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(ROOT)}


def _piped(line: str) -> subprocess.CompletedProcess[str]:
    command = line.replace("kscope ", f"{shlex.quote(sys.executable)} -m kscope.program ")
    return subprocess.run(
        ["bash", "-c", command],
        cwd=DATA,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_closed_pipe_keeps_the_status() -> None:
    done = _piped('kscope triage prod-eu.yaml -q -o wide | head -1; echo "${PIPESTATUS[0]}"')
    assert done.stdout == "3 causes hold 40 pods.\n1\n"
    assert done.stderr == ""


def test_a_closed_pipe_ends_a_timeline() -> None:
    file = SCENARIOS / "checkout-surge.yaml"
    done = _piped(
        f'kscope simulate {shlex.quote(str(file))} -o ndjson | head -1 | cut -c1-9; echo "${{PIPESTATUS[0]}}"'
    )
    assert (done.stdout, done.stderr) == ('{"seq":1,\n0\n', "")


def test_ctrl_c_ends_with_130_and_no_trace() -> None:
    read, write = os.pipe()
    with subprocess.Popen(
        [*KSCOPE, "triage", "-"], stdin=read, stderr=subprocess.PIPE, env=ENVIRONMENT, text=True
    ) as process:
        os.close(read)
        # It reads standard input once it has loaded the engine.
        os.write(write, b"a" * 65_536)
        os.write(write, b"b" * 65_536)
        process.send_signal(signal.SIGINT)
        os.close(write)
        _, err = process.communicate()
    assert (process.returncode, err) == (130, "")


def test_up_says_that_a_port_is_taken(tmp_path: object) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        done = subprocess.run(
            [*KSCOPE, "up", "--port", str(port), "--data", str(tmp_path)],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        f"error: port {port} is taken by another program\n"
        f"  help: take another port: kscope up --port {port + 1}\n"
    )


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        (["tri"], "triage"),
        (["triage", "--sel"], "--selector"),
        (["why", "x.yaml", "-o", ""], "json yaml ndjson wide"),
        (["triage", "--color", "a"], "auto always"),
        (["completion", ""], "bash zsh fish"),
        (["why", "sts"], "sts/"),
    ],
)
def test_bash_completes_commands_flags_and_values(words: list[str], wanted: str) -> None:
    script = subprocess.run(
        [*KSCOPE, "completion", "bash"], env=ENVIRONMENT, capture_output=True, text=True, check=True
    ).stdout
    quoted = " ".join(f"'{word}'" for word in ["kscope", *words])
    line = f'{script}\nCOMP_WORDS=({quoted}); COMP_CWORD={len(words)}; _kscope; echo "${{COMPREPLY[*]}}"'
    done = subprocess.run(["bash", "-c", line], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == wanted


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells_take_their_script(shell: str) -> None:
    script = subprocess.run(
        [*KSCOPE, "completion", shell], env=ENVIRONMENT, capture_output=True, text=True, check=True
    ).stdout
    assert "triage" in script
    assert "selector" in script
    if shutil.which(shell):
        subprocess.run([shell, "-n", "/dev/stdin"], input=script, text=True, check=True)
