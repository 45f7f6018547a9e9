"""The binary of the suite: which specs it has, and what comes of one of them on a cluster."""

import json
import os
import re
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

_LISTED = "--list-conformance-tests"
_FLAGS = (
    "--provider=skeleton",
    "--allowed-not-ready-nodes=0",
    "--dump-logs-on-failure=false",
    "--ginkgo.no-color",
    "--ginkgo.timeout={seconds}s",
    # Of what is cleaned up once the spec is over its time.
    "--ginkgo.grace-period=5s",
    "--ginkgo.focus= {name}$",
    "--ginkgo.json-report={report}",
)
# Of a recording, bodies can be read; the suite otherwise writes most of them as protobuf.
JSON_BODIES = "--kube-api-content-type=application/json"
# After its own time limit and the time in which it cleans up, a process that still runs hangs.
_GRACE_SECONDS = 60
_SPECIAL = re.compile(r"([\\.+*?()|\[\]{}^$])")


@dataclass(frozen=True, slots=True, order=True)
class Spec:
    """A conformance spec: its whole name, and the file of upstream that it stands in."""

    name: str
    file: str

    @property
    def sig(self) -> str:
        """As "sig-apps"."""
        return self.name.partition("]")[0].lstrip("[")

    @property
    def title(self) -> str:
        """Its name without the sig and the marks."""
        return re.sub(r"\s*\[[^\]]*\]", "", self.name).strip()

    @property
    def file_name(self) -> str:
        """What files about it are called, without their ends."""
        return re.sub(r"\W+", "-", self.title)[:100]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of a spec."""

    passed: bool
    seconds: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """The binary at a path."""

    path: str

    def conformance(self, sigs: tuple[str, ...]) -> list[Spec]:
        """The conformance specs of these sigs, in order."""
        told = subprocess.run([self.path, _LISTED], capture_output=True, check=True, text=True)
        listed: list[dict[str, Any]] = yaml.safe_load(told.stdout)
        specs = (Spec(" ".join(one["codename"].split()), one["file"]) for one in listed)
        return sorted(one for one in specs if one.sig in sigs)

    def run(self, spec: Spec, kubeconfig: str, seconds: int, *more: str) -> Outcome:
        """What comes of *spec* within so many seconds; nothing else may run on the cluster."""
        with tempfile.TemporaryDirectory() as folder:
            report = Path(folder) / "report.json"
            given = {"seconds": seconds, "name": _SPECIAL.sub(r"\\\1", spec.name), "report": report}
            flags = [flag.format(**given) for flag in (*_FLAGS, *more)]
            try:
                done = subprocess.run(
                    [self.path, f"--kubeconfig={kubeconfig}", *flags],
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                    cwd=folder,
                    env={"PATH": os.environ["PATH"], "HOME": folder, "KUBECONFIG": kubeconfig},
                    timeout=seconds + _GRACE_SECONDS,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return Outcome(False, seconds + _GRACE_SECONDS, "the process did not end")
            if kept := os.environ.get("KSCOPE_E2E_LOGS"):
                (Path(kept) / f"{spec.file_name}.txt").write_text(done.stdout)
            if not report.exists():
                return Outcome(False, 0, done.stdout.strip().rpartition("\n")[2])
            return _outcome(spec, json.loads(report.read_text()))


def suite_found() -> Suite | None:
    """The binary that `$KSCOPE_E2E_TEST` names; None where it names none."""
    path = os.environ.get("KSCOPE_E2E_TEST", "")
    return Suite(path) if path else None


def _outcome(spec: Spec, report: list[dict[str, Any]]) -> Outcome:
    whys: list[str] = []
    for one in (each for suite in report for each in suite["SpecReports"] or ()):
        name = " ".join(
            " ".join([*(one["ContainerHierarchyTexts"] or ()), one["LeafNodeText"]]).split()
        )
        failure = one.get("Failure", {})
        if name == spec.name and one["State"] == "passed":
            return Outcome(True, one["RunTime"] / 1e9)
        if name == spec.name or one["State"] in ("failed", "timedout", "interrupted", "panicked"):
            whys.append(f"{one['State']}: {failure.get('Message', '')}")
    return Outcome(False, 0, " | ".join(whys) or "no spec of this name was run")
