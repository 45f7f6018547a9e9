"""Tries conformance specs on runs: `python -m tests.kube.upstream`; see the package."""

import argparse
import re
import subprocess
import sys
from pathlib import Path

from tests.kube.upstream import page
from tests.kube.upstream.golden.packing import pack_all
from tests.kube.upstream.suite import suite_found
from tests.kube.upstream.trying import record_all, try_all


def main() -> int:
    """Try the specs that are asked for; the page is written anew with what came of them."""
    arguments = argparse.ArgumentParser(prog="python -m tests.kube.upstream")
    arguments.add_argument("--focus", default="", help="a pattern of the names of specs")
    # Some watch for five or ten minutes that nothing happens.
    arguments.add_argument("--seconds", type=int, default=720, help="the time limit of a spec")
    arguments.add_argument("--workers", type=int, default=2, help="how many are tried at a time")
    arguments.add_argument("--failed", action="store_true", help="those that have not passed yet")
    arguments.add_argument("--record", metavar="FOLDER", help="keep what those say that pass")
    asked = arguments.parse_args()
    suite = suite_found()
    if suite is None:
        print("$KSCOPE_E2E_TEST names no e2e.test", file=sys.stderr)
        return 2
    specs = suite.conformance(page.SIGS)
    said = page.read()
    before = {one: said.get(page.shown(one), "") for one in specs}
    wanted = [
        one
        for one in specs
        if re.search(asked.focus, one.name) and not (asked.failed and page.is_passed(before[one]))
    ]
    if asked.record:
        folder = Path(asked.record)
        folder.mkdir(parents=True, exist_ok=True)
        wanted = [
            one
            for one in wanted
            if page.is_passed(before[one]) and not (folder / f"{one.file_name}.jsonl").exists()
        ]
        for spec, outcome in record_all(
            suite, wanted, before, asked.seconds, asked.workers, folder
        ):
            print(f"{outcome.passed}\t{outcome.seconds:.0f}s\t{spec.name}", flush=True)
        print(f"{pack_all(folder, before)} specs are packed")
        return 0
    results = {
        one: told if page.is_passed(told) else page.FAILS for one, told in before.items() if told
    }
    version = subprocess.run([suite.path, "--version"], capture_output=True, check=True, text=True)
    for spec, told, outcome in try_all(suite, wanted, before, asked.seconds, asked.workers):
        print(f"{told}\t{outcome.seconds:.0f}s\t{spec.name}\t{outcome.why[:400]!r}", flush=True)
        results[spec] = told
        page.write(results, version.stdout.strip().removeprefix("v"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
