"""Looks up all packages of the lock files in lists of known vulnerabilities.

    .venv/bin/python .ci/audit.py

Python packages are looked up in OSV, those of the browser by `npm audit`. Each part ends as "clean",
"found" or "skipped: REASON", where its list cannot be reached. The end is 1 if anything was found.
"""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

ROOM = Path(__file__).resolve().parents[1]
OSV = "https://api.osv.dev/v1/query"
SECONDS = 15


@dataclass(frozen=True)
class Outcome:
    """How one part ended, and what it found."""

    part: str
    said: str
    found: tuple[str, ...] = ()


def main() -> int:
    """1 if a list names one of our packages."""
    outcomes = (of_python(os.environ.get("KSCOPE_OSV_URL") or OSV), of_npm())
    for outcome in outcomes:
        print(f"{outcome.part}: {outcome.said}")
        for line in outcome.found:
            print(f"  {line}")
    return int(any(outcome.found for outcome in outcomes))


def of_python(osv: str) -> Outcome:
    """What the list at the address *osv* says of the packages of runtime.txt and dev.txt."""
    if reason := _why_unreachable(osv):
        return Outcome("Python", f"skipped: {reason}")
    locks = [
        word for name in ("runtime", "dev") for word in ("-r", f"{ROOM}/requirements/{name}.txt")
    ]
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pip_audit", *locks, "--require-hashes", "--disable-pip"),
            *("--no-deps", "-s", "osv", "--osv-url", osv, "-f", "json"),
            *("--progress-spinner", "off", "--timeout", str(SECONDS)),
        ],
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        packages = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        return Outcome("Python", f"skipped: {_last_line(done.stderr)}")
    found = [
        f"{one['name']} {one['version']}: {each['id']}, mended in {each['fix_versions'] or '-'}"
        for one in packages
        for each in one.get("vulns", ())
    ]
    return _outcome("Python", len(packages), found)


def _why_unreachable(address: str) -> str:
    """Why the list cannot be asked; "" if it can."""
    try:
        with urlopen(Request(address, b"{}", method="POST"), timeout=SECONDS):
            return ""
    except HTTPError as answer:
        # A question about nothing is refused by OSV itself; a proxy in front of it says otherwise.
        return "" if answer.code == 400 else f"{address} answers {answer.code}"
    except OSError as problem:
        return f"{address} cannot be reached: {getattr(problem, 'reason', problem)}"


def of_npm() -> Outcome:
    """What npm's registry says of the packages of package-lock.json."""
    npm = shutil.which("npm")
    if npm is None:
        return Outcome("npm", "skipped: there is no npm")
    done = subprocess.run(
        [npm, "audit", "--json", "--package-lock-only"],
        cwd=ROOM,
        capture_output=True,
        text=True,
        check=False,
    )
    return npm_outcome(done.stdout, done.stderr)


def npm_outcome(text: str, errors: str) -> Outcome:
    """What the output of `npm audit --json` says."""
    try:
        answer: dict[str, Any] = json.loads(text)
    except ValueError:
        return Outcome("npm", f"skipped: {_last_line(errors) or 'it says nothing'}")
    if "vulnerabilities" not in answer:
        reason = answer.get("message") or (answer.get("error") or {}).get("summary")
        return Outcome("npm", f"skipped: {reason or _last_line(errors)}")
    packages = answer["vulnerabilities"]
    found = [f"{name}: {one['severity']}, {one['range']}" for name, one in packages.items()]
    return _outcome("npm", answer["metadata"]["dependencies"]["total"], found)


def _outcome(part: str, number: int, found: list[str]) -> Outcome:
    return Outcome(part, f"{'found' if found else 'clean'}, {number} packages", tuple(found))


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


if __name__ == "__main__":
    sys.exit(main())
