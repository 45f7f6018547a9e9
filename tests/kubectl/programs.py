"""The kubectls of this machine, and how one is called."""

import json
import os
import shlex
import shutil
import subprocess
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.waiting import HANG_SECONDS

FILES = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Printed:
    """What a command left: its exit status, and what it printed."""

    exit: int
    out: str
    err: str

    @property
    def text(self) -> str:
        """All that it printed."""
        return self.out + self.err


@dataclass(frozen=True, slots=True)
class Kubectl:
    """A kubectl, of version 1.*minor*."""

    path: str
    minor: int

    @property
    def version(self) -> str:
        return f"1.{self.minor}"

    def run(self, line: str, kubeconfig: Path, home: Path) -> Printed:
        """What comes of a command line; files that it names are those of this folder."""
        env = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "KUBECONFIG": str(kubeconfig),
            "KUBE_EDITOR": "sed -i 's/replicas: 2/replicas: 4/'",
        }
        done = subprocess.run(
            [self.path, *shlex.split(line)],
            cwd=FILES,
            env=env,
            capture_output=True,
            text=True,
            timeout=HANG_SECONDS,
            check=False,
        )
        return Printed(done.returncode, done.stdout, done.stderr)


@cache
def kubectls() -> tuple[Kubectl, ...]:
    """Those on the path and in $KSCOPE_KUBECTL, one for each version, oldest first."""
    named = os.environ.get("KSCOPE_KUBECTL", "").split(os.pathsep)
    found: dict[int, Kubectl] = {}
    for path in filter(None, [*named, shutil.which("kubectl")]):
        text = subprocess.run(
            [path, "version", "--client", "-o", "json"], capture_output=True, check=True
        ).stdout
        minor = int(json.loads(text)["clientVersion"]["minor"].rstrip("+"))
        found.setdefault(minor, Kubectl(path, minor))
    return tuple(found[minor] for minor in sorted(found))
