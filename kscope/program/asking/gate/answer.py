"""`kscope test`: holds scenarios against what they expect; a gate for CI."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from engine.cluster.cluster import Slice
from engine.diagnosis.report import Fix
from engine.diagnosis.triage.alone import change_of
from engine.diagnosis.why import explain_object
from engine.input.sources.named import NoSuchFileError, files_of
from engine.kernel.garbage import collector_paused
from engine.objects.objects import Pod
from kscope.program.asking.gate.budgets import Budgets
from kscope.program.asking.gate.holding import Ended, Held, held, refusals_at_end
from kscope.program.asking.gate.reports import junit, sarif
from kscope.program.asking.play.play import Play, begin
from kscope.program.asking.play.simulate import Summary, failed_on, failures_named
from kscope.program.asking.play.tally import Tally
from kscope.program.asking.reading.sources import files_and_object, read
from kscope.program.asking.triage.text import object_words
from kscope.program.grammar import Request
from kscope.program.speech.errors import ProgramError, Status
from kscope.program.speech.formats import document, json_lines, written
from kscope.program.speech.paper import Paper
from kscope.program.speech.screen import Screen
from kscope.program.speech.words import counted, first_small
from scheduling.process_forks import forks_of

_MOST_TITLES = 3


@dataclass(frozen=True, slots=True)
class Case:
    """One expectation, where it stands, and for one that does not hold why not and what was tried."""

    file: str
    line: int
    held: Held
    why: str = ""
    tried: str = ""

    @property
    def place(self) -> str:
        """File and line; the file alone for what a flag asks."""
        return f"{self.file}:{self.line}" if self.line else self.file


@dataclass(slots=True)
class Tested:
    """One scenario with its cases."""

    file: str
    cases: list[Case] = field(default_factory=list[Case])
    seconds: float = 0.0

    @property
    def failures(self) -> list[Case]:
        """The cases that do not hold."""
        return [each for each in self.cases if not each.held.holds]


def answer_test(request: Request, screen: Screen) -> int:
    """Play each scenario, hold it against what it expects, and print what does not hold."""
    wanted = failures_named(request["fail_on"])
    names, named = files_and_object(request)
    if named is not None:
        raise ProgramError(f"no file is called {named.word}/{named.name}")
    if not names:
        raise ProgramError("no scenario was named", helps=["kscope test FILE or FOLDER"])
    tested = [_tested(request, screen, file, wanted) for file in _files(names)]
    if not any(each.cases for each in tested):
        raise ProgramError(
            f"nothing is expected in {' '.join(names)}",
            helps=[
                "spec.expect of a scenario: [{pod: shop/web-0, bound: true}]",
                "or --fail-on pending",
            ],
        )
    _print(request, screen, tested)
    _write_reports(request, screen, tested)
    return Status.BAD if any(each.failures for each in tested) else Status.FINE


def _files(names: Sequence[str]) -> list[str]:
    """Each file is a scenario of its own."""
    try:
        return [str(path) for path in files_of(names)]
    except NoSuchFileError as error:
        raise ProgramError(str(error)) from error


def _tested(request: Request, screen: Screen, file: str, wanted: tuple[str, ...]) -> Tested:
    began = time.monotonic()
    source = read(request, screen, [file])
    play, tally = begin(request, source), Tally()
    budgets = Budgets(play.cluster.store)

    def count(taken: Slice) -> bool:
        tally.hear(taken)
        return True

    with collector_paused():
        stop = play.run(screen, count)
        ended = Ended(play.cluster, tally, refusals_at_end(play.cluster), budgets)
        tested = Tested(file)
        for expectation, origin in source.loaded.expectations:
            tested.cases.append(_case(play, file, origin.line, held(expectation, ended)))
        summary = Summary(source, play, tally, {}, stop)
        tested.cases += [Case(file, 0, each) for each in _on_flags(summary, wanted)]
    if stop is not None or play.cluster.failure:
        reason = play.cluster.failure or (stop.reason if stop is not None else "")
        tested.cases.append(
            Case(file, 0, Held("the run is played to its end", holds=False, found=reason))
        )
    tested.seconds = time.monotonic() - began
    return tested


def _on_flags(summary: Summary, wanted: tuple[str, ...]) -> Iterator[Held]:
    """What --fail-on asks, an expectation each."""
    for each in wanted:
        bad = next(iter(failed_on(summary, (each,))), "")
        title, _, found = bad.partition(": ")
        waiting = summary.waiting
        pod = waiting[0].key if each == "pending" and waiting else ""
        yield Held(title or f"--fail-on {each}", holds=not bad, found=found, pod=pod if bad else "")


def _case(play: Play, file: str, line: int, found: Held) -> Case:
    if found.holds or not found.pod:
        return Case(file, line, found)
    if play.cluster.store.find(Pod.KIND, found.pod) is None:
        return Case(file, line, found)
    diagnosis = explain_object(play.cluster, Pod.KIND, found.pod, make_forks=forks_of)
    tried = _tried(diagnosis.fixes[0]) if diagnosis.fixes else diagnosis.conclusion
    return Case(file, line, found, f"{found.pod}: {first_small(diagnosis.sentence)}", tried)


def _tried(fix: Fix) -> str:
    where = f": it goes to {fix.node}" if fix.node else ""
    return f"✓ {first_small(change_of(fix))}{where}."


# -- printing ----------------------------------------------------------------------------------------


def _print(request: Request, screen: Screen, tested: list[Tested]) -> None:
    if request.output == "ndjson":
        screen.write(json_lines(_case_document(case) for each in tested for case in each.cases))
        return
    if request.output in ("json", "yaml"):
        screen.write(written(_document(tested), request.output))
        return
    if os.environ.get("GITHUB_ACTIONS") == "true":
        screen.write("".join(_annotation(case) for each in tested for case in each.failures))
    paper = screen.paper()
    _write(paper, tested, is_wide=request.output == "wide")
    screen.show(paper)


def _write(paper: Paper, tested: list[Tested], *, is_wide: bool) -> None:
    ordered = sorted(tested, key=lambda each: not each.failures)
    width = max(len(each.file) for each in tested)
    for each in ordered:
        _write_scenario(paper, each, width, is_wide=is_wide)
    for each in ordered:
        for case in each.failures:
            paper.line()
            _write_failure(paper, case)
    cases = [case for each in tested for case in each.cases]
    bad = sum(not case.held.holds for case in cases)
    rest = f", {bad:,} {'does' if bad == 1 else 'do'} not" if bad else ""
    seconds = sum(each.seconds for each in tested)
    text = f"{counted(len(tested), 'scenario')}, {counted(len(cases), 'expectation')}: "
    paper.line()
    good = len(cases) - bad
    hold = "holds" if good == 1 else "hold"
    style = "bold red" if bad else "bold green"
    paper.line(f"{text}{good:,} {hold}{rest}.  {seconds:.1f} s", style)


def _write_scenario(paper: Paper, tested: Tested, width: int, *, is_wide: bool) -> None:
    word = "FAIL" if tested.failures else "ok  "
    good = len(tested.cases) - len(tested.failures)
    titles = [each.held.title for each in tested.cases] if not tested.failures else []
    shown = "; ".join(titles[: None if is_wide else _MOST_TITLES])
    line = f"{word}  {tested.file.ljust(width)}   {good} of {len(tested.cases)}"
    fits = len(line) + 3 + len(shown) <= paper.width
    paper.line(f"{line}   {shown}" if shown and (fits or is_wide) else line)


def _write_failure(paper: Paper, case: Case) -> None:
    paper.paragraph(f"{case.held.title}: {case.held.found}.", first=f"{case.place}  ", style="bold")
    text = _line_of(case)
    if text:
        begins, ends = _wanted_place(text, case.held.what)
        paper.line(f"{case.line:>4} | {text}")
        paper.line(f"     | {' ' * begins}{'^' * (ends - begins)} {case.held.found}")
    for label, words in (("why", case.why), ("tried", case.tried)):
        if words:
            paper.paragraph(words, first=f"   {label:<11}", rest=" " * 14)
    if case.held.pod:
        paper.line(f"   {'next':<11}kscope why {case.file} {object_words('pod', case.held.pod)}")


def _wanted_place(text: str, what: str) -> tuple[int, int]:
    """Where in its line stands what was wanted; the whole line where that goes over several."""
    match = re.search(rf"\b{re.escape(what)}:\s*([^,}}\s][^,}}]*)", text) if what else None
    if match:
        return match.span(1)
    return len(text) - len(text.lstrip()), len(text.rstrip())


def _line_of(case: Case) -> str:
    try:
        return (
            Path(case.file).read_text(errors="replace").splitlines()[case.line - 1]
            if case.line
            else ""
        )
    except (OSError, IndexError):
        return ""


def _annotation(case: Case) -> str:
    """A line that GitHub shows at the file. Upstream: docs.github.com, workflow commands."""
    line = f",line={case.line}" if case.line else ""
    title = _escaped(case.held.title).replace(":", "%3A").replace(",", "%2C")
    text = _escaped(": ".join(filter(None, (case.held.found, case.why))))
    return f"::error file={case.file}{line},title={title}::{text}\n"


def _escaped(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _document(tested: list[Tested]) -> dict[str, Any]:
    cases = [case for each in tested for case in each.cases]
    bad = sum(not case.held.holds for case in cases)
    return document(
        "TestReport",
        complete=True,
        unseen=[],
        scenarios=[
            {
                "file": each.file,
                "seconds_s": round(each.seconds, 3),
                "expectations": [_case_fields(case) for case in each.cases],
            }
            for each in tested
        ],
        hold=len(cases) - bad,
        fail=bad,
    )


def _case_document(case: Case) -> dict[str, Any]:
    return document("Expectation", **_case_fields(case))


def _case_fields(case: Case) -> dict[str, Any]:
    return {
        "file": case.file,
        "line": case.line or None,
        "title": case.held.title,
        "holds": case.held.holds,
        "found": case.held.found or None,
        "pod": case.held.pod or None,
        "why": case.why or None,
        "tried": case.tried or None,
    }


def _write_reports(request: Request, screen: Screen, tested: list[Tested]) -> None:
    cases = [case for each in tested for case in each.cases]
    bad = sum(not case.held.holds for case in cases)
    count = f"{counted(len(cases), 'case')}, {counted(bad, 'failure')}"
    for flag, make, name in (("junit", junit, "JUnit"), ("sarif", sarif, "SARIF")):
        if not request[flag]:
            continue
        try:
            Path(request[flag]).write_text(make(tested))
        except OSError as error:
            raise ProgramError(f"{request[flag]} cannot be written: {error.strerror}") from error
        screen.did(f"wrote {request[flag]} ({name}, {count})")
