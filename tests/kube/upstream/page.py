"""The page docs/conformance-e2e.md: what came of each conformance spec, and why some do not pass."""

import re
from collections.abc import Mapping
from pathlib import Path
from textwrap import fill

from tests.kube.upstream.golden.steps import ARCHIVE, goldens_kept
from tests.kube.upstream.reasons import UNKNOWN, reason_for, unheld_reason
from tests.kube.upstream.suite import Spec

PAGE = Path(__file__).parents[3] / "docs/conformance-e2e.md"
# Those whose specs the page lists.
SIGS = ("sig-api-machinery", "sig-apps", "sig-scheduling", "sig-storage")
PASSES = "passes"
SCRIPTED = "passes with the script"
FAILS = "does not pass"
HEAD = """# Upstream's conformance specs

What came of the conformance specs of Kubernetes {version} when its own `e2e.test` was last run on
runs of kscope: one run for each spec, with three nodes that are ready, at 1×.
With `$KSCOPE_E2E_TEST`, the path of that binary, `python -m tests.kube.upstream` tries them again
and writes this page. Nothing of the suite was changed, no spec of the four sigs was left out, and
no precondition was switched off. In the run of the spec that waits for a token to expire, a CronJob
writes meanwhile (`tests/kube/upstream/busy.yaml`), as components of a cluster do.

"{scripted}": the scenario says what programs in its containers do
([what containers do](scenario-format.md#what-containers-do),
`tests/kube/upstream/containers.yaml`), for no process runs in a container of a run.

**Without the suite**, what {held} of the specs that pass said to a run, and what it answered, is kept
in `tests/kube/upstream/golden` ({size} kB): the tests there send it to a run again, and compare each
answer; `make test` takes one spec of each subject, `make explore` all. The same command with the
option to record keeps it anew.
"""
_ROW = re.compile(r"^\| (?P<name>.+?) \| `(?P<file>[^`]+)` \| (?P<told>[^|]+) \|$", re.MULTILINE)


def read() -> dict[str, str]:
    """What the page says of each spec, by its name as `shown`."""
    text = PAGE.read_text() if PAGE.exists() else ""
    return {one["name"]: one["told"] for one in _ROW.finditer(text)}


def shown(spec: Spec) -> str:
    """The name of *spec* in the page: without the mark that all of them have."""
    return spec.name.removesuffix("[Conformance]").strip().partition("] ")[2].replace("|", r"\|")


def is_passed(told: str) -> bool:
    """Whether that is said of a spec that passes."""
    return told in (PASSES, SCRIPTED)


def is_unexplained(told: str) -> bool:
    """Whether that is said of a spec that fails for a reason that nobody has written down."""
    return not is_passed(told) and told.endswith(UNKNOWN)


def unheld(told: Mapping[str, str]) -> list[str]:
    """The names of specs that pass by what is *told* of them, and of which nothing is kept."""
    return [name for name, one in told.items() if is_passed(one) and name not in goldens_kept()]


def unheld_told(told: Mapping[str, str]) -> list[str]:
    """A list of those with the reasons."""
    told_of = (f"- {name}: {unheld_reason(name)}" for name in unheld(told))
    lines = [fill(one, 100, subsequent_indent="  ", break_on_hyphens=False) for one in told_of]
    return ["Of these nothing is kept:\n", *lines, ""] if lines else []


def write(results: Mapping[Spec, str], version: str) -> None:
    """Write what came of the specs, by PASSES, SCRIPTED or FAILS."""
    held, size = len(goldens_kept()), round(ARCHIVE.stat().st_size / 1000)
    lines = [HEAD.format(version=version, scripted=SCRIPTED, held=held, size=size)]
    lines += unheld_told({shown(spec): told for spec, told in results.items()})
    sigs = sorted({spec.sig for spec in results})
    lines.append(_row("sig", "specs", PASSES, SCRIPTED, FAILS))
    lines.append(_row(*["---"] * 5))
    for sig in sigs:
        told = [told for spec, told in results.items() if spec.sig == sig]
        counts = (told.count(one) for one in (PASSES, SCRIPTED, FAILS))
        lines.append(_row(sig, str(len(told)), *map(str, counts)))
    for sig in sigs:
        lines += [f"\n## {sig}\n", _row("spec", "file", "what came of it"), _row(*["---"] * 3)]
        for spec, told in sorted(results.items()):
            if spec.sig == sig:
                why = f"{FAILS}: {reason_for(spec)}" if told == FAILS else told
                lines.append(_row(shown(spec), f"`{spec.file}`", why))
    PAGE.write_text("\n".join(lines) + "\n")


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"
