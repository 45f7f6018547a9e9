"""`kscope why --at`: why an object is in its state at an instant of a scenario that is played."""

from __future__ import annotations

from dataclasses import replace

from engine.cluster.cluster import Cluster, Slice
from engine.diagnosis.observed.evidence import Evidence
from engine.diagnosis.triage.after_play import PlayedAnswer, explain_after_play
from engine.diagnosis.triage.answer import Answer
from engine.diagnosis.triage.standing import Standing
from engine.input.instants import is_time
from engine.input.scenario import parse_duration
from engine.kernel.garbage import collector_paused
from engine.kernel.sentences import NOTHING
from engine.kernel.units import SECOND, nanoseconds_of
from kscope.program.asking.play.play import Play, begin
from kscope.program.asking.reading.kinds import Named, found_object
from kscope.program.asking.reading.sources import Source
from kscope.program.asking.why.answer import Explained, print_why, say_what_was_taken
from kscope.program.grammar import Request
from kscope.program.speech.errors import ProgramError, Status
from kscope.program.speech.screen import Screen
from scheduling.process_forks import forks_of

# As in `manage.py why`: when a scenario is asked about that has steps, and no instant is named.
_DEFAULT = "60s"


def answer_why_played(request: Request, screen: Screen, source: Source, named: Named) -> int:
    """Play until the instant, ask there, and print the answer."""
    with collector_paused():
        play = begin(request, source)
        _play_until(play, request["at"] or _DEFAULT, screen)
        explained = _explained(request, screen, play, source, named)
    print_why(request, screen, explained)
    return Status.BAD if explained.is_stuck else Status.FINE


def _play_until(play: Play, at: str, screen: Screen) -> None:
    """Until a time, or until the event of a number is recorded."""
    if at.isdecimal():
        _play_until_event(play.cluster, int(at))
        return
    play.until = _clock_time(play, at) if is_time(at) else _virtual_time(at)
    play.run(screen, _heard)


def _virtual_time(at: str) -> int:
    try:
        return parse_duration(at)
    except ValueError as error:
        helps = ["--at 30s, --at 2026-11-27T14:20:00Z, or the seq of an event: --at 812"]
        raise ProgramError(f"--at: {error}", helps=helps) from error


def _clock_time(play: Play, at: str) -> int:
    """The virtual time at which the clocks of the scenario show *at*."""
    scenario = play.scenario
    if not scenario.instant:
        raise ProgramError(f"--at: the scenario has no clock, so that {at} is no instant of it")
    if nanoseconds_of(at) < scenario.ahead:
        raise ProgramError(f"--at: the scenario begins at {scenario.instant}, after {at}")
    return nanoseconds_of(at) - scenario.ahead


def _heard(_: Slice) -> bool:
    return True


def _play_until_event(cluster: Cluster, seq: int) -> None:
    last = 0
    while last < seq:
        due = cluster.next_at
        if due is None:
            raise ProgramError(f"the run ends at event {last:,}, before event {seq:,}")
        cluster.advance(due, max_steps=1)
        last = max((event.seq for event in cluster.take().events), default=last)


def _explained(
    request: Request, screen: Screen, play: Play, source: Source, named: Named
) -> Explained:
    cluster = play.cluster
    there = Evidence(
        [obj.raw for kind in cluster.store.kinds() for obj in cluster.store.objects(kind)]
    )
    found = found_object(named, there, request["namespace"] or "", source.words)
    say_what_was_taken(found, screen)
    loaded = source.loaded
    files = Evidence(loaded.everything if play.scenario.stands else (), loaded.newest_write)
    answer = explain_after_play(cluster, files, found.kind, found.key, forks_of)
    diagnosis = answer.diagnosis if isinstance(answer, PlayedAnswer) else answer
    facts = answer.observed.facts if isinstance(answer, PlayedAnswer) else ()
    outlook = diagnosis.outlook.sentence if diagnosis.outlook is not None else NOTHING
    shown = Answer(instant="", facts=facts, diagnosis=diagnosis, predicted=outlook)
    at = f"seed {play.scenario.seed} · at {cluster.now / SECOND:.1f} s of virtual time"
    made = Explained(
        source, Standing(cluster, there), found, shown, "", {}, request.output == "wide"
    )
    return replace(made, at=at)
