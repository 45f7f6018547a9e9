"""`kscope simulate`: play a scenario, and say what became of its pods."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final, cast

import orjson

from engine.cluster.cluster import Slice
from engine.diagnosis.why import explain_object
from engine.input.budget import Stop
from engine.kernel.garbage import collector_paused
from engine.kernel.units import SECOND
from engine.objects.objects import Node, PersistentVolumeClaim, Pod
from kscope.exports.registry import FORMATS
from kscope.program.asking.play.output import Output, size_text
from kscope.program.asking.play.play import Play, begin
from kscope.program.asking.play.replayed import say_replayed
from kscope.program.asking.play.saving import Saver, said_of
from kscope.program.asking.play.tally import PodLife, Tally, WorkloadTally, preempted, workloads
from kscope.program.asking.reading.sources import Source, files_and_object, read
from kscope.program.grammar import Request
from kscope.program.speech.errors import ProgramError, Status, similar_help
from kscope.program.speech.formats import document, written
from kscope.program.speech.paper import Paper
from kscope.program.speech.screen import Screen
from kscope.program.speech.words import counted, first_small, natural

_MOST_NODES: Final = 6
_MOST_WAITS: Final = 12
FAILURES: Final = ("pending", "evicted", "unbound", "failed")


@dataclass(frozen=True, slots=True)
class Summary:
    """A run that was played, and what became of its pods."""

    source: Source
    play: Play
    tally: Tally
    why: Mapping[str, str]
    stop: Stop | None
    is_wide: bool = False

    @property
    def waiting(self) -> list[PodLife]:
        """The pods that wait, the longest first."""
        return sorted(
            (each for each in self.tally.lives() if each.waits), key=lambda each: each.created
        )

    @property
    def headline(self) -> str:
        """How many pods got a node, and how many wait."""
        lives = list(self.tally.lives())
        placed = sum(bool(each.node) for each in lives)
        seconds = f"{self.play.until / SECOND:g} s"
        text = f"{placed:,} of {counted(len(lives), 'pod')} got a node within {seconds}"
        return f"{text}; {len(self.waiting):,} {'waits' if len(self.waiting) == 1 else 'wait'}."


def answer_simulate(request: Request, screen: Screen) -> int:
    """Play, and print what came of it."""
    wanted = failures_named(request["fail_on"])
    names, named = files_and_object(request)
    if named is not None:
        raise ProgramError(f"no file is called {named.word}/{named.name}")
    source = read(request, screen, names)
    play = begin(request, source, request["until"])
    if request["history"] and not request["save"]:
        raise ProgramError("--history is what --save writes", helps=["--save run.kscope --history"])
    with collector_paused(), _saved(request, play, screen) as hear:
        if request.output == "ndjson":
            status = _timeline(play, screen, hear)
        else:
            summary = _played(play, source, screen, hear, is_wide=request.output == "wide")
            _print(request, screen, summary)
            status = _status(summary, wanted, screen)
    return status or say_replayed(play, source.words, screen)


@contextmanager
def _saved(request: Request, play: Play, screen: Screen) -> Generator[Callable[[Slice], object]]:
    """Around playing: what is called with each slice, so that the run is saved where that was asked for."""
    target: str | None = request["save"]
    if target is None:
        yield _nothing
        return
    with Output(target, FORMATS["kscope"], screen) as output:
        saver = Saver(cast("Any", output), history=bool(request["history"]))
        yield saver.hear
        said = said_of(saver.finish(play))
    screen.did(f"wrote {target} ({said}; {size_text(output.size)})")


def _nothing(_: Slice) -> None:
    pass


def failures_named(text: str | None) -> tuple[str, ...]:
    """What --fail-on lists. Raises ProgramError for what it does not know."""
    found = tuple(each.strip() for each in (text or "").split(",") if each.strip())
    for each in found:
        if each not in FAILURES:
            helps = similar_help("choice", each, FAILURES) or [", ".join(FAILURES)]
            raise ProgramError(f"--fail-on knows no {each}", helps=helps)
    return found


def _timeline(play: Play, screen: Screen, hear: Callable[[Slice], object]) -> int:
    """Each event as a line, until nobody reads them any more."""

    def write(taken: Slice) -> bool:
        hear(taken)
        lines = (orjson.dumps(event.to_dict()).decode() + "\n" for event in taken.events)
        screen.write("".join(lines))
        return not screen.reader_is_gone

    stop = play.run(screen, write)
    return _ended_early(play, stop, screen)


def _ended_early(play: Play, stop: Stop | None, screen: Screen) -> int:
    if play.cluster.failure:
        screen.warning(f"the run has ended: {play.cluster.failure}")
        return Status.UNSEEN
    if stop is not None:
        screen.warning(f"{first_small(stop.reason)} The rest was not played.")
        return Status.UNSEEN
    return Status.FINE


def _played(
    play: Play, source: Source, screen: Screen, hear: Callable[[Slice], object], *, is_wide: bool
) -> Summary:
    tally = Tally()

    def count(taken: Slice) -> bool:
        hear(taken)
        tally.hear(taken)
        return True

    stop = play.run(screen, count)
    waiting = [each.key for each in tally.lives() if each.waits]
    why = {
        key: explain_object(play.cluster, Pod.KIND, key, tries_changes=False).sentence
        for key in (waiting if is_wide else waiting[:_MOST_WAITS])
    }
    return Summary(source, play, tally, why, stop, is_wide)


def failed_on(summary: Summary, wanted: tuple[str, ...]) -> Iterator[str]:
    """What of *wanted* is there, a sentence each."""
    claims = summary.play.cluster.store.objects(PersistentVolumeClaim.KIND)
    lives = list(summary.tally.lives())
    counts = {
        "pending": sum(each.waits for each in lives),
        "evicted": sum(bool(each.evicted_by) for each in lives),
        "failed": sum(each.phase == "Failed" for each in lives),
        "unbound": sum(each.status.get("phase") != "Bound" for each in claims),
    }
    sentences = {
        "pending": "no pod waits at the end",
        "evicted": "no pod is evicted",
        "failed": "no pod fails",
        "unbound": "every claim is bound",
    }
    for each in wanted:
        if counts[each]:
            yield f"{sentences[each]}: {_count_of(each, counts[each])}"


def _count_of(what: str, count: int) -> str:
    one, several = {"unbound": ("is not", "are not"), "evicted": ("is", "are")}.get(
        what, ("does", "do")
    )
    return f"{count:,} {one if count == 1 else several}"


def _status(summary: Summary, wanted: tuple[str, ...], screen: Screen) -> int:
    bad = list(failed_on(summary, wanted))
    for each in bad:
        screen.warning(f"--fail-on: {each}")
    ended = _ended_early(summary.play, summary.stop, screen)
    return Status.BAD if bad else ended


# -- printing ----------------------------------------------------------------------------------------


def _print(request: Request, screen: Screen, summary: Summary) -> None:
    if request.output in ("json", "yaml"):
        screen.write(written(summary_document(summary), request.output))
        return
    paper = screen.paper()
    _write(paper, summary)
    screen.show(paper)


def _write(paper: Paper, summary: Summary) -> None:
    play, tally = summary.play, summary.tally
    paper.paragraph(summary.headline, style=f"bold {'yellow' if summary.waiting else 'green'}")
    nodes = counted(len(play.cluster.store.objects(Node.KIND)), "node")
    at = f"{tally.last / SECOND:.1f} s of virtual time"
    where = f"{play.cluster.profile} · seed {play.scenario.seed} · {nodes} · {tally.events:,} events in {at}"
    paper.line(where, "dim")
    if not any(True for _ in tally.lives()):
        return
    paper.line()
    _write_workloads(paper, summary)
    _write_waits(paper, summary)
    paper.line()
    _write_evicted(paper, tally)
    _write_tried(paper, tally)
    paper.line()
    _write_next(paper, summary)


def _write_workloads(paper: Paper, summary: Summary) -> None:
    nodes = len(summary.play.cluster.store.objects(Node.KIND))
    rows = [["WORKLOAD", "PODS", "RUN", "ENDED", "EVICTED", "WAIT", "WHERE", "LONGEST WAIT"]]
    for each in workloads(summary.tally):
        numbers = (len(each.pods), len(each.running), each.ended, each.evicted, each.waiting)
        where = _where(each, nodes, is_wide=summary.is_wide)
        rows.append(
            [each.workload, *map(str, numbers), where, _longest(each, summary.play.cluster.now)]
        )
    paper.table(rows)


def _where(found: WorkloadTally, nodes: int, *, is_wide: bool) -> str:
    counts = found.nodes
    if not counts:
        return "-"
    if len(counts) > _MOST_NODES and not is_wide:
        return f"{len(counts)} of {nodes} nodes"
    names, parts = sorted(counts, key=natural), list[str]()
    stem = names[0].rpartition("-")[0]
    for place, name in enumerate(names):
        shown = name.removeprefix(stem) if place and len(names) > 3 and stem else name
        parts.append(f"{shown} ({counts[name]})" if counts[name] > 1 and len(names) > 2 else shown)
    return ", ".join(parts)


def _longest(found: WorkloadTally, end: int) -> str:
    # How long those waited that got a node says more than that others still wait.
    bound = [each for each in found.pods if each.bound is not None or each.had_node]
    life = max(bound or found.pods, key=lambda each: each.waited(end))
    seconds = life.waited(end) / SECOND
    if life.waits:
        return f"{seconds:.0f} s, still waits"
    return f"{seconds:.1f} s {life.key.rpartition('/')[2]}" if seconds else "-"


def _write_waits(paper: Paper, summary: Summary) -> None:
    waiting = summary.waiting
    if not waiting:
        return
    shown = waiting if summary.is_wide else waiting[:_MOST_WAITS]
    rows = [["WAITS", "SINCE", "WHY"]]
    rows += [[each.key, f"{each.created / SECOND:g} s", _why(summary, each)] for each in shown]
    paper.line()
    paper.table(rows)
    if len(shown) < len(waiting):
        paper.line(f"and {len(waiting) - len(shown):,} more; -o wide has all")


def _why(summary: Summary, life: PodLife) -> str:
    return first_small(summary.why.get(life.key, "")).rstrip(".")


def _write_evicted(paper: Paper, tally: Tally) -> None:
    evicted = [each for each in tally.lives() if each.evicted_by]
    if not evicted:
        return
    counts = Counter(each.workload for each in evicted).most_common()
    by = sum(map(preempted, evicted))
    how = ", all by preemption" if by == len(evicted) else f", {by:,} by preemption" if by else ""
    names = ", ".join(f"{number} {name}" for name, number in counts)
    paper.paragraph(f"{counted(len(evicted), 'pod')}{how}: {names}", first="EVICTED  ")


def _write_tried(paper: Paper, tally: Tally) -> None:
    bound = tally.bound_in_run
    text = f"{counted(tally.attempts, 'attempt')}, {tally.failed:,} failed"
    if bound:
        text += f"; half of the {counted(len(bound), 'pod')} bound in the run waited less than {tally.typical_wait:.1f} s"
    paper.paragraph(text, first="TRIED    ")


def _write_next(paper: Paper, summary: Summary) -> None:
    files, lines = summary.source.words, list[str]()
    if summary.waiting:
        namespace, _, name = summary.waiting[0].key.rpartition("/")
        at = f"--at {summary.play.until / SECOND:g}s"
        lines.append(f"kscope why {files} pod/{name} -n {namespace} {at}")
    lines.append(
        f"kscope simulate {files} -o ndjson > {summary.play.name.rpartition('-')[2]}.ndjson"
    )
    for place, line in enumerate(lines):
        paper.line(f"{'' if place else 'next':<9}{line}")


def summary_document(summary: Summary) -> dict[str, Any]:
    """The document `Summary`."""
    play, tally = summary.play, summary.tally
    return document(
        "Summary",
        complete=summary.stop is None and not play.cluster.failure,
        unseen=[],
        profile=play.cluster.profile,
        seed=play.scenario.seed,
        until_s=play.until / SECOND,
        ended_s=tally.last / SECOND,
        headline=summary.headline.rstrip("."),
        nodes=len(play.cluster.store.objects(Node.KIND)),
        events=tally.events,
        workloads=[_workload_document(each, play.cluster.now) for each in workloads(tally)],
        waits=[
            {"pod": each.key, "since_s": each.created / SECOND, "why": summary.why.get(each.key)}
            for each in summary.waiting
        ],
        evicted=[
            {"pod": each.key, "workload": each.workload, "by": each.evicted_by}
            for each in tally.lives()
            if each.evicted_by
        ],
        attempts={"all": tally.attempts, "failed": tally.failed},
        bound={
            "pods": len(tally.bound_in_run),
            "half_waited_less_than_s": round(tally.typical_wait, 3),
        },
        stopped=None if summary.stop is None else summary.stop.reason,
    )


def _workload_document(found: WorkloadTally, end: int) -> dict[str, Any]:
    longest = max(found.pods, key=lambda each: each.waited(end))
    return {
        "workload": found.workload,
        "pods": len(found.pods),
        "running": len(found.running),
        "ended": found.ended,
        "evicted": found.evicted,
        "waiting": found.waiting,
        "nodes": dict(found.nodes),
        "longest_wait": {"pod": longest.key, "waited_s": longest.waited(end) / SECOND},
    }
