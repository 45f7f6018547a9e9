"""`python -m bench [NAME…] [--full]`: print what this machine makes of kscope."""

import argparse
import contextlib
import os
import platform
import sys
import time
from collections.abc import Callable
from importlib import import_module

from bench.servers import servers
from bench.size import LEAST
from bench.table import Row, print_table

# Name → (module with a function `bench`, title). Those of ON_SERVERS share a database and a web process.
BENCHES = {
    "engine": ("bench.engine", "Scheduling, every node examined (given: kube-scheduler 1.34.1)"),
    "growth": ("bench.growth", "Growth with nodes and with placed pods, and memory"),
    "openb": ("bench.openb", "The OpenB trace, decided pod by pod"),
    "why": ("bench.why", "Why a pod is pending, on 5,000 nodes with 20,000 pods"),
    "triage": ("bench.triage", "What is stuck in 5,000 nodes with 40,000 pods"),
    "volumes": ("bench.volumes", "Volumes: matched, bound, provisioned, mounted"),
    "reading": ("bench.reading", "Reading files, and the check of all fields"),
    "import": (
        "bench.dumps.importing",
        "A dump of a gigabyte: read, uploaded, and its first board",
    ),
    "pipeline": ("bench.written.pipeline", "From the engine over committed rows to the stream"),
    "stream": ("bench.stream", "Fan-out to many browsers"),
    "database": ("bench.written.database", "What an event takes in the database"),
    "forks": ("bench.written.forks", "A fork deep in a run, and a thousand forks of forks"),
    "api": ("bench.api", "The Kubernetes API of a run: writes, lists and watches"),
    "many": ("bench.hosting.many", "Many runs at once, in real time"),
    "apart": ("bench.hosting.apart", "The same runs on one worker and on two"),
    "idle": ("bench.hosting.idle", "Memory while nothing is asked"),
    "board": ("bench.pages.board", "What a browser waits for when it opens a large run"),
    "frames": ("bench.pages.frames", "The board of a large run while it plays at full speed"),
    "lists": ("bench.pages.lists", "The lists of a large run while it plays at full speed"),
    "large": ("bench.pages.large", "A large cluster: first state, first board, play, seek, why"),
    "history": ("bench.pages.history", "The past of a large run, and why at its head"),
    "share": ("bench.share", "What one account takes from another, and what nobody may send"),
}
ON_SERVERS = {
    "import",
    "pipeline",
    "stream",
    "database",
    "forks",
    "api",
    "many",
    "apart",
    "board",
    "frames",
    "lists",
    "large",
    "history",
    "share",
}


def main() -> int:
    """Run what is asked for; 1 when a bench broke. A missed aim is not a failure."""
    options = _options()
    if options.least:
        os.environ[LEAST] = "1"
    print(
        f"{platform.machine()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f} at the start, "
        f"Python {platform.python_version()}"
    )
    names = options.names or list(BENCHES)
    with contextlib.ExitStack() as stack:
        if ON_SERVERS.intersection(names):
            stack.enter_context(servers())
        broken = [name for name in names if _run(name, options)]
    return int(bool(broken))


def _run(name: str, options: argparse.Namespace) -> bool:
    """Run one bench and print its table; True when it broke."""
    module, title = BENCHES[name]
    began = time.monotonic()
    try:
        bench: Callable[..., list[Row]] = import_module(module).bench
        rows = bench(full=options.full)
    except Exception as problem:
        print(f"\n{title}\n  {name} broke: {problem!r}", file=sys.stderr)
        if options.trace:
            raise
        return True
    print_table(f"{title}  [{name}, {time.monotonic() - began:.0f} s]", rows)
    return False


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(BENCHES)}")
    parser.add_argument("--full", action="store_true", help="larger sizes; takes minutes")
    parser.add_argument("--least", action="store_true", help="only try whether each works")
    parser.add_argument("--trace", action="store_true", help="stop at the first that breaks")
    options = parser.parse_args()
    unknown = sorted(set(options.names) - set(BENCHES))
    if unknown:
        parser.error(f"no bench is called {', '.join(unknown)}; there are {', '.join(BENCHES)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
