"""Moves an engine on: by one step, as far as the speed gives, or to a decision that is awaited."""

from collections.abc import Callable

from kscope.runs.drive.decided import Attempts
from kscope.runs.drive.ending.stuck import moved_on
from kscope.runs.drive.moving import clock
from kscope.runs.drive.moving.clock import Pace, Time, is_halted
from kscope.runs.drive.turns.stint import AT_ONCE, Stint, Turns
from kscope.runs.models import Run


def step(time: Time) -> Turns[int]:
    """Advance to the next event, or the end of the next cycle; if there is none, to the end."""
    unit = "cycle" if time.wanted.step_unit == Run.StepUnit.CYCLE else "event"
    while (due := time.engine.next_at) is not None and due <= time.end:
        if time.engine.advance(due, stop=unit) or is_halted(time.engine):
            break
        moved_on()
        yield AT_ONCE
    return 1


def stretch(time: Time, pace: Pace, ends_early: Callable[[], bool]) -> Turns[None]:
    """As much virtual time as the speed gives, for at most SLICE_SECONDS of computing.

    It *ends early* for a command, whose sender waits.
    """
    stint = Stint()
    while pace.advance(time.engine, time.end, time.passes_to):
        if ends_early() or not (yield from stint.pause()):
            return


def stretch_to_decision(time: Time, attempts: Attempts) -> Turns[bool]:
    """Advance until the pod is bound or refused, or until `until_pod_by`; whether that came."""
    engine, wanted = time.engine, time.wanted
    by = wanted.until_pod_by
    wait = attempts.wait(wanted.awaited_pod, wanted.until_pod_at or 0, by)
    stint = Stint()
    while True:
        for _ in range(clock.CHUNK):
            due = engine.next_at
            if is_halted(engine):
                return False
            if due is None:
                # What is waited for does not come; who uses the run may yet bring it about.
                return time.goes_on
            if due > time.end:
                engine.advance(time.end)
                return False
            if wait.by is not None and due > wait.by:
                engine.advance(wait.by)
                return True
            known = len(engine.untaken)
            engine.advance(due, max_steps=1)
            events = engine.untaken[known:]
            if attempts.decide(wait, events, engine.now):
                return True
        if not (yield from stint.pause()):
            return False
